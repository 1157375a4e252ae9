"""A clock that stands still until it is told to move.

In: `advance(seconds)` from a test. Out: `now()`, wherever the code under test takes a clock (`now=clock.now`). One of
the two doors that tests replace; nothing in a test ever waits.
"""

from __future__ import annotations


class FakeClock:
    """Seconds since the epoch, as the test wants them."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = float(start)

    def now(self) -> float:
        """What time it is."""
        return self._now

    def advance(self, seconds: float) -> float:
        """Let time pass; returns the new time. Time does not run backwards."""
        if not seconds >= 0:
            raise ValueError(f"a clock can not be advanced by {seconds} seconds")
        self._now += seconds
        return self._now
