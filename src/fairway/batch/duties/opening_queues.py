"""Queues that were paused, drained or closed until a time are open again when it has come.

In: the settings, whose queues may say such a time (`stateUntil`). Out: settings in which those are Open whose time has
come, which the desk changes to by itself, and an event. From what is written and the time alone: whoever comes later
finds such a queue open. A duty of the desk, the first one: others see queues as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from fairway.batch.actions import Action, Tell
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.batch.settings import BatchSettings
from fairway.cluster import Event

__all__ = ["OpeningQueues"]


class ChangingDesk(DutyDesk, Protocol):
    """A desk that may be told otherwise."""

    def change(self, settings: BatchSettings) -> None:
        """Operators say otherwise now."""


class OpeningQueues:
    """Looks at the clock."""

    hears_members, keeps_times = False, True

    def __init__(self, desk: ChangingDesk) -> None:
        self._desk = desk
        self._known: tuple[BatchSettings, float] | None = None  # what `_next` was worked out from
        self._next = math.inf

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """Queues go by what is written and the time."""

    def next_time(self, now: float) -> float:
        """When the first of them opens."""
        settings, epoch = self._desk.settings, self._desk.epoch
        if self._known is None or self._known[0] is not settings or self._known[1] != epoch:
            self._known = settings, epoch
            self._next = min(settings.openings(epoch).values(), default=math.inf)
        return self._next

    @property
    def awaited(self) -> float:
        """When the first of them opens in which somebody waits; infinite: never."""
        if self.next_time(0.0) == math.inf:
            return math.inf
        waiting = {job.queue for job in self._desk.book if job.started is None and not job.is_released}
        openings = self._desk.settings.openings(self._desk.epoch)
        return min((time for name, time in openings.items() if name in waiting), default=math.inf)

    def look(self, now: float) -> Sequence[Action]:
        """Open those whose time has come."""
        if self.next_time(now) > now:
            return ()
        before = self._desk.settings
        self._desk.change(before.as_of(now, self._desk.epoch))
        opened = [name for name, time in before.openings(self._desk.epoch).items() if time <= now]
        return [
            Tell(name, "QueueOpened", f"it was {before.queues[name].state} until now, as was said") for name in opened
        ]
