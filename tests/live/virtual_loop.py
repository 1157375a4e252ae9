"""An event loop in which waiting takes no time: when everybody waits, its clock jumps to the next thing that is due.

For tests in which no socket is involved. Whatever waits by the loop (`asyncio.sleep`, `asyncio.timeout`) or by
`LoopClock` does so in the same time, and the same steps always happen in the same order.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    """Never waits; says instead how long it would have."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everybody waits, and nobody ever wakes them")
        self.time += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.time


class LoopClock:
    """A `fairway.live.api.clock.Clock` that shows the running loop's time."""

    def __init__(self, start: float = 1_767_225_600.0) -> None:
        self._start = start
        self.chance = np.random.default_rng(0)

    def now(self) -> float:
        return self._start + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def run_virtually(coroutine: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)
