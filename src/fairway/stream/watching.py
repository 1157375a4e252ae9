"""A reader's place in the stream: what it gets next, what it missed, and how it goes on after a break.

In: a ring that somebody writes to, and what a reader asked for. Out: batches, each with the token from which to resume.
A reader that was overtaken gets a gap with the exact number of events that it lost; one that comes with a token of
another stream, or an older one than is kept, too, and then how things stand, if it asked for that. Of each stream, what
a reader received without filters and what it was told to have lost add up to what was sent. Knows no network, no clock
and no protobuf.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from msgspec.structs import replace

from fairway.stream.ring import Ring
from fairway.stream.told import (
    Attempt,
    Event,
    JobAttempt,
    NodeSeen,
    PodRef,
    PodSeen,
    Preempted,
    QueueMove,
    Snapshot,
    Told,
)

__all__ = ["BATCH", "Batch", "EventSource", "Gap", "Reader", "WantedEvents", "read_token"]

BATCH: Final = 256
TOKEN: Final = re.compile(r"([0-9a-z]{1,64}):([1-9][0-9]{0,18})", re.ASCII)
SHOWN: Final = 60
Why = Literal["slow reader", "too old", "other leader"]


class Gap(NamedTuple):
    """Events that are missing, of all kinds, from one number to another, both among them."""

    lost: int
    from_sequence: int
    to_sequence: int
    why: Why


class Batch(NamedTuple):
    """Events with their numbers, and what is missing before them."""

    events: tuple[tuple[int, Event], ...]
    resume: str
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class WantedEvents:
    """What a reader asked for; nothing said means everything."""

    kinds: Collection[type[Told]] = ()
    pod_glob: str = ""
    node_glob: str = ""
    snapshot: bool = False


def read_token(token: str) -> tuple[str, int] | None:
    """The stream and the number of the next event that a token means; None if it is none of ours."""
    match = TOKEN.fullmatch(token)
    return (match[1], int(match[2])) if match else None


class EventSource(Protocol):
    """What is read from."""

    @property
    def ring(self) -> Ring[Event]:
        """The latest events."""

    @property
    def stream_id(self) -> str:
        """Of this process and no other."""

    def snapshot(self) -> tuple[int, list[Event]]:
        """How things stand, in parts, and the number of the event that comes next."""


class Reader:
    """One reader of one stream."""

    def __init__(self, source: EventSource, wanted: WantedEvents, resume: str = "") -> None:
        """ValueError if `resume` is no token."""
        self._source = source
        self._ring = source.ring
        self._wanted = wanted
        self._matches = _matcher(wanted)
        self._next = source.ring.next
        self._gap: Gap | None = None
        self._needs_snapshot = wanted.snapshot
        self.num_read = 0  # events that the last batch was made of, before the filter
        if resume:
            self._resume(resume)

    def _resume(self, token: str) -> None:
        place = read_token(token)
        if place is None:
            raise ValueError(f"resume: {token[:SHOWN]!r} is no token of a stream; take the last batch's, or none")
        stream, sequence = place
        is_same = stream == self._source.stream_id
        if is_same and sequence > self._ring.next:
            raise ValueError(f"resume: {token[:SHOWN]!r} is ahead of the stream; take the last batch's, or none")
        self._next = sequence if is_same else 1
        first = self._ring.first
        if is_same and sequence >= first:
            self._needs_snapshot = False
            return
        # What came before in another stream nobody knows here; of this one, what is no longer kept is lost.
        self._gap = Gap(first - self._next, self._next, first - 1, "too old" if is_same else "other leader")
        self._next = first

    def read(self) -> Batch | None:
        """The next batch; None if nothing has happened."""
        if self._needs_snapshot:
            return self._read_snapshot()
        stretch = self._ring.read(self._next, BATCH)
        if stretch.first > self._next:
            self._lose(stretch.first, "slow reader")
        gap, self._gap = self._gap, None
        if not stretch.events and gap is None:
            return None
        matches, numbered = self._matches, enumerate(stretch.events, stretch.first)
        if matches is None:
            events = tuple(numbered)
        else:
            events = tuple((number, event) for number, event in numbered if matches(event.what))
        self._next = stretch.next
        self.num_read = len(stretch.events)
        return Batch(events, self.token, gap)

    def _read_snapshot(self) -> Batch:
        self._needs_snapshot = False
        following, parts = self._source.snapshot()
        if self._gap is not None:
            self._lose(following, self._gap.why)  # the snapshot tells what came of them; as events they are lost
        gap, self._gap = self._gap, None
        self._next = following
        chosen = (Event(part.time_seconds, _part_of(part.what, self._wanted)) for part in parts)
        return Batch(tuple((following - 1, part) for part in chosen), self.token, gap)

    def _lose(self, following: int, why: Why) -> None:
        """Nothing before that number will be read; a gap that was not told yet becomes longer."""
        first = self._next if self._gap is None else self._gap.from_sequence
        self._gap = Gap(following - first, first, following - 1, why if self._gap is None else self._gap.why)

    @property
    def token(self) -> str:
        """From where to resume after what was read; "" where something has to be told first."""
        return "" if self._needs_snapshot or self._gap else f"{self._source.stream_id}:{self._next}"

    @property
    def num_behind(self) -> int:
        """How many events wait to be read."""
        return self._ring.next - self._next


def _matcher(wanted: WantedEvents) -> Callable[[Told], bool] | None:
    """Is it asked for? None: everything is."""
    kinds = frozenset(wanted.kinds)
    if not (kinds or wanted.pod_glob or wanted.node_glob):
        return None
    has_pod, has_node = _pods_like(wanted.pod_glob), _nodes_like(wanted.node_glob)

    def matches(what: Told) -> bool:
        if kinds and type(what) not in kinds:
            return False
        return (has_pod is None or any(map(has_pod, _pods_of(what)))) and (
            has_node is None or any(map(has_node, _nodes_of(what)))
        )

    return matches


def _pods_like(glob: str) -> Callable[[PodRef], bool] | None:
    """A glob with a slash is about namespace and name, one without about the name in any namespace."""
    if not glob:
        return None
    matches = re.compile(fnmatch.translate(glob)).fullmatch
    if "/" in glob:
        return lambda ref: matches(f"{ref.namespace}/{ref.name}") is not None
    return lambda ref: matches(ref.name) is not None


def _nodes_like(glob: str) -> Callable[[str], bool] | None:
    if not glob:
        return None
    matches = re.compile(fnmatch.translate(glob)).fullmatch
    return lambda name: matches(name) is not None


def _part_of(what: Told, wanted: WantedEvents) -> Told:
    """Of a snapshot, what is about the pods and nodes that were asked for."""
    assert isinstance(what, Snapshot)
    has_pod, has_node = _pods_like(wanted.pod_glob), _nodes_like(wanted.node_glob)
    bound, nodes, queue = what.bound, what.nodes, what.queue
    if has_pod is not None:
        bound = tuple(one for one in bound if has_pod(one.pod))
        queue = tuple(one for one in queue if has_pod(one.pod))
    if has_node is not None:
        bound = tuple(one for one in bound if has_node(one.node))
        nodes = tuple(one for one in nodes if has_node(one.node))
    return replace(what, bound=bound, nodes=nodes, queue=queue)


def _pods_of(what: Told) -> tuple[PodRef, ...]:
    if isinstance(what, (NodeSeen, Snapshot)):
        return ()
    if isinstance(what, JobAttempt):  # its members' attempts come singly
        job = PodRef(what.job.namespace, what.job.name, "")
        return (job,) if what.blocking is None else (job, what.blocking)
    return (what.pod, what.by) if isinstance(what, Preempted) else (what.pod,)


def _nodes_of(what: Told) -> tuple[str, ...]:
    if isinstance(what, Attempt):
        return tuple(filter(None, (what.node, what.nominated_node)))
    if isinstance(what, JobAttempt):
        return tuple(victim.node for victim in what.victims)
    return () if isinstance(what, QueueMove | PodSeen | Snapshot) else (what.node,)
