"""Plugins that look at the pods on other nodes: PodTopologySpread and InterPodAffinity."""

from __future__ import annotations

from typing import Any, Final

from tests.kube.api import Json
from tests.kube.wake_ups.case import NAMESPACE, SUBJECT, added, cases, changed, deleted
from tests.kube.wake_ups.events import (
    CORDON,
    SOFT_TAINT,
    node_allocatable,
    node_labels,
    node_taints,
    node_zone,
    pod_labels,
    tolerating,
)
from tests.kube.wake_ups.things import HOSTNAME, ZONE, node, pod, subject, thing


def spreading(**constraint: Any) -> Json:
    """Two zones at least; as long as there is one, it takes no more than one pod."""
    rule = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "minDomains": 2,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **constraint,
    }
    return subject(labels={"app": "web"}, topologySpreadConstraints=[rule])


def affinity(kind: str, key: str, app: str, **term: Any) -> Json:
    full = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **term}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [full]}}}


ZONED: Final = [
    node("a", {ZONE: "one"}),
    pod("other", labels={"app": "web"}, nodeName="a"),
    pod("third", labels={"app": "db"}, nodeName="a"),
]
ELSEWHERE: Final = thing("Namespace", "elsewhere")

PODS: Final = [
    *cases(
        "PodTopologySpread",
        spreading(),
        ZONED,
        ("a node comes in another zone", added(node("b", {ZONE: "two"})), "b"),
        ("a node comes without a zone", added(node("b")), None),
        ("a node is in another zone", node_zone("two"), ""),
        ("a node has other labels", node_labels(disk="ssd"), None),
        ("a node has other taints", node_taints(SOFT_TAINT), ""),
        ("a node grows", node_allocatable(cpu="8"), None),
        ("a pod that counts is deleted", deleted("Pod", "other"), "a"),
        ("a pod that counts is being deleted", deleted("Pod", "other", grace_seconds=30), None),
        ("a pod that does not count is deleted", deleted("Pod", "third"), None),
        ("a pod counts no more", pod_labels("other", app="old"), "a"),
        ("a pod has other labels that do not matter", pod_labels("other", more="labels"), None),
        ("a pod that counts is placed", added(pod("new", labels={"app": "web"}, nodeName="a")), ""),
        ("a pod that does not count is placed", added(pod("new", nodeName="a")), None),
        ("it does not count itself any more", pod_labels(SUBJECT, app="new"), "a"),
        ("it tolerates more", tolerating(CORDON), None),
        (
            "a service comes",
            added(thing("Service", "web", metadata={"namespace": NAMESPACE}, spec={"ports": [{"port": 80}]})),
            None,
        ),
    ),
    *cases(
        "PodTopologySpread",
        spreading(),
        [*ZONED, node("b", {ZONE: "one"})],
        ("a node of the zone goes", deleted("Node", "b"), ""),
    ),
    *cases(
        "PodTopologySpread",
        spreading(nodeTaintsPolicy="Honor"),
        ZONED,
        ("it tolerates more, and taints matter", tolerating(CORDON), ""),
    ),
    *cases(
        "InterPodAffinity",
        subject(**affinity("podAffinity", ZONE, "cache")),
        ZONED,
        ("the pod to be near is placed", added(pod("new", labels={"app": "cache"}, nodeName="a")), "a"),
        ("a pod not to be near is placed", added(pod("new", labels={"app": "else"}, nodeName="a")), None),
        ("a pod is one to be near now", pod_labels("third", app="cache"), "a"),
        ("a pod has other labels", pod_labels("third", more="labels"), None),
        ("a pod is deleted", deleted("Pod", "third"), None),
        ("a node comes in a zone", added(node("b", {ZONE: "two"})), ""),
        ("a node comes without a zone", added(node("b")), None),
        ("a node is in another zone", node_zone("two"), ""),
        ("a node has other labels", node_labels(disk="ssd"), None),
        ("a node has other taints", node_taints(SOFT_TAINT), ""),
        ("a node grows", node_allocatable(cpu="8"), None),
        ("it has other labels itself", pod_labels(SUBJECT, app="new"), ""),
        ("it tolerates more", tolerating(CORDON), None),
    ),
    *cases(
        "InterPodAffinity",
        subject(
            **affinity(
                "podAffinity",
                ZONE,
                "db",
                namespaceSelector={"matchLabels": {"team": "green"}},
                namespaces=["elsewhere"],
            )
        ),
        ZONED,
        (
            "its namespace is one to look at now",
            changed("Namespace", NAMESPACE, {"metadata": {"labels": {"team": "green"}}}),
            None,
        ),
    ),
    *cases(
        "InterPodAffinity",
        subject(**affinity("podAntiAffinity", HOSTNAME, "web")),
        ZONED,
        ("the pod to be away from is deleted", deleted("Pod", "other"), "a"),
        ("another pod is deleted", deleted("Pod", "third"), None),
        ("a pod is none to be away from any more", pod_labels("other", app="new"), "a"),
        ("a node to be alone on comes", added(node("b")), "b"),
        ("a node of its own is in another zone", node_zone("two"), None),
        ("a pod is placed", added(pod("new", nodeName="a")), None),
    ),
    *cases(
        "InterPodAffinity",
        subject(labels={"app": "loud"}),
        [
            node("a"),
            pod("other", nodeName="a", **affinity("podAntiAffinity", HOSTNAME, "loud")),
            pod("third", nodeName="a"),
        ],
        ("the pod that wants to be away is deleted", deleted("Pod", "other"), "a"),
        ("a pod that does not mind is deleted", deleted("Pod", "third"), None),
        ("it is not what the other minds any more", pod_labels(SUBJECT, app="quiet"), "a"),
        ("a node comes that nobody minds", added(node("b")), None),
    ),
]
