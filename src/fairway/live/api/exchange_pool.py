"""Requests of which there are thousands, over kept connections, at a fraction of a general client's cost.

In: a whole request as bytes. Out: status, headers and body of its answer; `OSError` or `TimeoutError` when there is
none. HTTP/1.1, one request at a time on each connection, answers with a length or in chunks; no redirects, no
compression, no proxies. A connection that fails, is cut short or waited for in vain is never used again.
`connection.Connection` sends bindings and events this way; what aiohttp does well and seldom (streams, lists, proxies)
stays with it.
"""

from __future__ import annotations

import asyncio
import ssl
from urllib.parse import urlsplit

from fairway.live.api.answer_reader import AnswerReader, Received
from fairway.live.api.clock import Clock

__all__ = ["ExchangePool", "Received"]

IDLE_SECONDS = 30.0  # after which a kept connection may have been closed at the other end: servers wait longer
CONNECT_SECONDS = 10.0


class ExchangePool:
    """Connections to one server."""

    def __init__(self, url: str, clock: Clock) -> None:
        parts = urlsplit(url)
        self._address = parts.hostname or "localhost", parts.port or (443 if parts.scheme == "https" else 80)
        self._clock = clock
        self._idle: list[_Line] = []
        self._lines: set[_Line] = set()

    async def send(
        self, request: bytes, tls: ssl.SSLContext | None, server_name: str | None, timeout_seconds: float
    ) -> Received:
        """One request, one answer."""
        line: _Line | None = None
        try:
            async with asyncio.timeout(timeout_seconds):
                line = self._take(tls) or await self._connect(tls, server_name)
                received = await line.exchange(request)
        except BaseException:
            if line is not None:
                self._drop(line)
            raise
        if line.is_reusable:
            line.idle_since = self._clock.monotonic()
            self._idle.append(line)
        else:
            self._drop(line)
        return received

    def close(self) -> None:
        """Hang up everywhere."""
        for line in list(self._lines):
            self._drop(line)
        self._idle.clear()

    def _take(self, tls: ssl.SSLContext | None) -> _Line | None:
        """The connection that was used last, if it is still good."""
        oldest = self._clock.monotonic() - IDLE_SECONDS
        while self._idle:
            line = self._idle.pop()
            if line.is_reusable and line.tls is tls and line.idle_since > oldest:
                return line
            self._drop(line)
        return None

    async def _connect(self, tls: ssl.SSLContext | None, server_name: str | None) -> _Line:
        host, port = self._address
        name = (server_name or host) if tls is not None else None
        async with asyncio.timeout(CONNECT_SECONDS):
            _, line = await asyncio.get_running_loop().create_connection(
                lambda: _Line(tls), host, port, ssl=tls, server_hostname=name
            )
        self._lines.add(line)
        return line

    def _drop(self, line: _Line) -> None:
        self._lines.discard(line)
        line.abort()


class _Line(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self, tls: ssl.SSLContext | None) -> None:
        self.tls = tls
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Received] | None = None
        self._reader = AnswerReader()
        self._closes = False  # the server will close after this answer, or has

    @property
    def is_reusable(self) -> bool:
        """Can another request be sent?"""
        return not self._closes and self._reader.is_empty and self._transport is not None

    async def exchange(self, request: bytes) -> Received:
        """Send a request and wait for its answer."""
        if self._transport is None or self._closes:
            raise ConnectionResetError("it closed the connection")
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        try:
            return await self._waiter
        finally:
            self._waiter = None

    def abort(self) -> None:
        """Close without a word."""
        self._closes = True
        if self._transport is not None:
            self._transport.abort()

    # -- what the loop calls -------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Some of an answer has come."""
        if self._waiter is None or self._waiter.done():
            self._closes = True  # nobody asked
            return
        try:
            received = self._reader.feed(data)
        except ValueError as error:
            self._fail(ConnectionError(f"this is not HTTP: {error}"))
            return
        if received is not None:
            self._closes = self._closes or received.headers.get("Connection", "").lower() == "close"
            self._waiter.set_result(received)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed, by whomever."""
        self._closes = True
        self._fail(exc if isinstance(exc, OSError) else ConnectionResetError("it closed the connection"))

    def _fail(self, error: OSError) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
