"""Telling a sniffer: one message from a hook, or all that a scheduler decides, and never in anybody's way.

In: a pod, a node and what happened. Out: calls of `/api.SnifferService/Send` to a service that may be slow or not there
at all: each has a deadline, and what can not be sent is dropped and counted. `notify` is for hooks of containers;
`SnifferProducer` for a scheduler, which keeps one connection, in a thread with a loop of its own. As long as nobody is
there, messages are dropped as they come, before anything is made of them, and once a second a bare socket finds out
whether somebody listens: a channel that is refused again and again would cost the scheduler's process ten times that.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import logging
import socket
import threading
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import grpc
import grpc.aio

from fairway.stream.address import Address
from fairway.stream.calls import unary_call
from fairway.stream.go_time import NANOSECONDS, format_go_time
from fairway.stream.sniffer_service import SEND
from fairway.stream.wire.sniffer_pb2 import SendRequest, SendResponse

__all__ = ["DEADLINE_SECONDS", "Result", "SnifferProducer", "notify"]

logger = logging.getLogger(__name__)

DEADLINE_SECONDS: Final = 2.0
MOST_WAITING: Final = 4096
MOST_AT_ONCE: Final = 64
PAUSE_SECONDS: Final = 1.0
BETWEEN_COMPLAINTS: Final = 60 * NANOSECONDS
GONE: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
"""Nobody is there, or nobody who answers: whatever is sent next would fail as well."""
DIRECT: Final = (("grpc.enable_http_proxy", 0),)
"""Services are near: what the environment says about the way out of the cluster does not concern them."""

Result = Literal["sent", "failed", "dropped"]
Step = tuple[str, str, str, str, int]
"""Endpoint, event, pod, node, and when."""


def notify(address: str, request: SendRequest, seconds: float = DEADLINE_SECONDS) -> str:
    """Send one message; returns what went wrong, or "" if it arrived."""
    with grpc.insecure_channel(address, options=DIRECT) as channel:
        try:
            unary_call(channel, SEND, SendResponse)(request, timeout=seconds)
        except grpc.RpcError as error:
            return f"{error.code().name}: {error.details()}"
    return ""


class SnifferProducer:
    """Sends in the background; `tell` returns at once."""

    def __init__(
        self,
        address: Address,
        now: Callable[[], int],
        count: Callable[[Result, int], None] = lambda result, number: None,
    ) -> None:
        """`now` tells nanoseconds since 1970; `count` is told what became of how many messages, in one thread."""
        self._address = address
        self._now = now
        self._began = now()
        self._count = count
        self._waiting: collections.deque[Step] = collections.deque()
        self._num_dropped = 0  # only `tell` changes it
        self._num_counted = 0  # of these
        self._is_away = False  # nobody is there who could be told
        self._is_known = False  # somebody took the message before
        self._last_complaint: int | None = None
        self._is_over = False
        self._is_awake = True  # the thread will look, or is looking, at what waits
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="sniffer-producer", daemon=True)
        self._thread.start()
        self._ready.wait()

    def tell(self, endpoint: str, event: str, pod: str, node: str) -> None:
        """Something happened just now."""
        if self._is_away or len(self._waiting) >= MOST_WAITING:
            self._num_dropped += 1
            return
        self._waiting.append((endpoint, event, pod, node, self._now()))
        if not self._is_awake:  # waking a loop takes a system call
            self._wake()

    def stop(self) -> None:
        """Send what waits, as far as the deadline allows, and end."""
        self._is_over = True
        self._wake()
        self._thread.join(timeout=2 * DEADLINE_SECONDS)

    def _wake(self) -> None:
        self._is_awake = True
        self._loop.call_soon_threadsafe(self._news.set)

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._tell_all())
        finally:
            self._loop.close()

    async def _tell_all(self) -> None:
        """As long as somebody listens; then again when somebody does."""
        self._news = asyncio.Event()
        self._ready.set()
        while True:
            why = _absence(self._address)
            if why:
                self._give_up(why)
            else:
                self._is_away = False
                await self._send_all()
            self._count_dropped()
            if self._is_over:
                return
            await self._rest()

    async def _send_all(self) -> None:
        """Until the end, or until it comes to nothing."""
        calls: set[asyncio.Task[None]] = set()

        def ended(call: asyncio.Task[None]) -> None:
            calls.discard(call)
            self._news.set()

        self._is_known = False
        async with grpc.aio.insecure_channel(str(self._address), options=DIRECT) as channel:
            send = unary_call(channel, SEND, SendResponse)
            while calls or not (self._is_away or (self._is_over and not self._waiting)):
                self._news.clear()
                most = MOST_AT_ONCE if self._is_known else 1
                while self._waiting and len(calls) < most:
                    call = asyncio.ensure_future(self._send_one(send, self._waiting.popleft()))
                    calls.add(call)
                    call.add_done_callback(ended)
                self._count_dropped()
                self._is_awake = False
                if (self._waiting and len(calls) < most) or (self._is_over and not calls):
                    continue  # it came between the two lines above
                await self._news.wait()
                self._is_awake = True

    async def _send_one(self, send: Callable[..., Awaitable[SendResponse]], step: Step) -> None:
        endpoint, event, pod, node, at = step
        stamp = format_go_time(at, at - self._began)
        request = SendRequest(endpoint=endpoint, pod=pod, node=node, event=event, timestamp=stamp)
        try:
            await send(request, timeout=DEADLINE_SECONDS)
            self._count("sent", 1)
            self._is_known = True
        except grpc.RpcError as error:
            self._count("failed", 1)
            why = f"{error.code().name}: {error.details()}"
            if error.code() in GONE:
                self._give_up(why)
            else:
                self._complain(why)

    def _give_up(self, why: str) -> None:
        """Nobody is there: what waits is dropped, and what comes until somebody is."""
        self._is_away = True
        number = len(self._waiting)
        for _ in range(number):
            self._waiting.popleft()
        if number:
            self._count("dropped", number)
        if number or self._num_dropped != self._num_counted:
            self._complain(why)

    async def _rest(self) -> None:
        """For a while, or until it is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_SECONDS):
                while not self._is_over:
                    self._news.clear()
                    await self._news.wait()

    def _count_dropped(self) -> None:
        number = self._num_dropped - self._num_counted
        if number:
            self._num_counted += number
            self._count("dropped", number)
            if not self._is_away:
                self._complain("messages come faster than it takes them")

    def _complain(self, why: str) -> None:
        now = self._now()
        if self._last_complaint is None or now - self._last_complaint >= BETWEEN_COMPLAINTS:
            self._last_complaint = now
            logger.warning("the sniffer at %s is not told everything: %s", self._address, why)


def _absence(address: Address) -> str:
    """Why nobody can be told there; "" if somebody listens. Waits: whoever asks has nothing else to do."""
    try:
        socket.create_connection((address.host or "localhost", address.port), DEADLINE_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return ""
