"""What moves a pod, by name: the words in kube-scheduler 1.36's metrics and logs, for observers of the queue.

`label` names cluster events (AssignedPodDelete, NodeUpdateNodeLabel); the constants are for what is no cluster event.
Pop and Done are ours: kube-scheduler has no word for these moves.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from fairway.cluster.events import Action, ClusterEvent, Resource

__all__ = [
    "ACTIVATED",
    "ATTEMPT_FAILED",
    "BACKOFF_COMPLETE",
    "DONE",
    "JOB_CHANGED",
    "POD_ADDED",
    "POD_DELETED",
    "POD_UPDATED",
    "POPPED",
    "POPPED_EARLY",
    "TIMED_OUT",
    "label",
]


@lru_cache(maxsize=512)
def label(event: ClusterEvent) -> str:
    """The event's name."""
    resource = "UnschedulablePod" if event.resource is Resource.UNSCHEDULED_POD else event.resource.value
    return resource + "".join(word.capitalize() for word in (event.action.name or "").split("_"))


POD_ADDED: Final = label(ClusterEvent(Resource.UNSCHEDULED_POD, Action.ADD))
POD_UPDATED: Final = label(ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE))
POD_DELETED: Final = label(ClusterEvent(Resource.UNSCHEDULED_POD, Action.DELETE))
ATTEMPT_FAILED: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POPPED: Final = "Pop"
POPPED_EARLY: Final = "PopFromBackoffQ"
ACTIVATED: Final = "ForceActivate"
TIMED_OUT: Final = "UnschedulableTimeout"
DONE: Final = "Done"
JOB_CHANGED: Final = "JobChanged"
