"""The recorder of a scheduler that is followed: each call becomes a note, which is a tuple, and that is all.

In: the calls of a recorder, in order of time, from the thread that schedules. Out: to `put`, notes: the name of a
method of `telling.Teller` and its arguments, of nothing but numbers, texts, lists and dictionaries, so that they may be
told here or in another process (`serving_process`). Pods, nodes and arrays are read here, where they are; what notes
come to is worked out over there. Nothing is kept, nothing is locked and nobody is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from fairway.cycle import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.model import Node, Pod
from fairway.model.requests import pod_requests, seem_alike
from fairway.queue import Place
from fairway.record import NullRecorder, Scored
from fairway.record.vocabulary import NodeChange, NodeEnd, PodEnd
from fairway.record.writing.job_rows import attempt_parts, blocking_member
from fairway.record.writing.kept import own_annotations
from fairway.record.writing.refusals import failure_message, refusal_counts
from fairway.stream.told import MEMBER, NO_TEXTS, PASSED_OVER

__all__ = ["Note", "NoteTaker"]

Note: TypeAlias = tuple[Any, ...]
"""What happened, when, and to whom."""

SCHEDULED: Final = Outcome.SCHEDULED


class NoteTaker(NullRecorder):
    """Puts a note for everything that a stream tells."""

    is_recording = True

    def __init__(self, put: Callable[[Note], object]) -> None:
        super().__init__()
        self._put = put
        self._amounts: tuple[Pod, Mapping[str, int]] | None = None  # of the latest pod: pods come in rows

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def node_added(self, t: float, node: Node) -> None:
        """A node is there from now on."""
        self._node(t, node, NodeChange.ADDED)

    def node_changed(self, t: float, node: Node, what: NodeChange) -> None:
        """A node is different from now on."""
        self._node(t, node, what)

    def node_gone(self, t: float, name: str, why: NodeEnd) -> None:
        """A node is no more."""
        self._put(("node_gone", t, name, str(why)))

    def _node(self, t: float, node: Node, change: NodeChange) -> None:
        amounts = {
            name: quantity.milli if name == "cpu" else quantity.value
            for name, quantity in node.status.allocatable.items()
        }
        is_ready = next((one.status == "True" for one in node.status.conditions if one.type == "Ready"), True)
        meta = node.metadata
        self._put(
            ("node_seen", t, meta.name, meta.uid, str(change), is_ready, node.spec.unschedulable, amounts, meta.labels)
        )

    # -- pods ----------------------------------------------------------------------------------------------------------

    def pod_created(self, t: float, pod: Pod, scheduler: str) -> int:
        """A pod is there."""
        meta = pod.metadata
        controller = meta.controller if meta.owner_references else None
        owner = f"{controller.kind}/{controller.name}" if controller is not None else ""
        own = own_annotations(meta.annotations) if meta.annotations else NO_TEXTS
        held = self._held(pod)
        priority = pod.spec.priority or 0
        self._put(("pod_created", t, meta.uid, meta.namespace, meta.name, scheduler, owner, priority, held, own))
        self._num_pods += 1
        return self._num_pods - 1

    def bound(self, t: float, uid: str, node: str, gpu_index: str | None = None) -> None:
        """A pod holds its node from now on."""
        self._put(("bound", t, uid, node, gpu_index or ""))

    def started(self, t: float, uid: str) -> None:
        """A bound pod runs."""
        self._put(("pod_changed", t, uid, "Started", None))

    def acknowledged(self, t: float, uid: str, start: float) -> None:
        """A pod's kubelet has taken it."""
        self._put(("pod_changed", t, uid, "Acknowledged", start))

    def leaves(self, t: float, uid: str) -> None:
        """A pod was asked to go; it holds its node until it has gone."""
        self._put(("pod_changed", t, uid, "Leaving", None))

    def resized(self, t: float, pod: Pod) -> None:
        """A pod holds something else from now on."""
        self._put(("resized", t, pod.metadata.uid, dict(pod_requests(pod))))

    def lost(self, t: float, uid: str) -> None:
        """A pod's node is lost."""
        self._put(("lost", t, uid))

    def regained(self, t: float, uid: str) -> None:
        """It came back on the same node."""
        self._put(("regained", t, uid))

    def ended(self, t: float, uid: str, reason: PodEnd) -> None:
        """A pod ended; the first end counts."""
        self._put(("ended", t, uid, str(reason)))

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
        part: str = "",
    ) -> None:
        """An attempt was made; `part` says what it is within one for a whole job."""
        if decision.outcome is not SCHEDULED:
            self._failed(t, scheduler, attempt, decision, cycle_seconds, part)
            return
        meta = decision.pod.metadata
        self._put(
            (
                "placed",
                t,
                meta.uid,
                meta.namespace,
                meta.name,
                scheduler,
                attempt,
                cycle_seconds,
                decision.node,
                decision.via or "",
                decision.num_feasible,
                decision.num_best,
                decision.score,
                [(one.node, one.total, one.shares) for one in best] if best else (),
                part,
            )
        )

    def group_decided(self, t: float, scheduler: str, decision: GroupDecision, cycle_seconds: float) -> None:
        """An attempt was made for a job, and for those that start with it, which share in the time that it took."""
        seconds = cycle_seconds / (1 + len(decision.companions))
        for one in (decision, *decision.companions):
            self._tried_job(t, scheduler, one, seconds)

    def _tried_job(self, t: float, scheduler: str, decision: GroupDecision, cycle_seconds: float) -> None:
        """Its members first, the one that kept it waiting as the last of them, then what it came to."""
        blocking = blocking_member(decision)
        seconds = cycle_seconds / max(len(decision.members), 1)
        part = MEMBER if blocking is None else PASSED_OVER
        for member in decision.members:
            if member is not blocking:
                self.decided(t, scheduler, member.attempt, member, seconds, (), part)
        if blocking is not None:
            self.decided(t, scheduler, blocking.attempt, blocking, seconds, (), MEMBER)
        before, (_, resource, level, domain, num_domains, *search, _) = attempt_parts(decision, None)
        victims = [(*_ref(victim.pod), victim.pod.spec.node_name) for victim in decision.victims]
        in_the_way = None if blocking is None else _ref(blocking.pod)
        lack = (in_the_way, decision.missing or None, resource or "")
        where = (level or "", domain or "", num_domains, *search)
        key = tuple(map(str, decision.job))
        self._put(("job_tried", t, key, scheduler, *before, *lack, *where, victims, decision.message, cycle_seconds))

    def _failed(
        self, t: float, scheduler: str, attempt: int, decision: Decision, cycle_seconds: float, part: str
    ) -> None:
        diagnosis, preemption = decision.diagnosis, decision.preemption
        refused = [
            (plugin, refusal.code.value, ", ".join(refusal.reasons), count)
            for plugin, refusal, count in (refusal_counts(diagnosis) if diagnosis is not None else ())
        ]
        chosen = preemption.chosen if preemption is not None else None
        victims = list(map(_ref, chosen.victims)) if chosen is not None else ()
        nominated = preemption.nominated_node if preemption is not None else ""
        meta, num_nodes = decision.pod.metadata, diagnosis.num_nodes if diagnosis is not None else 0
        why = (decision.outcome.value, num_nodes, decision.num_feasible, failure_message(decision) or "", refused)
        whom = (meta.uid, meta.namespace, meta.name, scheduler, attempt, cycle_seconds)
        self._put(("failed", t, *whom, *why, nominated, victims, decision.nomination, part))

    def queue_moved(
        self, t: float, scheduler: str, uid: str, origin: Place | None, place: Place | None, event: str
    ) -> None:
        """A waiting pod moved."""
        before = "" if origin is None else origin._value_  # `value` takes five times as long
        after = "" if place is None else place._value_
        self._put(("queue_moved", t, uid, scheduler, before, after, event))


def _ref(pod: Pod) -> tuple[str, str, str]:
    meta = pod.metadata
    return meta.namespace, meta.name, meta.uid
