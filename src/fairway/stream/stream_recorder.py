"""A recorder that tells a stream in the process that it is in: both ends in one, for simulations.

In: the calls of a recorder, in order of time. Out: events in a `Ring` (`telling`). A simulated API server binds before
the attempt is told that asked for it: such a `bound` waits for its attempt, or for that of the whole job. Used by
`paced`, and by tests and benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairway.cycle import Spent
from fairway.stream.noting import Note, NoteTaker
from fairway.stream.ring import Ring
from fairway.stream.telling import Teller
from fairway.stream.told import Event

__all__ = ["StreamRecorder"]

UID, PART = 2, -1
"""Where a note about a pod has its uid, and one of an attempt what it is within that for a job."""


class StreamRecorder(NoteTaker):
    """A recorder that tells everything."""

    def __init__(self, stream_id: str, ring: Ring[Event] | None = None) -> None:
        super().__init__(self._take)
        self.teller = Teller(stream_id, ring)
        self.is_timed = False  # of each attempt is told right after it what its plugins took
        self._attempt: list[Note] = []  # one that waits for that, or those of a job and then the job's
        self._outcome: list[Note] = []  # what came of it
        self._is_open = False  # is it one of a job that has not been told to its end?
        self._bound: dict[str, Note] = {}  # by uid: those that may have come before their attempt

    @property
    def stream_id(self) -> str:
        """Of this process and no other."""
        return self.teller.stream_id

    @property
    def ring(self) -> Ring[Event]:
        """The latest events."""
        return self.teller.ring

    def snapshot(self) -> tuple[int, list[Event]]:
        """How things stand, and the number of the event that comes next."""
        return self.teller.snapshot()

    def plugin_times(self, t: float, scheduler: str, times: Iterable[Spent], *, is_of_attempt: bool = True) -> None:
        """What plugins used in the attempt that was told last."""
        if is_of_attempt and self._attempt:
            place = -2 if self._attempt[-1][0] == "job_tried" else -1
            self._attempt[place] = (*self._attempt[place], times)
            self._tell_attempt()

    def close(self, t_end: float) -> None:
        """The run is over."""
        self._tell_all()

    def _take(self, note: Note) -> None:
        name = note[0]
        if name in ("placed", "failed", "job_tried"):
            self._take_attempt(note)
        elif name == "bound":
            self._tell_attempt()
            self._bound.setdefault(note[UID], note)
        else:
            self._tell_all()
            self.teller.take(note)

    def _take_attempt(self, note: Note) -> None:
        name, was_open = note[0], self._is_open
        if not was_open:
            self._tell_attempt()
        self._is_open = name != "job_tried" and note[PART] != ""
        bound = self._bound.pop(note[UID], None) if name == "placed" else None
        if bound is not None:
            self._outcome.append(bound)
        elif not (was_open or self._is_open):
            self._tell_bound()
        self._attempt.append(note)
        if not (self._is_open or self.is_timed):
            self._tell_attempt()

    def _tell_attempt(self) -> None:
        waiting, self._attempt, self._outcome = [*self._attempt, *self._outcome], [], []
        for note in waiting:
            self.teller.take(note)

    def _tell_bound(self) -> None:
        waiting, self._bound = self._bound, {}
        for note in waiting.values():
            self.teller.take(note)

    def _tell_all(self) -> None:
        self._tell_attempt()
        self._tell_bound()
