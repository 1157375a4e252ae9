"""How far a Job has got: counts, indexes and back-off, but no pods that have ended.

In: pods that succeeded or failed. Out: the numbers that decide what the Job controller does next, and the Job's
status. A Job of a hundred thousand pods is two numbers and, if it is indexed, the set of indexes that succeeded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from fairway.model import Pod
from fairway.model.owned import COMPLETION_INDEX
from fairway.sim.controllers.reconciler import Owned
from fairway.sim.controllers.settings import ControllerSettings

__all__ = ["Ending", "Failures", "JobProgress", "index_of", "intervals", "parse_intervals"]


class Ending(NamedTuple):
    """How the job ends, once that is decided on."""

    reason: str
    message: str
    is_success: bool = False


class Failures:
    """Failures in a row, and when the last one was."""

    __slots__ = ("counted", "last", "number")

    def __init__(self) -> None:
        self.number = 0
        self.counted = 0  # of them, those that no policy ignores
        self.last = 0.0

    def add(self, time: float, *, is_counted: bool) -> None:
        """One more."""
        self.number += 1
        self.counted += is_counted
        self.last = time

    def until(self, settings: ControllerSettings) -> float:
        """When the next attempt may begin."""
        if not self.number:
            return 0.0
        wait = settings.job_backoff * 2.0 ** min(self.number - 1, 60)
        return self.last + min(wait, settings.job_backoff_limit)


class JobProgress(Owned):
    """A Job, its living pods, and what became of the others."""

    __slots__ = (
        "busy",
        "counted",
        "cursor",
        "dismissed",
        "ending",
        "failed",
        "failed_indexes",
        "failures",
        "finished_at",
        "index_failures",
        "started",
        "succeeded",
        "succeeded_indexes",
    )

    def __init__(self, uid: str) -> None:
        super().__init__(uid)
        self.succeeded = 0
        self.failed = 0
        self.failures = Failures()  # since the last success
        self.started: float | None = None
        self.finished_at: float | None = None
        self.ending: Ending | None = None
        self.counted: set[str] = set()  # pods on their way out that count as failed already
        self.dismissed: set[str] = set()  # pods on their way out because the controller wants it
        self.busy: dict[int, str] = {}  # index -> pod that works on it
        self.cursor = 0  # no index below it is pending
        self.succeeded_indexes: set[int] = set()
        self.failed_indexes: set[int] = set()
        self.index_failures: dict[int, Failures] = {}

    def occupy(self, pod: Pod) -> None:
        """The pod works on its index."""
        index = index_of(pod)
        if index is not None:
            self.busy[index] = pod.metadata.uid

    def release(self, pod: Pod) -> None:
        """The pod does not work on its index any more."""
        index = index_of(pod)
        if index is not None and self.busy.get(index) == pod.metadata.uid:
            del self.busy[index]
            self.cursor = min(self.cursor, index)

    def pending_indexes(self, completions: int) -> Iterator[int]:
        """The indexes nobody works on, the lowest first."""
        is_first = True
        for index in range(self.cursor, completions):
            if index not in self.busy and index not in self.succeeded_indexes and index not in self.failed_indexes:
                if is_first:
                    self.cursor, is_first = index, False
                yield index


def index_of(pod: Pod) -> int | None:
    """The pod's index, if it has one."""
    text = pod.metadata.annotations.get(COMPLETION_INDEX, "")
    return int(text) if text.isdigit() and text.isascii() else None


def intervals(indexes: Collection[int]) -> str:
    """Indexes as a Job's status says them: `0-3,7`."""
    parts: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if parts and parts[-1][1] == index - 1:
            parts[-1] = (parts[-1][0], index)
        else:
            parts.append((index, index))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts)


def parse_intervals(text: str) -> Iterator[int]:
    """The way back; what is no interval is passed over."""
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            yield from range(int(first), int(last or first) + 1)
