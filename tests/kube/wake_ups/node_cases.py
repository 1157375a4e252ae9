"""Plugins that look at the node alone, and pods behind gates."""

from __future__ import annotations

from typing import Final

from tests.kube.wake_ups.case import SUBJECT, added, cases, changed, deleted
from tests.kube.wake_ups.events import (
    ANNOTATED,
    CORDON,
    NODE_ANNOTATED,
    SOFT_TAINT,
    node_allocatable,
    node_condition,
    node_labels,
    node_taints,
    pod_labels,
    tolerating,
)
from tests.kube.wake_ups.things import node, pod, subject

TAINT: Final = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}
FEATURE: Final = "RestartAllContainersOnContainerExits"
RESTARTING: Final = {
    "restartPolicy": "Never",
    "restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}],
}

NODES: Final = [
    *cases(
        "NodeAffinity",
        subject(nodeSelector={"disk": "ssd"}),
        [node("a"), pod("other", nodeName="a")],
        ("a node comes", added(node("b", {"disk": "ssd"})), "b"),
        ("another node comes", added(node("b")), None),
        ("a node has the label", node_labels(disk="ssd"), "a"),
        ("a node has another label", node_labels(disk="slow"), None),
        ("a node has other taints", node_taints(SOFT_TAINT), ""),
        ("a node grows", node_allocatable(cpu="8"), None),
        ("a node is ready", node_condition("True"), None),
        ("a node is annotated", NODE_ANNOTATED, None),
        ("a pod is deleted", deleted("Pod", "other"), None),
        ("it has other labels itself", pod_labels(SUBJECT, disk="ssd"), None),
        ("it tolerates more", tolerating(CORDON), None),
    ),
    *cases(
        "NodeUnschedulable",
        subject(),
        [node("a", unschedulable=True), pod("other", nodeName="a")],
        ("a node is open again", changed("Node", "a", {"spec": {"unschedulable": None}}), "a"),
        ("a node comes", added(node("b")), "b"),
        ("a closed node comes", added(node("b", unschedulable=True)), None),
        ("a node has other taints", node_taints(SOFT_TAINT), None),
        ("a node has other labels", node_labels(disk="ssd"), None),
        ("a pod is deleted", deleted("Pod", "other"), None),
        ("it bears closed nodes", tolerating(CORDON), "a"),
        ("it tolerates something else", tolerating({**CORDON, "key": "other"}), None),
    ),
    *cases(
        "TaintToleration",
        subject(),
        [node("a", taints=[TAINT]), pod("other", nodeName="a")],
        ("the taint goes", node_taints(), "a"),
        ("another taint comes", node_taints(TAINT, {**TAINT, "key": "more"}), None),
        ("a node comes", added(node("b")), "b"),
        ("a tainted node comes", added(node("b", taints=[TAINT])), None),
        ("a node has other labels", node_labels(disk="ssd"), None),
        ("a node grows", node_allocatable(cpu="8"), None),
        ("a pod is deleted", deleted("Pod", "other"), None),
        ("it tolerates the taint", tolerating({"key": "dedicated", "operator": "Exists"}), "a"),
        ("it tolerates another", tolerating({"key": "else", "operator": "Exists"}), ""),
        ("it has other labels itself", pod_labels(SUBJECT, app="web"), None),
    ),
    *cases(
        "NodeDeclaredFeatures",
        subject(container=RESTARTING, restartPolicy="Never"),
        [node("a"), pod("other", nodeName="a")],
        ("a node can do it now", changed("Node", "a", {"status": {"declaredFeatures": [FEATURE]}}, "status"), "a"),
        (
            "a node can do something else",
            changed("Node", "a", {"status": {"declaredFeatures": ["Else"]}}, "status"),
            "",
        ),
        ("a node comes that can", added(node("b", features=(FEATURE,))), "b"),
        ("a node comes that can not", added(node("b")), ""),
        ("a node has other taints", node_taints(SOFT_TAINT), ""),
        ("a node has other labels", node_labels(disk="ssd"), None),
        ("a pod is deleted", deleted("Pod", "other"), None),
        ("it is annotated", ANNOTATED, None),
    ),
    *cases(
        "NodePorts",
        subject(ports=(8080,)),
        [
            node("a"),
            pod("other", ports=(8080,), nodeName="a"),
            pod("third", ports=(9090,), nodeName="a"),
            pod("none", nodeName="a"),
        ],
        ("the pod with the port is deleted", deleted("Pod", "other"), "a"),
        ("a pod with another port is deleted", deleted("Pod", "third"), None),
        ("a pod without ports is deleted", deleted("Pod", "none"), None),
        ("a node comes", added(node("b")), "b"),
        ("a node has other labels", node_labels(disk="ssd"), None),
        ("a node has other taints", node_taints(SOFT_TAINT), ""),
        ("a node grows", node_allocatable(cpu="8"), None),
        ("it has other labels itself", pod_labels(SUBJECT, app="web"), None),
    ),
    *cases(
        "SchedulingGates",
        subject(schedulingGates=[{"name": "example.com/one"}, {"name": "example.com/two"}]),
        [node("a"), pod("other", nodeName="a")],
        ("the gates are gone", changed("Pod", SUBJECT, {"spec": {"schedulingGates": None}}), "a"),
        (
            "one of the gates is gone",
            changed("Pod", SUBJECT, {"spec": {"schedulingGates": [{"name": "example.com/one", "$patch": "delete"}]}}),
            None,
        ),
        ("it has other labels itself", pod_labels(SUBJECT, app="web"), None),
        ("a node comes", added(node("b")), None),
        ("a pod is deleted", deleted("Pod", "other"), None),
    ),
]
