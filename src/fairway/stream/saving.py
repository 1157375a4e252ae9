"""A stream becomes a run: what a recorder told on one machine is told to a recorder on another.

In: events in order, as a follower gets them, with snapshots where the stream began or something is missing. Out: the
calls of a `Recorder` that were made over there, as far as the stream tells of them: manifests are made of names,
requests and amounts. After another leader has taken over, times go on from the first one's beginning. Called by
`fairway watch --save`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from fairway.cluster import Cluster
from fairway.cycle import Decision, Spent
from fairway.model import (
    Container,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodSpec,
    Quantity,
    ResourceRequirements,
    parse_quantity,
)
from fairway.model.group import Spelling
from fairway.queue import Place
from fairway.record import Recorder, Scored
from fairway.record.vocabulary import IntervalEnd, NodeChange, NodeEnd, PodEnd
from fairway.stream.go_time import NANOSECONDS
from fairway.stream.saved_decision import decision_of, group_decision_of
from fairway.stream.told import (
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
    Unbound,
)
from fairway.stream.watching import Gap

__all__ = ["StreamSaver"]

CHANGES: Final = {str(change): change for change in NodeChange}
GONE: Final = frozenset(map(str, NodeEnd))
ENDS: Final = {str(end): end for end in PodEnd}
SPELLINGS: Final = frozenset(map(str, Spelling))
PLACES: Final = {place.value: place for place in Place}
NOTHING: Final[Mapping[str, int]] = {}


class StreamSaver:
    """Tells a recorder what a stream tells."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._classes = Cluster()
        self._pods: dict[str, Pod] = {}  # by uid: those that have not ended
        self._nodes: set[str] = set()
        self._held: dict[str, str | None] = {}  # by uid of a pod that was bound: its node; None while that is lost
        self._snapshot: list[Snapshot] = []  # its parts so far
        self._members: list[tuple[float, Attempt, Decision]] = []  # of a job whose own attempt is told next
        self._origin: int | None = None
        self._stream_id = ""
        self._shift = 0.0  # from the stream's clock to the run's
        self.time = 0.0

    def begin(self, stream_id: str, origin: int | None) -> None:
        """Events of this stream follow; its 0 was at that time, if it is known."""
        if origin is not None and self._origin is None:
            self._origin = origin
        if stream_id != self._stream_id:
            self._stream_id = stream_id
            if origin is not None and self._origin is not None:
                self._shift = (origin - self._origin) / NANOSECONDS
            else:
                self._shift = self.time

    def lose(self, gap: Gap) -> None:
        """Events are missing."""
        words = f"{gap.lost} events, {gap.from_sequence} to {gap.to_sequence}: {gap.why}"
        self._recorder.event(self.time, "Stream", self._stream_id, "Gap", words)

    def take(self, event: Event) -> None:
        """One thing more."""
        t = self.time = max(self.time, event.time_seconds + self._shift)
        if self._members and not isinstance(event.what, Attempt | JobAttempt | Preempted):
            self._decide_members()  # what became of their job is missing
        match event.what:
            case NodeSeen() as seen:
                self._see_node(t, seen)
            case PodSeen() as told:
                self._see_pod(t, told)
            case Bound() as bound:
                self._bind(t, bound)
            case Unbound() as unbound:
                self._unbind(t, unbound)
            case Attempt() as attempt:
                self._decide(t, attempt)
            case JobAttempt() as tried:
                self._decide_job(t, tried)
            case QueueMove() as move:
                if move.place:  # one that ended is taken out of the queue after that
                    self._know(t, move.pod, move.scheduler)
                before, after = PLACES.get(move.origin), PLACES.get(move.place)
                self._recorder.queue_moved(t, move.scheduler, move.pod.uid, before, after, move.event)
            case Snapshot() as part:
                self._snapshot.append(part)
                if part.is_last:
                    self._stand(t)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _see_node(self, t: float, seen: NodeSeen) -> None:
        if seen.change in GONE:
            self._lose_node(t, seen.node)
        elif seen.node in self._nodes:
            self._recorder.node_changed(t, _node(seen), CHANGES.get(seen.change, NodeChange.CHANGED))
        else:
            self._nodes.add(seen.node)
            self._recorder.node_added(t, _node(seen))

    def _lose_node(self, t: float, name: str) -> None:
        if name in self._nodes:
            self._nodes.remove(name)
            self._recorder.node_gone(t, name, NodeEnd.DELETED)

    # -- pods ----------------------------------------------------------------------------------------------------------

    def _see_pod(self, t: float, told: PodSeen) -> None:
        uid = told.pod.uid
        if told.change in ENDS:
            self._end(t, uid, ENDS[told.change])
            return
        self._know(t, told.pod, told.scheduler, told)
        if told.change == "Started":
            self._recorder.started(t, uid)
        elif told.change == "Acknowledged" and told.start_seconds is not None:
            self._recorder.acknowledged(t, uid, told.start_seconds + self._shift)
        elif told.change == "Leaving":
            self._recorder.leaves(t, uid)
        elif told.change == IntervalEnd.RESIZED:
            self._resize(t, self._pods[uid], told.requests)

    def _know(self, t: float, ref: PodRef, scheduler: str, told: PodSeen | None = None) -> Pod:
        pod = self._pods.get(ref.uid)
        if pod is None:
            pod = self._pods[ref.uid] = _pod(ref, scheduler, told.requests if told else NOTHING, told)
            self._recorder.pod_created(t, pod, scheduler)
        return pod

    def _end(self, t: float, uid: str, reason: PodEnd) -> None:
        if self._pods.pop(uid, None) is not None:
            self._held.pop(uid, None)
            self._recorder.ended(t, uid, reason)

    def _bind(self, t: float, bound: Bound) -> None:
        uid, node = bound.pod.uid, bound.node
        pod = self._know(t, bound.pod, "", PodSeen(bound.pod, "Created", requests=bound.held))
        if node not in self._nodes:  # it was left out, or went unseen
            self._see_node(t, NodeSeen(node, bound.node_uid, str(NodeChange.ADDED), True, False, NOTHING))
        self._resize(t, pod, bound.held)
        if uid not in self._held:
            self._recorder.bound(t, uid, node, bound.gpu_index or None)
        elif self._held[uid] is None:
            self._recorder.regained(t, uid)
        self._held[uid] = node

    def _resize(self, t: float, pod: Pod, requests: Mapping[str, int]) -> None:
        container = msgspec.structs.replace(
            pod.spec.containers[0], resources=ResourceRequirements(requests=_amounts(requests))
        )
        if container != pod.spec.containers[0]:
            spec = msgspec.structs.replace(pod.spec, containers=(container,))
            resized = self._pods[pod.metadata.uid] = msgspec.structs.replace(pod, spec=spec)
            self._recorder.resized(t, resized)

    def _unbind(self, t: float, unbound: Unbound) -> None:
        """An end is told as such right after, and a resize by what is held then; a node may come back."""
        uid = unbound.pod.uid
        if unbound.reason == IntervalEnd.NODE_LOST and uid in self._held:
            self._held[uid] = None
            self._recorder.lost(t, uid)

    # -- attempts ------------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Nothing follows."""
        self._decide_members()

    def _decide(self, t: float, attempt: Attempt) -> None:
        decision = self._decision(t, attempt)
        if attempt.job_part:
            self._members.append((t, attempt, decision))
            return
        self._decide_members()
        best = [Scored(one.node, one.total, dict(one.by_plugin)) for one in attempt.best]
        self._recorder.decided(t, attempt.scheduler, attempt.attempt, decision, attempt.cycle_seconds, best)
        self._tell_times(t, attempt)

    def _decision(self, t: float, attempt: Attempt) -> Decision:
        pod = self._know(t, attempt.pod, attempt.scheduler)
        return decision_of(attempt, pod, self._classes.classify(pod))

    def _decide_job(self, t: float, tried: JobAttempt) -> None:
        members = [decision for _, _, decision in self._members]
        if len(members) != tried.num_members or tried.job.spelling not in SPELLINGS:
            self._decide_members()  # some are missing, or were left out
            return
        waiting, self._members = self._members, []
        self._recorder.group_decided(t, tried.scheduler, group_decision_of(tried, members), tried.cycle_seconds)
        for _, attempt, _ in waiting:
            self._tell_times(t, attempt)

    def _decide_members(self) -> None:
        """As attempts of their own; those that a run only counts are not told."""
        waiting, self._members = self._members, []
        for t, attempt, decision in waiting:
            if attempt.job_part != PASSED_OVER:
                self._recorder.decided(t, attempt.scheduler, attempt.attempt, decision, attempt.cycle_seconds)
                self._tell_times(t, attempt)

    def _tell_times(self, t: float, attempt: Attempt) -> None:
        if attempt.plugin_times:
            times = [Spent(one.plugin, one.point, one.num_calls, one.cpu_seconds) for one in attempt.plugin_times]
            self._recorder.plugin_times(t, attempt.scheduler, times)

    # -- how things stand ----------------------------------------------------------------------------------------------

    def _stand(self, t: float) -> None:
        """What a snapshot does not have has ended meanwhile, nobody knows when."""
        parts, self._snapshot = self._snapshot, []
        bound = {one.pod.uid: one for part in parts for one in part.bound}
        queue = {one.pod.uid: one for part in parts for one in part.queue}
        nodes = {one.node: one for part in parts for one in part.nodes}
        for uid in list(self._pods):
            held, place = self._held.get(uid), bound[uid].node if uid in bound else None
            if (held and held != place) or (place is None and uid not in queue):
                self._end(t, uid, PodEnd.DELETED)
        for name in self._nodes - nodes.keys():
            self._lose_node(t, name)
        for seen in nodes.values():
            self._see_node(t, seen)
        for one in bound.values():
            if one.pod.uid not in self._held or self._held[one.pod.uid] is None:
                self._bind(t, one)
        for move in queue.values():
            self._know(t, move.pod, move.scheduler)


