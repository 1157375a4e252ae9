"""What do pages beside a scheduler cost, and does their memory stay flat? No cluster is needed, nor an idle machine.

A plain pod is seen, queued, tried, bound, seen bound, and ends a minute later, a hundred times a second, for as many
seconds as are asked for; all of it goes as it would from the scheduler's thread to the process that serves pages, as
quickly as that can take it. Somebody asks every ten seconds (of that time) what the overview shows.

- note: in the scheduler's thread; send: in the thread of its process that sends on; keep: in the process of the pages
- the longest that the sending thread holds the interpreter at a time, by processor time: so long the scheduler waits
- memory of the process of the pages after each `--web-history`, which has to stay where it was after the second

What viewers cost a scheduler by the clock, on a real API server: `python benchmarks/stream.py --kinds again,pages`.

    python benchmarks/web_live.py                          a history of five minutes, half an hour
    python benchmarks/web_live.py --history 600 --seconds 7200

Exit code 1 if noting and sending are more than 5 % of what a pod takes a scheduler, if the interpreter is held for more
than a millisecond, or if memory grows by more than a tenth.
"""

from __future__ import annotations

import argparse
import collections
import gc
import itertools
import resource
import sys
from pathlib import Path
from time import thread_time
from typing import Any, Final

import msgspec

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.followed_pod import Story, stories
from fairway.cluster import Event, Verb
from fairway.live.api.clock import SystemClock
from fairway.live.process import COLLECT_AFTER
from fairway.live.recording import LiveRecorder
from fairway.queue import Place
from fairway.stream.noting import Note, NoteTaker
from fairway.stream.serving.frames import LENGTH, framed
from fairway.stream.serving.serving_process import SLICE, TICK_SECONDS
from fairway.stream.serving.standing import StandingNotes
from fairway.web.live.live_history import LiveHistory
from fairway.web.live.live_sources import LiveSources
from fairway.web.live.note_feed import NoteFeed
from fairway.web.page_error import PageError
from fairway.web.questions import WhyQuestion

PODS_A_SECOND: Final = 100
LIFE_SECONDS: Final = 60
LOOK_SECONDS: Final = 10
MOST_NOTED, MOST_HELD, MOST_GROWTH = 0.05, 0.001, 1.1


