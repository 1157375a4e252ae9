"""Groups of pods in one line each: the objects, and members that name them.

In: what matters to the test, as keywords. Out: complete API objects, as `builders` makes pods and nodes. A member is a
pod of `builders.pod` with what makes it belong to its group, in whichever spelling.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.model import (
    CoschedulingPodGroup,
    ObjectMeta,
    Pod,
    PodGroup,
    VolcanoPodGroup,
    parse_quantity,
)
from fairway.model.pod import PodSchedulingGroup
from fairway.model.pod_group import (
    BasicPolicy,
    CoschedulingPodGroupSpec,
    GangPolicy,
    PodGroupConstraints,
    PodGroupPolicy,
    PodGroupSpec,
    TopologyConstraint,
    VolcanoPodGroupSpec,
)
from fairway.testing.builders import pod

__all__ = ["coscheduling_group", "member", "members", "pod_group", "volcano_group"]


def _meta(name: str, namespace: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}/group/{name}", generation=1)


def pod_group(
    name: str = "train",
    min_count: int | None = None,
    *,
    namespace: str = "default",
    priority: int | None = None,
    topology: str | None = None,
    disruption: str | None = None,
) -> PodGroup:
    """Kubernetes' own; without `min_count` its policy is basic."""
    policy = (
        PodGroupPolicy(basic=BasicPolicy())
        if min_count is None
        else PodGroupPolicy(gang=GangPolicy(min_count=min_count))
    )
    constraints = None if topology is None else PodGroupConstraints(topology=(TopologyConstraint(key=topology),))
    spec = PodGroupSpec(
        scheduling_policy=policy, scheduling_constraints=constraints, disruption_mode=disruption, priority=priority
    )
    return PodGroup(metadata=_meta(name, namespace), spec=spec)


def coscheduling_group(
    name: str = "train",
    min_member: int = 1,
    *,
    namespace: str = "default",
    timeout: int | None = None,
    resources: dict[str, str] | None = None,
) -> CoschedulingPodGroup:
    """That of the coscheduling plugin."""
    amounts = {key: parse_quantity(text) for key, text in (resources or {}).items()}
    spec = CoschedulingPodGroupSpec(min_member=min_member, min_resources=amounts, schedule_timeout_seconds=timeout)
    return CoschedulingPodGroup(metadata=_meta(name, namespace), spec=spec)


def volcano_group(
    name: str = "train",
    min_member: int = 1,
    *,
    namespace: str = "default",
    tasks: dict[str, int] | None = None,
    priority_class: str = "",
) -> VolcanoPodGroup:
    """Volcano's."""
    spec = VolcanoPodGroupSpec(
        min_member=min_member, min_task_member=dict(tasks or {}), priority_class_name=priority_class
    )
    return VolcanoPodGroup(metadata=_meta(name, namespace), spec=spec)


def member(name: str, group: str = "train", **settings: Any) -> Pod:
    """A pod of one of Kubernetes' own groups."""
    return pod(name, scheduling_group=PodSchedulingGroup(pod_group_name=group), **settings)


def members(number: int, group: str = "train", **settings: Any) -> list[Pod]:
    """So many equal ones: train-0, train-1, ..."""
    first = member(f"{group}-0", group, **settings)
    return [
        msgspec.structs.replace(
            first,
            metadata=msgspec.structs.replace(
                first.metadata, name=f"{group}-{index}", uid=f"{first.metadata.namespace}/{group}-{index}"
            ),
        )
        for index in range(number)
    ]
