"""What does a pod cost its scheduler if somebody follows? Each part taken alone, in microseconds of processor time.

No server, no other process, so that it tells on a busy machine what `stream.py` can only tell on an idle one. A plain
pod is seen, queued, tried, bound and seen bound, as a live scheduler tells its listeners. The quickest of five rounds
counts: whatever else the machine does makes it slower.

- note: in the scheduler's thread, for the stream
- send: in the thread of the same process that sends the notes on
- serve: in the process that serves the stream, for one reader of everything
- read: in that reader, `fairway watch`
- no sniffer: in the scheduler's thread, with `--sniffer` and nobody there

    python benchmarks/followed_pod.py              against 0.45 ms that a pod takes the scheduler (benchmarks/stream.py)
    python benchmarks/followed_pod.py --pod-ms 0.3

Exit code 1 if noting and sending are more than 5 % of that, or telling nobody more than 2 %.
"""

from __future__ import annotations

import argparse
import collections
import gc
import json
import sys
from collections.abc import Callable, Iterator
from time import thread_time, time, time_ns
from typing import Any, NamedTuple

import msgspec

from fairway.bench.workloads import make_workload
from fairway.cluster import Cluster, Event, Verb
from fairway.cycle import Decision, Outcome
from fairway.live.process import COLLECT_AFTER
from fairway.live.recording import LiveRecorder
from fairway.live.service import Listener
from fairway.model import Node, Pod
from fairway.model.decode import decode_object
from fairway.queue import Place, QueuedPod
from fairway.stream.address import Address
from fairway.stream.decoding import decode_event
from fairway.stream.encoding import encode_batches
from fairway.stream.followers import SnifferFollower
from fairway.stream.noting import Note, NoteTaker
from fairway.stream.serving.frames import LENGTH, framed
from fairway.stream.serving.standing import StandingNotes
from fairway.stream.telling import Teller
from fairway.stream.watching import Reader, WantedEvents
from fairway.stream.wire import decisions_pb2 as wire

NUM_NODES, NUM_PODS, ROUNDS = 500, 4000, 5
A_TICK = 600
"""So many notes are sent at once at some 1,300 pods a second."""
MOST_NOTED, MOST_TOLD = 0.05, 0.02


class Story(NamedTuple):
    """What happens to a pod: it comes, a node is chosen, and the server agrees."""

    came: Event
    queued: QueuedPod
    decision: Decision
    bound: Event


def stories() -> tuple[list[Event], list[Story]]:
    """Nodes, and what happens to each of many pods."""
    made = make_workload(NUM_NODES, NUM_PODS, "plain", num_newcomers=0)
    nodes = [item for item in map(decode_object, made.objects) if isinstance(item, Node)]
    classes = Cluster()
    told = []
    for number, raw in enumerate(made.pods):
        document: dict[str, Any] = json.loads(raw)
        document["metadata"] |= {"uid": f"0a1b2c3d-0000-4000-8000-{number:012}", "generation": 1}
        pod = _pod(document)
        node = nodes[number % len(nodes)].metadata.name
        document["spec"]["nodeName"] = node
        chosen = {"node": node, "attempt": 1, "num_feasible": NUM_NODES, "num_best": 3, "score": 300}
        queued = QueuedPod(pod=pod, profile="default-scheduler", timestamp=0.0, sequence=number)
        decision = Decision(pod, classes.classify(pod), Outcome.SCHEDULED, **chosen)
        told.append(Story(Event(Verb.ADDED, pod), queued, decision, Event(Verb.MODIFIED, _pod(document))))
    return [Event(Verb.ADDED, node) for node in nodes], told


def _pod(document: dict[str, Any]) -> Pod:
    pod = decode_object(json.dumps(document).encode())
    assert isinstance(pod, Pod)
    return pod


