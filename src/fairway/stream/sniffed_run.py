"""The run that comes of the sniffer's messages.

In: `Sniffed`, what a log or a service was told, and what a pod is to count for, since no message tells requests. Out:
a run like any other: nodes with their states, pods with the sources of their times as annotations, a decision for each
time that a node was chosen, occupancy, and everything else as events. Decisions that failed are in no message, and the
run's options say so. Called by `fairway import` and `fairway sniff`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, Final

from fairway.cluster import Cluster
from fairway.cycle import Decision, Outcome
from fairway.model import (
    Container,
    Node,
    NodeCondition,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    Quantity,
    ResourceRequirements,
    parse_quantity,
)
from fairway.record import RecordOptions, RunWriter
from fairway.record.vocabulary import NodeChange, NodeEnd, PodEnd
from fairway.stream.go_time import NANOSECONDS, rfc3339_nanoseconds
from fairway.stream.sniffed import Interval, NodeState, Sniffed, SniffedPod
from fairway.words import count_text, nodes_text, pods_text

__all__ = ["SCHEDULER", "MessageOrigin", "read_requests", "summary_of", "write_run"]

SCHEDULER: Final = "default-scheduler"
"""Messages do not say whose they are; pods that say nothing ask for this one."""
FROM_SOURCE: Final = "fairway.dev/from-source"
TO_SOURCE: Final = "fairway.dev/to-source"
OPTIONS: Final = RecordOptions(decisions="placed", queue=False, objects=False)
CHANGES: Final = {str(change): change for change in NodeChange}
ENDS: Final = {str(end): end for end in PodEnd}
NODE, CREATED, DECIDED, BOUND, STARTED, ENDED, NOTED, GONE = range(8)
"""What comes first of what happened at the same time."""

Step = tuple[int, int, Callable[[float], object]]
"""When, in nanoseconds, which of the above, and what to tell the writer then."""


@dataclass(frozen=True, slots=True)
class MessageOrigin:
    """Where messages came from."""

    name: str
    form: str  # of the log, or `messages` for a service
    num_lines: int
    num_skipped: int


def read_requests(text: str) -> dict[str, Quantity]:
    """What each pod counts for, from `cpu=1,memory=1Gi`; ValueError says what is wrong."""
    requests: dict[str, Quantity] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        resource, equals, amount = part.partition("=")
        if not equals or not resource:
            raise ValueError(f"{part!r} is not RESOURCE=AMOUNT, such as cpu=1 or memory=1Gi")
        if resource in requests:
            raise ValueError(f"{resource} is there twice")
        quantity = parse_quantity(amount)
        if quantity.nanos < 0:
            raise ValueError(f"{part}: less than nothing can not be asked for")
        requests[resource] = quantity
    return requests


def summary_of(sniffed: Sniffed, told: MessageOrigin) -> str:
    """What came of it, in a line."""
    intervals = [pod.interval for pod in sniffed.pods if pod.interval is not None]
    num_open = sum(interval.end is None for interval in intervals)
    return " · ".join(
        (
            f"{_several(told.num_lines, 'line')}, {pods_text(len(sniffed.pods))}, {nodes_text(len(sniffed.nodes))}, "
            f"{sniffed.end / NANOSECONDS:.1f} s",
            f"{_several(len(intervals), 'interval')}, {count_text(num_open)} open at the end",
            f"{pods_text(len(sniffed.pods) - len(intervals))} never bound",
            f"{_several(told.num_skipped, 'line')} skipped",
        )
    )


def _several(number: int, what: str) -> str:
    return f"{count_text(number)} {what}{'' if number == 1 else 's'}"


def write_run(
    path: str, sniffed: Sniffed, told: MessageOrigin, requests: Mapping[str, Quantity], namespace: str = "default"
) -> None:
    """Write all of it; raises `CannotWriteError`."""
    title = {"kind": "LiveCluster", "metadata": {"name": told.name}}
    source = {
        "origin": None if sniffed.origin is None else rfc3339_nanoseconds(sniffed.origin),
        "format": told.form,
        "lines_read": told.num_lines,
        "lines_skipped": told.num_skipped,
    }
    with RunWriter(path, scenario=title, seed=0, origin="live", options=OPTIONS, source=source) as writer:
        story = _Story(writer, sniffed, requests, namespace)
        for nanoseconds, _, tell in sorted(story.steps, key=itemgetter(0, 1)):
            tell(nanoseconds / NANOSECONDS)
        writer.close(sniffed.end / NANOSECONDS)


class _Story:
    """What to tell a writer, step by step; the steps are not in order of time."""

    def __init__(self, writer: RunWriter, sniffed: Sniffed, requests: Mapping[str, Quantity], namespace: str) -> None:
        self._writer = writer
        self._namespace = namespace
        self._spec = PodSpec(
            containers=(Container(name="c", resources=ResourceRequirements(requests=dict(requests))),),
            scheduler_name=SCHEDULER,
        )
        self._classes = Cluster()
        self._there: set[str] = set()  # nodes, while the steps are taken
        self.steps: list[Step] = []
        self._nodes = {name: self._node_steps(name, states) for name, states in sniffed.nodes.items()}
        for pod in sniffed.pods:
            self._pod_steps(pod)
        for note in sniffed.notes:
            subject = f"{namespace}/{note.subject}" if note.kind == "Pod" else note.subject
            tell = partial(_tell_event, writer, (note.kind, subject, note.reason, note.message))
            self.steps.append((note.nanoseconds, NOTED, tell))

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _node_steps(self, name: str, states: tuple[NodeState, ...]) -> Node:
        """Returns the node as it was last."""
        node = _node(name, states[0])
        for state, after in itertools.zip_longest(states, states[1:]):
            node = _node(name, state)
            if state.change != "Deleted":
                self.steps.append((state.start, NODE, partial(self._see_node, node, state.change)))
            else:
                # A pod that was bound at that very time was bound before.
                place = NODE if after is not None and after.start == state.start else GONE
                self.steps.append((state.start, place, partial(self._lose_node, name)))
        return node

    def _see_node(self, node: Node, change: str, t: float) -> None:
        if node.name not in self._there:
            self._there.add(node.name)
            self._writer.node_added(t, node)
        else:
            self._writer.node_changed(t, node, CHANGES[change])

    def _lose_node(self, name: str, t: float) -> None:
        if name in self._there:
            self._there.remove(name)
            self._writer.node_gone(t, name, NodeEnd.DELETED)

    # -- pods ----------------------------------------------------------------------------------------------------------

    def _pod_steps(self, told: SniffedPod) -> None:
        interval, pod, writer = told.interval, self._pod(told), self._writer
        uid = pod.metadata.uid
        self.steps.append((told.created, CREATED, lambda t: writer.pod_created(t, pod, SCHEDULER)))
        for attempt, at in enumerate(told.decisions, 1):
            decision = Decision(pod, self._classes.classify(pod), Outcome.SCHEDULED, node=told.node, via=None)
            self.steps.append((at, DECIDED, partial(_tell_decision, writer, attempt, decision)))
        if interval is None:
            return
        self.steps.append((interval.start, BOUND, partial(self._bind, uid, told.node)))
        if told.started is not None:
            started = told.started if interval.end is None else min(told.started, interval.end)
            self.steps.append((max(started, told.created), STARTED, lambda t: writer.started(t, uid)))
        if interval.end is not None:
            reason = ENDS.get(interval.reason or "", PodEnd.DELETED)
            self.steps.append((interval.end, ENDED, lambda t: writer.ended(t, uid, reason)))

    def _bind(self, uid: str, name: str, t: float) -> None:
        if name not in self._there:
            self._see_node(self._nodes[name], "Added", t)  # whatever was told of it: it holds a pod
        self._writer.bound(t, uid, name)

    def _pod(self, told: SniffedPod) -> Pod:
        uid = f"{told.name}-{told.number}" if told.number > 1 else told.name
        meta = ObjectMeta(name=told.name, namespace=self._namespace, uid=uid, annotations=_sources(told.interval))
        return Pod(metadata=meta, spec=self._spec)


def _tell_decision(writer: RunWriter, attempt: int, decision: Decision, t: float) -> None:
    writer.decided(t, SCHEDULER, attempt, decision, 0.0)


def _tell_event(writer: RunWriter, words: tuple[str, str, str, str], t: float) -> None:
    writer.event(t, *words)


def _sources(interval: Interval | None) -> dict[str, str]:
    if interval is None:
        return {}
    ends = {TO_SOURCE: interval.end_source} if interval.end_source else {}
    return {FROM_SOURCE: interval.start_source, **ends}


def _node(name: str, state: NodeState) -> Node:
    ready = NodeCondition(type="Ready", status="True" if state.is_ready else "False")
    status = NodeStatus(allocatable=_amounts(state.allocatable or {}), conditions=(ready,))
    return Node(metadata=ObjectMeta(name=name, uid=name), status=status)


def _amounts(told: Mapping[str, Any]) -> dict[str, Quantity]:
    """What can be read of it: the rest is no amount of anything."""
    amounts = {}
    for resource, text in told.items():
        try:
            quantity = parse_quantity(text)
        except ValueError:
            continue
        if quantity.nanos >= 0 and quantity.value < 1 << 62:
            amounts[resource] = quantity
    return amounts
