"""The sniffer's service: takes what schedulers, hooks and watchers send, and hands it on in order.

In: calls of `/api.SnifferService/Send` from any number of producers. Out: each message, in the order of arrival, to
`take`, in a thread of its own, so that a slow disk makes nobody wait. A call is answered once its message is in the
buffer; the buffer is bounded, and a message for which there is no room is refused and counted. Plain text, as the
protocol is: who listens beyond this machine has to have said so.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any, Final

import grpc
import grpc.aio

from fairway.stream.calls import handlers
from fairway.stream.message import Message
from fairway.stream.wire.sniffer_pb2 import SendRequest, SendResponse

__all__ = ["SEND", "SERVICE", "SnifferService", "message_of"]

logger = logging.getLogger(__name__)

SERVICE: Final = "api.SnifferService"
SEND: Final = f"/{SERVICE}/Send"
MOST_WAITING: Final = 65_536
MOST_BYTES: Final = 64 << 10
"""In one message; more is refused before it is read."""


class SnifferService:
    """The service; `start` and `stop` it in one event loop."""

    def __init__(self, take: Callable[[Message], None], most_waiting: int = MOST_WAITING) -> None:
        """`take` is called in another thread, one message at a time; if it raises, all others are refused."""
        self._take = take
        self._waiting: queue.Queue[Message | None] = queue.Queue(most_waiting)
        self._thread = threading.Thread(target=self._hand_on, name="sniffer", daemon=True)
        self._server: grpc.aio.Server | None = None
        self.failure: Exception | None = None  # what `take` raised
        self.num_taken = 0
        self.num_refused = 0

    async def start(self, address: str) -> int:
        """Listen; returns the port. OSError if the address can not be had."""
        server = grpc.aio.server(
            options=[("grpc.max_receive_message_length", MOST_BYTES), ("grpc.so_reuseport", 0)],
        )
        server.add_generic_rpc_handlers((handlers(SERVICE, {"Send": (SendRequest, self._send)}),))
        try:
            port = server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {address}: {error}") from None
        await server.start()
        self._server = server
        self._thread.start()
        return port

    async def stop(self, grace_seconds: float = 2.0) -> None:
        """Take no more, finish what was taken."""
        if self._server is not None:
            await self._server.stop(grace_seconds)
            self._waiting.put(None)
            self._thread.join()

    async def _send(self, request: SendRequest, context: Any) -> SendResponse:
        message = message_of(request)
        try:
            message.time  # noqa: B018 - to find out whether it can be read
        except ValueError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"timestamp {request.timestamp[:60]!r} {error}")
        if not message.name:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "pod is empty")
        try:
            if self.failure is not None:
                raise queue.Full
            self._waiting.put_nowait(message)
        except queue.Full:
            self.num_refused += 1
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many messages wait to be written")
        self.num_taken += 1
        return SendResponse()

    def _hand_on(self) -> None:
        while (message := self._waiting.get()) is not None:
            if self.failure is not None:
                continue  # what was waiting then; nobody is let in any more
            try:
                self._take(message)
            except Exception as error:  # noqa: BLE001 - whoever stops the service is told, and producers are refused
                logger.error("messages are taken no more: %s", error)
                self.failure = error


def message_of(request: SendRequest) -> Message:
    """What came over the wire, as a log has it."""
    return Message("Pod", request.pod, request.endpoint, request.event, request.node, timestamp=request.timestamp)
