"""NodeResourcesFit: room that comes, grows, is left or given back, and a great deal that makes none."""

from __future__ import annotations

from typing import Any, Final

from tests.kube.wake_ups.case import (
    NAMESPACE,
    NOBODY,
    PROMISED,
    SENTINEL,
    SUBJECT,
    URGENT,
    Case,
    Happening,
    added,
    changed,
    deleted,
)
from tests.kube.wake_ups.events import (
    ANNOTATED,
    CORDON,
    NODE_ANNOTATED,
    NODE_IMAGES,
    SOFT_TAINT,
    given,
    given_whole,
    node_allocatable,
    node_condition,
    node_labels,
    node_taints,
    pending,
    pod_labels,
    resized,
    resized_whole,
    tolerating,
)
from tests.kube.wake_ups.things import claim, csi_node, node, pod, storage_class, subject, thing, volume

FULL: Final = [node("a"), pod("other", "3", nodeName="a")]
SMALL: Final = [node("a"), pod("other", "1", nodeName="a")]
WHOLE: Final = [
    node("a", features=("InPlacePodLevelResourcesVerticalScaling",)),
    pod("other", "", nodeName="a", resources={"requests": {"cpu": "3"}}),
]
VICTIM: Final = [node("a"), pod("other", "3", nodeName="a", terminationGracePeriodSeconds=30)]
WANTS_TWO: Final = subject("2")
GROWING: Final = (given("1"), resized("other", cpu="3"))
PROMISE: Final = [
    node("a"),
    pod(
        PROMISED,
        "3",
        schedulerName=SENTINEL,
        schedulingGates=[{"name": "example.com/wait"}],
        priorityClassName=URGENT,
    ),
]
PROMISING: Final = [changed("Pod", PROMISED, {"status": {"nominatedNodeName": "a"}}, "status")]


def fit(name: str, event: Happening, node: str | None = None, **fields: Any) -> Case:
    """`node` None: the event does not wake the pod."""
    fields = {"pod": WANTS_TWO, "before": FULL, **fields}
    return Case(name, "NodeResourcesFit", event=event, wakes=node is not None, node=node or "", **fields)


FIT: Final = [
    fit("a node comes", added(node("b")), "b"),
    fit("a node comes that is too small", added(node("b", cpu="1"))),
    fit("a node goes", deleted("Node", "b"), before=[*FULL, node("b", cpu="1")]),
    fit("a node grows", node_allocatable(cpu="8"), "a"),
    fit("a node grows, not enough", node_allocatable(cpu="4500m"), ""),
    fit("a node has more of something else", node_allocatable(memory="32Gi")),
    fit("a node shrinks", node_allocatable(cpu="3500m")),
    fit("a node has other labels", node_labels(disk="ssd")),
    fit("a node has other taints", node_taints(SOFT_TAINT), ""),
    fit("a node is not ready", node_condition("False")),
    fit("a node is annotated", NODE_ANNOTATED),
    fit("a node has more images", NODE_IMAGES),
    fit("a pod is deleted", deleted("Pod", "other"), "a"),
    fit("a pod is being deleted", deleted("Pod", "other", grace_seconds=30)),
    fit(
        "a pod has succeeded", changed("Pod", "other", {"status": {"phase": "Succeeded"}}, "status", verb="Delete"), "a"
    ),
    fit("a pod is placed", added(pod("third", nodeName="a"))),
    fit("a pod comes that waits for somebody else", added(pod("third", schedulerName=NOBODY))),
    fit("a pod has other labels", pod_labels("other", app="web")),
    fit("a pod asks for less", resized("other", cpu="1"), "a"),
    fit("a pod asks for more", resized("other", cpu="3500m")),
    fit(
        "a pod asks for less of something else",
        resized("other", memory="1Gi"),
        before=[
            node("a"),
            pod("other", container={"resources": {"requests": {"cpu": "3", "memory": "2Gi"}}}, nodeName="a"),
        ],
    ),
    fit("a resize is infeasible", pending("Infeasible"), "a", before=SMALL, prelude=GROWING),
    fit("a resize is deferred", pending("Deferred"), before=SMALL, prelude=GROWING),
    fit(
        "a deferred resize is infeasible",
        pending("Infeasible"),
        "a",
        before=SMALL,
        prelude=[*GROWING, pending("Deferred")],
    ),
    fit("a resize is withdrawn", resized("other", cpu="1"), "a", before=SMALL, prelude=GROWING),
    fit(
        "a deferred resize is withdrawn",
        resized("other", cpu="1"),
        "a",
        before=SMALL,
        prelude=[*GROWING, pending("Deferred")],
    ),
    fit(
        "an infeasible resize may be after all",
        pending("Deferred"),
        pod=subject("3500m"),
        before=SMALL,
        prelude=[*GROWING, pending("Infeasible")],
    ),
    fit("a container has shrunk", given("1"), "a", before=SMALL, prelude=[given("3")]),
    fit("a container was promised less", given("1", "1"), "a", before=SMALL, prelude=[given("1", "3")]),
    fit("a pod as a whole asks for less", resized_whole("other", cpu="1"), "a", before=WHOLE),
    fit(
        "a pod as a whole has shrunk",
        given_whole("1"),
        "a",
        before=WHOLE,
        prelude=[resized_whole("other", cpu="1"), given_whole("3")],
    ),
    fit("a victim is gone", deleted("Pod", "other"), "a", pod=subject("2", priorityClassName=URGENT), before=VICTIM),
    fit("a promised pod is deleted", deleted("Pod", PROMISED), "a", before=PROMISE, prelude=PROMISING),
    fit(
        "a promise is taken back",
        changed("Pod", PROMISED, {"status": {"nominatedNodeName": None}}, "status"),
        "a",
        before=PROMISE,
        prelude=PROMISING,
    ),
    fit("a promised pod has other labels", pod_labels(PROMISED, app="web"), before=PROMISE, prelude=PROMISING),
    fit("it asks for less itself", resized(SUBJECT, cpu="1"), "a"),
    fit("it has other labels itself", pod_labels(SUBJECT, app="web")),
    fit("it is annotated", ANNOTATED),
    fit("it tolerates more", tolerating(CORDON)),
    fit("a claim comes", added(claim("data"))),
    fit("a volume comes", added(volume("data"))),
    fit("a class comes", added(storage_class("slow", "Immediate"))),
    fit("a CSINode comes", added(csi_node("a", 1))),
    fit(
        "a service comes",
        added(thing("Service", "web", metadata={"namespace": NAMESPACE}, spec={"ports": [{"port": 80}]})),
    ),
    fit(
        "a priority class comes",
        added(thing("PriorityClass", "high", "scheduling.k8s.io/v1", value=1000)),
    ),
    fit(
        "a disruption budget comes",
        added(
            thing(
                "PodDisruptionBudget", "web", "policy/v1", metadata={"namespace": NAMESPACE}, spec={"minAvailable": 1}
            )
        ),
    ),
    fit("a namespace has other labels", changed("Namespace", NAMESPACE, {"metadata": {"labels": {"team": "blue"}}})),
]
