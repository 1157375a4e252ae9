"""What a pod's containers ask for: resources of every sort, ports, images, sidecars, and what became of a resize.

In: a `Draw`. Out: parts of a pod's spec and status.
"""

from __future__ import annotations

from typing import Any

from tests.fuzz.draw import Draw, Json
from tests.fuzz.nodes import IMAGES

__all__ = ["make_containers", "make_resize", "make_resources"]

CPU = ("0", "1m", "100m", "250m", "500m", "1", "1500m", "3", "0.1")
MEMORY = ("0", "1", "64Mi", "128M", "512Mi", "1Gi", "3Gi", "1.5Gi", "500k", "1e9")
ODD_CPU = ("1.0005", "100u", "1n", "0.9999999")
ODD_MEMORY = ("100m", "1.5", "9007199254740993", "1048575.999")


def make_resources(draw: Draw, pod_level: bool = False) -> Json:
    """`resources`: requests, limits, or both."""
    requests: dict[str, str] = {}
    is_odd = draw.has("odd values")
    if draw.chance(0.75):
        requests["cpu"] = draw.pick(("2", "4", "7")) if pod_level else draw.pick(ODD_CPU if is_odd else CPU)
    if draw.chance(0.65):
        requests["memory"] = (
            draw.pick(("2Gi", "5Gi", "8Gi")) if pod_level else draw.pick(ODD_MEMORY if is_odd else MEMORY)
        )
    if pod_level:
        return {draw.pick(("requests", "limits")): requests} if requests else {}
    if draw.chance(0.12):
        requests["ephemeral-storage"] = draw.pick(("1Gi", "5Gi", "200Gi"))
    limits: dict[str, str] = {}
    if draw.has("extended resources"):
        limits["example.com/gpu"] = str(draw.pick((0, 1, 1, 2, 4)))
    if draw.chance(0.04) and requests:
        limits["hugepages-2Mi"] = draw.pick(("2Mi", "64Mi"))
    if draw.chance(0.1):
        limits["cpu"] = requests["cpu"] if "cpu" in requests else draw.pick(("1", "2"))
    found: Json = {}
    if requests:
        found["requests"] = requests
    if limits:
        found["limits"] = limits
    return found


def make_containers(draw: Draw) -> Json:
    """`containers` and `initContainers`."""
    count = draw.pick((1, 1, 1, 2, 3))
    spec: Json = {"containers": [_container(draw, f"c{index}") for index in range(count)]}
    if draw.has("init containers"):
        spec["initContainers"] = [_init(draw, f"i{index}") for index in range(draw.number(1, 2))]
    return spec


def _container(draw: Draw, name: str) -> Json:
    found: Json = {"name": name, "image": draw.pick(IMAGES)}
    if draw.has("requests"):
        found["resources"] = make_resources(draw)
    if draw.has("ports"):
        ports = [_port(draw) for _ in range(draw.number(1, 2))]
        found["ports"] = list({(port["containerPort"], port["protocol"]): port for port in ports}.values())
    if draw.chance(0.03):
        rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
        found |= {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    return found


def _init(draw: Draw, name: str) -> Json:
    found = _container(draw, name)
    found.pop("restartPolicyRules", None)
    found.pop("restartPolicy", None)
    if draw.chance(0.5):
        found["restartPolicy"] = "Always"
    return found


def _port(draw: Draw) -> Json:
    number = draw.pick((80, 443, 8080))
    found: Json = {"containerPort": number, "protocol": draw.pick(("TCP", "TCP", "UDP", "SCTP"))}
    if draw.chance(0.85):
        found["hostPort"] = number
        if draw.chance(0.4):
            found["hostIP"] = draw.pick(("127.0.0.1", "0.0.0.0", "10.0.0.1", "::"))
    return found


def make_resize(draw: Draw, containers: list[Json], pod_level: Json) -> Json:
    """Parts of the status of a running pod whose resources were changed in place."""
    status: Json = {}
    statuses: list[Any] = []
    for container in containers:
        told: Json = {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": True,
            "restartCount": 0,
        }
        if draw.chance(0.8):
            told["resources"] = {"requests": {"cpu": draw.pick(CPU), "memory": draw.pick(MEMORY)}}
        if draw.chance(0.6):
            told["allocatedResources"] = {"cpu": draw.pick(CPU), "memory": draw.pick(MEMORY)}
        statuses.append(told)
    status["containerStatuses"] = statuses
    if pod_level and draw.chance(0.5):
        status["resources"] = {"requests": {"cpu": draw.pick(CPU), "memory": draw.pick(MEMORY)}}
        status["allocatedResources"] = {"cpu": draw.pick(CPU)}
    if draw.chance(0.6):
        condition: Json = {"type": "PodResizePending", "status": "True"}
        if draw.chance(0.85):
            condition["reason"] = draw.pick(("Infeasible", "Deferred"))
        status["conditions"] = [condition]
    elif draw.chance(0.4):
        status["conditions"] = [{"type": "PodResizeInProgress", "status": "True"}]
    return status
