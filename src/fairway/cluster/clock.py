"""The clock that plugins see: the real time or a simulated one, standing still within each plugin's step.

In: the time, from whoever drives the scheduler (`advance`), and the steps in which plugins want to see it move
(`follow`, whole seconds). Out: what time it is for such a plugin (`now`), and, whenever a step of any of them is over,
a count of `Aspect.TIME`, which makes caches ask again, and a `Change`, which wakes pods that a plugin refused. Between
two steps nobody can see time pass, so an answer that was remembered is the answer one would get. Kept by `Cluster`.
"""

from __future__ import annotations

import datetime as dt
from typing import Final

from fairway.cluster.aspects import Aspect, Versions
from fairway.cluster.events import Action, Change, ClusterEvent, Resource
from fairway.model.meta import EPOCH

__all__ = ["TIME_PASSED", "ClusterClock"]

TIME_PASSED: Final = ClusterEvent(Resource.TIME, Action.UPDATE)
"""What happens when a step is over; the objects of the `Change` are the times before and after."""


class ClusterClock:
    """What time it is, as far as plugins can see."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self._seconds = EPOCH.timestamp()  # since 1970
        self._steps: tuple[int, ...] = ()
        self._is_kept = False
        self.start = 0.0  # what the time of day was when the scheduler's own clock showed 0, in seconds since 1970

    @property
    def is_read(self) -> bool:
        """Does any plugin go by it?"""
        return bool(self._steps) or self._is_kept

    @property
    def seconds(self) -> float:
        """The time to the instant, since 1970, for those that `keep` it; nobody is woken when it passes."""
        return self._seconds

    def keep(self) -> None:
        """Somebody reads `seconds`. For what is never part of an answer that is remembered."""
        self._is_kept = True

    def follow(self, step: int) -> None:
        """Somebody wants to see it move in steps of so many seconds."""
        self._steps = tuple(sorted({*self._steps, step}))

    def now(self, step: int) -> dt.datetime:
        """The beginning of the current step; steps are counted from midnight UTC of 1 January 1970."""
        return _moment(_begun(self._seconds, step))

    def advance(self, seconds: float) -> Change | None:
        """It is so many seconds after 1970; what that means to waiting pods, if a step is over."""
        before, self._seconds = self._seconds, seconds
        if all(_begun(before, step) == _begun(seconds, step) for step in self._steps):
            return None
        self._versions.bump(Aspect.TIME)
        return Change(TIME_PASSED, _moment(before), _moment(seconds))

    def next_step(self, start: float = 0.0) -> float | None:
        """When the next step of anybody begins, in seconds since `start`; None if nobody goes by the clock."""
        return min((_begun(self._seconds, step) + step - start for step in self._steps), default=None)


def _begun(seconds: float, step: int) -> int:
    return int(seconds // step) * step


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
