"""The earliest slot: when enough rows are free for long enough, at the same time.

In: a `FreeTimeline`, the classes of a job's members, how long it runs and when it may start. Out: a `Slot`, or None
where there is none in time. For each class the stretches in which a member fits are joined to openings [begin, end);
openings shorter than the job are dropped; the job may start at t on every row with begin ≤ t and t + duration ≤ end.
The first t with enough of them is found by jumping: as many openings as are missing have to begin first. A start is
always the beginning of some stretch, so no time between has to be looked at. A row with room for several members has
one opening for the first, one for the second, and so on: each level is looked for only where the one before fits, and
only as early as it could still help. Called by `bookings`. Which rows are taken is decided by a `RowChoice`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.plan.row_choice import Candidates, MemberRows, RowChoice
from fairway.plan.timeline import FreeTimeline

__all__ = [
    "AloneNow",
    "MemberClass",
    "Slot",
    "earliest_slot",
    "first_alone",
    "first_start",
    "is_first_alone",
    "slot_now",
]


class MemberClass(msgspec.Struct, frozen=True, eq=False):
    """Members of a job that want the same; a job has one such class or a few."""

    need: NDArray[np.int64]  # (num_columns,), of one member; 0: does not matter, even where less than nothing is free
    count: int = 1
    eligible: NDArray[np.bool_] | None = None  # (num_rows,); None: all rows
    one_per_row: bool = False
    wanted: tuple[tuple[int, int], ...] = ()  # columns of which a member needs any, and how much

    def __post_init__(self) -> None:
        """Few columns matter, and to look at a number is quicker than to look at an array."""
        wanted = tuple((column, amount) for column, amount in enumerate(self.need.tolist()) if amount > 0)
        msgspec.structs.force_setattr(self, "wanted", wanted)


class Slot(NamedTuple):
    """Room for a whole job."""

    start: float
    end: float
    placements: tuple[MemberRows, ...]  # one a class


ALONE: Final = MemberRows(np.zeros(1, np.intp), np.ones(1, np.int64))
"""Where one member is if there is one row. Nobody changes it."""


class _Openings(NamedTuple):
    """Where and when members may be, (num_openings,) each; in every row at most one at a time on each level."""

    begins: NDArray[np.float64]  # (num_openings,)
    ends: NDArray[np.float64]  # (num_openings,)
    rows: NDArray[np.intp]  # (num_openings,)


def earliest_slot(
    timeline: FreeTimeline,
    classes: Sequence[MemberClass],
    duration: float,
    choice: RowChoice,
    not_before: float = -math.inf,
    latest: float = math.inf,
) -> Slot | None:
    """The first slot that starts within [not_before, latest]; mixed jobs are placed class by class, as they stand."""
    start = max(not_before, timeline.origin)
    if len(classes) == 1 and timeline.num_rows == 1 and classes[0].count == 1 and classes[0].eligible is None:
        first = first_alone(timeline, classes[0].need, start, duration)
        return None if first > latest else Slot(first, first + duration, (ALONE,))
    if len(classes) == 1:
        found = first_start(timeline, classes[0], start, duration, latest)
        if found is None:
            return None
        placement = _placed(timeline, classes[0], found[1], found[0], duration, choice)
        return Slot(found[0], found[0] + duration, (placement,))
    while (common := _common_start(timeline, classes, start, duration, latest)) is not None:
        placements = _placed_together(timeline, classes, common, duration, choice)
        if placements is not None:
            return Slot(common, common + duration, placements)
        # One class took what another needed. Whatever changes next may help, also what only changes the choice.
        later = timeline.starts[timeline.starts > common]
        if not len(later):
            return None
        start = float(later.min())
    return None


def first_alone(timeline: FreeTimeline, need: NDArray[np.int64], start: float, duration: float) -> float:
    """The first start of one member where there is one row, infinite if there is none: a machine that is one pool."""
    wanted = need > 0
    amounts = need[wanted, None]
    fits: NDArray[np.bool_] = np.logical_and.reduce(timeline.free[wanted] >= amounts, axis=0)
    taken = np.flatnonzero(~fits)
    if not len(taken):
        return start
    # Between two stretches that do not fit lies an opening, perhaps an empty one.
    begins = np.concatenate(((timeline.origin,), timeline.ends[taken]))
    np.maximum(begins, start, out=begins)
    ends = np.concatenate((timeline.starts[taken], (math.inf,)))
    long = begins + duration <= ends
    long[-1] &= begins[-1] < math.inf
    first = int(long.argmax())
    return float(begins[first]) if long[first] else math.inf


def is_first_alone(timeline: FreeTimeline, members: MemberClass, start: float, end: float, duration: float) -> bool:
    """Has one member that is booked within [start, end) of one row certainly no earlier slot? False: it may have."""
    starts, (column, amount) = timeline.starts, members.wanted[0]
    before = int(starts.searchsorted(start, "left"))  # so many stretches begin earlier
    within = timeline.free[:, int(starts.searchsorted(start, "right")) - 1 : int(starts.searchsorted(end, "left"))]
    if within.min() < 0:
        return False  # others have taken what was booked
    fits = timeline.free[column, :before] >= amount
    if not fits.any():
        return True
    if fits[-1]:
        return False  # it might begin in what is free before, and go on in what is booked
    taken = np.flatnonzero(~fits)
    begins = np.concatenate(((timeline.origin,), timeline.ends[taken[:-1]]))
    return not (begins + duration <= starts[taken]).any()


class AloneNow:
    """What is free of a machine that is one pool, from the first moment on: worked out once for all who ask then."""

    __slots__ = ("_least", "_starts")

    def __init__(self, timeline: FreeTimeline) -> None:
        self._starts: list[float] = timeline.starts.tolist()  # (num_stretches,)
        # (num_columns, num_stretches): what is free until the end of each stretch.
        self._least: list[list[int]] = np.minimum.accumulate(timeline.free, axis=1).tolist()

    def fits(self, members: MemberClass, until: float) -> bool:
        """Is there room for one member until that time?"""
        least = self._least
        for column, amount in members.wanted:
            if least[column][0] < amount:
                return False  # as for most of those who wait
        last = max(bisect_left(self._starts, until) - 1, 0)
        for column, amount in members.wanted:
            if least[column][last] < amount:
                break
        else:
            return True
        return False


def slot_now(
    timeline: FreeTimeline, members: MemberClass, duration: float, choice: RowChoice
) -> tuple[Slot | None, int]:
    """The slot of members at the first moment of the timeline, if there is one; and for how many there is room."""
    now = timeline.origin
    first = timeline.first[:-1]
    fits = np.ones(len(first), np.bool_) if members.eligible is None else members.eligible.copy()
    for column, amount in members.wanted:
        fits &= timeline.free[column, first] >= amount
    candidates = _candidates(timeline, members, fits.nonzero()[0], now, duration)
    room = int(candidates.rooms.sum())
    if room < members.count:
        return None, room
    return Slot(now, now + duration, (choice.choose(candidates),)), room


def _common_start(
    timeline: FreeTimeline, classes: Sequence[MemberClass], start: float, duration: float, latest: float
) -> float | None:
    """The first time from `start` on at which each class, for itself, has enough room."""
    settled = 0  # classes in a row that have nothing against it
    while settled < len(classes):
        for members in classes:
            found = first_start(timeline, members, start, duration, latest)
            if found is None:
                return None
            settled = settled + 1 if found[0] == start else 1
            start = found[0]
    return start


def _placed_together(
    timeline: FreeTimeline, classes: Sequence[MemberClass], start: float, duration: float, choice: RowChoice
) -> tuple[MemberRows, ...] | None:
    """Rows for all classes, one after another; None if one leaves too little to another."""
    placements: list[MemberRows] = []
    taken = []
    try:
        for members in classes:
            found = first_start(timeline, members, start, duration, start)
            if found is None:
                return None
            placement = _placed(timeline, members, found[1], start, duration, choice)
            placements.append(placement)
            amounts = placement.counts[:, None] * members.need
            timeline.take(placement.rows, amounts, start, start + duration)
            taken.append((placement.rows, amounts))
    finally:
        for rows, amounts in taken:
            timeline.give(rows, amounts, start, start + duration)
    return tuple(placements)


def _placed(
    timeline: FreeTimeline,
    members: MemberClass,
    rows: NDArray[np.intp],
    start: float,
    duration: float,
    choice: RowChoice,
) -> MemberRows:
    return choice.choose(_candidates(timeline, members, rows, start, duration))


def _candidates(
    timeline: FreeTimeline, members: MemberClass, rows: NDArray[np.intp], start: float, duration: float
) -> Candidates:
    """Those of the rows that have room, and for how many."""
    least = timeline.least_free(rows, start, start + duration)
    rooms = np.full(len(rows), 1 if members.one_per_row else members.count, np.int64)
    for column, amount in members.wanted:
        np.minimum(rooms, least[:, column] // amount, out=rooms)
    np.maximum(rooms, 0, out=rooms)
    if np.count_nonzero(rooms) < len(rooms):
        kept = rooms > 0
        rows, rooms, least = rows[kept], rooms[kept], least[kept]
    return Candidates(rows, rooms, least, members.need, members.count)


def first_start(
    timeline: FreeTimeline, members: MemberClass, start: float, duration: float, latest: float
) -> tuple[float, NDArray[np.intp]] | None:
    """The first time within [start, latest] at which there is room for all members, and the rows that have some."""
    fits = timeline.ends > start if start > timeline.origin else np.ones(len(timeline.ends), np.bool_)
    if members.eligible is not None:
        fits &= members.eligible[timeline.rows]
    for column, amount in members.wanted:
        fits &= timeline.free[column] >= amount
    where = fits.nonzero()[0]
    first = openings = _openings(timeline, where, start, duration, latest)
    found = _common_opening(openings, members.count, start, duration)
    level = 2
    while not members.one_per_row and level <= members.count and found != start:
        # What begins after a start that is known does not help to find an earlier one.
        bound = latest if found is None else found
        where = where[timeline.starts[where] < bound + duration]
        for column, amount in members.wanted:
            where = where[timeline.free[column, where] >= level * amount]
        more = _openings(timeline, where, start, duration, bound)
        if not len(more.begins):
            break
        openings = _Openings(
            np.concatenate((openings.begins, more.begins)),
            np.concatenate((openings.ends, more.ends)),
            np.concatenate((openings.rows, more.rows)),
        )
        earlier = _common_opening(openings, members.count, start, duration)
        found = earlier if earlier is not None else found
        level += 1
    if found is None:
        return None
    return found, first.rows[(first.begins <= found) & (first.ends >= found + duration)]


def _openings(
    timeline: FreeTimeline, where: NDArray[np.intp], start: float, duration: float, latest: float
) -> _Openings:
    """Runs of stretches, of those that fit, that are long enough from `start` on and begin until `latest`."""
    if not len(where):
        return _Openings(np.empty(0), np.empty(0), where)
    rows = timeline.rows[where]
    breaks = ((where[1:] != where[:-1] + 1) | (rows[1:] != rows[:-1])).nonzero()[0]  # those before them are the last
    run_begins = np.zeros(len(breaks) + 1, np.intp)
    run_begins[1:] = breaks
    run_begins[1:] += 1
    begins = np.maximum(timeline.starts[where[run_begins]], start)
    ends = np.empty(len(begins))
    ends[:-1] = timeline.ends[where[breaks]]
    ends[-1] = timeline.ends[where[-1]]
    kept = (begins + duration <= ends) & (begins <= latest)
    return _Openings(begins[kept], ends[kept], rows[run_begins[kept]])


def _common_opening(openings: _Openings, count: int, start: float, duration: float) -> float | None:
    """The first time at which so many openings have begun and last for long enough."""
    begins, ends, _ = openings
    if len(begins) < count:
        return None
    # No start is earlier than when the last one that is needed begins, and mostly that is it.
    nearest = begins.copy()
    nearest.partition(count - 1)
    start = max(start, float(nearest[count - 1]))
    if np.count_nonzero((begins <= start) & (ends >= start + duration)) >= count:
        return start
    kept = ends >= start + duration
    begins, ends = np.sort(begins[kept]), np.sort(ends[kept])
    while True:
        begun = int(begins.searchsorted(start, "right"))
        # An opening that ends before start + duration has begun, for it is longer than the job.
        missing = count - begun + int(ends.searchsorted(start + duration, "left"))
        if missing <= 0:
            return start
        if begun + missing > len(begins):
            return None
        start = float(begins[begun + missing - 1])
