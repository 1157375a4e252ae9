"""Some workers and one line in front of them: how requests are sent many at a time, but not all at once.

In: `submit(item)`, from anywhere, never waiting. Out: `work(item)` is awaited by whichever worker is free, first come,
first served. `backlog` counts what is not done yet; `idle` is set while there is nothing. An exception of `work` ends
the pool and whatever runs it: nothing is lost silently.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

__all__ = ["WorkerPool"]

T = TypeVar("T")


class WorkerPool(Generic[T]):
    """A fixed number of tasks that take items from one line."""

    def __init__(self, num_workers: int, work: Callable[[T], Awaitable[None]]) -> None:
        self._num_workers = num_workers
        self._work = work
        self._waiting: deque[T] = deque()
        self._resting: deque[asyncio.Future[None]] = deque()
        self._num_busy = 0
        self.idle = asyncio.Event()
        self.idle.set()

    @property
    def backlog(self) -> int:
        """Items that wait or are being worked on."""
        return len(self._waiting) + self._num_busy

    @property
    def num_busy(self) -> int:
        """Items being worked on."""
        return self._num_busy

    def submit(self, item: T) -> None:
        """Add an item to the end of the line."""
        self._waiting.append(item)
        self.idle.clear()
        while self._resting:
            waker = self._resting.popleft()
            if not waker.done():
                waker.set_result(None)
                break

    def recall(self, is_meant: Callable[[T], bool]) -> list[T]:
        """Take items back that nobody works on yet."""
        found = [item for item in self._waiting if is_meant(item)]
        if found:
            self._waiting = deque(item for item in self._waiting if not is_meant(item))
            if not self._waiting and not self._num_busy:
                self.idle.set()
        return found

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._num_workers):
                group.create_task(self._serve())

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._waiting:
                waker = loop.create_future()
                self._resting.append(waker)
                await waker
            item = self._waiting.popleft()
            self._num_busy += 1
            try:
                await self._work(item)
            finally:
                self._num_busy -= 1
                if not self._waiting and not self._num_busy:
                    self.idle.set()
