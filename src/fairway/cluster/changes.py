"""What an update amounts to: the parts of a node or pod that differ, in kube-scheduler's words.

In: the object before and after. Out: `ClusterEvent`s, narrow enough that a queueing hint can skip what does not concern
it. Used by `Cluster.apply`. Follows framework/events.go of kube-scheduler 1.36.
"""

from __future__ import annotations

import msgspec

from fairway.cluster.events import Action, ClusterEvent, Resource
from fairway.model import Node, NodeStatus, Pod
from fairway.model.requests import is_resize_infeasible, is_scaled_down, seem_alike

ASSIGNED_UPDATE = ClusterEvent(Resource.ASSIGNED_POD, Action.UPDATE)
UNSCHEDULED_UPDATE = ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE)


def node_changes(old: Node, new: Node) -> list[ClusterEvent]:
    """The scheduling-relevant differences between two versions of a node; none if there are none."""
    actions = []
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.append(Action.UPDATE_NODE_TAINT)
    if old.status.allocatable != new.status.allocatable:
        actions.append(Action.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        actions.append(Action.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints:
        actions.append(Action.UPDATE_NODE_TAINT)
    if _conditions(old) != _conditions(new):
        actions.append(Action.UPDATE_NODE_CONDITION)
    if old.metadata.annotations != new.metadata.annotations:
        actions.append(Action.UPDATE_NODE_ANNOTATION)
    if old.status.declared_features != new.status.declared_features:
        actions.append(Action.UPDATE_NODE_DECLARED_FEATURE)
    return [ClusterEvent(Resource.NODE, action) for action in actions]


def is_heartbeat(old: Node, new: Node) -> bool:
    """Does the update only say that the node is still there? Then no answer about it can change."""

    def timeless(node: Node) -> NodeStatus:
        return msgspec.structs.replace(node.status, conditions=())

    return (
        old.spec == new.spec
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
        and _conditions(old) == _conditions(new)
        and timeless(old) == timeless(new)
    )


def pod_changes(old: Pod, new: Pod) -> list[ClusterEvent]:
    """The same for a pod; a change of no known kind is a plain update."""
    if _is_like(old, new):
        return [ASSIGNED_UPDATE if new.spec.node_name else UNSCHEDULED_UPDATE]
    actions = []
    if old.metadata.labels != new.metadata.labels:
        actions.append(Action.UPDATE_POD_LABEL)
    if not seem_alike(old, new) and is_scaled_down(old, new):
        actions.append(Action.UPDATE_POD_SCALE_DOWN)
    if old.spec.scheduling_gates and not new.spec.scheduling_gates:
        actions.append(Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(old.spec.tolerations) != len(new.spec.tolerations):
        actions.append(Action.UPDATE_POD_TOLERATION)
    if (old.status.resource_claim_statuses, old.status.extended_resource_claim_status) != (
        new.status.resource_claim_statuses,
        new.status.extended_resource_claim_status,
    ):
        actions.append(Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    resource = Resource.ASSIGNED_POD if new.spec.node_name else Resource.UNSCHEDULED_POD
    return [ClusterEvent(resource, action) for action in actions or [Action.UPDATE]]


def _is_like(old: Pod, new: Pod) -> bool:
    """Are they the same in all that is looked at here? So it is with most updates, and quickly seen."""
    before, after = old.status, new.status
    return (
        old.spec is new.spec
        and old.metadata.labels is new.metadata.labels
        and before.container_statuses is after.container_statuses
        and before.init_container_statuses is after.init_container_statuses
        and before.resources is after.resources
        and before.allocated_resources is after.allocated_resources
        and (before.conditions is after.conditions or is_resize_infeasible(old) == is_resize_infeasible(new))
        and before.resource_claim_statuses is after.resource_claim_statuses
        and before.extended_resource_claim_status is after.extended_resource_claim_status
    )


def _conditions(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}
