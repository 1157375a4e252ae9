"""Pods that belong together, for tests on a real API server: how they are written, and what became of them."""

from __future__ import annotations

from typing import Any, Final

from tests.kube.api import Api, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.fault_proxy import FaultProxy

__all__ = [
    "BINDING",
    "CONFIGURATION",
    "GROUPS",
    "PATIENCE",
    "bindings",
    "bound",
    "gang",
    "named",
    "plain",
    "proxy_of",
    "reasons",
    "waits",
]

PATIENCE: Final = 120.0
BINDING: Final = r"/pods/[^/]+/binding(\?|$)"
GROUPS: Final = "/apis/scheduling.k8s.io/v1alpha2/namespaces/{}/podgroups"
CONFIGURATION: Final[Json] = {"profiles": [{"schedulerName": "default-scheduler", "fairway": {"gangs": {}}}]}


def plain(name: str, namespace: str, **metadata: Any) -> Json:
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"containers": [container]},
    }


def gang(name: str, number: int, namespace: str) -> list[Json]:
    said = {"fairway.dev/gang": name, "fairway.dev/gang-size": str(number)}
    return [plain(f"{name}-{index}", namespace, annotations=said) for index in range(number)]


def named(api: Api, namespace: str) -> set[str]:
    """All pods."""
    return {each["metadata"]["name"] for each in api.items("Pod", namespace)}


def bound(api: Api, namespace: str) -> dict[str, str]:
    """Pods with a node, and that node."""
    pods = api.items("Pod", namespace)
    return {each["metadata"]["name"]: each["spec"]["nodeName"] for each in pods if each["spec"].get("nodeName")}


def bindings(plane: ControlPlane, namespace: str) -> dict[str, list[int]]:
    """By pod: what the API server answered to everybody who asked to bind it."""
    found: dict[str, list[int]] = {}
    for record in plane.audit_records():
        about = record.get("objectRef") or {}
        if about.get("subresource") == "binding" and about["namespace"] == namespace:
            found.setdefault(about["name"], []).append(record["responseStatus"]["code"])
    return found


def waits(api: Api, name: str, namespace: str) -> str:
    """Why a pod waits."""
    conditions = api.get("Pod", name, namespace).get("status", {}).get("conditions", [])
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


def reasons(api: Api, namespace: str) -> list[tuple[str, str, str]]:
    """Of events: the reason, and the kind and the name of what they are about."""
    found = api.request("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events").get("items", [])
    return [(each["reason"], each["regarding"]["kind"], each["regarding"]["name"]) for each in found]


def proxy_of(plane: ControlPlane) -> FaultProxy:
    return FaultProxy(plane.url, plane.ca_file, plane.serving_files("proxy"))
