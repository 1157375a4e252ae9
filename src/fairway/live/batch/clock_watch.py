"""Is the machine's clock set while queues are served? Operators are told: jobs do not feel it, windows do.

In: looks, a few a second. Out: words if the time of day went another way than the counter that only moves forward, by
more than a few seconds since the look before; and by how much the time of day is ahead of the desk's (`offset`), to the
second, however slowly it came to that. Called by `batch_service`, which tells them of each queue.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fairway.batch.steady_clock import SteadyClock
from fairway.live.api.clock import Clock
from fairway.words import length_text

__all__ = ["ClockWatch"]

APART: Final = 1.0
"""So many seconds more or less than before are worth following."""


class ClockWatch:
    """Compares a machine's two clocks."""

    def __init__(self, clock: Clock, now: Callable[[], float]) -> None:
        """`now`: the time of desks, which goes on by the counter."""
        self._clock = clock
        self._now = now
        self._steady = SteadyClock.begun(clock.now(), clock.monotonic())
        self.offset = 0.0  # whole seconds: moments that are written down come back as they were

    def look(self) -> str:
        """What to tell; "": nothing."""
        wall = self._clock.now()
        apart = wall - self._now()
        if abs(apart - self.offset) >= APART:
            self.offset = float(round(apart))
        step = self._steady.read(wall, self._clock.monotonic()).step
        if not step:
            return ""
        way = "forward" if step > 0 else "back"
        return (
            f"the clock of the scheduler's machine was set {way} by {length_text(abs(step))}: what jobs have used and "
            "their limits go on by the time that passes; windows, reservations and periods follow the clock"
        )
