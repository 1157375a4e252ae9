"""A time that never goes back and never jumps, for what jobs use; and whether the clock on the wall did.

In: two readings at each tick, the time of day and a counter that only moves forward. Out: a `ClockReading`: the time of
day as it was when the process began, plus what has passed since. Intervals and deadlines go by it, so no interval is
negative and nobody loses time because a clock was set. Windows and reservations go by the time of day. Called by the
live world; a simulation has one clock, which is both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

__all__ = ["STEP", "ClockReading", "SteadyClock"]

STEP: Final = 5.0
"""Seconds between the two clocks within one tick from which on somebody should be told."""


class ClockReading(NamedTuple):
    """What time it is."""

    steady: float
    wall: float
    step: float = 0.0  # by how much the clock on the wall was set since the last tick; 0: by nothing worth telling


@dataclass(slots=True)
class SteadyClock:
    """Follows both clocks from tick to tick; begins with their first readings."""

    wall: float
    monotonic: float
    steady: float

    @classmethod
    def begun(cls, wall: float, monotonic: float, last_known: float = float("-inf")) -> SteadyClock:
        """Begin; not before the last instant that was written down by whoever was here before."""
        return cls(wall, monotonic, max(wall, last_known))

    def read(self, wall: float, monotonic: float) -> ClockReading:
        """One tick: what has passed by the counter has passed."""
        passed = max(monotonic - self.monotonic, 0.0)
        step = (wall - self.wall) - passed
        self.wall, self.monotonic, self.steady = wall, monotonic, self.steady + passed
        return ClockReading(self.steady, wall, step if abs(step) > STEP else 0.0)
