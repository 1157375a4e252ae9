"""What the sniffer's messages say about pods and nodes: who was where, from when to when, and how that is known.

In: messages in the order in which they were written, which is not the order of their times. Out: pods with their
intervals, nodes with their states, and when it all was. Time is in whole nanoseconds; 0 is the first time that a clock
showed, and everything before it counts as 0. Of each event of a pod the first message counts. A message without a time
happened when it was written, and the log's clock tells when that was at the earliest: it shows the largest time so far.
Called by `sniffed_run`, for a log as for a service.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from fairway.model.names import dns_subdomain_problem
from fairway.stream.go_time import GoTime
from fairway.stream.message import Message

__all__ = ["Interval", "NodeState", "Note", "Sniffed", "SniffedPod", "Sniffing"]

Since: TypeAlias = Callable[["Clock"], int]
SCHEDULED, BOUND, STARTED, STOPPED = STEPS = ("ScheduleSuccess", "BindingSuccess", "postStart", "preStop")
POD_SCHEDULED: Final = "PodScheduled"
ENDS: Final = ("Succeeded", "Failed")  # phases
DELETED: Final = "podDelete"
WATCHER: Final = frozenset({"podAdd", "podUpdate", DELETED})
OTHER_NODE: Final = "other node"
NODE_GONE: Final = "Deleted"
NOT_READY: Final = frozenset({"KubeletNotReady", "NodeStatusUnknown"})
ALLOCATABLE: Final = "allocatable-"


@dataclass(frozen=True, slots=True)
class Note:
    """Something that became known about a pod or node: a phase, a condition, or whatever else was told."""

    nanoseconds: int
    kind: str
    subject: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Interval:
    """From when to when a pod held its node, and by which message that is known; `end` None: to the end of the run."""

    start: int
    start_source: str
    end: int | None
    end_source: str | None
    reason: str | None  # how it ended: Succeeded, Failed or Deleted


@dataclass(frozen=True, slots=True)
class SniffedPod:
    """A pod, as long as it was on one node; `number` counts those of one name, from 1."""

    name: str
    number: int
    node: str
    created: int
    decisions: tuple[int, ...]  # when a node was chosen for it
    started: int | None
    interval: Interval | None  # None: it was never bound
    was_there_before: bool  # the messages do not tell how it was scheduled


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node from some time on; `allocatable` is None where no message told, and `change` is Deleted where it ends."""

    start: int
    change: str
    allocatable: dict[str, str] | None
    is_ready: bool


@dataclass(frozen=True, slots=True)
class Sniffed:
    """Everything that the messages say."""

    origin: int | None  # nanoseconds since 1970 of the run's 0; None: no message had a time
    end: int
    pods: tuple[SniffedPod, ...]  # in the order in which they came
    nodes: dict[str, tuple[NodeState, ...]]
    notes: tuple[Note, ...]
    num_messages: int
    counts: dict[tuple[str, str, str], int]  # messages by object, endpoint and event


Clock = int | None
"""A time in nanoseconds since 1970; None is before all times that were told."""


@dataclass(slots=True)
class _Life:
    """What is known of one pod on one node."""

    name: str
    node: str
    times: dict[str, Clock] = field(default_factory=dict)  # of each event's first message
    decisions: list[Clock] = field(default_factory=list)
    end: tuple[str, Clock] | None = None  # the first phase that is an end, and the log's clock at it
    deletion: tuple[str, Clock] | None = None  # the first podDelete
    first: Clock = None  # the earliest time by which it was there
    last: Clock = None
    first_exact: Clock = None
    has_proof: bool = False  # of being bound: something was told that is told of bound pods only
    noted: set[tuple[str, str]] = field(default_factory=set)  # what was noted of it, so that it is noted once

    def saw(self, at: Clock, is_exact: bool) -> None:
        """It was there at that time."""
        if at is None:
            return
        self.first = at if self.first is None else min(self.first, at)
        self.last = at if self.last is None else max(self.last, at)
        if is_exact:
            self.first_exact = at if self.first_exact is None else min(self.first_exact, at)

    @property
    def begin(self) -> Clock:
        """When it was first there; a clock's time is worth more than a condition's."""
        return self.first if self.first_exact is None else self.first_exact

    def began_after(self, other: _Life) -> bool:
        """Which of the two was there first?"""
        return self.begin is not None and (other.begin is None or other.begin < self.begin)

    def is_before(self, at: Clock) -> bool:
        """Is all that is known of it older than that?"""
        known = self.times.values() or (self.last,)  # phases have no times of their own: the log's clock is late
        return at is not None and all(time is None or time < at for time in known)


