"""What an update amounts to, in kube-scheduler's words."""

import datetime as dt
from typing import Any

import msgspec
import pytest

from fairway.cluster import Action, Resource
from fairway.cluster.changes import is_heartbeat, node_changes, pod_changes
from fairway.model import (
    Container,
    ContainerStatus,
    Node,
    NodeCondition,
    Pod,
    PodCondition,
    PodResourceClaimStatus,
    ResourceRequirements,
    parse_quantity,
)
from fairway.testing import node, pod


def ready(status: str, reason: str = "", at: int = 0) -> tuple[NodeCondition, ...]:
    when = dt.datetime(2026, 1, 1, 0, at, tzinfo=dt.UTC)
    return (NodeCondition(type="Ready", status=status, reason=reason, last_heartbeat_time=when),)


@pytest.mark.parametrize(
    ("old", "new", "actions"),
    [
        (node(), node(), []),
        (node(cpu=1), node(cpu=2), [Action.UPDATE_NODE_ALLOCATABLE]),
        (node(cpu="1"), node(cpu="1000m"), []),
        (node(), node(labels={"x": "1"}), [Action.UPDATE_NODE_LABEL]),
        (node(), node(taints="x"), [Action.UPDATE_NODE_TAINT]),
        (node(unschedulable=True), node(), [Action.UPDATE_NODE_TAINT]),
        (node(), node(unschedulable=True), []),
        (node(conditions=ready("True")), node(conditions=ready("False")), [Action.UPDATE_NODE_CONDITION]),
        (node(conditions=ready("True", "a")), node(conditions=ready("True", "b")), []),
        (node(), node(annotations={"x": "1"}), [Action.UPDATE_NODE_ANNOTATION]),
        (node(), node(features="f"), [Action.UPDATE_NODE_DECLARED_FEATURE]),
        (node(), node(images={"i": 1}), []),
        (
            node(cpu=1),
            node(cpu=2, labels={"x": "1"}, taints="x"),
            [Action.UPDATE_NODE_ALLOCATABLE, Action.UPDATE_NODE_LABEL, Action.UPDATE_NODE_TAINT],
        ),
    ],
    ids=[
        "nothing",
        "allocatable",
        "the same amount in other words",
        "labels",
        "taints",
        "uncordoned",
        "cordoned",
        "condition",
        "reason of a condition",
        "annotation",
        "feature",
        "images",
        "several",
    ],
)
def test_changes_of_a_node(old: Node, new: Node, actions: list[Action]) -> None:
    assert [(event.resource, event.action) for event in node_changes(old, new)] == [
        (Resource.NODE, action) for action in actions
    ]


@pytest.mark.parametrize(
    ("new", "heartbeat"),
    [
        (node(conditions=ready("True", at=5)), True),
        (node(conditions=ready("False", at=5)), False),
        (node(conditions=ready("True"), labels={"x": "1"}), False),
        (node(conditions=ready("True"), annotations={"x": "1"}), False),
        (node(conditions=ready("True"), unschedulable=True), False),
        (node(conditions=ready("True"), cpu=1), False),
        (node(conditions=ready("True"), images={"i": 1}), False),
        (node(conditions=ready("True"), features="f"), False),
    ],
    ids=["later", "not ready", "labels", "annotations", "cordoned", "allocatable", "images", "features"],
)
def test_a_heartbeat_says_nothing_new(new: Node, heartbeat: bool) -> None:
    assert is_heartbeat(node(conditions=ready("True")), new) is heartbeat


def generated(name: str) -> Pod:
    plain = pod()
    status = msgspec.structs.replace(plain.status, resource_claim_statuses=(PodResourceClaimStatus(name=name),))
    return msgspec.structs.replace(plain, status=status)


def in_force(cpu: str) -> Pod:
    plain = pod(cpu=1, resources=ResourceRequirements(requests={"cpu": parse_quantity("1")}))
    given = ResourceRequirements(requests={"cpu": parse_quantity(cpu)})
    return msgspec.structs.replace(plain, status=msgspec.structs.replace(plain.status, resources=given))


def asking(cpu: str) -> ResourceRequirements:
    return ResourceRequirements(requests={"cpu": parse_quantity(cpu)})


def resizing(cpu: str, given: str, promised: str = "0", pending: str = "", labels: str = "") -> Pod:
    """A pod that asks for so much, has got so much, was promised so much, and what its node says about the rest."""
    plain = pod(cpu=cpu, labels={"x": labels} if labels else {})
    (container,) = plain.spec.containers
    allocated = {"cpu": parse_quantity(promised)}
    reported = ContainerStatus(name=container.name, resources=asking(given), allocated_resources=allocated)
    conditions = [PodCondition(type="Ready", status="True")]
    if pending:
        conditions.append(PodCondition(type="PodResizePending", status="True", reason=pending))
    status = msgspec.structs.replace(plain.status, container_statuses=(reported,), conditions=tuple(conditions))
    return msgspec.structs.replace(plain, status=status)


