"""A waiting job, as the plan sees it: what its members need, for how long, and what has to be before it.

In: amounts, limits and wishes of a job. Out: a `WaitingJob`, which a `Calendar` finds room for. Made by the desk, by
answers about runs and by cases of conformance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairway.plan.allowances import Share
from fairway.plan.entrances import Entrance
from fairway.plan.slots import MemberClass, Slot

__all__ = ["WHOLE", "Dependency", "WaitingJob", "member_need", "only_at", "ready_time"]

WHOLE: Final = 1 << 40
"""A row's access while nobody is there. Millions of windows over one another stay far from what a number can hold."""


class Dependency(NamedTuple):
    """Another job that has to have started, or ended, before this one."""

    key: str
    on_end: bool  # it has to have ended; else: started


class WaitingJob(msgspec.Struct, frozen=True, eq=False):
    """A job as the plan sees it."""

    key: str
    classes: tuple[MemberClass, ...]  # largest first: that is how they are placed
    duration: float  # its limit; infinite: it never ends by itself
    queue: str = ""
    begin: float = -math.inf
    after: tuple[Dependency, ...] = ()
    domains: tuple[NDArray[np.bool_], ...] = ()  # (num_rows,) each: all members within one of them; empty: anywhere
    shares: tuple[Share, ...] = ()  # of allowances, beside its rows
    entrances: tuple[Entrance, ...] = ()  # closings that are none for it
    is_simple: bool = False  # one class, and nothing but rows; found out by itself
    is_one: bool = False  # simple, and one member, on whatever row

    def __post_init__(self) -> None:
        """Asked of every job in every pass."""
        is_simple = len(self.classes) == 1 and not (self.domains or self.shares or self.entrances)
        is_one = is_simple and self.classes[0].count == 1 and self.classes[0].eligible is None
        msgspec.structs.force_setattr(self, "is_simple", is_simple)
        msgspec.structs.force_setattr(self, "is_one", is_one)


def member_need(amounts: Sequence[int] | NDArray[np.int64], *, exclusive: bool = False) -> NDArray[np.int64]:
    """What a member needs: these amounts, and access."""
    return np.append(np.asarray(amounts, np.int64), WHOLE if exclusive else 1)


def only_at(job: WaitingJob, slot: Slot, num_rows: int) -> WaitingJob | None:
    """The job, if it could be on no other rows than those of a slot; None: its members are others by now."""
    if [int(placement.counts.sum()) for placement in slot.placements] != [each.count for each in job.classes]:
        return None
    pieces = []
    for members, (rows, counts) in zip(job.classes, slot.placements, strict=True):
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            there = np.zeros(num_rows, np.bool_)
            there[row] = members.eligible is None or members.eligible[row]
            pieces.append(replace(members, count=count, eligible=there))
    return replace(job, classes=tuple(pieces))


def ready_time(job: WaitingJob, ends: Mapping[str, tuple[float, float]]) -> float | None:
    """When a job may start, given when others start and end; None if that of one it waits for is not known."""
    ready = job.begin
    for dependency in job.after:
        times = ends.get(dependency.key)
        if times is None:
            return None
        ready = max(ready, times[dependency.on_end])
    return ready
