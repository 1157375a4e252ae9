"""The front door of our servers: who gets in, how many at a time, and how long they may stand there.

In: connections from anybody who reaches the port. Out: to aiohttp's request handlers, no more of them than `DoorLimits`
allow. Each limit rules out one way of shutting others out: so many accepted a second (a flood of TLS handshakes),
so many at once, where somebody new takes the place of whoever has stood idle longest (a crowd that just stands there),
so long for a handshake and for a request's head (one byte now and then), so long idle between requests. A probe of the
kubelet is somebody new, so it gets in. Errors of accepting are told now and then, not each. `http_server` and
`fairway.live.extender_service` listen through it; `requests` is their limit on requests under way, health checks aside.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

from aiohttp.http_exceptions import HttpProcessingError

from fairway.live.api.clock import Clock
from fairway.live.api.rate_limit import RateLimit

__all__ = ["DoorLimits", "FrontDoor", "TooBusy", "requests_logger"]

logger = logging.getLogger(__name__)
ACCEPT_ERROR_SECONDS = 10.0
"""Between two words about connections that could not be accepted."""


def _is_news(record: logging.LogRecord) -> bool:
    """Anybody who reaches the port can send what is no HTTP, as often as they like: it is answered, not told."""
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


requests_logger = logging.getLogger("fairway.live.serving.requests")
"""For aiohttp to tell of requests that went wrong."""
requests_logger.addFilter(_is_news)


class DoorLimits(NamedTuple):
    """What is allowed."""

    connections: int = 256
    accepts_per_second: float = 200.0
    handshake_seconds: float = 5.0
    head_seconds: float = 10.0  # from a request's first byte to the end of its head
    idle_seconds: float = 90.0
    requests: int = 32  # under way at once
    request_seconds: float = 30.0


class TooBusy(Exception):  # noqa: N818 - no error of ours
    """There are enough requests under way."""


class FrontDoor:
    """Listens on one address."""

    def __init__(self, factory: Callable[[], asyncio.Protocol], clock: Clock, limits: DoorLimits | None = None) -> None:
        self._factory = factory
        self._clock = clock
        self.limits = limits or DoorLimits()
        self._guests: OrderedDict[Guest, None] = OrderedDict()  # who did something last stands last
        self._arriving: dict[asyncio.Task[None], socket.socket] = {}  # who came first stands first
        self._listeners: list[socket.socket] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._num_requests = 0
        self.num_turned_away = 0

    # -- opening and closing -------------------------------------------------------------------------------------------

    async def open(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; returns the port. Raises OSError."""
        loop = asyncio.get_running_loop()
        places = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        try:
            for family, kind, number, _, address in dict.fromkeys(places):
                bound = (address[0], port, *address[2:])
                self._listeners.append(listener := socket.socket(family, kind, number))
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind(bound)
                listener.listen(128)
                listener.setblocking(False)
                port = port or listener.getsockname()[1]
        except OSError:
            await self.close()
            raise
        rate = RateLimit(self.limits.accepts_per_second, int(self.limits.accepts_per_second), self._clock)
        self._tasks = [loop.create_task(self._accept(listener, tls, rate)) for listener in self._listeners]
        self._tasks.append(loop.create_task(self._look_around()))
        return port

    async def close(self) -> None:
        """Let nobody in any more; who is inside may end."""
        for task in (*self._tasks, *self._arriving):
            task.cancel()
        await asyncio.gather(*self._tasks, *self._arriving, return_exceptions=True)
        for listener in self._listeners:
            listener.close()
        self._tasks, self._listeners = [], []

    # -- coming in -----------------------------------------------------------------------------------------------------

    async def _accept(self, listener: socket.socket, tls: ssl.SSLContext | None, rate: RateLimit) -> None:
        loop = asyncio.get_running_loop()
        told = -ACCEPT_ERROR_SECONDS
        while True:
            await rate.turn()
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as error:  # too many open files, or somebody left while waiting
                if self._clock.monotonic() >= told + ACCEPT_ERROR_SECONDS:
                    told = self._clock.monotonic()
                    logger.warning("a connection can not be accepted: %s", error.strerror or error)
                await self._clock.sleep(0.1)
                continue
            self._make_room()
            task = loop.create_task(self._let_in(connection, tls))
            self._arriving[task] = connection
            task.add_done_callback(self._arrived)
            await asyncio.sleep(0)  # a crowd at the door does not keep those inside waiting

    def _make_room(self) -> None:
        """Somebody new comes: the one who has been idle longest goes, where there are too many."""
        while len(self._guests) + len(self._arriving) >= self.limits.connections:
            self.num_turned_away += 1
            idle = next((guest for guest in self._guests if not guest.is_served), None)
            if idle is not None:
                del self._guests[idle]  # at once: that it hangs up is heard of later
                idle.leave()
            elif self._arriving:  # everybody inside is being served: who has been at the door longest goes
                task = next(iter(self._arriving))
                self._arriving.pop(task).close()
                task.cancel()
            else:
                return  # they are all being served, and there are no more of them than requests may be

    def _arrived(self, task: asyncio.Task[None]) -> None:
        """Inside, or gone; one who was sent away before he had begun leaves nothing behind."""
        connection = self._arriving.pop(task, None)
        if connection is not None and task.cancelled():
            connection.close()

    async def _let_in(self, connection: socket.socket, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        seconds = self.limits.handshake_seconds if tls is not None else None
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.connect_accepted_socket(
                lambda: Guest(self, self._factory()), connection, ssl=tls, ssl_handshake_timeout=seconds
            )
        except (OSError, ssl.SSLError, TimeoutError) as error:
            logger.debug("a connection did not come about: %s", error)
            connection.close()

    async def _look_around(self) -> None:
        """Once a second: who has been standing there for too long?"""
        while True:
            await self._clock.sleep(1.0)
            now = self._clock.monotonic()
            for guest in list(self._guests):
                if guest.is_overdue(now, self.limits):
                    guest.leave()

    # -- inside --------------------------------------------------------------------------------------------------------

    def entered(self, guest: Guest) -> None:
        """A connection is there."""
        self._guests[guest] = None

    def left(self, guest: Guest) -> None:
        """A connection is no more."""
        self._guests.pop(guest, None)

    @contextmanager
    def request(self, transport: asyncio.BaseTransport | None, *, is_counted: bool = True) -> Iterator[None]:
        """A request is answered in this block; raises `TooBusy` if there are too many, unless it need not count."""
        guest = None if transport is None else transport.get_protocol()
        if is_counted and self._num_requests >= self.limits.requests:
            if isinstance(guest, Guest):
                guest.begin()
                guest.end(self._clock.monotonic())
            raise TooBusy
        self._num_requests += is_counted
        if isinstance(guest, Guest):
            guest.begin()
        try:
            yield
        finally:
            self._num_requests -= is_counted
            if isinstance(guest, Guest):
                guest.end(self._clock.monotonic())
                if guest in self._guests:
                    self._guests.move_to_end(guest)

    @property
    def num_connections(self) -> int:
        """How many there are, those at the door included."""
        return len(self._guests) + len(self._arriving)

    def time(self) -> float:
        """By the door's clock."""
        return self._clock.monotonic()


class Guest(asyncio.Protocol):
    """One connection: hands everything on, and remembers what it is doing."""

    def __init__(self, door: FrontDoor, inner: asyncio.Protocol) -> None:
        self._door = door
        self._inner = inner
        self._transport: asyncio.Transport | None = None
        self._num_served = 0
        self._idle_since = door.time()
        self._asking_since: float | None = None

    @property
    def is_served(self) -> bool:
        """Is a request of theirs being answered?"""
        return self._num_served > 0

    def is_overdue(self, now: float, limits: DoorLimits) -> bool:
        """Have they been silent, or at the head of a request, for too long?"""
        if self.is_served:
            return False
        if self._asking_since is not None:
            return now - self._asking_since > limits.head_seconds
        return now - self._idle_since > limits.idle_seconds

    def begin(self) -> None:
        """A request of theirs is complete."""
        self._num_served += 1
        self._asking_since = None

    def end(self, now: float) -> None:
        """It was answered."""
        self._num_served -= 1
        self._idle_since = now

    def leave(self) -> None:
        """Out."""
        if self._transport is not None:
            self._transport.abort()

    # -- what asyncio tells --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """They are in; so far they have asked for nothing, and not for long."""
        self._transport = cast("asyncio.Transport", transport)
        self._asking_since = self._door.time()
        self._door.entered(self)
        self._inner.connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        """They are gone."""
        self._door.left(self)
        self._inner.connection_lost(error)

    def data_received(self, data: bytes) -> None:
        """They say something."""
        if not self.is_served and self._asking_since is None:
            self._asking_since = self._door.time()
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """They have said all."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """They do not listen fast enough."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """They listen again."""
        self._inner.resume_writing()
