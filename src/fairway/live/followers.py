"""Who follows a live cluster besides its recording: streams and sniffers, which know nothing of this room.

In: nothing. Out: `Follower`, what such a one is, and `Home`, what it may ask of the process that it is in: who may
read, what the scheduler says about a pod, in short or in words, what to serve with, and where to count. The command
line makes followers; `process` and `fairway record` start them, tell them, and stop them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from fairway.live.api.certificate_files import CertificateFiles
from fairway.live.api.clock import Clock
from fairway.live.api.late_connection import Closable, LateConnection
from fairway.live.api.problems import LiveProblem
from fairway.live.listener import Listener
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.serving.authorization import Asked, DelegatedAccess, LoopbackAccess, NoAccess, User
from fairway.model import Pod
from fairway.record import Recorder

__all__ = ["STREAM_PATH", "CannotFollow", "Follower", "Home", "Why", "start_followers"]

STREAM_PATH = "/fairway/stream/v1"
"""What the API server is asked about: may somebody `get` this path?"""


class CannotFollow(LiveProblem):
    """A follower can not begin."""

    exit_code = 1

    def __init__(self, why: str) -> None:
        super().__init__("a follower can not begin", why, "choose another HOST:PORT")


Why: TypeAlias = Callable[[str, str | None, bool], Awaitable[tuple[int, dict[str, Any]]]]
"""Namespace/name, the node that is asked about, whether all are shown: status and document of `/fairway/v1/why`."""


async def _unknown(pod: str) -> bytes | None:
    return None


async def _no_words(pod: str, node: str | None, all_nodes: bool) -> tuple[int, dict[str, Any]]:
    return 404, {"message": f"nothing is known of {pod} here"}


@dataclass(frozen=True, slots=True)
class Home:
    """The process around a follower. `refusal` and `close` are called in a loop of the follower's own."""

    origin: int  # nanoseconds since 1970 of the recording's 0
    refusal: Callable[[str], Awaitable[NoAccess | None]]  # of somebody with this token
    admission: Callable[[bool], Callable[[Asked], Awaitable[User | NoAccess]]]  # whom it lets in; on loopback or beyond
    certificate: Callable[[str], Callable[[], tuple[bytes, bytes]]]  # and its key, PEM, as at each time; for doing what
    metrics: SchedulerMetrics
    close: Callable[[], Awaitable[None]]
    is_leading: Callable[[], bool] = lambda: True
    explain: Callable[[str], Awaitable[bytes | None]] = _unknown  # namespace/name, as JSON
    why: Why = _no_words


class Follower(Protocol):
    """Somebody who is told."""

    @property
    def recorder(self) -> Recorder | None:
        """Told of everything that happens; None: it hears enough otherwise."""

    @property
    def listener(self) -> Listener | None:
        """Told of what a scheduler hears and does; None: the recorder is, in its own words."""

    def start(self, home: Home) -> None:
        """Begin; OSError says why not."""

    def bound(self, pod: Pod, node: str) -> None:
        """The API server has bound a pod for us; the watch tells so later."""

    def stop(self) -> None:
        """End, within a few seconds."""


def start_followers(  # noqa: PLR0913 - what a process offers, by name
    stack: ExitStack | AsyncExitStack,
    followers: Sequence[Follower],
    reviews: Callable[[], Awaitable[Closable]],
    clock: Clock,
    metrics: SchedulerMetrics,
    origin: float,
    *,
    tls_files: tuple[str, str] = ("", ""),
    is_leading: Callable[[], bool] = lambda: True,
    explain: Callable[[str], Awaitable[bytes | None]] = _unknown,
    why: Why = _no_words,
    trusts_loopback: bool = False,
) -> None:
    """Start all, to be stopped with `stack`. `reviews` opens a connection for asking who may read; raises
    `CannotFollow`. `trusts_loopback`: on a loopback address nobody has to show a token.
    """
    for follower in followers:
        connection = LateConnection(reviews)
        delegated = DelegatedAccess(connection, clock)
        home = Home(
            round(origin * 1e9),
            _refusal(delegated),
            _admission(delegated, trusts_loopback=trusts_loopback),
            lambda doing: CertificateFiles(*tls_files, doing),
            metrics,
            connection.close,
            is_leading,
            explain,
            why,
        )
        try:
            follower.start(home)
        except OSError as error:
            raise CannotFollow(str(error)) from None
        stack.callback(follower.stop)


def _admission(
    delegated: DelegatedAccess, *, trusts_loopback: bool
) -> Callable[[bool], Callable[[Asked], Awaitable[User | NoAccess]]]:
    return lambda is_loopback: (LoopbackAccess() if is_loopback and trusts_loopback else delegated).admitted


def _refusal(access: DelegatedAccess) -> Callable[[str], Awaitable[NoAccess | None]]:

    async def refusal(token: str) -> NoAccess | None:
        return await access.refusal(Asked(STREAM_PATH, "get", token=token))

    return refusal
