"""Notes of what happens become events of the stream.

In: notes (`noting`), in order of time, from one thread. Out: events in a `Ring`, and how things stand (`snapshot`) for
readers that begin, or missed something. A pod that is bound is told once as such, and once as unbound, whatever made it
leave; a resize closes one and opens the next. Nothing is encoded here and nobody is waited for; the lock is held for as
long as a dictionary takes to change. A simulation's notes are told where they are made (`stream_recorder`), a
scheduler's in a process of their own (`serving_process`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from fairway.record.vocabulary import IntervalEnd
from fairway.stream import told
from fairway.stream.noting import Note
from fairway.stream.ring import Ring
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
    Unbound,
    Victim,
)

__all__ = ["Teller"]

EVENT_BYTES: Final = 800
SCORED_BYTES: Final = 700
TIMED_BYTES: Final = 150
"""What an event takes in memory at most, with names of its own; one of its best nodes; what a plugin took."""
PART_OF_SNAPSHOT: Final = 500
MOST_LEAVING: Final = 4096
RESIZED: Final = str(IntervalEnd.RESIZED)
NODE_LOST: Final = str(IntervalEnd.NODE_LOST)
Ref = Sequence[str]
"""Namespace, name and uid of a pod."""


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


class Teller:
    """Tells a ring; a method for each kind of note."""

    def __init__(self, stream_id: str, ring: Ring[Event] | None = None) -> None:
        """`stream_id` is another one in every process, of small letters and digits."""
        self.stream_id = stream_id
        self.ring = Ring[Event]() if ring is None else ring
        self.is_silent = False  # is told how things stand, which is no event
        self._now = 0.0  # when something was told last
        self._lock = threading.Lock()
        self._pods: dict[str, _Known] = {}
        self._nodes: dict[str, NodeSeen] = {}
        self._lost: dict[str, Bound | None] = {}  # pods of lost nodes, and what they held
        self._leaving: dict[str, PodRef] = {}  # pods that ended, and are to be taken out of the queue
        self._victims: set[str] = set()  # uids: of members of the job that is being told

    def take(self, *notes: Note) -> None:
        """This happened, in this order."""
        with self._lock:
            for name, *rest in notes:
                getattr(self, name)(*rest)

    def stands(self, t: float) -> None:
        """All of that was how things stood at that time; from now on it is told."""
        self._now, self.is_silent = max(self._now, t), False

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
        self._now = t
        if not self.is_silent:
            self.ring.append(Event(t, what), EVENT_BYTES + texts)

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def node_seen(self, t: float, node: str, *rest: Any) -> None:
        """A node is there, or is different, from now on."""
        seen = self._nodes[node] = NodeSeen(node, *rest)
        self._tell(t, seen)

    def node_gone(self, t: float, name: str, why: str) -> None:
        """A node is no more."""
        seen = self._nodes.pop(name, None)
        if seen is not None:
            self._tell(t, replace(seen, change=why, is_ready=False))

    # -- pods ----------------------------------------------------------------------------------------------------------

    def pod_created(self, t: float, uid: str, namespace: str, name: str, *rest: Any) -> None:
        """A pod is there."""
        known = self._pods[uid] = _Known(PodRef(namespace, name, uid), *rest)
        self._seen(t, known, "Created")

    def bound(self, t: float, uid: str, node: str, gpu_index: str) -> None:
        """A pod holds its node from now on."""
        known = self._pods.get(uid)
        if known is not None and known.bound is None:
            seen = self._nodes.get(node)
            known.move = None
            self._bind(t, known, Bound(known.ref, node, seen.uid if seen else "", gpu_index, known.held))

    def pod_changed(self, t: float, uid: str, change: str, start: float | None) -> None:
        """A pod runs, was taken by its kubelet, or was asked to go."""
        known = self._pods.get(uid)
        if known is not None:
            self._seen(t, known, change, start)

    def resized(self, t: float, uid: str, held: Mapping[str, int]) -> None:
        """A pod holds something else from now on."""
        known = self._pods.get(uid)
        if known is None or known.held == held:
            return
        before, known.held = known.bound, held
        if before is not None:
            self._unbind(t, known, RESIZED)
            self._bind(t, known, replace(before, held=held))
        else:
            self._seen(t, known, RESIZED)

    def lost(self, t: float, uid: str) -> None:
        """A pod's node is lost."""
        known = self._pods.get(uid)
        if known is not None:
            self._lost[uid] = known.bound
            self._unbind(t, known, NODE_LOST)

    def regained(self, t: float, uid: str) -> None:
        """It came back on the same node."""
        known, bound = self._pods.get(uid), self._lost.pop(uid, None)
        if known is not None and known.bound is None and bound is not None:
            self._bind(t, known, replace(bound, held=known.held))

    def ended(self, t: float, uid: str, reason: str) -> None:
        """A pod ended; the first end counts."""
        known = self._pods.pop(uid, None)
        self._lost.pop(uid, None)
        if known is not None:
            if known.move is not None:
                self._leaving[uid] = known.ref
                if len(self._leaving) > MOST_LEAVING:
                    del self._leaving[next(iter(self._leaving))]
            self._unbind(t, known, reason)
            self._seen(t, known, reason)

    def _bind(self, t: float, known: _Known, bound: Bound) -> None:
        known.bound, known.since = bound, t
        self._tell(t, bound)

    def _unbind(self, t: float, known: _Known, reason: str) -> None:
        bound, known.bound = known.bound, None
        if bound is not None:
            self._tell(t, Unbound(known.ref, bound.node, reason, "", bound.held, t - known.since))

    def _seen(self, t: float, known: _Known, change: str, start: float | None = None) -> None:
        self._tell(
            t,
            PodSeen(
                known.ref, change, known.scheduler, known.owner, known.priority, known.held, known.annotations, start
            ),
        )

    # -- schedulers ----------------------------------------------------------------------------------------------------

    def placed(self, t: float, uid: str, namespace: str, name: str, *rest: Any) -> None:
        """An attempt was made, and a node chosen. What plugins took comes last, if anybody measured it."""
        scheduler, attempt, cycle_seconds, node, via, num_feasible, num_best, score, best, part, *times = rest
        placed = Attempt(
            self._ref(uid, namespace, name),
            scheduler,
            attempt,
            "scheduled",
            node,
            via,
            0,
            num_feasible,
            num_best,
            score,
            best=tuple(Scored(rank, *one) for rank, one in enumerate(best, 1)) if best else (),
            cycle_seconds=cycle_seconds,
            plugin_times=tuple(PluginTime(*spent) for taken in times for spent in taken),
            job_part=part,
        )
        self._tell(t, placed, SCORED_BYTES * len(placed.best) + TIMED_BYTES * len(placed.plugin_times))

    def failed(self, t: float, uid: str, namespace: str, name: str, *rest: Any) -> None:
        """An attempt came to nothing."""
        scheduler, attempt, cycle_seconds, outcome, num_nodes, num_feasible, message, refused, *others = rest
        nominated, victims, promised, part, *times = others
        failed = Attempt(
            self._ref(uid, namespace, name),
            scheduler,
            attempt,
            outcome,
            num_nodes=num_nodes,
            num_feasible=num_feasible,
            refused=tuple(Refused(*one) for one in refused),
            nominated_node=nominated,
            victims=tuple(self._named(one) for one in victims),
            message=message,
            cycle_seconds=cycle_seconds,
            plugin_times=tuple(PluginTime(*spent) for taken in times for spent in taken),
            job_part=part,
            promised_node=promised,
        )
        texts = len(message) + sum(200 + len(one.reason) for one in failed.refused) + 200 * len(victims)
        self._tell(t, failed, texts + TIMED_BYTES * len(failed.plugin_times))
        for victim in failed.victims:
            self._tell(t, Preempted(victim, nominated, failed.pod))
        if part:
            self._victims.update(victim.uid for victim in failed.victims)

    def job_tried(self, t: float, job: Sequence[str], *rest: Any) -> None:
        """An attempt was made for a whole job; its members' were noted right before."""
        scheduler, attempt, outcome, num_members, num_placed, blocking, *lack, victims, message, cycle_seconds = rest
        missing, resource, domain_key, domain, num_domains, num_backtracks, is_exhausted = lack
        tried = JobAttempt(
            JobRef(*job),
            scheduler,
            attempt,
            outcome,
            num_members,
            num_placed,
            None if blocking is None else self._named(blocking),
            missing,
            resource,
            domain_key,
            domain,
            num_domains,
            num_backtracks,
            is_exhausted,
            tuple(Victim(self._named(ref), node) for *ref, node in victims),
            message,
            cycle_seconds,
        )
        self._tell(t, tried, len(message) + 400 * len(tried.victims))
        known, self._victims = self._victims, set()
        for victim in tried.victims:
            if tried.blocking is not None and victim.pod.uid not in known:
                self._tell(t, Preempted(victim.pod, victim.node, tried.blocking))

    def queue_moved(self, t: float, uid: str, scheduler: str, before: str, after: str, event: str) -> None:
        """A waiting pod moved."""
        known = self._pods.get(uid)
        if known is not None:
            move = QueueMove(known.ref, scheduler, before, after, event)
            known.move = move if after and known.bound is None else None
            self._tell(t, move)
        elif not after and (ref := self._leaving.pop(uid, None)) is not None:
            self._tell(t, QueueMove(ref, scheduler, before, after, event))

    def _ref(self, uid: str, namespace: str, name: str) -> PodRef:
        known = self._pods.get(uid)
        return PodRef(namespace, name, uid) if known is None else known.ref

    def _named(self, ref: Ref) -> PodRef:
        namespace, name, uid = ref
        return self._ref(uid, namespace, name)