class Clock(SystemClock):
    """It shows the time that is told."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0

    def monotonic(self) -> float:
        """Seconds."""
        return self.time


async def nobody(question: WhyQuestion) -> dict[str, Any]:
    """Why is not asked."""
    raise PageError(503, "no_answer", "there is no scheduler")


def again(story: Story, number: int) -> Story:
    """The same pod once more, under another name."""
    name, uid = f"pod-{number}", f"0a1b2c3d-0000-4000-8000-{number:012}"

    def renamed(pod: Any) -> Any:
        return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, name=name, uid=uid))

    pod = renamed(story.decision.pod)
    decision = story.decision.__class__(
        pod, story.decision.pod_class, story.decision.outcome, node=story.decision.node, attempt=1, num_feasible=500
    )
    queued = story.queued.__class__(pod=pod, profile=story.queued.profile, timestamp=0.0, sequence=number)
    bound = Event(Verb.MODIFIED, renamed(story.bound.object))
    return Story(Event(Verb.ADDED, pod), queued, decision, bound)


class Measured:
    """Processor time of each part, and how long the interpreter was held at most."""

    def __init__(self) -> None:
        self.note = self.send = self.keep = 0.0
        self.held = 0.0
        self.num_pods = 0


def resident_mib() -> float:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


class Passage:
    """From a scheduler's listeners to the history of its pages, all in one process."""

    def __init__(self, history: float) -> None:
        nodes, self._told = stories()
        self.clock, self.measured = Clock(), Measured()
        kept = LiveHistory("benchmark", history, self.clock)
        self._feed = NoteFeed(kept, "benchmark", None)
        self._decoder = msgspec.msgpack.Decoder(list[list[Any]])
        self._notes: collections.deque[Note] = collections.deque()
        self._recorder = LiveRecorder(NoteTaker(self._notes.append), self.clock.monotonic)
        self._standing = StandingNotes()
        self._running: collections.deque[tuple[float, Story]] = collections.deque()
        for event in nodes:
            self._recorder.saw(event)
        self._feed.stands(0.0)
        self.sources = LiveSources(kept, self.clock, nobody)

    def tick(self) -> None:
        """What happens between two looks of whoever sends on."""
        clock, measured = self.clock, self.measured
        clock.time += TICK_SECONDS
        coming = []
        while measured.num_pods < clock.time * PODS_A_SECOND:
            coming.append(again(self._told[measured.num_pods % len(self._told)], measured.num_pods))
            measured.num_pods += 1
        begun = thread_time()
        self._happen(coming)
        noted = thread_time()
        frames = self._sent(noted)
        sent = thread_time()
        for frame in frames:
            self._feed.take(self._decoder.decode(frame[LENGTH.size :]))
        self.sources.keep_up()
        measured.note += noted - begun
        measured.send += sent - noted
        measured.keep += thread_time() - sent

    def _happen(self, coming: list[Story]) -> None:
        recorder, now, running = self._recorder, self.clock.time, self._running
        for story in coming:
            recorder.saw(story.came)
            recorder.queue_moved(story.queued, None, Place.ACTIVE, "UnschedulablePodAdd", now)
            recorder.queue_moved(story.queued, Place.ACTIVE, Place.IN_FLIGHT, "Pop", now)
            recorder.queue_moved(story.queued, Place.IN_FLIGHT, None, "Done", now)
            recorder.decided(story.decision, 0.0003)
            recorder.saw(story.bound)
            running.append((now + LIFE_SECONDS, story))
        while running and running[0][0] <= now:
            recorder.saw(Event(Verb.DELETED, running.popleft()[1].bound.object))

    def _sent(self, begun: float) -> list[bytes]:
        tick = [self._notes.popleft() for _ in range(len(self._notes))]
        self._standing.take(tick)
        stops, frames = [begun, thread_time()], []
        for start in range(0, len(tick), SLICE):
            frames.append(framed(tick[start : start + SLICE]))
            stops.append(thread_time())
        self.measured.held = max(self.measured.held, *(after - before for before, after in itertools.pairwise(stops)))
        return frames

    def look(self) -> None:
        """What somebody who looks at the overview has worked out."""
        begun = thread_time()
        with self.sources.reading():
            self.sources.standing()
            if not self.sources.find("live").known.pods:
                raise RuntimeError("nothing came through")
        self.measured.keep += thread_time() - begun


def run(history: float, seconds: float) -> tuple[Measured, list[float]]:
    """Feed it; memory after each history."""
    passage = Passage(history)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    memory: list[float] = []
    next_look = float(LOOK_SECONDS)
    while passage.clock.time < seconds:
        passage.tick()
        if passage.clock.time >= next_look:
            next_look += LOOK_SECONDS
            passage.look()
        if passage.clock.time >= history * (len(memory) + 1):
            gc.collect()
            memory.append(resident_mib())
            what = f"{memory[-1]:6.1f} MiB, {passage.measured.num_pods:,} pods"
            print(f"after {passage.clock.time:6.0f} s: {what}", flush=True)
    passage.sources.close()
    gc.unfreeze()
    return passage.measured, memory


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--history", type=float, default=300.0)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--pod-ms", type=float, default=0.45, help="what a pod takes a scheduler that nobody follows")
    chosen = parser.parse_args()
    measured, memory = run(chosen.history, chosen.seconds)
    micros = {name: 1e6 * getattr(measured, name) / measured.num_pods for name in ("note", "send", "keep")}
    for name, each in micros.items():
        print(f"{name:>5}: {each:6.1f} µs a pod")
    share = (micros["note"] + micros["send"]) / (1000 * chosen.pod_ms)
    growth = memory[-1] / memory[1] if len(memory) > 2 else 1.0
    print(f"of {chosen.pod_ms} ms: {share:.1%}; the interpreter is held for {1000 * measured.held:.2f} ms at most")
    print(f"memory, at the end over after two histories: {growth:.1%}")
    return 0 if share <= MOST_NOTED and measured.held <= MOST_HELD and growth <= MOST_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
