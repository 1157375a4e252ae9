"""The rules of `fairway.plan` said again, slowly and one row at a time, to compare with.

A `Taking` takes amounts of one row within a time; what is free at a time is the capacity less all that is taken then.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.plan import FreeTimeline


class Taking(NamedTuple):
    row: int
    amounts: tuple[int, ...]
    start: float
    end: float


class Want(NamedTuple):
    need: tuple[int, ...]
    members: int
    eligible: tuple[bool, ...]
    one_per_row: bool = False


def free_of(capacity: Sequence[int], takings: Iterable[Taking], row: int, time: float) -> tuple[int, ...]:
    taken = [taking.amounts for taking in takings if taking.row == row and taking.start <= time < taking.end]
    return tuple(amount - sum(one[column] for one in taken) for column, amount in enumerate(capacity))


def stretches(
    capacity: NDArray[np.int64], takings: Sequence[Taking], origin: float
) -> list[tuple[int, float, float, tuple[int, ...]]]:
    """All stretches from nothing: row, start, end, free; neighbours that are equal are one."""
    found: list[tuple[int, float, float, tuple[int, ...]]] = []
    for row, amounts in enumerate(capacity.tolist()):
        points = {time for taking in takings if taking.row == row for time in (taking.start, taking.end)}
        times = [origin, *sorted(time for time in points if origin < time < math.inf)]
        for start, end in zip(times, [*times[1:], math.inf], strict=True):
            free = free_of(amounts, takings, row, start)
            if found and found[-1][0] == row and found[-1][3] == free:
                found[-1] = (row, found[-1][1], end, free)
            else:
                found.append((row, start, end, free))
    return found


def told(timeline: FreeTimeline) -> list[tuple[int, float, float, tuple[int, ...]]]:
    """The columns of a timeline in the same form."""
    columns = (timeline.rows.tolist(), timeline.starts.tolist(), timeline.ends.tolist(), timeline.free.T.tolist())
    return [(row, start, end, tuple(free)) for row, start, end, free in zip(*columns, strict=True)]


def rooms_at(
    capacity: NDArray[np.int64], takings: Sequence[Taking], want: Want, start: float, duration: float
) -> list[int]:
    """How many members each row has room for, all the time from `start` on."""
    rooms = []
    for row, amounts in enumerate(capacity.tolist()):
        times = [start, *(taking.start for taking in takings if start < taking.start < start + duration)]
        free = [free_of(amounts, takings, row, time) for time in times]
        room = want.members if want.eligible[row] else 0
        for column, need in enumerate(want.need):
            if need > 0:
                room = min(room, *(max(one[column], 0) // need for one in free))
        rooms.append(min(room, 1) if want.one_per_row else room)
    return rooms


def earliest_start(
    capacity: NDArray[np.int64], takings: Sequence[Taking], want: Want, duration: float, not_before: float
) -> float | None:
    """The first change point at which all members fit."""
    points = {time for taking in takings for time in (taking.start, taking.end) if not_before < time < math.inf}
    for start in (not_before, *sorted(points)):
        if sum(rooms_at(capacity, takings, want, start, duration)) >= want.members:
            return start
    return None
