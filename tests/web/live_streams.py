"""A stream for the tests of live pages: what a simulation told, in batches, and a clock that stands still.

In: a folder. Out: the run that was recorded, and the events that were told meanwhile; `fed` gives them to a history.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairway.live.api.clock import SystemClock
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from fairway.stream.stream_recorder import StreamRecorder
from fairway.stream.told import Event
from fairway.web.live.live_history import LiveHistory
from fairway.web.live.live_sources import LiveSources
from fairway.web.page_error import PageError
from fairway.web.questions import WhyQuestion
from tests.explain.run_files import QUICK, SCENARIO

END = 1800.0


class StillClock(SystemClock):
    """It shows what it was set to."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0

    def monotonic(self) -> float:
        return self.time


def told_run(folder: Path) -> tuple[str, list[Event]]:
    """A busy cluster: the recorded run, and what its stream told."""
    stream, path = StreamRecorder("s"), folder / "live.duckdb"
    text = SCENARIO.format(scheduler=QUICK, decisions="all")
    simulate(decode_scenario(text.encode(), "busy.yaml"), record=path, follower=stream)
    stream.close(END)
    return str(path), stream.ring.read(1, 1_000_000).events


async def ask_nobody(question: WhyQuestion) -> dict[str, Any]:
    raise PageError(503, "no_answer", "nobody is there")


def fed(
    events: Sequence[Event], clock: StillClock, end: float | None = END, most_waiting: int = 1 << 30
) -> LiveSources:
    """A history that was told all that, and looks back from the end."""
    history = LiveHistory("https://scheduler:10259", 1e9, clock)
    for start in range(0, len(events), 256):
        history.take("abc", None, None, events[start : start + 256])
    if end is not None:
        clock.time += end - history.now
    return LiveSources(history, clock, ask_nobody, most_waiting)