class Sniffing:
    """Takes messages, one after the other; `result` says what they amount to."""

    def __init__(self) -> None:
        self._clock: Clock = None  # the largest time so far
        self._first: Clock = None
        self._first_exact: Clock = None
        self._lives: dict[str, list[_Life]] = {}
        self._nodes: dict[str, list[tuple[Clock, str, dict[str, str] | None, bool]]] = {}
        self._notes: list[tuple[Clock, str, str, str, str]] = []
        self._noted: set[tuple[str, ...]] = set()  # what was noted of nodes, and of things that have no name
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def take(self, message: Message) -> None:
        """One message more; its time must be one that can be read."""
        moment = message.time
        self._counts[message.object, message.endpoint, message.event] += 1
        if moment is not None:
            at = moment.nanoseconds
            self._clock = at if self._clock is None else max(self._clock, at)
            self._first = at if self._first is None else min(self._first, at)
            if moment.is_exact:
                self._first_exact = at if self._first_exact is None else min(self._first_exact, at)
        if any(name and dns_subdomain_problem(name) for name in (message.name, message.node)):
            self._note_nameless(message, moment)
        elif message.object == "Node":
            self._take_node(message)
        else:
            self._take_pod(message, moment)

    def _note_nameless(self, message: Message, moment: GoTime | None) -> None:
        """No pod or node of Kubernetes has such a name: it is kept as something that was told, once."""
        key = (message.object, message.name, message.node, message.event or message.endpoint, message.timestamp)
        if key not in self._noted:
            self._noted.add(key)
            at = self._clock if moment is None else moment.nanoseconds
            words = f"{_words(message)} (node {message.node})" if message.node else _words(message)
            self._notes.append((at, message.object, message.name, message.event or message.endpoint, words))

    # -- pods ----------------------------------------------------------------------------------------------------------

    def _take_pod(self, message: Message, moment: GoTime | None) -> None:
        at = self._clock if moment is None else moment.nanoseconds
        life = self._life_of(message, at)
        life.saw(at, moment is not None and moment.is_exact)
        event = message.event
        if event in STEPS:
            if event == SCHEDULED and at not in life.decisions:
                life.decisions.append(at)
            life.has_proof |= event != SCHEDULED
            life.times.setdefault(event, at)
        else:
            self._take_watched(life, message, at)

    def _take_watched(self, life: _Life, message: Message, at: Clock) -> None:
        """A phase, a condition, or something that nobody has told before."""
        what = message.event or message.endpoint
        if message.endpoint in WATCHER:
            life.has_proof = True
            if what == POD_SCHEDULED:
                life.times.setdefault(what, at)
            if what in ENDS and life.end is None:
                life.end = (what, self._clock)
            if message.endpoint == DELETED and life.deletion is None:
                life.deletion = (DELETED, self._clock)
        if (what, message.timestamp) not in life.noted:
            life.noted.add((what, message.timestamp))
            self._notes.append((at, "Pod", message.name, what, _words(message)))

    def _life_of(self, message: Message, at: Clock) -> _Life:
        """The pod of that name on that node: on a second node it is a second pod."""
        lives, node = self._lives.setdefault(message.name, []), message.node
        if lives and not lives[-1].node:
            lives[-1].node = node
        if not lives or (node and lives[-1].node != node and not self._is_late(lives, message, at)):
            lives.append(_Life(message.name, node))
        if not node:
            return lives[-1]
        return next(life for life in reversed(lives) if life.node == node)

    def _is_late(self, lives: list[_Life], message: Message, at: Clock) -> bool:
        """Is it about an earlier pod, on the node before? Messages are not in order, and a pod may return to a node."""
        latest = next((life for life in reversed(lives) if life.node == message.node), None)
        if latest is None or message.event not in (SCHEDULED, BOUND):
            return latest is not None
        others = (life for life in lives if life.node != message.node)
        return not any(other.began_after(latest) and other.is_before(at) for other in others)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _take_node(self, message: Message) -> None:
        changes = self._nodes.setdefault(message.name, [])
        _, before, allocatable, is_ready = changes[-1] if changes else (None, NODE_GONE, None, True)
        if message.endpoint == "nodeDeleted":
            if before != NODE_GONE:
                changes.append((self._clock, NODE_GONE, allocatable, is_ready))
            return
        extra = message.extra.items()
        told = {key.removeprefix(ALLOCATABLE): value for key, value in extra if key.startswith(ALLOCATABLE)}
        ready = message.reason not in NOT_READY if message.event == "Ready" else is_ready
        if before == NODE_GONE:
            # A log that begins with an update began when the node was there already.
            at = self._clock if message.endpoint == "nodeAdd" or changes else None
            changes.append((at, "Added", told or None, ready))
        elif told and told != allocatable:
            changes.append((self._clock, "Resized", told, ready))
        elif ready != is_ready:
            changes.append((self._clock, "Ready" if ready else "NotReady", allocatable, ready))
        told_of = ("Node", message.name, message.event, message.timestamp)
        if message.event and message.event != "Ready" and told_of not in self._noted:
            self._noted.add(told_of)  # conditions are told again every ten seconds
            self._notes.append((self._clock, "Node", message.name, message.event, _words(message)))

    # -- what it amounts to --------------------------------------------------------------------------------------------

    def result(self) -> Sniffed:
        """All that is known by now."""
        origin = self._first_exact if self._first_exact is not None else self._first

        def since(at: Clock) -> int:
            return 0 if at is None or origin is None else max(0, at - origin)

        pods = [pod for lives in self._lives.values() for pod in _pods_of(lives, since)]
        pods.sort(key=lambda pod: pod.created)
        notes = [Note(since(at), *words) for at, *words in self._notes]
        notes.sort(key=lambda note: note.nanoseconds)
        return Sniffed(
            origin,
            since(self._clock),
            tuple(pods),
            self._node_states(pods, since),
            tuple(notes),
            self._counts.total(),
            dict(self._counts),
        )

    def _node_states(self, pods: Sequence[SniffedPod], since: Since) -> dict[str, tuple[NodeState, ...]]:
        nodes = {
            name: [NodeState(since(at), change, allocatable, ready) for at, change, allocatable, ready in changes]
            for name, changes in self._nodes.items()
        }
        for pod in pods:
            if not pod.node:
                continue
            states = nodes[pod.node] = nodes.get(pod.node) or [NodeState(0, "Added", None, True)]
            if pod.interval is not None and pod.interval.start < states[0].start:
                states[0] = replace(states[0], start=pod.interval.start)  # it held a pod before anybody spoke of it
        return {name: tuple(states) for name, states in nodes.items() if states}


