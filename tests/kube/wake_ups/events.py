"""What may happen to the node called "a", to the pod called "other", and to the pod that waits."""

from __future__ import annotations

from typing import Any, Final

from tests.kube.api import Json
from tests.kube.wake_ups.case import SUBJECT, Happening, changed
from tests.kube.wake_ups.things import ZONE

CORDON: Final = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
SOFT_TAINT: Final = {"key": "soft", "effect": "PreferNoSchedule"}


def node_labels(**labels: str) -> Happening:
    return changed(
        "Node", "a", {"metadata": {"labels": {key.replace("__", "/"): text for key, text in labels.items()}}}
    )


def node_zone(zone: str) -> Happening:
    return changed("Node", "a", {"metadata": {"labels": {ZONE: zone}}})


def node_taints(*taints: Json) -> Happening:
    return changed("Node", "a", {"spec": {"taints": [*taints] or None}})


def node_allocatable(**amounts: str) -> Happening:
    return changed("Node", "a", {"status": {"allocatable": amounts}}, "status")


def node_condition(status: str) -> Happening:
    return changed("Node", "a", {"status": {"conditions": [{"type": "Ready", "status": status}]}}, "status")


NODE_ANNOTATED: Final = changed("Node", "a", {"metadata": {"annotations": {"note": "new"}}})
NODE_IMAGES: Final = changed(
    "Node", "a", {"status": {"images": [{"names": ["example/image:1"], "sizeBytes": 10**9}]}}, "status"
)._replace(is_silent=True)


def pod_labels(name: str, **labels: str | None) -> Happening:
    return changed("Pod", name, {"metadata": {"labels": labels}})


def resized(name: str, **requests: str) -> Happening:
    patch = {"spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]}}
    return changed("Pod", name, patch, "resize")


def resized_whole(name: str, **requests: str) -> Happening:
    return changed("Pod", name, {"spec": {"resources": {"requests": requests}}}, "resize")


def pending(reason: str | None) -> Happening:
    """The node says what it thinks of a resize; None: nothing any more."""
    condition: Json = {"type": "PodResizePending", "status": "True", "reason": reason}
    if reason is None:
        condition = {"type": "PodResizePending", "$patch": "delete"}
    return changed("Pod", "other", {"status": {"conditions": [condition]}}, "status")


def given(cpu: str, allocated: str = "", **status: Any) -> Happening:
    """The node says what the pod's container has got, and what it was promised."""
    reported: Json = {"name": "main", "image": "example/image:1", "imageID": "", "ready": True, "restartCount": 0}
    reported["resources"] = {"requests": {"cpu": cpu}}
    if allocated:
        reported["allocatedResources"] = {"cpu": allocated}
    return changed("Pod", "other", {"status": {"containerStatuses": [reported], **status}}, "status")


def given_whole(cpu: str) -> Happening:
    resources = {"requests": {"cpu": cpu}}
    return changed("Pod", "other", {"status": {"resources": resources, "allocatedResources": {"cpu": cpu}}}, "status")


def tolerating(*tolerations: Json) -> Happening:
    default = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    return changed("Pod", SUBJECT, {"spec": {"tolerations": [*default, *tolerations]}})


ANNOTATED: Final = changed("Pod", SUBJECT, {"metadata": {"annotations": {"note": "new"}}})


def annotated(kind: str, name: str, key: str = "note") -> Happening:
    return changed(kind, name, {"metadata": {"annotations": {key: "new"}}})
