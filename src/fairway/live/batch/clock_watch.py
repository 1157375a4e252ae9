"""Is the machine's clock set while queues are served? Operators are told: jobs do not feel it, windows do.

In: looks, a few a second. Out: words if the time of day went another way than the counter that only moves forward, by
more than a few seconds since the look before. Called by `batch_service`, which tells them of each queue.
"""

from __future__ import annotations

from fairway.batch.steady_clock import SteadyClock
from fairway.live.api.clock import Clock
from fairway.words import length_text

__all__ = ["ClockWatch"]


class ClockWatch:
    """Compares a machine's two clocks."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._steady = SteadyClock.begun(clock.now(), clock.monotonic())

    def look(self) -> str:
        """What to tell; "": nothing."""
        step = self._steady.read(self._clock.now(), self._clock.monotonic()).step
        if not step:
            return ""
        way = "forward" if step > 0 else "back"
        return (
            f"the clock of the scheduler's machine was set {way} by {length_text(abs(step))}: what jobs have used and "
            "their limits go on by the time that passes; windows and reservations too, until the scheduler is restarted"
        )
