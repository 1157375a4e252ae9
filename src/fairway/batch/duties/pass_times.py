"""When the desk has to look though nothing happens, and whether it has to plan then.

In: who waited in the last pass, what was promised, the duties. Out: the next time at which a pass is wanted
(`next_time`), and whether somebody's turn may have come by then (`is_awaited`): what is only written down, or only
told to people, is no reason to go through all who wait. Kept by the desk.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from fairway.batch.duties.duty import Duty, DutyDesk
from fairway.batch.job import BatchJob

__all__ = ["PassDemand", "PassTimes"]


class PassDemand:
    """Is a pass wanted, and why?"""

    num_heard = 0  # things that happened and may concern jobs
    has_happened = False  # something that a pass has to look at
    is_time = False  # the time has come that the desk asked for

    @property
    def is_due(self) -> bool:
        """Is there anything that a pass has to look at?"""
        return self.has_happened or self.is_time

    @is_due.setter
    def is_due(self, is_due: bool) -> None:
        self.has_happened = is_due
        self.is_time = self.is_time and is_due


class PassTimes:
    """The times of one desk."""

    def __init__(self, desk: DutyDesk, duties: Sequence[Duty], clerks: Collection[Duty]) -> None:
        """`clerks`: those of the duties that change nothing by their time alone but what is written and told."""
        self._desk = desk
        self._duties = [duty for duty in duties if duty.keeps_times]
        self._planning = [duty for duty in self._duties if duty not in clerks]
        self._next: float | None = None  # when somebody's time comes; None: never
        self.num_waiting = 0  # in the last pass, for whatever

    def next_time(self) -> float | None:
        """When a pass has to be run without anything happening; None: never."""
        now = self._desk.world.now()
        times = [duty.next_time(now) for duty in self._duties]
        first = min([*times, math.inf if self._next is None else self._next])
        return None if first == math.inf else first

    def is_awaited(self, now: float) -> bool:
        """Does anybody's turn come with the time?"""
        return (
            (self._next is not None and self._next <= now)
            or (self.num_waiting > 0 and self._desk.order.changes_with_time)
            or any(duty.next_time(now) <= now for duty in self._planning)
        )

    def note(self, num_waiting: int, waiting: Sequence[BatchJob], now: float, *, has_vain: bool) -> None:
        """A pass is over: a promise comes due, a beginning, somebody who overstays; or the next look at all.

        `waiting`: those of so many who have times of their own, or may have.
        """
        desk = self._desk
        times = [promise.slot.start for promise in desk.machine.calendar.promises.values()]
        times += [time for job in waiting for time in job.own_times]
        if num_waiting and (desk.order.changes_with_time or has_vain):
            times.append(now + desk.settings.interval)
        later = [time for time in times if time > now and math.isfinite(time)]
        self._next, self.num_waiting = min(later) if later else None, num_waiting
