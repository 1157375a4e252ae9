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
    out = wire.Event(sequence=sequence, time_seconds=event.time_seconds)
    if origin is not None:
        seconds, rest = divmod(origin + round(event.time_seconds * NANOSECONDS), NANOSECONDS)
        out.time.seconds, out.time.nanos = seconds, rest
    what = event.what
    if isinstance(what, Attempt) and len(what.best) > most_scores:
        what = replace(what, best=what.best[:most_scores])
    form = FORMS[type(what)]
    getattr(out, form.field).CopyFrom(form.encode(what))
    return out


def encode_batches(batch: Batch, stream_id: str, origin: int | None, most_scores: int) -> Iterator[wire.Batch]:
    """A batch as one message, or as several if it were too large; a snapshot's parts come in messages of their own."""
    out = wire.Batch(stream_id=stream_id)
    if batch.gap is not None:
        gap = batch.gap
        out.gap.lost, out.gap.why = gap.lost, gap.why
        out.gap.from_sequence, out.gap.to_sequence = gap.from_sequence, gap.to_sequence
    size = 0
    for number, event in batch.events:
        message = encode_event(event, number, origin, most_scores)
        is_part = isinstance(event.what, Snapshot)
        size += message.ByteSize()
        if out.events and (is_part or size > MOST_BATCH_BYTES):
            if not is_part:
                out.resume = f"{stream_id}:{number}"
            yield out
            out, size = wire.Batch(stream_id=stream_id), message.ByteSize()
        if not out.events:
            out.first_sequence = number
        out.events.append(message)
    out.resume = batch.resume
    yield out


def _pod(ref: PodRef) -> wire.PodRef:
    return wire.PodRef(namespace=ref.namespace, name=ref.name, uid=ref.uid)


def _attempt(what: Attempt) -> wire.Attempt:
    return wire.Attempt(
        pod=_pod(what.pod),
        scheduler=what.scheduler,
        attempt=what.attempt,
        outcome=OUTCOMES.get(what.outcome, wire.OUTCOME_UNSPECIFIED),
        node=what.node,
        via=VIAS.get(what.via, wire.VIA_UNSPECIFIED),
        num_nodes=what.num_nodes,
        num_feasible=what.num_feasible,
        num_best=what.num_best,
        score=what.score,
        refused=[
            wire.Refused(
                plugin=one.plugin,
                code=CODES.get(one.code, wire.CODE_UNSPECIFIED),
                reason=one.reason,
                num_nodes=one.num_nodes,
            )
            for one in what.refused
        ],
        best=[
            wire.Scored(rank=one.rank, node=one.node, total=one.total, by_plugin=dict(one.by_plugin))
            for one in what.best
        ],
        nominated_node=what.nominated_node,
        victims=[_pod(victim) for victim in what.victims],
        message=what.message,
        cycle_seconds=what.cycle_seconds,
        plugin_times=[
            wire.PluginTime(plugin=one.plugin, point=one.point, num_calls=one.num_calls, cpu_seconds=one.cpu_seconds)
            for one in what.plugin_times
        ],
        job_part=JOB_PARTS.get(what.job_part, wire.JOB_PART_UNSPECIFIED),
        promised_node=what.promised_node,
    )


def _job_attempt(what: JobAttempt) -> wire.JobAttempt:
    job = what.job
    return wire.JobAttempt(
        job=wire.JobRef(spelling=job.spelling, namespace=job.namespace, name=job.name),
        scheduler=what.scheduler,
        attempt=what.attempt,
        outcome=JOB_OUTCOMES.get(what.outcome, wire.JOB_OUTCOME_UNSPECIFIED),
        num_members=what.num_members,
        num_placed=what.num_placed,
        blocking=None if what.blocking is None else _pod(what.blocking),
        missing=what.missing,
        resource=what.resource,
        domain_key=what.domain_key,
        domain=what.domain,
        num_domains=what.num_domains,
        num_backtracks=what.num_backtracks,
        is_exhausted=what.is_exhausted,
        victims=[wire.Victim(pod=_pod(victim.pod), node=victim.node) for victim in what.victims],
        message=what.message,
        cycle_seconds=what.cycle_seconds,
    )


def _queue_move(what: QueueMove) -> wire.QueueMove:
    return wire.QueueMove(
        pod=_pod(what.pod),
        scheduler=what.scheduler,
        origin=PLACES.get(what.origin, wire.PLACE_UNSPECIFIED),
        place=PLACES.get(what.place, wire.PLACE_UNSPECIFIED),
        event=what.event,
    )


def _bound(what: Bound) -> wire.Bound:
    return wire.Bound(
        pod=_pod(what.pod), node=what.node, node_uid=what.node_uid, gpu_index=what.gpu_index, held=dict(what.held)
    )


def _unbound(what: Unbound) -> wire.Unbound:
    return wire.Unbound(
        pod=_pod(what.pod),
        node=what.node,
        reason=REASONS.get(what.reason, wire.UNBOUND_REASON_UNSPECIFIED),
        message=what.message,
        held=dict(what.held),
        held_seconds=what.held_seconds,
    )


def _pod_seen(what: PodSeen) -> wire.PodSeen:
    return wire.PodSeen(
        pod=_pod(what.pod),
        change=what.change,
        scheduler=what.scheduler,
        owner=what.owner,
        priority=what.priority,
        requests=dict(what.requests),
        annotations=dict(what.annotations),
        start_seconds=what.start_seconds,
    )


def _node_seen(what: NodeSeen) -> wire.NodeSeen:
    return wire.NodeSeen(
        node=what.node,
        uid=what.uid,
        change=what.change,
        is_ready=what.is_ready,
        is_unschedulable=what.is_unschedulable,
        allocatable=dict(what.allocatable),
        labels=dict(what.labels),
    )


def _preempted(what: Preempted) -> wire.Preempted:
    return wire.Preempted(pod=_pod(what.pod), node=what.node, by=_pod(what.by))


def _snapshot(what: Snapshot) -> wire.Snapshot:
    return wire.Snapshot(
        nodes=map(_node_seen, what.nodes),
        bound=map(_bound, what.bound),
        queue=map(_queue_move, what.queue),
        is_last=what.is_last,
    )


class Form(NamedTuple):
    """What a kind of event is on the wire."""

    kind: wire.Kind
    field: str
    encode: Callable[[Any], Any]


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