def _pod(ref: PodRef, scheduler: str, requests: Mapping[str, int], told: PodSeen | None) -> Pod:
    kind, _, name = (told.owner if told is not None else "").partition("/")
    owners = (OwnerReference(kind=kind, name=name, controller=True),) if name else ()
    container = Container(name="c", resources=ResourceRequirements(requests=_amounts(requests)))
    return Pod(
        metadata=ObjectMeta(
            name=ref.name,
            namespace=ref.namespace,
            uid=ref.uid,
            owner_references=owners,
            annotations=dict(told.annotations) if told is not None else {},
        ),
        spec=PodSpec(
            containers=(container,), scheduler_name=scheduler, priority=told.priority if told is not None else 0
        ),
    )


def _node(seen: NodeSeen) -> Node:
    ready = NodeCondition(type="Ready", status="True" if seen.is_ready else "False")
    return Node(
        metadata=ObjectMeta(name=seen.node, uid=seen.uid, labels=dict(seen.labels)),
        spec=NodeSpec(unschedulable=seen.is_unschedulable),
        status=NodeStatus(allocatable=_amounts(seen.allocatable), conditions=(ready,)),
    )


def _amounts(told: Mapping[str, int]) -> dict[str, Quantity]:
    """In the order of their names: messages have none."""
    return {name: parse_quantity(f"{amount}m" if name == "cpu" else amount) for name, amount in sorted(told.items())}
