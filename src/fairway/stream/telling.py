"""The recorder that tells a ring: what a world says to whoever records it becomes events of the stream.

In: the calls of a recorder, in order of time, from the thread that schedules. Out: events in a `Ring`, and how things
stand (`snapshot`) for readers that begin, or missed something. A pod that is bound is told once as such, and once as
unbound, whatever made it leave; a resize closes one and opens the next. Nothing is encoded here and nobody is waited
for; the lock is held for as long as a dictionary takes to change.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from fairway.cycle import Decision, Outcome, Spent
from fairway.model import Node, Pod
from fairway.model.requests import pod_requests, seem_alike
from fairway.queue import Place
from fairway.record import NullRecorder, Scored
from fairway.record.vocabulary import IntervalEnd, NodeChange, NodeEnd, PodEnd
from fairway.record.writing.kept import OWN_ANNOTATIONS
from fairway.record.writing.refusals import failure_message, refusal_counts
from fairway.stream import told
from fairway.stream.ring import Ring
from fairway.stream.told import (
    Attempt,
    Bound,
    Event,
    NodeSeen,
    PluginTime,
    PodRef,
    PodSeen,
    Preempted,
    QueueMove,
    Snapshot,
    Unbound,
)

__all__ = ["StreamRecorder"]

EVENT_BYTES: Final = 800
SCORED_BYTES: Final = 700
TIMED_BYTES: Final = 150
"""What an event takes in memory at most, with names of its own; one of its best nodes; what a plugin took."""
PART_OF_SNAPSHOT: Final = 500
SCHEDULED: Final = Outcome.SCHEDULED


class _Known(msgspec.Struct, eq=False):
    """A pod that has not ended."""

    ref: PodRef
    scheduler: str
    owner: str
    priority: int
    held: Mapping[str, int]
    annotations: Mapping[str, str]
    bound: Bound | None = None
    since: float = 0.0  # when it was bound
    move: QueueMove | None = None  # its last one, while it waits


class StreamRecorder(NullRecorder):
    """Tells everything to a ring."""

    is_recording = True

    def __init__(self, stream_id: str, ring: Ring[Event] | None = None) -> None:
        """`stream_id` is another one in every process, of small letters and digits."""
        super().__init__()
        self.stream_id = stream_id
        self.ring = Ring[Event]() if ring is None else ring
        self._now = 0.0  # when something was told last
        self._lock = threading.Lock()
        self._pods: dict[str, _Known] = {}
        self._nodes: dict[str, NodeSeen] = {}
        self._lost: dict[str, Bound | None] = {}  # pods of lost nodes, and what they held
        self.is_timed = False  # of each attempt is told right after it what its plugins took
        self._untimed: tuple[float, Attempt, int] | None = None  # an attempt that waits for that
        self._amounts: tuple[Pod, Mapping[str, int]] | None = None  # of the latest pod: pods come in rows

    def snapshot(self) -> tuple[int, list[Event]]:
        """How things stand, in parts, and the number of the event that comes next; in any thread."""
        with self._lock:
            following, now = self.ring.next, self._now
            nodes = list(self._nodes.values())
            bound = [pod.bound for pod in self._pods.values() if pod.bound is not None]
            queue = [pod.move for pod in self._pods.values() if pod.move is not None]
        longest = max(len(nodes), len(bound), len(queue), 1)
        parts = [slice(start, start + PART_OF_SNAPSHOT) for start in range(0, longest, PART_OF_SNAPSHOT)]
        return following, [
            Event(now, Snapshot(tuple(nodes[part]), tuple(bound[part]), tuple(queue[part]), is_last=part is parts[-1]))
            for part in parts
        ]

    def _tell(self, t: float, what: told.Told, texts: int = 0) -> None:
        if self._untimed is not None:
            self._tell_attempt()
        self._now = t
        self.ring.append(Event(t, what), EVENT_BYTES + texts)

    def _tell_attempt(self, times: tuple[PluginTime, ...] = ()) -> None:
        """The one that waited to be timed."""
        assert self._untimed is not None
        (t, attempt, texts), self._untimed = self._untimed, None
        self._tell(t, replace(attempt, plugin_times=times), texts + TIMED_BYTES * len(times))

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def node_added(self, t: float, node: Node) -> None:
        """A node is there from now on."""
        self._node(t, node, NodeChange.ADDED)

    def node_changed(self, t: float, node: Node, what: NodeChange) -> None:
        """A node is different from now on."""
        self._node(t, node, what)

    def node_gone(self, t: float, name: str, why: NodeEnd) -> None:
        """A node is no more."""
        with self._lock:
            seen = self._nodes.pop(name, None)
            if seen is not None:
                self._tell(t, replace(seen, change=str(why), is_ready=False))

    def _node(self, t: float, node: Node, change: NodeChange) -> None:
        amounts = {
            name: quantity.milli if name == "cpu" else quantity.value
            for name, quantity in node.status.allocatable.items()
        }
        ready = next((one.status == "True" for one in node.status.conditions if one.type == "Ready"), True)
        seen = NodeSeen(
            node.name, node.metadata.uid, str(change), ready, node.spec.unschedulable, amounts, node.metadata.labels
        )
        with self._lock:
            self._nodes[node.name] = seen
            self._tell(t, seen)

    # -- pods ----------------------------------------------------------------------------------------------------------

    def pod_created(self, t: float, pod: Pod, scheduler: str) -> int:
        """A pod is there."""
        meta = pod.metadata
        controller = meta.controller if meta.owner_references else None
        owner = f"{controller.kind}/{controller.name}" if controller is not None else ""
        ref = PodRef(meta.namespace, meta.name, meta.uid)
        noted = meta.annotations
        own = (
            {name: text for name, text in noted.items() if name.startswith(OWN_ANNOTATIONS)} if noted else told.NO_TEXTS
        )
        known = _Known(ref, scheduler, owner, pod.spec.priority or 0, self._held(pod), own)
        with self._lock:
            self._pods[meta.uid] = known
            self._seen(t, known, "Created")
        return super().pod_created(t, pod, scheduler)

    def bound(self, t: float, uid: str, node: str, gpu_index: str | None = None) -> None:
        """A pod holds its node from now on."""
        with self._lock:
            known = self._pods.get(uid)
            if known is not None and known.bound is None:
                seen = self._nodes.get(node)
                known.move = None
                self._bind(t, known, Bound(known.ref, node, seen.uid if seen else "", gpu_index or "", known.held))

    def started(self, t: float, uid: str) -> None:
        """A bound pod runs."""
        with self._lock:
            known = self._pods.get(uid)
            if known is not None:
                self._seen(t, known, "Started")

    def acknowledged(self, t: float, uid: str, start: float) -> None:
        """A pod's kubelet has taken it."""
        with self._lock:
            known = self._pods.get(uid)
            if known is not None:
                self._seen(t, known, "Acknowledged", start)

    def leaves(self, t: float, uid: str) -> None:
        """A pod was asked to go; it holds its node until it has gone."""
        with self._lock:
            known = self._pods.get(uid)
            if known is not None:
                self._seen(t, known, "Leaving")

    def resized(self, t: float, pod: Pod) -> None:
        """A pod holds something else from now on."""
        held = dict(pod_requests(pod))
        with self._lock:
            known = self._pods.get(pod.metadata.uid)
            if known is None or known.held == held:
                return
            before, known.held = known.bound, held
            if before is not None:
                self._unbind(t, known, IntervalEnd.RESIZED)
                self._bind(t, known, replace(before, held=held))
            else:
                self._seen(t, known, str(IntervalEnd.RESIZED))

    def lost(self, t: float, uid: str) -> None:
        """A pod's node is lost."""
        with self._lock:
            known = self._pods.get(uid)
            if known is not None:
                self._lost[uid] = known.bound
                self._unbind(t, known, IntervalEnd.NODE_LOST)

    def regained(self, t: float, uid: str) -> None:
        """It came back on the same node."""
        with self._lock:
            known, bound = self._pods.get(uid), self._lost.pop(uid, None)
            if known is not None and known.bound is None and bound is not None:
                self._bind(t, known, replace(bound, held=known.held))

    def ended(self, t: float, uid: str, reason: PodEnd) -> None:
        """A pod ended; the first end counts."""
        with self._lock:
            known = self._pods.pop(uid, None)
            self._lost.pop(uid, None)
            if known is not None:
                self._unbind(t, known, reason)
                self._seen(t, known, str(reason))

    def _bind(self, t: float, known: _Known, bound: Bound) -> None:
        known.bound, known.since = bound, t
        self._tell(t, bound)

    def _unbind(self, t: float, known: _Known, reason: PodEnd | IntervalEnd) -> None:
        bound, known.bound = known.bound, None
        if bound is not None:
            self._tell(t, Unbound(known.ref, bound.node, str(reason), "", bound.held, t - known.since))

    def _seen(self, t: float, known: _Known, change: str, start: float | None = None) -> None:
        self._tell(
            t,
            PodSeen(
                known.ref, change, known.scheduler, known.owner, known.priority, known.held, known.annotations, start
            ),
        )

    def _held(self, pod: Pod) -> Mapping[str, int]:
        last = self._amounts
        if last is not None and seem_alike(last[0], pod):
            return last[1]
        held = dict(pod_requests(pod))
        self._amounts = (pod, held)
        return held

    # -- schedulers ----------------------------------------------------------------------------------------------------

    def decided(
        self,
        t: float,
        scheduler: str,
        attempt: int,
        decision: Decision,
        cycle_seconds: float,
        best: Sequence[Scored] = (),
    ) -> None:
        """An attempt was made."""
        pod = _ref(decision.pod)
        if decision.outcome is SCHEDULED:
            scored = tuple(told.Scored(rank, one.node, one.total, one.shares) for rank, one in enumerate(best, 1))
            placed = Attempt(
                pod,
                scheduler,
                attempt,
                SCHEDULED.value,
                decision.node,
                decision.via or "",
                0,
                decision.num_feasible,
                decision.num_best,
                decision.score,
                best=scored,
                cycle_seconds=cycle_seconds,
            )
            self._attempted(t, placed, SCORED_BYTES * len(scored))
            return
        self._failed(t, scheduler, attempt, decision, cycle_seconds)

    def _failed(self, t: float, scheduler: str, attempt: int, decision: Decision, cycle_seconds: float) -> None:
        pod, diagnosis, preemption = _ref(decision.pod), decision.diagnosis, decision.preemption
        refused = tuple(
            told.Refused(plugin, refusal.code.value, ", ".join(refusal.reasons), count)
            for plugin, refusal, count in (refusal_counts(diagnosis) if diagnosis is not None else ())
        )
        chosen = preemption.chosen if preemption is not None else None
        victims = tuple(map(_ref, chosen.victims)) if chosen is not None else ()
        nominated = preemption.nominated_node if preemption is not None else ""
        message = failure_message(decision) or ""
        self._attempted(
            t,
            Attempt(
                pod,
                scheduler,
                attempt,
                decision.outcome.value,
                num_nodes=diagnosis.num_nodes if diagnosis is not None else 0,
                num_feasible=decision.num_feasible,
                refused=refused,
                nominated_node=nominated,
                victims=victims,
                message=message,
                cycle_seconds=cycle_seconds,
            ),
            texts=len(message) + sum(200 + len(one.reason) for one in refused) + 200 * len(victims),
        )
        for victim in victims:
            self._tell(t, Preempted(victim, nominated, pod))

    def _attempted(self, t: float, attempt: Attempt, texts: int) -> None:
        if self._untimed is not None:
            self._tell_attempt()
        if self.is_timed:
            self._untimed = (t, attempt, texts)
        else:
            self._tell(t, attempt, texts)

    def plugin_times(self, t: float, scheduler: str, times: Iterable[Spent], *, is_of_attempt: bool = True) -> None:
        """What plugins used in the attempt that was told last."""
        if is_of_attempt and self._untimed is not None:
            self._tell_attempt(tuple(PluginTime(*spent) for spent in times))

    def close(self, t_end: float) -> None:
        """The run is over."""
        if self._untimed is not None:
            self._tell_attempt()

    def queue_moved(
        self, t: float, scheduler: str, uid: str, origin: Place | None, place: Place | None, event: str
    ) -> None:
        """A waiting pod moved."""
        with self._lock:
            known = self._pods.get(uid)
            if known is not None:
                before = "" if origin is None else origin._value_  # `value` takes five times as long
                after = "" if place is None else place._value_
                move = QueueMove(known.ref, scheduler, before, after, event)
                known.move = move if after and known.bound is None else None
                self._tell(t, move)


def _ref(pod: Pod) -> PodRef:
    meta = pod.metadata
    return PodRef(meta.namespace, meta.name, meta.uid)
