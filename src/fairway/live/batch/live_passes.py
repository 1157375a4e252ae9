"""Passes and forecasts of a live desk, some milliseconds at a time: nobody else waits for them longer than that.

In: the service, which asks between two slices of deciding (`look`), and a `LiveDesk`. Out: a slice of work, and in how
many seconds to look again. A pass comes at most once a second, goes before a forecast that is under way, and is not
left alone for so long that limits would be late: what has to be looked after is looked after meanwhile. Kept by
`batch_service`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from fairway.live.api.clock import Clock
from fairway.live.batch.live_desk import LiveDesk
from fairway.plan import PassOutcome, Steps

__all__ = ["LivePasses"]

PASS_SECONDS: Final = 1.0  # the least between two passes
SLICE_SECONDS: Final = 0.004  # of a pass, until decisions and events get their turn; one search is not cut


class LivePasses:
    """What a desk works out, in slices."""

    def __init__(self, live: LiveDesk, clock: Clock, slice_seconds: float = SLICE_SECONDS) -> None:
        self._live = live
        self._clock = clock
        self._slice_seconds = slice_seconds
        self._pass: Steps[PassOutcome | None] | None = None
        self._forecast: Steps[None] | None = None
        self._passed_at = self._looked_after_at = -math.inf
        self._seconds = 0.0  # that the pass under way has taken by now
        self.on_pass: Callable[[float, PassOutcome | None], None] = lambda seconds, outcome: None

    @property
    def may_decide(self) -> bool:
        """May anybody be placed now? Not while promises are taken out of the calendar."""
        return not self._live.desk.machine.calendar.lacks_promises

    def look(self) -> float | None:
        """Work for some milliseconds if it is time; in how many seconds to look again, None: when something happens."""
        desk, monotonic = self._live.desk, self._clock.monotonic
        begun = monotonic()
        rest = self._passed_at + PASS_SECONDS - begun
        if self._pass is None and rest <= 0 and (desk.is_due or self._is_time()):
            desk.is_due = True
            self._pass, self._seconds, self._looked_after_at = desk.pass_steps(), 0.0, begun
        if self._pass is None and self._forecast is None and rest <= 0 and desk.forecasts.is_due:
            self._forecast = desk.forecasts.steps()
        if self._pass is not None:
            if begun >= self._looked_after_at + PASS_SECONDS and self._is_time():
                self._looked_after_at = begun
                desk.look_after(self._live.now())
            end = self._work(self._pass, begun)
            self._seconds += monotonic() - begun
            if end is not None:
                self._pass, self._passed_at = None, monotonic()
                self.on_pass(self._seconds, end.value)
        elif self._forecast is not None and self._work(self._forecast, begun) is not None:
            self._forecast = None
        if self._pass is not None or self._forecast is not None:
            return 0.0
        return self._next_look()

    def _work(self, steps: Steps[Any], begun: float) -> StopIteration | None:
        """Take steps until the slice is over; their end, if all of them are taken."""
        end = begun + self._slice_seconds
        while True:
            try:
                next(steps)
            except StopIteration as over:
                return over
            if self._clock.monotonic() >= end:
                return None

    def _is_time(self) -> bool:
        """Has the time come that the desk asked for? What is due it wants now: the clock is to be read after that."""
        time = self._live.desk.next_time()
        return time is not None and time <= self._live.now()

    def _next_look(self) -> float | None:
        desk, now = self._live.desk, self._live.now()
        rest = max(self._passed_at + PASS_SECONDS - self._clock.monotonic(), 0.0)
        if desk.is_due:
            return rest
        times = [time for time in (desk.next_time(), desk.forecasts.next_time()) if time is not None]
        return max(min(times) - now, rest, 0.01) if times else None

    def give_up(self) -> None:
        """What is under way is worth nothing any more; promises that were taken out are put back first."""
        for steps in (self._pass, self._forecast):
            if steps is not None:
                while steps is self._pass and not self.may_decide and self._work(steps, -math.inf) is None:
                    pass
                steps.close()
        if self._pass is not None:
            self._live.desk.is_due = True
        self._pass = self._forecast = None
