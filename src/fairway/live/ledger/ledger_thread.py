"""A ledger beside the scheduler's loop: whoever writes to it waits, and nobody else does.

In: what is to be entered or added up, from the loop. Out: the answers, in the loop. One thing at a time, in the order
in which it was asked: a sum is of all that was entered before. A server that hangs holds up this thread alone, which is
a daemon's, so that it does not hold up the end of the process either. One for each desk that keeps a ledger, made by
`process`; `live.batch.ledger_entries` asks.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, TypeVar

from fairway.batch.accounts import ChargeLine
from fairway.live.ledger.address import LedgerAddress
from fairway.live.ledger.database import LedgerDatabase
from fairway.live.ledger.ledger import Opening

__all__ = ["LedgerThread"]

T = TypeVar("T")
Task = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class LedgerThread:
    """A `fairway.live.ledger.ledger.Ledger`, in a thread of its own."""

    def __init__(self, address: LedgerAddress) -> None:
        self._database = LedgerDatabase(address)
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def title(self) -> str:
        """Which server, which database."""
        return self._database.address.title

    async def enter(self, openings: Sequence[Opening], lines: Sequence[ChargeLine]) -> None:
        """As `LedgerDatabase.enter`."""
        await self._do(lambda: self._database.enter(openings, lines))

    async def settled(self, account: str, without: Collection[str]) -> int:
        """As `LedgerDatabase.settled`."""
        return await self._do(lambda: self._database.settled(account, without))

    def close(self) -> None:
        """The thread ends after what it is at."""
        self._tasks.put(None)

    async def _do(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="ledger", daemon=True)
            self._thread.start()
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._tasks.put((work, future))
        return await future

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            work, future = task
            try:
                result = work()
            except Exception as error:  # noqa: BLE001 - whatever it is, the caller is to have it
                _soon(future, partial(future.set_exception, error))
            else:
                _soon(future, partial(future.set_result, result))
        self._database.close()


def _soon(future: asyncio.Future[Any], settle: Callable[[], None]) -> None:
    """Settle it in its own loop, if anybody still waits there."""
    try:
        future.get_loop().call_soon_threadsafe(lambda: None if future.done() else settle())
    except RuntimeError:
        return  # the loop has ended