def tell(listener: Listener, told: list[Story], bound: Callable[[Pod, str], None] | None = None) -> None:
    """As a live scheduler does."""
    now = time()
    for story in told:
        listener.saw(story.came)
        listener.queue_moved(story.queued, None, Place.ACTIVE, "UnschedulablePodAdd", now)
        listener.queue_moved(story.queued, Place.ACTIVE, Place.IN_FLIGHT, "Pop", now)
        listener.queue_moved(story.queued, Place.IN_FLIGHT, None, "Done", now)
        listener.decided(story.decision, 0.0003)
        if bound is not None:
            bound(story.decision.pod, story.decision.node)
        listener.saw(story.bound)


class Nobody:
    """Hears everything: what telling it takes is nobody's cost."""

    def saw(self, event: Event) -> None:
        """Something happened."""

    def decided(self, decision: Decision, seconds: float, best: Any = ()) -> None:
        """An attempt was made."""

    def group_decided(self, decision: Any, seconds: float) -> None:
        """An attempt was made for a job."""

    def queue_moved(self, queued: QueuedPod, before: Place | None, place: Place | None, event: str, now: float) -> None:
        """A pod moved."""


def measure(nodes: list[Event], told: list[Story]) -> Iterator[tuple[str, float]]:
    """Seconds of each part, once through."""
    begun = thread_time()
    tell(Nobody(), told)
    nothing = thread_time() - begun

    notes: collections.deque[Note] = collections.deque()
    recorder = LiveRecorder(NoteTaker(notes.append), time)
    for event in nodes:
        recorder.saw(event)
    first = len(notes)
    begun = thread_time()
    tell(recorder, told)
    yield "note", thread_time() - begun - nothing

    standing, ticks = StandingNotes(), list(notes)
    standing.take(ticks[:first])
    begun = thread_time()
    frames = []
    for start in range(first, len(ticks), A_TICK):
        tick = ticks[start : start + A_TICK]
        standing.take(tick)
        frames.append(framed(tick))
    yield "send", thread_time() - begun

    teller, decoder = Teller("benchmark"), msgspec.msgpack.Decoder(list[list[Any]])
    teller.take(*ticks[:first])
    reader, batches = Reader(teller, WantedEvents()), []
    begun = thread_time()
    for frame in frames:
        teller.take(*decoder.decode(frame[LENGTH.size :]))
        while (batch := reader.read()) is not None and batch.events:
            batches += [each.SerializeToString() for each in encode_batches(batch, "benchmark", time_ns(), 0)]
    yield "serve", thread_time() - begun

    begun = thread_time()
    for data in batches:
        for event in wire.Batch.FromString(data).events:
            decode_event(event)
    yield "read", thread_time() - begun

    follower = SnifferFollower(Address("127.0.0.1", 1), time_ns)
    follower.start(_Home())  # type: ignore[arg-type]  # nothing else of it is asked for
    assert follower.listener is not None
    begun = thread_time()
    tell(follower.listener, told, follower.bound)
    yield "no sniffer", thread_time() - begun - nothing
    follower.stop()


class _Home:
    """Where a sniffer's producer counts."""

    class metrics:  # noqa: N801 - an attribute
        """Counts nothing."""

        @staticmethod
        def sniffer(result: str, number: int) -> None:
            """What became of messages."""


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pod-ms", type=float, default=0.45, help="what a pod takes a scheduler that nobody follows")
    chosen = parser.parse_args()
    nodes, told = stories()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    rounds = [dict(measure(nodes, told)) for _ in range(ROUNDS)]
    least = {name: 1e6 * min(each[name] for each in rounds) / len(told) for name in rounds[0]}
    for name, micros in least.items():
        print(f"{name:>10}: {micros:6.2f} µs a pod")
    whole = 1000 * chosen.pod_ms
    noted, away = (least["note"] + least["send"]) / whole, least["no sniffer"] / whole
    print(f"of {chosen.pod_ms} ms: {noted:.1%} for a stream, {away:.1%} for a sniffer that is not there")
    return 0 if noted <= MOST_NOTED and away <= MOST_TOLD else 1


if __name__ == "__main__":
    sys.exit(main())
