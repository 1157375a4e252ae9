"""How much was used, by now: usage fades with a half-life, in closed form.

In: intervals in which something was used at a rate. Out: what they weigh at some moment: the integral of rate ·
2^(−age / half-life) over the interval. Nothing ticks: it does not matter when one looks, how often, or how short a job
was, and a finished job is one number (`DecayedUsage`) that goes on fading. A rate is what the requests of a job cost
by the weights of its account.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, Self

__all__ = ["DecayedUsage", "UsageInterval", "billed_rate", "decayed", "interval_usage"]

UNIT: Final = {"cpu": 1000, "memory": 1 << 30, "ephemeral-storage": 1 << 30}
"""What weights are for one of: a core of our thousandths, a GiB of our bytes; of everything else one."""


class UsageInterval(NamedTuple):
    """Something was used at a rate, from one time to another."""

    start: float
    end: float  # infinite: still
    rate: float  # units a second


def decayed(amount: float, seconds: float, half_life: float) -> float:
    """What is left of an amount after so many seconds; an infinite half-life takes nothing."""
    return amount * math.exp2(-seconds / half_life)


def interval_usage(interval: UsageInterval, now: float, half_life: float) -> float:
    """What an interval weighs now; what of it is still to come does not count."""
    start, end, rate = interval
    end = min(end, now)
    if end <= start:
        return 0.0
    if half_life == math.inf:
        return rate * (end - start)
    # expm1 keeps short intervals exact, which are the difference of two large numbers otherwise.
    fading = math.log(2.0) / half_life
    return decayed(-math.expm1(-fading * (end - start)) * rate / fading, now - end, half_life)


class DecayedUsage(NamedTuple):
    """Everything that is over, as one number that fades."""

    amount: float = 0.0
    as_of: float = 0.0

    def at(self, now: float, half_life: float) -> float:
        """What it weighs at another moment, not before `as_of`."""
        return decayed(self.amount, now - self.as_of, half_life)

    def plus(self, interval: UsageInterval, now: float, half_life: float) -> Self:
        """With an interval that is over by `now`."""
        amount = self.at(now, half_life) + interval_usage(interval, now, half_life)
        return type(self)(amount, now)


def billed_rate(
    requests: Mapping[str, int], weights: Mapping[str, float], billing: Literal["sum", "max"] = "sum"
) -> float:
    """Units a second that such requests cost (milli-CPU, bytes, counts); what has no weight costs nothing."""
    parts = [weight * requests.get(name, 0) / UNIT.get(name, 1) for name, weight in weights.items()]
    return sum(parts) if billing == "sum" else max(parts, default=0.0)
