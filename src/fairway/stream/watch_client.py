"""Following a stream: batches, one after the other, through lost connections and new leaders.

In: an address, what is wanted, and how to show who one is. Out: what was told, with gaps where something is missing. A
stream that breaks off is asked for again from where it was left; one that refuses says why, and is not asked again.
Called by `fairway watch`.
"""

from __future__ import annotations

import hashlib
import logging
import ssl
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import grpc

from fairway.stream.calls import stream_call, unary_call
from fairway.stream.decoding import decode_event
from fairway.stream.encoding import FORMS
from fairway.stream.told import Event, Told
from fairway.stream.watch_service import EXPLAIN, WATCH
from fairway.stream.watching import Gap
from fairway.stream.wire import decisions_pb2 as wire

__all__ = ["CannotWatchError", "Followed", "StreamAddress", "explain", "follow", "trusted_certificate", "watch_request"]

logger = logging.getLogger(__name__)

MOST_BYTES: Final = 16 << 20
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
TRANSIENT: Final = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED)
OPTIONS: Final = (
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.enable_http_proxy", 0),
    ("grpc.keepalive_time_ms", 60_000),  # a server that is gone without a word is noticed
)


class CannotWatchError(Exception):
    """The service does not let us, or there is none: what, and why."""

    def __init__(self, what: str, is_refusal: bool) -> None:
        super().__init__(what)
        self.is_refusal = is_refusal


@dataclass(frozen=True, slots=True)
class StreamAddress:
    """Where a stream is, and how to be let in; without a certificate authority it is plain text."""

    address: str
    token: str = ""
    authority: bytes | None = None  # PEM; empty: those that the machine trusts; None: no TLS
    server_name: str = ""  # that the certificate has, if not the address's

    def channel(self) -> grpc.Channel:
        """A connection."""
        if self.authority is None:
            return grpc.insecure_channel(self.address, options=OPTIONS)
        named = (("grpc.ssl_target_name_override", self.server_name),) if self.server_name else ()
        credentials = grpc.ssl_channel_credentials(self.authority or None)
        return grpc.secure_channel(self.address, credentials, options=(*OPTIONS, *named))

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Who we are."""
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()


class Followed(NamedTuple):
    """What a batch brought; `origin` is the nanoseconds since 1970 of the run's 0, where it has a real one."""

    stream_id: str
    events: Sequence[tuple[int, Event]]
    gap: Gap | None
    origin: int | None
    resume: str


def follow(
    at: StreamAddress,
    request: wire.WatchRequest,
    pause: Callable[[float], bool],
    tell: Callable[[str], None] = lambda words: None,
    begun: Callable[[Callable[[], object]], None] = lambda cancel: None,
) -> Generator[Followed, None, None]:
    """Follow until the stream is over for good; `pause` waits for so many seconds and says whether to try again.

    `begun` is given what ends the call that begins, from another thread, while this one waits for what comes next.
    Raises `CannotWatchError` if we are refused, or were never let in.
    """
    resume, seconds, was_there = request.resume, FIRST_PAUSE, False
    while True:
        request.resume = resume
        try:
            with at.channel() as channel:
                call = stream_call(channel, WATCH, wire.Batch)(request, metadata=at.metadata)
                begun(call.cancel)
                for batch in call:
                    seconds, was_there = FIRST_PAUSE, True
                    resume = batch.resume or resume
                    yield _followed(batch)
            return
        except grpc.RpcError as error:
            words = f"{error.code().name}: {error.details()}"
            if error.code() not in TRANSIENT or not was_there:
                raise CannotWatchError(words, error.code() is not grpc.StatusCode.UNAVAILABLE) from None
        tell(f"{words}; asking again in {seconds:g} s")
        if not pause(seconds):
            return
        seconds = min(2 * seconds, LONGEST_PAUSE)


def _followed(batch: wire.Batch) -> Followed:
    gap = batch.gap
    lost = (
        Gap(gap.lost, gap.from_sequence, gap.to_sequence, gap.why)  # type: ignore[arg-type]  # newer words are words too
        if batch.HasField("gap")
        else None
    )
    origin = next((_origin_of(event) for event in batch.events if event.HasField("time")), None)
    decoded = ((event.sequence, decode_event(event)) for event in batch.events)
    return Followed(
        batch.stream_id, [(number, event) for number, event in decoded if event is not None], lost, origin, batch.resume
    )


def _origin_of(event: wire.Event) -> int:
    return event.time.seconds * 1_000_000_000 + event.time.nanos - round(event.time_seconds * 1_000_000_000)


def watch_request(
    kinds: Sequence[type[Told]] = (),
    pod_glob: str = "",
    node_glob: str = "",
    *,
    top_scores: int = 0,
    snapshot: bool = False,
    resume: str = "",
) -> wire.WatchRequest:
    """What to ask for."""
    return wire.WatchRequest(
        resume=resume,
        kinds=[FORMS[kind].kind for kind in kinds],
        pod_glob=pod_glob,
        node_glob=node_glob,
        top_scores=top_scores,
        snapshot=snapshot,
    )


def trusted_certificate(host: str, port: int, fingerprint: str) -> bytes:
    """The certificate of whoever listens there, PEM, if it is the one that was meant; ValueError if not."""
    certificate = ssl.get_server_certificate((host, port), timeout=10.0)
    found = hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate)).hexdigest()
    if found != fingerprint.replace(":", "").lower():
        raise ValueError(f"its certificate has the fingerprint {found}")
    return certificate.encode()


def explain(at: StreamAddress, pod: str, seconds: float = 10.0) -> str:
    """What the scheduler says about a pod, as JSON; raises `CannotWatchError`."""
    with at.channel() as channel:
        call = unary_call(channel, EXPLAIN, wire.Explanation)
        try:
            answer = call(wire.ExplainRequest(pod=pod), timeout=seconds, metadata=at.metadata)
        except grpc.RpcError as error:
            refused = error.code() is not grpc.StatusCode.UNAVAILABLE
            raise CannotWatchError(f"{error.code().name}: {error.details()}", refused) from None
        return str(answer.json)
