"""Events as protobuf messages.

In: what the ring holds. Out: `decisions_pb2.Event`, with times on a real clock where the run's clock has a beginning in
it, in batches that clients take. `decoding` makes events of them again. Called by the service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from fairway.stream.go_time import NANOSECONDS
from fairway.stream.told import (
    MEMBER,
    PASSED_OVER,
    Attempt,
    Bound,
    Event,
    JobAttempt,
    NodeSeen,
    PodRef,
    PodSeen,
    Preempted,
    QueueMove,
    Snapshot,
    Told,
    Unbound,
)
from fairway.stream.watching import Batch
from fairway.stream.wire import decisions_pb2 as wire

__all__ = [
    "CODES",
    "FORMS",
    "JOB_OUTCOMES",
    "JOB_PARTS",
    "OUTCOMES",
    "PLACES",
    "REASONS",
    "VIAS",
    "encode_batches",
    "encode_event",
]

MOST_BATCH_BYTES: Final = 1 << 20
"""Clients take messages of 4 MiB, unless they were told otherwise."""

SHORT: Final = frozenset({QueueMove, Bound, Unbound})
SHORT_BYTES: Final = 1024
"""Events of a few names and amounts count as so much: to ask each takes a tenth of what it takes to write it."""

OUTCOMES: Final = {
    "scheduled": wire.SCHEDULED,
    "unschedulable": wire.UNSCHEDULABLE,
    "gated": wire.GATED,
    "error": wire.ERROR,
}
JOB_OUTCOMES: Final = {
    "scheduled": wire.JOB_SCHEDULED,
    "unschedulable": wire.JOB_UNSCHEDULABLE,
    "preempting": wire.JOB_PREEMPTING,
    "error": wire.JOB_ERROR,
}
JOB_PARTS: Final = {MEMBER: wire.JOB_PART_MEMBER, PASSED_OVER: wire.JOB_PART_PASSED_OVER}
VIAS: Final = {"scores": wire.SCORES, "single": wire.SINGLE, "nominated": wire.NOMINATED}
CODES: Final = {
    "Unschedulable": wire.CODE_UNSCHEDULABLE,
    "UnschedulableAndUnresolvable": wire.CODE_UNRESOLVABLE,
    "Error": wire.CODE_ERROR,
    "Pending": wire.CODE_PENDING,
}
PLACES: Final = {
    "active": wire.PLACE_ACTIVE,
    "backoff": wire.PLACE_BACKOFF,
    "unschedulable": wire.PLACE_UNSCHEDULABLE,
    "gated": wire.PLACE_GATED,
    "in_flight": wire.PLACE_IN_FLIGHT,
}
REASONS: Final = {
    "Succeeded": wire.SUCCEEDED,
    "Failed": wire.FAILED,
    "Deleted": wire.DELETED,
    "Evicted": wire.EVICTED,
    "Preempted": wire.PREEMPTED,
    "NodeLost": wire.NODE_LOST,
    "Rejected": wire.REJECTED,
    "Resized": wire.RESIZED,
}


def encode_event(event: Event, sequence: int, origin: int | None, most_scores: int) -> wire.Event:
    """The message of an event; `origin` are the nanoseconds since 1970 of the run's 0, if it has a real one."""
    out = wire.Event()
    _fill(out, event, sequence, origin, most_scores)
    return out


def _fill(out: wire.Event, event: Event, sequence: int, origin: int | None, most_scores: int) -> None:
    """In place, field by field: that takes a third of what putting whole messages into each other does."""
    out.sequence, out.time_seconds = sequence, event.time_seconds
    if origin is not None:
        clock = out.time  # to reach into a message takes longer than to set a field
        clock.seconds, clock.nanos = divmod(origin + round(event.time_seconds * NANOSECONDS), NANOSECONDS)
    what = event.what
    if isinstance(what, Attempt) and len(what.best) > most_scores:
        what = replace(what, best=what.best[:most_scores])
    form = FORMS[type(what)]
    message = getattr(out, form.field)
    message.SetInParent()  # it is there, whatever its fields are
    form.fill(message, what)


def encode_batches(batch: Batch, stream_id: str, origin: int | None, most_scores: int) -> Iterator[wire.Batch]:
    """A batch as one message, or as several if it were too large; a snapshot's parts come in messages of their own."""
    out = wire.Batch(stream_id=stream_id)
    if batch.gap is not None:
        gap = batch.gap
        out.gap.lost, out.gap.why = gap.lost, gap.why
        out.gap.from_sequence, out.gap.to_sequence = gap.from_sequence, gap.to_sequence
    size, num_events = 0, 0
    for number, event in batch.events:
        message = out.events.add()
        _fill(message, event, number, origin, most_scores)
        kind = type(event.what)
        is_part = kind is Snapshot
        size += SHORT_BYTES if kind in SHORT else message.ByteSize()
        num_events += 1
        if num_events > 1 and (is_part or size > MOST_BATCH_BYTES):
            following = wire.Batch(stream_id=stream_id, events=(message,))
            del out.events[-1]
            if not is_part:
                out.resume = f"{stream_id}:{number}"
            yield out
            out, size, num_events = following, following.ByteSize(), 1
        if num_events == 1:
            out.first_sequence = number
    out.resume = batch.resume
    yield out


def _pod(out: wire.PodRef, ref: PodRef) -> None:
    out.namespace, out.name, out.uid = ref.namespace, ref.name, ref.uid


