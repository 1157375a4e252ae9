"""Parts of the world that look after something as long as one scheduler decides, and are others with another one.

In: `take`, the parts of the scheduler that decides from now on. Out: they run, and those before them run no more. A
part that fails, fails all. `LiveWorld` is the caller.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

__all__ = ["Keepers"]


class _Part(Protocol):
    async def run(self) -> None:
        """Work until cancelled."""


class Keepers:
    """Those who look after something."""

    def __init__(self) -> None:
        self._parts: Sequence[_Part] = ()
        self._are_others = asyncio.Event()

    def take(self, parts: Sequence[_Part | None]) -> None:
        """These from now on."""
        self._parts = [part for part in parts if part is not None]
        self._are_others.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            self._are_others.clear()
            tasks = [asyncio.ensure_future(part.run()) for part in self._parts]
            waiting = asyncio.ensure_future(self._are_others.wait())
            try:
                await asyncio.wait((waiting, *tasks), return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    if task.done():
                        task.result()
            finally:
                for each in (waiting, *tasks):
                    each.cancel()
                await asyncio.gather(waiting, *tasks, return_exceptions=True)