def _pods_of(lives: list[_Life], since: Since) -> list[SniffedPod]:
    """The pods of one name, one after the other: where the next begins, the one before has ended."""
    order = sorted(lives, key=lambda life: since(life.begin))
    pods = []
    for number, (life, after) in enumerate(itertools.zip_longest(order, order[1:]), 1):
        cut = None if after is None else since(after.begin)
        interval = _interval_of(life, cut, since)
        created = since(life.first) if interval is None else min(since(life.first), interval.start)
        started = since(life.times[STARTED]) if STARTED in life.times else None
        decisions = tuple(sorted(since(at) for at in life.decisions))
        was_there = not decisions and BOUND not in life.times
        pods.append(SniffedPod(life.name, number, life.node, created, decisions, started, interval, was_there))
    return pods


def _interval_of(life: _Life, cut: int | None, since: Since) -> Interval | None:
    """From when to when it held its node; None if it was never bound, or nobody said where."""
    sources = (BOUND, SCHEDULED, POD_SCHEDULED) if life.has_proof else (BOUND,)
    source = next((source for source in sources if source in life.times), None)
    if source is None or not life.node:
        return None
    start = since(life.times[source])
    phase = None if life.end is None else life.end[0]
    if STOPPED in life.times:
        end: tuple[str, Clock] | None = (STOPPED, life.times[STOPPED])
    else:
        end = ("phase", life.end[1]) if life.end is not None else life.deletion
    if end is None and cut is None:
        return Interval(start, source, None, None, None)
    until = max(start, since(end[1])) if end is not None else None
    if cut is not None and (until is None or cut < until):
        return Interval(start, source, max(start, cut), OTHER_NODE, "Deleted")
    return Interval(start, source, until, end[0] if end else None, phase or "Deleted")


def _words(message: Message) -> str:
    """What a person reads of it."""
    return ": ".join(text for text in (message.reason, message.message) if text) or message.endpoint
