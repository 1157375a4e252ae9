"""A pass over a recorded case that goes about it as Slurm's backfill does: which times it tries, and when it gives up.

In: a `CaseRoom`. Out: who starts at once and who is booked a slot (`BackfillPass`). The earliest slot of a job is
Slurm's too wherever Slurm finds one; what differs is that it looks for it step by step, and sometimes stops. For each
job a time is tried: the nodes that no booking and no window takes within the job's length from then on; when these are
free of those who run; and, if that is too late, the next time at which a booking that the job met gives nodes back.
If there is none the job is given up: it has no slot in this pass, and those behind it are planned as if it were not
there. Where several queues are planned in one pass, the bookings of others cut time into shorter pieces, and a job
sees less far beyond its own length (`SIGHT`); so more are given up.

So does sched/backfill of Slurm 22.05, but for one thing: here no slot is booked across a window. Called by
`planned_case` for the plan of a whole case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairway.plan import Calendar, Slot, WaitingJob, ready_time
from fairway.plan.bookings import HORIZON

if TYPE_CHECKING:
    from fairway.conformance.slurm.planned_case import CaseRoom

__all__ = ["BackfillPass", "run_backfill"]

SIGHT: Final = {"alone": math.inf, "many": 3600.0}
"""How far beyond its own length a job sees bookings that end, by the setting of a case, in seconds. Among some ten
queues it is the distance of two bookings of anybody: minutes where many are, hours where few are."""


class _Piece(NamedTuple):
    """A time within which bookings do not change."""

    start: float
    end: float
    open: NDArray[np.bool_]  # (num_nodes,): no booking takes it


@dataclass(slots=True)
class BackfillPass:
    """What came of a pass."""

    started: dict[str, Slot] = field(default_factory=dict)
    booked: dict[str, Slot] = field(default_factory=dict)  # from nothing in each pass: the last one's


def run_backfill(room: CaseRoom, jobs: list[WaitingJob], depth: float) -> BackfillPass:
    """Passes until nobody starts any more, as a job may wait for another one's start; at most `depth` bookings."""
    running = room.calendar(is_closed=False)
    outcome = BackfillPass()
    while _run_pass(room, running, jobs, depth, outcome):
        pass
    return outcome


def _run_pass(room: CaseRoom, running: Calendar, jobs: list[WaitingJob], depth: float, outcome: BackfillPass) -> bool:
    """Has anybody started?"""
    now, has_started = running.now, False
    outcome.booked = {}
    for job in jobs:
        times = room.times | {key: (slot.start, slot.end) for key, slot in outcome.started.items()}
        ready = ready_time(job, times)
        if job.key in outcome.started or ready is None or ready > now:
            continue
        slot = _Search(room, running, job, _pieces(room, now, list(outcome.booked.values()))).slot()
        if slot is not None and slot.start <= now:
            running.start(job, slot)
            outcome.started[job.key] = slot
            has_started = True
        elif slot is not None and len(outcome.booked) < depth:
            outcome.booked[job.key] = slot
    return has_started


def _pieces(room: CaseRoom, now: float, booked: list[Slot]) -> list[_Piece]:
    """Time as bookings cut it, up to the horizon."""
    borders = sorted({now, *(slot.start for slot in booked), *(slot.end for slot in booked)})
    pieces: list[_Piece] = []
    for start, end in pairwise([*borders, now + HORIZON]):
        is_open = np.ones(len(room.names), np.bool_)
        for slot in booked:
            if slot.start <= start < slot.end:
                is_open[slot.placements[0].rows] = False
        if pieces and np.array_equal(pieces[-1].open, is_open):
            pieces[-1] = pieces[-1]._replace(end=end)
        else:
            pieces.append(_Piece(start, end, is_open))
    return pieces


class _Search:
    """The slot of one job."""

    def __init__(self, room: CaseRoom, running: Calendar, job: WaitingJob, pieces: list[_Piece]) -> None:
        self.room, self.running, self.job, self.pieces = room, running, job, pieces
        (self.members,) = job.classes
        self.sight = SIGHT[room.case.setting]

    def slot(self) -> Slot | None:
        """The first that is found; None: given up."""
        tried: float | None = self.running.now
        while tried is not None:
            rows, later = self._rows(tried)
            found = None
            if np.count_nonzero(rows) >= self.members.count:
                found = self.running.search(replace(self.job, classes=(replace(self.members, eligible=rows),)))
            if found is not None:
                start = max(found.start, tried)
                if start > self.running.now + HORIZON:
                    return None
                if later is None or start <= later:
                    slot = Slot(start, start + self.job.duration, found.placements)
                    if self._is_open(slot):
                        return slot
                    later = start  # who runs was not known to be there so long: all again, from then on
            tried = later
        return None

    def _rows(self, tried: float) -> tuple[NDArray[np.bool_], float | None]:
        """The nodes that are open for the whole job, were it to start then; and the next time to try."""
        end = tried + self.job.duration
        rows, later = self.room.is_up.copy(), None
        closed = [window for window in self.room.case.windows if tried <= window.end and window.start < end]
        for window in closed:
            rows[self.room.rows_of(window.on)] = False
        outside = rows.copy()  # of windows
        for piece, following in pairwise([*self.pieces, None]):
            assert piece is not None
            if piece.end <= tried:
                continue
            if later is None and following is not None and piece.end <= end + self.sight:
                gives_back = outside & following.open & ~(rows & piece.open)
                later = piece.end if gives_back.any() else None
            if piece.start > end:
                break
            rows &= piece.open
        if closed:
            ends = [window.end + 1.0 for window in self.room.case.windows if tried <= window.end]
            later = min(*ends, math.inf if later is None else later)
        return rows, later

    def _is_open(self, slot: Slot) -> bool:
        """Do no booking and no window take its nodes?"""
        rows = slot.placements[0].rows
        for piece in self.pieces:
            if slot.start < piece.end and piece.start < slot.end and not piece.open[rows].all():
                return False
        return not any(
            slot.start < window.end and window.start < slot.end and np.isin(rows, self.room.rows_of(window.on)).any()
            for window in self.room.case.windows
        )
