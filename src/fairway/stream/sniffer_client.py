"""Telling a sniffer: one message from a hook, or all that a scheduler decides, and never in anybody's way.

In: a pod, a node and what happened. Out: calls of `/api.SnifferService/Send` to a service that may be slow or not there
at all: each has a deadline, and what can not be sent is dropped and counted. `notify` is for hooks of containers;
`SnifferProducer` for a scheduler, which keeps one connection, in a thread with a loop of its own. A service that fails
is left alone for a second: calls that come to nothing would cost the scheduler as much as others.
"""

from __future__ import annotations

import asyncio
import collections
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import grpc
import grpc.aio

from fairway.stream.calls import unary_call
from fairway.stream.go_time import NANOSECONDS, format_go_time
from fairway.stream.sniffer_service import SEND
from fairway.stream.wire.sniffer_pb2 import SendRequest, SendResponse

__all__ = ["DEADLINE_SECONDS", "Result", "SnifferProducer", "notify"]

logger = logging.getLogger(__name__)

DEADLINE_SECONDS: Final = 2.0
MOST_WAITING: Final = 4096
MOST_AT_ONCE: Final = 64
PAUSE: Final = NANOSECONDS
BETWEEN_COMPLAINTS: Final = 60 * NANOSECONDS
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
        self, address: str, now: Callable[[], int], count: Callable[[Result], None] = lambda result: None
    ) -> None:
        """`now` tells nanoseconds since 1970; `count` is told of each message what became of it.

        It is told `dropped` in the thread that tells, and `sent` and `failed` in another.
        """
        self._address = address
        self._now = now
        self._began = now()
        self._count = count
        self._waiting: collections.deque[Step] = collections.deque()
        self._paused_until = 0
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
        at = self._now()
        if at < self._paused_until:
            self._count("dropped")
        elif len(self._waiting) >= MOST_WAITING:
            self._count("dropped")
            self._complain("messages come faster than it takes them")
        else:
            self._waiting.append((endpoint, event, pod, node, at))
            self._wake()

    def stop(self) -> None:
        """Send what waits, as far as the deadline allows, and end."""
        self._is_over = True
        self._is_awake = False
        self._wake()
        self._thread.join(timeout=2 * DEADLINE_SECONDS)

    def _wake(self) -> None:
        if not self._is_awake:  # waking a loop takes a system call
            self._is_awake = True
            self._loop.call_soon_threadsafe(self._news.set)

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._send_all())
        finally:
            self._loop.close()

    async def _send_all(self) -> None:
        self._news = asyncio.Event()
        self._ready.set()
        calls: set[asyncio.Task[None]] = set()

        def ended(call: asyncio.Task[None]) -> None:
            calls.discard(call)
            self._news.set()

        async with grpc.aio.insecure_channel(self._address, options=DIRECT) as channel:
            send = unary_call(channel, SEND, SendResponse)
            while self._waiting or calls or not self._is_over:
                self._news.clear()
                while self._waiting and len(calls) < MOST_AT_ONCE:
                    call = asyncio.ensure_future(self._send_one(send, self._waiting.popleft()))
                    calls.add(call)
                    call.add_done_callback(ended)
                self._is_awake = False
                if (self._waiting and len(calls) < MOST_AT_ONCE) or (self._is_over and not calls):
                    continue  # it came between the two lines above
                await self._news.wait()
                self._is_awake = True

    async def _send_one(self, send: Callable[..., Awaitable[SendResponse]], step: Step) -> None:
        endpoint, event, pod, node, at = step
        if at < self._paused_until:  # it waited while others failed
            self._count("failed")
            return
        stamp = format_go_time(at, at - self._began)
        request = SendRequest(endpoint=endpoint, pod=pod, node=node, event=event, timestamp=stamp)
        try:
            await send(request, timeout=DEADLINE_SECONDS)
            self._count("sent")
        except grpc.RpcError as error:
            self._count("failed")
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                self._paused_until = self._now() + PAUSE
            self._complain(f"{error.code().name}: {error.details()}")

    def _complain(self, why: str) -> None:
        now = self._now()
        if self._last_complaint is None or now - self._last_complaint >= BETWEEN_COMPLAINTS:
            self._last_complaint = now
            logger.warning("the sniffer at %s is not told everything: %s", self._address, why)
