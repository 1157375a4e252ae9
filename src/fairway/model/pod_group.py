"""Groups of pods as objects: the three kinds called PodGroup that people use.

Decoded from API JSON or YAML by `fairway.model.decode`: Kubernetes' own (scheduling.k8s.io), that of the coscheduling
plugin (scheduling.x-k8s.io) and Volcano's (scheduling.volcano.sh). What each means for its pods is told, in one form
for all, by `fairway.model.group`.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

import datetime as dt
from typing import Final, Literal

import msgspec

from fairway.model.meta import Int32, Int64, ObjectMeta, Time, Value
from fairway.model.quantity import Quantity

__all__ = [
    "POD_GROUP_SCHEDULED",
    "AnyPodGroup",
    "BasicPolicy",
    "CoschedulingPodGroup",
    "CoschedulingPodGroupSpec",
    "GangPolicy",
    "GroupCondition",
    "PodGroup",
    "PodGroupConstraints",
    "PodGroupPolicy",
    "PodGroupSpec",
    "PodGroupStatus",
    "TopologyConstraint",
    "VolcanoPodGroup",
    "VolcanoPodGroupSpec",
    "with_group_condition",
]

POD_GROUP_SCHEDULED: Final = "PodGroupScheduled"
"""The condition that says whether the pods of a group got their nodes."""


class GangPolicy(Value, frozen=True, kw_only=True):
    """So many pods start together, or none does."""

    min_count: Int32 = 0


class BasicPolicy(Value, frozen=True, kw_only=True):
    """The pods are looked at together, and each may start without the others."""


class PodGroupPolicy(Value, frozen=True, kw_only=True):
    """One of the two."""

    basic: BasicPolicy | None = None
    gang: GangPolicy | None = None


class TopologyConstraint(Value, frozen=True, kw_only=True):
    """All pods on nodes with the same value of this label."""

    key: str = ""


class PodGroupConstraints(Value, frozen=True, kw_only=True):
    """Where the group as a whole may go."""

    topology: tuple[TopologyConstraint, ...] = ()


class PodGroupSpec(Value, frozen=True, kw_only=True):
    """How the pods of the group are scheduled, and disrupted."""

    scheduling_policy: PodGroupPolicy = PodGroupPolicy()
    scheduling_constraints: PodGroupConstraints | None = None
    disruption_mode: str | None = None
    priority_class_name: str = ""
    priority: Int32 | None = None


class GroupCondition(Value, frozen=True, kw_only=True):
    """One thing known about the group, such as PodGroupScheduled."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    observed_generation: Int64 = 0


class PodGroupStatus(Value, frozen=True, kw_only=True):
    """What became of the group."""

    conditions: tuple[GroupCondition, ...] = ()


class PodGroup(Value, frozen=True, kw_only=True):
    """Kubernetes' own: pods name it in `spec.schedulingGroup`."""

    api_version: Literal["scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1beta1"] = msgspec.field(
        default_factory=lambda: "scheduling.k8s.io/v1alpha2"
    )
    kind: Literal["PodGroup"] = msgspec.field(default_factory=lambda: "PodGroup")
    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def condition(self) -> GroupCondition | None:
        """What is written about its scheduling, if anything is."""
        return next((each for each in self.status.conditions if each.type == POD_GROUP_SCHEDULED), None)


class CoschedulingPodGroupSpec(Value, frozen=True, kw_only=True):
    """How many pods, or how much room, it takes to start, and how long that may take."""

    min_member: Int32 = 0
    min_resources: dict[str, Quantity] = {}
    schedule_timeout_seconds: Int32 | None = None


class CoschedulingPodGroup(Value, frozen=True, kw_only=True):
    """The coscheduling plugin's: pods name it in a label."""

    api_version: Literal["scheduling.x-k8s.io/v1alpha1"] = msgspec.field(
        default_factory=lambda: "scheduling.x-k8s.io/v1alpha1"
    )
    kind: Literal["PodGroup"] = msgspec.field(default_factory=lambda: "PodGroup")
    metadata: ObjectMeta = ObjectMeta()
    spec: CoschedulingPodGroupSpec = CoschedulingPodGroupSpec()


class VolcanoPodGroupSpec(Value, frozen=True, kw_only=True):
    """How many pods, of each task or in all, or how much room, it takes to start."""

    min_member: Int32 = 0
    min_task_member: dict[str, Int32] = {}
    min_resources: dict[str, Quantity] = {}
    queue: str = ""
    priority_class_name: str = ""


class VolcanoPodGroup(Value, frozen=True, kw_only=True):
    """Volcano's: pods name it in an annotation."""

    api_version: Literal["scheduling.volcano.sh/v1beta1"] = msgspec.field(
        default_factory=lambda: "scheduling.volcano.sh/v1beta1"
    )
    kind: Literal["PodGroup"] = msgspec.field(default_factory=lambda: "PodGroup")
    metadata: ObjectMeta = ObjectMeta()
    spec: VolcanoPodGroupSpec = VolcanoPodGroupSpec()


AnyPodGroup = PodGroup | CoschedulingPodGroup | VolcanoPodGroup
"""An object that says how a group of pods starts."""


def with_group_condition(
    group: PodGroup, kind: str, status: str, reason: str, message: str, now: dt.datetime
) -> PodGroup | None:
    """The group with this said, such as about its scheduling; None if there is nothing to write.

    What is True stays so: members that come later and do not fit do not take it back. The time is that of the last
    change of status. kube-scheduler 1.36, `updatePodGroupCondition` in schedule_one_podgroup.go.
    """
    old = next((each for each in group.status.conditions if each.type == kind), None)
    if old is not None and old.status == "True" and status != "True":
        return None
    since = old.last_transition_time if old is not None and old.status == status else now
    new = GroupCondition(
        type=kind,
        status=status,
        reason=reason,
        message=message,
        last_transition_time=since,
        observed_generation=group.metadata.generation,
    )
    if new == old:
        return None
    others = tuple(each for each in group.status.conditions if each.type != kind)
    return msgspec.structs.replace(group, status=PodGroupStatus(conditions=(*others, new)))
