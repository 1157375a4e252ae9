"""Protobuf messages as the events that they are.

In: `decisions_pb2.Event`. Out: the values that the scheduler told (`encoding` made the message of them); kinds and
words that this version does not know are left out. Called by `watch_client`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fairway.stream.encoding import CODES, JOB_OUTCOMES, JOB_PARTS, OUTCOMES, PLACES, REASONS, VIAS
from fairway.stream.told import (
    Attempt,
    Bound,
    Event,
    JobAttempt,
    JobRef,
    NodeSeen,
    PluginTime,
    PodRef,
    PodSeen,
    Preempted,
    QueueMove,
    Refused,
    Scored,
    Snapshot,
    Told,
    Unbound,
    Victim,
)
from fairway.stream.wire import decisions_pb2 as wire

__all__ = ["decode_event"]


def _turned(table: Mapping[str, int]) -> dict[int, str]:
    return {number: word for word, number in table.items()}


OUTCOME_WORDS, VIA_WORDS, CODE_WORDS = _turned(OUTCOMES), _turned(VIAS), _turned(CODES)
JOB_OUTCOME_WORDS, JOB_PART_WORDS = _turned(JOB_OUTCOMES), _turned(JOB_PARTS)
PLACE_WORDS, REASON_WORDS = _turned(PLACES), _turned(REASONS)


def decode_event(message: wire.Event) -> Event | None:
    """What was told; None if it is of a kind that this version does not know."""
    kind = message.WhichOneof("what")
    if kind is None:
        return None
    return Event(message.time_seconds, DECODERS[kind](getattr(message, kind)))


def _ref_of(ref: wire.PodRef) -> PodRef:
    return PodRef(ref.namespace, ref.name, ref.uid)


def _attempt_of(what: wire.Attempt) -> Attempt:
    return Attempt(
        _ref_of(what.pod),
        what.scheduler,
        what.attempt,
        OUTCOME_WORDS.get(what.outcome, ""),
        what.node,
        VIA_WORDS.get(what.via, ""),
        what.num_nodes,
        what.num_feasible,
        what.num_best,
        what.score if what.HasField("score") else None,
        tuple(Refused(one.plugin, CODE_WORDS.get(one.code, ""), one.reason, one.num_nodes) for one in what.refused),
        tuple(Scored(one.rank, one.node, one.total, dict(one.by_plugin)) for one in what.best),
        what.nominated_node,
        tuple(map(_ref_of, what.victims)),
        what.message,
        what.cycle_seconds,
        tuple(PluginTime(one.plugin, one.point, one.num_calls, one.cpu_seconds) for one in what.plugin_times),
        JOB_PART_WORDS.get(what.job_part, ""),
        what.promised_node if what.HasField("promised_node") else None,
    )


def _job_attempt_of(what: wire.JobAttempt) -> JobAttempt:
    return JobAttempt(
        JobRef(what.job.spelling, what.job.namespace, what.job.name),
        what.scheduler,
        what.attempt,
        JOB_OUTCOME_WORDS.get(what.outcome, ""),
        what.num_members,
        what.num_placed,
        _ref_of(what.blocking) if what.HasField("blocking") else None,
        what.missing if what.HasField("missing") else None,
        what.resource,
        what.domain_key,
        what.domain,
        what.num_domains if what.HasField("num_domains") else None,
        what.num_backtracks,
        what.is_exhausted,
        tuple(Victim(_ref_of(victim.pod), victim.node) for victim in what.victims),
        what.message,
        what.cycle_seconds,
    )


def _queue_move_of(what: wire.QueueMove) -> QueueMove:
    origin, place = PLACE_WORDS.get(what.origin, ""), PLACE_WORDS.get(what.place, "")
    return QueueMove(_ref_of(what.pod), what.scheduler, origin, place, what.event)


def _bound_of(what: wire.Bound) -> Bound:
    return Bound(_ref_of(what.pod), what.node, what.node_uid, what.gpu_index, dict(what.held))


def _unbound_of(what: wire.Unbound) -> Unbound:
    reason = REASON_WORDS.get(what.reason, "")
    return Unbound(_ref_of(what.pod), what.node, reason, what.message, dict(what.held), what.held_seconds)


def _pod_seen_of(what: wire.PodSeen) -> PodSeen:
    return PodSeen(
        _ref_of(what.pod),
        what.change,
        what.scheduler,
        what.owner,
        what.priority,
        dict(what.requests),
        dict(what.annotations),
        what.start_seconds if what.HasField("start_seconds") else None,
    )


def _node_seen_of(what: wire.NodeSeen) -> NodeSeen:
    allocatable, labels = dict(what.allocatable), dict(what.labels)
    return NodeSeen(what.node, what.uid, what.change, what.is_ready, what.is_unschedulable, allocatable, labels)


def _preempted_of(what: wire.Preempted) -> Preempted:
    return Preempted(_ref_of(what.pod), what.node, _ref_of(what.by))


def _snapshot_of(what: wire.Snapshot) -> Snapshot:
    return Snapshot(
        tuple(map(_node_seen_of, what.nodes)),
        tuple(map(_bound_of, what.bound)),
        tuple(map(_queue_move_of, what.queue)),
        what.is_last,
    )


DECODERS: Final[dict[str, Callable[[Any], Told]]] = {
    "attempt": _attempt_of,
    "job_attempt": _job_attempt_of,
    "queue_move": _queue_move_of,
    "bound": _bound_of,
    "unbound": _unbound_of,
    "pod": _pod_seen_of,
    "node": _node_seen_of,
    "preempted": _preempted_of,
    "snapshot": _snapshot_of,
}
