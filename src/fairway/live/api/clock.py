"""The clock of the live room: what time it is, how much has passed, and waiting.

Two readings, because they answer different questions: `now` is what people and objects write down and may jump;
`monotonic` only moves forward and is what a lease, a timeout or a duration is measured with. Everything in `live/` that
waits takes a `Clock`, so tests let time pass without waiting. What is left to chance (who comes back when, so that not
all do at once) is drawn from the clock's own generator, which tests seed.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from typing import Final, Protocol

import numpy as np

__all__ = ["Clock", "SystemClock", "micro_time", "rfc3339", "wall_nanoseconds"]

LASTING: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    """Time, as far as the live room needs it."""

    @property
    def chance(self) -> np.random.Generator:
        """What spreads waits, so that many watches and many processes do not come back at once."""

    def now(self) -> float:
        """Seconds since the epoch; may be set back."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back, and goes on while the process is stopped."""

    async def sleep(self, seconds: float) -> None:
        """Come back so much later."""


class SystemClock:
    """The machine's own."""

    def __init__(self) -> None:
        self.chance = np.random.default_rng()

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Goes on during suspend where the system has such a clock: a lease runs out then, too."""
        return time.clock_gettime(LASTING)

    async def sleep(self, seconds: float) -> None:
        """Come back so much later."""
        await asyncio.sleep(seconds)


def wall_nanoseconds() -> int:
    """Since the epoch; for those who write nanoseconds down, which a float of seconds does not hold."""
    return time.time_ns()


def micro_time(seconds: float) -> str:
    """Kubernetes' MicroTime: six decimals, always; leases and events have it."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def rfc3339(seconds: float) -> str:
    """Kubernetes' Time: whole seconds; conditions have it."""
    return dt.datetime.fromtimestamp(int(seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