def with_sidecar(cpu: str) -> Pod:
    return pod(init_containers=Container(name="side", restart_policy="Always", resources=asking(cpu)))


def promised(cpu: str) -> Pod:
    """As a whole, which asks for less than it was promised."""
    plain = in_force("1")
    status = msgspec.structs.replace(plain.status, allocated_resources={"cpu": parse_quantity(cpu)})
    return msgspec.structs.replace(plain, status=status)


@pytest.mark.parametrize(
    ("old", "new", "actions"),
    [
        (pod(), pod(), [Action.UPDATE]),
        (pod(), pod(labels={"x": "1"}), [Action.UPDATE_POD_LABEL]),
        (pod(cpu=2), pod(cpu=1), [Action.UPDATE_POD_SCALE_DOWN]),
        (pod(cpu=1), pod(cpu=2), [Action.UPDATE]),
        (pod(cpu=1, memory=1), pod(cpu=1), [Action.UPDATE_POD_SCALE_DOWN]),
        (in_force("3"), in_force("2"), [Action.UPDATE_POD_SCALE_DOWN]),
        (promised("3"), promised("2"), [Action.UPDATE_POD_SCALE_DOWN]),
        (with_sidecar("2"), with_sidecar("1"), [Action.UPDATE_POD_SCALE_DOWN]),
        (pod(memory="1600m"), pod(memory="1500m"), [Action.UPDATE_POD_SCALE_DOWN]),
        (resizing("3", "1"), resizing("3", "1", pending="Infeasible"), [Action.UPDATE_POD_SCALE_DOWN]),
        (
            resizing("3", "1", pending="Deferred"),
            resizing("3", "1", pending="Infeasible"),
            [Action.UPDATE_POD_SCALE_DOWN],
        ),
        (resizing("3", "1", "3"), resizing("3", "1", "3", pending="Infeasible"), [Action.UPDATE]),
        (resizing("3", "1", pending="Infeasible"), resizing("3", "1", pending="Deferred"), [Action.UPDATE]),
        (resizing("3", "1", pending="Infeasible"), resizing("3", "1"), [Action.UPDATE]),
        (resizing("3", "1"), resizing("3", "1", pending="Deferred"), [Action.UPDATE]),
        (resizing("3", "1", pending="Deferred"), resizing("1", "1"), [Action.UPDATE_POD_SCALE_DOWN]),
        (resizing("3", "1", pending="Infeasible"), resizing("1", "1"), [Action.UPDATE]),
        (resizing("1", "3", "1"), resizing("1", "1", "1"), [Action.UPDATE_POD_SCALE_DOWN]),
        (resizing("1", "1", "3"), resizing("1", "1", "1"), [Action.UPDATE_POD_SCALE_DOWN]),
        (
            resizing("3", "1"),
            resizing("3", "1", pending="Infeasible", labels="1"),
            [Action.UPDATE_POD_LABEL, Action.UPDATE_POD_SCALE_DOWN],
        ),
        (pod(gates="a"), pod(), [Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED]),
        (pod(gates=("a", "b")), pod(gates="a"), [Action.UPDATE]),
        (pod(), pod(tolerates="x"), [Action.UPDATE_POD_TOLERATION]),
        (pod(), generated("c"), [Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM]),
        (pod(cpu=2), pod(cpu=1, labels={"x": "1"}), [Action.UPDATE_POD_LABEL, Action.UPDATE_POD_SCALE_DOWN]),
    ],
    ids=[
        "nothing in particular",
        "labels",
        "less cpu",
        "more cpu",
        "no memory any more",
        "less in force",
        "less promised to the pod as a whole",
        "a sidecar with less",
        "less than a byte less",
        "a resize that can never be",
        "a deferred resize that can never be",
        "a resize that can never be, though promised",
        "a resize that may be after all",
        "a resize that can be after all",
        "a deferred resize",
        "a deferred resize is withdrawn",
        "an impossible resize is withdrawn",
        "a container has shrunk",
        "a promise taken back",
        "a resize that can never be, and labels",
        "no gates any more",
        "fewer gates",
        "tolerations",
        "claims",
        "several",
    ],
)
def test_changes_of_a_pod(old: Pod, new: Pod, actions: list[Action]) -> None:
    assert [(event.resource, event.action) for event in pod_changes(old, new)] == [
        (Resource.UNSCHEDULED_POD, action) for action in actions
    ]


def test_pods_with_a_node_are_another_resource() -> None:
    changed: Any = pod_changes(pod(node="a"), pod(node="a", labels={"x": "1"}))
    assert changed == [(Resource.ASSIGNED_POD, Action.UPDATE_POD_LABEL)]
