"""Tasks of one desk that work beside the loop that decides, and whoever answers for them.

In: what is to run as long as a desk does (`start`). Out: it runs until `stop`. A part that fails by itself, fails all:
nothing that is written or done after that could be trusted, so `watch` raises what it failed with, and the process ends
as it does when a watch fails. Kept by `batch_service`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Protocol

__all__ = ["DeskParts"]


class _Part(Protocol):
    async def run(self) -> None:
        """Work until cancelled."""


class DeskParts:
    """Those of the desk that there is now."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: list[asyncio.Task[None]] = []
        self._news = asyncio.Event()

    def start(self, parts: Iterable[_Part]) -> None:
        """Let these work."""
        self._tasks = [asyncio.ensure_future(part.run()) for part in parts]
        for task in self._tasks:
            task.add_done_callback(self._ended)

    async def stop(self) -> None:
        """Nobody works any more when this returns."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def watch(self) -> None:
        """Until one fails: raises why."""
        await self._news.wait()
        self._failed[0].result()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._failed.append(task)
            self._news.set()
