"""What happened to a pod of a job, as failure rules see it.

In: a pod that ended or is gone. Out: an `Incident`, or None if nothing went wrong. A pod that had to go for others'
sake carries the condition DisruptionTarget: its end does not count against the job. Called by the duty of failing jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fairway.batch.failures import Incident
from fairway.model import Pod
from fairway.model.disruption import disruption_reason

__all__ = ["incident_of", "task_of", "tasks_done"]

TASK: Final = "volcano.sh/task-spec"
OWN_TASK: Final = "fairway.dev/task"
EXIT_CODE: Final = "fairway.dev/exit-code"


def incident_of(pod: Pod, gone: bool, now: float) -> Incident | None:
    """What happened to it; None: it goes on, or ended well."""
    uid, task = pod.metadata.uid, task_of(pod)
    is_excused = bool(disruption_reason(pod))
    if pod.is_finished:
        if pod.status.phase != "Failed":
            return None
        if is_excused or pod.status.reason == "Evicted":
            return Incident("PodEvicted", now, uid, task, is_excused=True)
        # What the node itself refused or lost is no fault of the pod's.
        return Incident("PodFailed", now, uid, task, _exit_code(pod), is_excused=bool(pod.status.reason))
    return Incident("PodEvicted", now, uid, task, is_excused=is_excused) if gone and pod.spec.node_name else None


def task_of(pod: Pod) -> str:
    """What the pod is for, among the members of its job; "": it does not say."""
    said = (pod.metadata.annotations, pod.metadata.labels)
    return next((each[key] for key in (OWN_TASK, TASK) for each in said if key in each), "")


def tasks_done(pod: Pod, others: Iterable[Pod], now: float) -> Incident | None:
    """The task that is done now that this pod has ended well, as none of the others works on it."""
    task = task_of(pod)
    if not task or pod.status.phase != "Succeeded" or any(task_of(other) == task for other in others):
        return None
    return Incident("TaskDone", now, task=task)


def _exit_code(pod: Pod) -> int | None:
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        if status.state.terminated is not None and status.state.terminated.exit_code:
            return status.state.terminated.exit_code
    if pod.status.container_statuses or pod.status.reason:
        return None
    # A simulated pod has no container statuses: what it failed with is in its annotation, as for a Job's policy.
    text = pod.metadata.annotations.get(EXIT_CODE, "1")
    return int(text) if text.isascii() and text.isdigit() else None
