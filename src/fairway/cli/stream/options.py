"""What the commands of the stream share: the extra they need, and addresses.

In: nothing. Out: a check that gRPC is installed, before anything else happens, a type for HOST:PORT, and the options
of processes that tell others what happens. Used by `sniff`, `watch`, `run`, `sim` and `record`.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from fairway.live.followers import Follower
    from fairway.stream.address import Address

__all__ = ["ADDRESS", "follower_options", "followers_of", "missing_extra", "need_stream"]

F = TypeVar("F", bound=Callable[..., Any])


def missing_extra() -> str:
    """What is not installed; "" if all is."""
    return "" if importlib.util.find_spec("grpc") and importlib.util.find_spec("google.protobuf") else "gRPC"


def need_stream(what: str) -> None:
    """Complain if the extra `stream` is not installed."""
    from fairway.cli.main import CommandError

    if missing_extra():
        raise CommandError(f"{what} needs gRPC, which is not installed", "pip install 'fairway[stream]'")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # what goes wrong we say ourselves; it looks when it is imported


class AddressType(click.ParamType["Address"]):
    """Where something listens."""

    name = "HOST:PORT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Address:
        """A host and a port."""
        from fairway.stream.address import Address, parse_address

        if isinstance(value, Address):
            return value
        try:
            return parse_address(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


ADDRESS = AddressType()


def follower_options(command: F) -> F:
    """Add --stream and --sniffer; they arrive as such."""
    options = (
        click.option("--stream", type=ADDRESS, help="Serve every decision and what came of it to fairway watch."),
        click.option("--sniffer", type=ADDRESS, help="Tell a scheduler-sniffer, such as fairway sniff."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def followers_of(stream: Address | None, sniffer: Address | None, *, is_watcher: bool = False) -> tuple[Follower, ...]:
    """Who is told, besides a recording."""
    if stream is None and sniffer is None:
        return ()
    need_stream("--stream" if stream is not None else "--sniffer")
    from fairway.live.api.clock import wall_nanoseconds
    from fairway.stream.followers import SnifferFollower, StreamFollower

    followers: list[Follower] = []
    if stream is not None:
        followers.append(StreamFollower(stream, secrets.token_hex(8), wall_nanoseconds))
    if sniffer is not None:
        followers.append(SnifferFollower(sniffer, wall_nanoseconds, is_watcher=is_watcher))
    return tuple(followers)