def _attempt(out: wire.Attempt, what: Attempt) -> None:
    _pod(out.pod, what.pod)
    out.scheduler, out.attempt = what.scheduler, what.attempt
    out.outcome = OUTCOMES.get(what.outcome, wire.OUTCOME_UNSPECIFIED)
    if what.node:  # most of what follows is empty most of the time, and to look is quicker than to set
        out.node, out.via = what.node, VIAS.get(what.via, wire.VIA_UNSPECIFIED)
    if what.num_nodes:
        out.num_nodes = what.num_nodes
    out.num_feasible, out.num_best = what.num_feasible, what.num_best
    if what.score is not None:
        out.score = what.score
    for refused in what.refused:
        code = CODES.get(refused.code, wire.CODE_UNSPECIFIED)
        out.refused.add(plugin=refused.plugin, code=code, reason=refused.reason, num_nodes=refused.num_nodes)
    for scored in what.best:
        out.best.add(rank=scored.rank, node=scored.node, total=scored.total, by_plugin=scored.by_plugin)
    out.nominated_node, out.message, out.cycle_seconds = what.nominated_node, what.message, what.cycle_seconds
    for victim in what.victims:
        _pod(out.victims.add(), victim)
    for one in what.plugin_times:
        out.plugin_times.add(plugin=one.plugin, point=one.point, num_calls=one.num_calls, cpu_seconds=one.cpu_seconds)
    if what.job_part:
        out.job_part = JOB_PARTS.get(what.job_part, wire.JOB_PART_UNSPECIFIED)
    if what.promised_node is not None:
        out.promised_node = what.promised_node


def _job_attempt(out: wire.JobAttempt, what: JobAttempt) -> None:
    job = what.job
    out.job.spelling, out.job.namespace, out.job.name = job.spelling, job.namespace, job.name
    out.scheduler, out.attempt = what.scheduler, what.attempt
    out.outcome = JOB_OUTCOMES.get(what.outcome, wire.JOB_OUTCOME_UNSPECIFIED)
    out.num_members, out.num_placed = what.num_members, what.num_placed
    if what.blocking is not None:
        _pod(out.blocking, what.blocking)
    if what.missing is not None:
        out.missing = what.missing
    out.resource, out.domain_key, out.domain = what.resource, what.domain_key, what.domain
    if what.num_domains is not None:
        out.num_domains = what.num_domains
    out.num_backtracks, out.is_exhausted = what.num_backtracks, what.is_exhausted
    for victim in what.victims:
        told = out.victims.add(node=victim.node)
        _pod(told.pod, victim.pod)
    out.message, out.cycle_seconds = what.message, what.cycle_seconds


def _queue_move(out: wire.QueueMove, what: QueueMove) -> None:
    _pod(out.pod, what.pod)
    out.scheduler, out.event = what.scheduler, what.event
    out.origin = PLACES.get(what.origin, wire.PLACE_UNSPECIFIED)
    out.place = PLACES.get(what.place, wire.PLACE_UNSPECIFIED)


def _bound(out: wire.Bound, what: Bound) -> None:
    _pod(out.pod, what.pod)
    out.node, out.node_uid, out.gpu_index = what.node, what.node_uid, what.gpu_index
    out.held.update(what.held)


def _unbound(out: wire.Unbound, what: Unbound) -> None:
    _pod(out.pod, what.pod)
    out.node, out.reason = what.node, REASONS.get(what.reason, wire.UNBOUND_REASON_UNSPECIFIED)
    out.message, out.held_seconds = what.message, what.held_seconds
    out.held.update(what.held)


def _pod_seen(out: wire.PodSeen, what: PodSeen) -> None:
    _pod(out.pod, what.pod)
    out.change, out.scheduler, out.owner, out.priority = what.change, what.scheduler, what.owner, what.priority
    out.requests.update(what.requests)
    out.annotations.update(what.annotations)
    if what.start_seconds is not None:
        out.start_seconds = what.start_seconds


def _node_seen(out: wire.NodeSeen, what: NodeSeen) -> None:
    out.node, out.uid, out.change = what.node, what.uid, what.change
    out.is_ready, out.is_unschedulable = what.is_ready, what.is_unschedulable
    out.allocatable.update(what.allocatable)
    out.labels.update(what.labels)


def _preempted(out: wire.Preempted, what: Preempted) -> None:
    _pod(out.pod, what.pod)
    out.node = what.node
    _pod(out.by, what.by)


def _snapshot(out: wire.Snapshot, what: Snapshot) -> None:
    for node in what.nodes:
        _node_seen(out.nodes.add(), node)
    for bound in what.bound:
        _bound(out.bound.add(), bound)
    for move in what.queue:
        _queue_move(out.queue.add(), move)
    out.is_last = what.is_last


class Form(NamedTuple):
    """What a kind of event is on the wire."""

    kind: wire.Kind
    field: str
    fill: Callable[[Any, Any], None]


FORMS: Final[dict[type[Told], Form]] = {
    Attempt: Form(wire.KIND_ATTEMPT, "attempt", _attempt),
    JobAttempt: Form(wire.KIND_JOB_ATTEMPT, "job_attempt", _job_attempt),
    QueueMove: Form(wire.KIND_QUEUE_MOVE, "queue_move", _queue_move),
    Bound: Form(wire.KIND_BOUND, "bound", _bound),
    Unbound: Form(wire.KIND_UNBOUND, "unbound", _unbound),
    PodSeen: Form(wire.KIND_POD_SEEN, "pod", _pod_seen),
    NodeSeen: Form(wire.KIND_NODE_SEEN, "node", _node_seen),
    Preempted: Form(wire.KIND_PREEMPTED, "preempted", _preempted),
    Snapshot: Form(wire.KIND_SNAPSHOT, "snapshot", _snapshot),
}
