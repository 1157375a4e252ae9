"""What the desk of queues wants done, in a simulation: actions carried out on the API server, and told in the run.

In: an `Action`. Out: changes of pods and nodes. Each says what shall be true, so whatever is true already is left as it
is. Called by `batch_world`.
"""

from __future__ import annotations

import msgspec

from fairway.batch.actions import (
    CORDONED_BY,
    Action,
    AnnotatePod,
    CordonNode,
    CreatePod,
    DeletePod,
    EvictPod,
    MarkDisrupted,
    ResumeJob,
    SetActiveDeadline,
    TaintNode,
    Tell,
    UncordonNode,
)
from fairway.batch.upkeep.node_sights import QUEUE_TAINT
from fairway.model import Node, Pod, PodCondition, Taint
from fairway.model.disruption import with_condition
from fairway.record import Recorder
from fairway.sim.api_server import ApiServer
from fairway.sim.eviction import evict

__all__ = ["BatchActions"]


class BatchActions:
    """Carries them out."""

    def __init__(self, api: ApiServer, recorder: Recorder) -> None:
        self._api = api
        self._recorder = recorder
        self._refused: set[str] = set()  # uids: evictions that were told to be refused

    def carry_out(self, action: Action) -> None:
        """Make it so."""
        if isinstance(action, DeletePod | EvictPod | MarkDisrupted | AnnotatePod):
            pod = self._api.pod(action.pod)
            if pod is not None:
                self._change_pod(action, pod)
        elif isinstance(action, CordonNode | UncordonNode):
            self._cordon(action)
        elif isinstance(action, TaintNode):
            self._taint(action)
        elif isinstance(action, CreatePod):
            meta = action.pod.metadata
            if self._api.find("Pod", meta.namespace, meta.name) is None:
                self._api.create(action.pod)
        elif isinstance(action, SetActiveDeadline):
            self._set_deadline(action)
        elif isinstance(action, ResumeJob):
            self._resume(action)
        elif isinstance(action, Tell):
            self._tell("Job" if "/" in action.about else "Batch", action.about, action.reason, action.words)

    def _change_pod(self, action: DeletePod | EvictPod | MarkDisrupted | AnnotatePod, pod: Pod) -> None:
        if isinstance(action, DeletePod | EvictPod) and pod.is_terminating and not getattr(action, "is_forced", False):
            return
        if isinstance(action, DeletePod):
            self._tell("Pod", pod.key, action.cause, action.why)
            if action.is_forced:
                self._api.remove(pod)
            else:
                self._api.delete(pod, grace=action.grace)
        elif isinstance(action, EvictPod):
            self._evict(action, pod)
        elif isinstance(action, MarkDisrupted):
            condition = PodCondition(
                type="DisruptionTarget", status="True", reason=action.reason, message=action.message
            )
            if condition not in pod.status.conditions:
                self._api.update(with_condition(pod, condition))
        elif pod.metadata.annotations.get(action.key) != action.value:
            annotations = {**pod.metadata.annotations, action.key: action.value}
            metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
            self._api.update(msgspec.structs.replace(pod, metadata=metadata))

    def _evict(self, action: EvictPod, pod: Pod) -> None:
        why = evict(self._api, pod)
        uid = pod.metadata.uid
        if not why:
            self._refused.discard(uid)
            self._tell("Pod", pod.key, "Evicted", action.why)
        elif uid not in self._refused:
            self._refused.add(uid)
            self._tell("Pod", pod.key, "EvictionRefused", why)

    def _set_deadline(self, action: SetActiveDeadline) -> None:
        for job in self._api.objects("Job"):
            if job.metadata.uid == action.controller and job.spec.active_deadline_seconds != action.seconds:
                spec = msgspec.structs.replace(job.spec, active_deadline_seconds=action.seconds)
                self._api.update(msgspec.structs.replace(job, spec=spec))

    def _resume(self, action: ResumeJob) -> None:
        for job in self._api.objects("Job"):
            if job.metadata.uid == action.controller and job.spec.suspend:
                spec = msgspec.structs.replace(job.spec, suspend=False)
                self._api.update(msgspec.structs.replace(job, spec=spec))

    def _cordon(self, action: CordonNode | UncordonNode) -> None:
        node: Node | None = self._api.find("Node", "", action.node)
        if node is None:
            return
        annotations = dict(node.metadata.annotations)
        is_cordon = isinstance(action, CordonNode)
        if is_cordon and node.spec.unschedulable and annotations.get(CORDONED_BY) == action.window:
            return
        if is_cordon:
            annotations[CORDONED_BY] = action.window
        elif annotations.pop(CORDONED_BY, "") != action.window:
            return
        metadata = msgspec.structs.replace(node.metadata, annotations=annotations)
        spec = msgspec.structs.replace(node.spec, unschedulable=is_cordon)
        self._tell("Node", action.node, "cordon" if is_cordon else "uncordon", f"maintenance {action.window}")
        self._api.update(msgspec.structs.replace(node, metadata=metadata, spec=spec))

    def _taint(self, action: TaintNode) -> None:
        node: Node | None = self._api.find("Node", "", action.node)
        if node is None:
            return
        others = tuple(taint for taint in node.spec.taints if taint.key != QUEUE_TAINT)
        wanted = (Taint(key=QUEUE_TAINT, value=action.queue, effect="NoSchedule"),) if action.queue else ()
        if (*others, *wanted) != node.spec.taints:
            spec = msgspec.structs.replace(node.spec, taints=(*others, *wanted))
            self._api.update(msgspec.structs.replace(node, spec=spec))

    def _tell(self, kind: str, subject: str, reason: str, words: str) -> None:
        self._recorder.event(self._api.timeline.now(), kind, subject, reason, words)
