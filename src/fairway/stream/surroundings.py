"""What the stream's service may ask of the process that it is in: values and functions, given by whoever starts it.

In: nothing. Out: `Surroundings`. The service knows no API server, no metrics and no scheduler; a process that has them
hands over what is needed, and a simulation, which has none, leaves it at that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

__all__ = ["ReadingRefused", "Surroundings", "Tls"]


Tls: TypeAlias = Callable[[], tuple[bytes, bytes]]
"""The certificate to serve with and its key, PEM; asked for with every new connection."""


class ReadingRefused(NamedTuple):
    """Why somebody may not read: an HTTP status, and words."""

    status: int
    message: str


async def _everybody(token: str) -> ReadingRefused | None:
    return None


async def _nothing(pod: str) -> bytes | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """All of it has an answer for a process that has nothing to say."""

    now: Callable[[], int]
    """Nanoseconds since 1970."""
    origin: int | None = None
    """The same at the run's 0, if that has a real time."""
    is_leading: Callable[[], bool] = lambda: True
    refusal: Callable[[str], Awaitable[ReadingRefused | None]] = _everybody
    """May somebody with that token read? Asked in the service's own loop."""
    explain: Callable[[str], Awaitable[bytes | None]] = _nothing
    """What `why` says of namespace/name, as JSON; None: there is no such pod."""
    answers: Mapping[str, Callable[[Any], Awaitable[Any]]] = field(default_factory=dict)
    """To whatever else a process asks, by its name: values that msgpack has."""
    close: Callable[[], Awaitable[None]] | None = None
    """Called in the service's loop when it is over: for connections that `refusal` has."""
    count_lost: Callable[[str, int], None] = lambda why, number: None
    count: Callable[[int, int, int], None] = lambda readers, events, kept: None
    """How many readers there are, events there were, and events are kept; told now and then."""
