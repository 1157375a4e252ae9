"""Why a pod has to go, as Kubernetes says it: the condition DisruptionTarget, and its reasons.

In: a pod. Out: the reason it was given, or the condition to give it. Schedulers, the simulated world, the live one and
the recorder all speak of it, in these words. Kubernetes 1.36, `core/v1/types.go`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from fairway.model.pod import Pod, PodCondition

__all__ = [
    "DISRUPTION_TARGET",
    "EVICTED",
    "ORPHANED",
    "PREEMPTED",
    "TAINTED",
    "disruption_reason",
    "with_condition",
]

DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTED: Final = PodCondition(
    type=DISRUPTION_TARGET,
    status="True",
    reason="PreemptionByScheduler",
    message="preempting to accommodate a higher priority pod",
)
EVICTED: Final = PodCondition(
    type=DISRUPTION_TARGET, status="True", reason="EvictionByEvictionAPI", message="Eviction API: evicting"
)
TAINTED: Final = PodCondition(
    type=DISRUPTION_TARGET,
    status="True",
    reason="DeletionByTaintManager",
    message="Taint manager: deleting due to NoExecute taint",
)
ORPHANED: Final = PodCondition(
    type=DISRUPTION_TARGET, status="True", reason="DeletionByPodGC", message="PodGC: node no longer exists"
)


def with_condition(pod: Pod, condition: PodCondition) -> Pod:
    """The pod with this condition in the place of one of its type."""
    others = tuple(one for one in pod.status.conditions if one.type != condition.type)
    status = msgspec.structs.replace(pod.status, conditions=(*others, condition))
    return msgspec.structs.replace(pod, status=status)


def disruption_reason(pod: Pod) -> str:
    """Why it has to go; "" if nobody said so."""
    condition = next((one for one in pod.status.conditions if one.type == DISRUPTION_TARGET), None)
    return condition.reason if condition is not None and condition.status == "True" else ""
