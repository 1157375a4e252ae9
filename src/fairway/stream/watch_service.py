"""The service `fairway.v1.Decisions`: what a recorder was told, to whoever reads along.

In: a ring, which another thread fills without ever waiting for us. Out: batches of up to 256 events, at most 100 ms
late, to at most 16 readers, each at its own pace: one that is overtaken is told how many events it missed, and one that
takes nothing for half a minute is sent away. Lives in a thread with an event loop of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Coroutine
from typing import Any, Final, NoReturn, TypeVar

import grpc
import grpc.aio

from fairway.stream.calls import handlers
from fairway.stream.encoding import FORMS, encode_batches
from fairway.stream.go_time import NANOSECONDS
from fairway.stream.surroundings import Surroundings, Tls
from fairway.stream.watching import BATCH, Batch, EventSource, Reader, WantedEvents
from fairway.stream.wire import decisions_pb2 as wire

__all__ = ["EXPLAIN", "SERVICE", "WATCH", "WatchService"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

SERVICE: Final = "fairway.v1.Decisions"
WATCH: Final = f"/{SERVICE}/Watch"
EXPLAIN: Final = f"/{SERVICE}/Explain"
MOST_READERS: Final = 16
LATE_SECONDS: Final = 0.025
"""The rest of a tenth of a second is how long notes may take to come here."""
IDLE_SECONDS: Final = 1.0
"""Readers whose filters let nothing through are told so often from where to resume."""
PATIENCE_SECONDS: Final = 30.0
GRACE_SECONDS: Final = 2.0
MOST_REQUEST_BYTES: Final = 64 << 10
STATUSES: Final = {
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
}
KIND_TYPES: Final = {form.kind: kind for kind, form in FORMS.items()}


class WatchService:
    """Serves one stream; `start` and `stop` it from any thread."""

    def __init__(
        self, source: EventSource, surroundings: Surroundings, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._source = source
        self._around = surroundings
        self._patience = patience_seconds
        self._readers: set[Reader] = set()
        self._num_readers = 0
        self._is_over = False
        self._is_final = False
        self._server: grpc.aio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stream", daemon=True)
        self._counting: asyncio.Task[None] | None = None

    def start(self, address: str, tls: Tls | None = None) -> int:
        """Listen; returns the port. OSError if the address can not be had."""
        self._thread.start()
        try:
            return self._there(self._start(address, tls))
        except BaseException:
            self._end()
            raise

    def stop(self, *, is_final: bool = False) -> None:
        """Readers get what there is, then the stream ends; `is_final`: there will never be another."""
        self._is_final = is_final
        try:
            self._there(self._stop())
        finally:
            self._end()

    @property
    def num_readers(self) -> int:
        """How many read."""
        return self._num_readers

    @property
    def num_behind(self) -> int:
        """How far the slowest reader is behind."""
        return max((reader.num_behind for reader in list(self._readers)), default=0)

    def _there(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5.0)
        if not self._thread.is_alive():
            self._loop.close()

    # -- in the thread -------------------------------------------------------------------------------------------------

    async def _start(self, address: str, tls: Tls | None) -> int:
        server = grpc.aio.server(
            options=[
                ("grpc.max_receive_message_length", MOST_REQUEST_BYTES),
                ("grpc.so_reuseport", 0),
                ("grpc.http2.min_ping_interval_without_data_ms", 20_000),  # readers ask whether we are still there
            ]
        )
        unary = {"Explain": (wire.ExplainRequest, self._explain)}
        server.add_generic_rpc_handlers((handlers(SERVICE, unary, {"Watch": (wire.WatchRequest, self._watch)}),))
        try:
            if tls is None:
                port = server.add_insecure_port(address)
            else:
                port = server.add_secure_port(address, _credentials(tls))
        except RuntimeError as error:
            raise OSError(f"cannot listen on {address}: {error}") from None
        await server.start()
        self._server = server
        self._counting = asyncio.ensure_future(self._count())
        return port

    async def _stop(self) -> None:
        self._is_over = True
        if self._counting is not None:
            self._counting.cancel()
        if self._server is not None:
            await self._server.stop(GRACE_SECONDS)
        if self._around.close is not None:
            await self._around.close()
        await asyncio.get_running_loop().shutdown_default_executor()

    async def _count(self) -> None:
        ring = self._source.ring
        while True:
            self._around.count(self._num_readers, ring.next - 1, len(ring))
            await asyncio.sleep(IDLE_SECONDS)

    async def _admit(self, context: Any) -> None:
        """Abort unless they may ask."""
        metadata = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
        kind, _, token = metadata.get("authorization", "").partition(" ")
        refused = await self._around.refusal(token.strip() if kind.lower() == "bearer" else "")
        if refused is not None:
            await _abort(context, STATUSES.get(refused.status, grpc.StatusCode.UNAVAILABLE), refused.message)
        if not self._around.is_leading():
            await _abort(context, grpc.StatusCode.UNAVAILABLE, "this scheduler does not lead; ask the one that does")

    async def _explain(self, request: wire.ExplainRequest, context: Any) -> wire.Explanation:
        await self._admit(context)
        answer = await self._around.explain(request.pod)
        if answer is None:
            words = f"there is no pod {request.pod[:300]!r} here that could be explained; give NAMESPACE/NAME"
            await _abort(context, grpc.StatusCode.NOT_FOUND, words)
        return wire.Explanation(json=answer.decode())

    async def _watch(self, request: wire.WatchRequest, context: Any) -> None:
        await self._admit(context)
        if self._num_readers >= MOST_READERS:
            words = f"there are {MOST_READERS} readers already"
            await _abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, words)
        self._num_readers += 1
        try:
            reader = await self._reader_of(request, context)
            self._readers.add(reader)
            try:
                await self._send_on(reader, request.top_scores, context)
            finally:
                self._readers.discard(reader)
        finally:
            self._num_readers -= 1

    async def _reader_of(self, request: wire.WatchRequest, context: Any) -> Reader:
        kinds = [KIND_TYPES[number] for number in request.kinds if number in KIND_TYPES]
        if request.kinds and not kinds:
            words = f"kinds: this version knows none of {list(request.kinds)[:9]}"
            await _abort(context, grpc.StatusCode.INVALID_ARGUMENT, words)
        try:
            wanted = WantedEvents(kinds, request.pod_glob, request.node_glob, request.snapshot)
            return Reader(self._source, wanted, request.resume)
        except ValueError as error:
            await _abort(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))

    async def _send_on(self, reader: Reader, most_scores: int, context: Any) -> None:
        """Until the reader leaves, the stream is over or somebody else leads."""
        stream_id, origin = self._source.stream_id, self._around.origin
        for message in encode_batches(Batch((), reader.token), stream_id, origin, 0):
            await self._write(context, message.SerializeToString())
        loop = asyncio.get_running_loop()
        told_at = loop.time()
        while True:
            is_over = self._is_over  # before the last look
            num_events = 0
            while (batch := reader.read()) is not None:
                num_events = reader.num_read
                if batch.gap is not None and batch.gap.lost:
                    self._around.count_lost(batch.gap.why, batch.gap.lost)
                if batch.events or batch.gap is not None or loop.time() - told_at >= IDLE_SECONDS:
                    for message in encode_batches(batch, stream_id, origin, most_scores):
                        self._stamp(message)
                        await self._write(context, message.SerializeToString())
                    told_at = loop.time()
                if num_events < BATCH:
                    break  # the rest of them comes together
            if is_over and self._is_final:
                return
            if is_over or not self._around.is_leading():
                await _abort(context, grpc.StatusCode.UNAVAILABLE, "the stream is over")
            await asyncio.sleep(LATE_SECONDS)

    def _stamp(self, message: wire.Batch) -> None:
        """When it was sent."""
        message.sent.seconds, message.sent.nanos = divmod(self._around.now(), NANOSECONDS)

    async def _write(self, context: Any, message: bytes) -> None:
        writing = asyncio.ensure_future(context.write(message))
        done, _ = await asyncio.wait((writing,), timeout=self._patience)
        if not done:
            writing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writing
            words = f"nothing was read for {self._patience:g} s"
            await _abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, words)
        await writing


def _credentials(tls: Tls) -> grpc.ServerCredentials:
    """Each connection is served with the certificate that is in force when it is made."""

    def configuration() -> grpc.ServerCertificateConfiguration:
        certificate, key = tls()
        return grpc.ssl_server_certificate_configuration([(key, certificate)])

    return grpc.dynamic_ssl_server_credentials(configuration(), configuration)


async def _abort(context: Any, code: grpc.StatusCode, words: str) -> NoReturn:
    await context.abort(code, words)
    raise AssertionError("a call that was aborted goes on")
