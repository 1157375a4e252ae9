"""The HTTP server in a thread with a loop of its own, so that answers do not wait for their turn among bindings.

In: an `HttpServer`. Out: the same server, started and stopped from the scheduler's loop. During a burst that loop is
busy with decisions, events and bindings for tens of milliseconds at a time, and an answer takes several of its rounds;
in a thread it waits for the interpreter only. Health and metrics are answered there. What only the scheduler's loop may
look at is asked for in it (`at_home`). `process` uses this.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from fairway.live.serving.http_server import HttpServer

__all__ = ["ServingThread", "at_home"]

T = TypeVar("T")


def at_home(home: asyncio.AbstractEventLoop) -> Callable[[Coroutine[Any, Any, T]], Awaitable[T]]:
    """Runs coroutines in that loop, for callers in another one."""
    return lambda coroutine: asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, home))


class ServingThread:
    """Serves beside the caller's loop."""

    def __init__(self, server: HttpServer, close: Callable[[], Awaitable[None]] | None = None) -> None:
        """`close` is awaited in the thread after the last answer: for a connection that belongs to it."""
        self._server = server
        self._close = close
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """As `HttpServer.start`."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="http-server", daemon=True)
        self._thread.start()
        try:
            return await self._there(self._server.start(host, port, tls))
        except BaseException:
            self._end()
            raise

    async def stop(self) -> None:
        """As `HttpServer.stop`; ends the thread."""
        try:
            await self._there(self._stop())
        finally:
            self._end()

    async def _stop(self) -> None:
        await self._server.stop()
        if self._close is not None:
            await self._close()
        await asyncio.get_running_loop().shutdown_default_executor()  # names are looked up in its threads

    async def _there(self, coroutine: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._loop))

    def _end(self) -> None:
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5.0)
        if not self._thread.is_alive():
            self._loop.close()
