"""A waiting job, as the plan sees it: what its members need, for how long, and what has to be before it.

In: amounts, limits and wishes of a job. Out: a `WaitingJob`, which a `Calendar` finds room for. Made by the desk, by
answers about runs and by cases of conformance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.plan.allowances import Share
from fairway.plan.entrances import Entrance
from fairway.plan.slots import MemberClass

__all__ = ["WHOLE", "Dependency", "WaitingJob", "member_need", "ready_time"]

WHOLE: Final = 1 << 40
"""A row's access while nobody is there. Millions of windows over one another stay far from what a number can hold."""


class Dependency(NamedTuple):
    """Another job that has to have started, or ended, before this one."""

    key: str
    on_end: bool  # it has to have ended; else: started


@dataclass(frozen=True, slots=True, eq=False)
class WaitingJob:
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


def member_need(amounts: Sequence[int] | NDArray[np.int64], *, exclusive: bool = False) -> NDArray[np.int64]:
    """What a member needs: these amounts, and access."""
    return np.append(np.asarray(amounts, np.int64), WHOLE if exclusive else 1)


def ready_time(job: WaitingJob, ends: Mapping[str, tuple[float, float]]) -> float | None:
    """When a job may start, given when others start and end; None if that of one it waits for is not known."""
    ready = job.begin
    for dependency in job.after:
        times = ends.get(dependency.key)
        if times is None:
            return None
        ready = max(ready, times[dependency.on_end])
    return ready
