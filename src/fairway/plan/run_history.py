"""How long jobs run: a prediction from what jobs like them used of their limits.

In: every job that ended (`add`: whose, in which queue, its limit, how long it ran), in the order of their ends. Out: a
prediction of a run time (`predict`), and of what is left of one that has begun (`seconds_left`). People ask for far
more time than they need, and each of them for about as much too much as the last time; so a limit times the usual share
of it is a better guess than the limit. Which share: the 0.65 quantile over the last 50 jobs of the same user and queue
if there are five, else of the queue, else of all, else the whole limit. With the median dates come out too early.

Jobs without a limit have no share of it. They are compared with one another, in seconds; where fewer than five are
known, such a job never ends. Called by the desk: it feeds ends, and asks before a forecast.
"""

from __future__ import annotations

import math
from typing import Final

from fairway.plan.recent_values import RecentValues

__all__ = ["RunHistory", "seconds_left"]

QUANTILE: Final = 0.65
KEPT: Final = 50
ENOUGH: Final = 5
OUTLIVED: Final = 1.25
"""One that runs for longer than was predicted is taken to need a quarter more than it has had."""

SHORTEST: Final = 1.0
"""Nothing is predicted to take less than this, in seconds: what starts has to end later than it started."""

OVERDUE: Final = 60.0
"""Who is past the limit is being ended: this many seconds more, as in the plan."""

_Like = tuple[bool, str | None, str | None]  # is it without limit, queue, user; None: any


class RunHistory:
    """What ended jobs used of the time they asked for."""

    def __init__(self) -> None:
        self._shares: dict[_Like, RecentValues] = {}  # of limits; for jobs without one: seconds

    def copy(self) -> RunHistory:
        """Another one that may go its own way."""
        twin = RunHistory()
        twin._shares = {like: values.copy() for like, values in self._shares.items()}
        return twin

    def add(self, user: str, queue: str, limit: float, used: float) -> None:
        """A job has ended. What says nothing (no time asked for, a clock that went backwards) is passed over."""
        if not limit > 0 or not 0 <= used < math.inf:
            return
        value = used if limit == math.inf else min(used / limit, 1.0)
        for like in _likes(user, queue, limit):
            if (values := self._shares.get(like)) is None:
                values = self._shares[like] = RecentValues(KEPT)
            values.add(value)

    def predict(self, user: str, queue: str, limit: float, expected: float | None = None) -> float:
        """How long a job will run from its start, in seconds; `expected` is what its user says."""
        prediction = expected if expected is not None and expected > 0 else self._usual(user, queue, limit)
        return min(max(prediction, SHORTEST), limit)

    def _usual(self, user: str, queue: str, limit: float) -> float:
        for like in _likes(user, queue, limit):
            values = self._shares.get(like)
            if values is not None and len(values) >= ENOUGH:
                value = values.quantile(QUANTILE)
                return value if limit == math.inf else value * limit
        return limit


def seconds_left(elapsed: float, prediction: float, limit: float) -> float:
    """How much longer a job runs that has run for `elapsed`."""
    if elapsed < prediction:
        return prediction - elapsed
    if elapsed >= limit:
        return OVERDUE
    return min(OUTLIVED * elapsed, limit) - elapsed


def _likes(user: str, queue: str, limit: float) -> tuple[_Like, _Like, _Like]:
    """Whom a job is compared with, the nearest first."""
    is_unlimited = limit == math.inf
    return (is_unlimited, queue, user), (is_unlimited, queue, None), (is_unlimited, None, None)
