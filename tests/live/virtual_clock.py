"""A clock for coroutines that stands still until a test lets time pass; sleepers wake in the order of their times."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count

import numpy as np


class VirtualClock:
    def __init__(self, start: float = 1_767_225_600.0) -> None:
        self._wall = start
        self.chance = np.random.default_rng(0)
        self._time = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()

    def now(self) -> float:
        return self._wall + self._time

    def monotonic(self) -> float:
        return self._time

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._time + seconds, next(self._numbers), future))
        await future

    def set_wall_clock(self, seconds: float) -> None:
        """Somebody set the machine's clock; nothing has passed."""
        self._wall = seconds - self._time

    def jump(self, seconds: float) -> None:
        """Time passes while nothing runs: the process was stopped."""
        self._time += seconds

    async def advance(self, seconds: float) -> None:
        """Let time pass, and everybody do what they do meanwhile."""
        end = self._time + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            at, _, future = heapq.heappop(self._sleepers)
            self._time = max(self._time, at)
            if not future.done():
                future.set_result(None)
            await settle()
        self._time = max(self._time, end)
        await settle()


async def settle() -> None:
    """Until nobody has anything to do at this instant."""
    for _ in range(50):
        await asyncio.sleep(0)
