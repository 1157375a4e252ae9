"""Nodes of every sort, and the namespaces.

In: a `Draw`. Out: Node and Namespace objects as somebody would write them; the reference fills in defaults.
"""

from __future__ import annotations

from tests.fuzz.draw import Draw, Json
from tests.fuzz.words import HOST, NAMESPACES, NODE_KEYS, namespace_labels

__all__ = ["FEATURES", "IMAGES", "make_namespaces", "make_nodes"]

IMAGES = (
    "nginx",
    "nginx:1.25",
    "registry.example/app:v2",
    "registry.example/big@sha256:" + "ab" * 32,
    "busybox:latest",
)
FEATURES = ("RestartAllContainersOnContainerExits", "SomethingElse", "UserNamespacesHostNetworkSupport")
SIZES = (5_000_000, 24_117_248, 30_000_000, 700_000_000, 4_000_000_000)
TAINTS = (
    ("dedicated", "gpu"),
    ("dedicated", "db"),
    ("node.kubernetes.io/not-ready", ""),
    ("node.kubernetes.io/unschedulable", ""),
    ("flaky", ""),
)
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


def make_namespaces(draw: Draw) -> list[Json]:
    """All of them."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": namespace_labels(draw, name)}}
        for name in NAMESPACES
    ]


def make_nodes(draw: Draw, count: int) -> list[Json]:
    """So many nodes, named so that the order of names is not the order of numbers."""
    # An image is as large everywhere: kube-scheduler goes by the node that it saw first.
    sizes = {image: draw.pick(SIZES) for image in IMAGES}
    is_roomy = draw.has("roomy")
    return [_node(draw, f"n{index}", sizes, _amounts(draw, is_roomy)) for index in range(count)]


def _node(draw: Draw, name: str, sizes: dict[str, int], allocatable: dict[str, str]) -> Json:
    labels = {key: draw.pick(values) for key, values in NODE_KEYS.items() if draw.chance(0.85)}
    if draw.chance(0.92):
        labels[HOST] = name if draw.chance(0.95) else "shared"
    spec: Json = {}
    if draw.has("unschedulable"):
        spec["unschedulable"] = True
    if draw.has("taints"):
        spec["taints"] = _taints(draw)
    status: Json = {"allocatable": allocatable, "capacity": dict(allocatable)}
    if draw.has("images"):
        status["images"] = [_image(draw, image, sizes[image]) for image in draw.some(IMAGES)]
    if draw.chance(0.3):
        status["declaredFeatures"] = draw.some(FEATURES)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": labels},
        "spec": spec,
        "status": status,
    }


def _amounts(draw: Draw, is_roomy: bool) -> dict[str, str]:
    """What a node has: plenty, so that other things than room decide, or little."""
    if is_roomy:
        found = {
            "cpu": draw.pick(("16", "32", "64")),
            "memory": draw.pick(("64Gi", "128Gi", "100G")),
            "pods": str(draw.pick((20, 110, 110))),
            "ephemeral-storage": "1Ti",
        }
    else:
        found = {
            "cpu": draw.pick(("2", "4", "8", "3500m", "500m")),
            "memory": draw.pick(("4Gi", "8Gi", "16Gi", "1000M", "7777777Ki")),
            "pods": str(draw.pick((2, 3, 5, 10, 110))),
        }
        if draw.chance(0.5):
            found["ephemeral-storage"] = draw.pick(("10Gi", "100Gi", "0"))
    if draw.chance(0.5):
        found["example.com/gpu"] = str(draw.pick((0, 1, 2, 8)))
    if draw.chance(0.3):
        found["hugepages-2Mi"] = draw.pick(("0", "64Mi", "256Mi"))
    if draw.has("odd values"):
        found |= draw.pick(
            ({"memory": "9007199254740993"}, {"cpu": "0"}, {"memory": "0"}, {"pods": "0"}, {"cpu": "1P"})
        )
    if draw.has("odd values"):
        del found[draw.pick(("cpu", "memory", "pods"))]
    return found


def _taints(draw: Draw) -> list[Json]:
    found = {}
    for _ in range(draw.number(1, 3)):
        key, value = draw.pick(TAINTS)
        effect = draw.pick(EFFECTS)
        found[key, effect] = {"key": key, "effect": effect} | ({"value": value} if value else {})
    return list(found.values())


def _image(draw: Draw, image: str, size: int) -> Json:
    name = image if ":" in image else f"docker.io/library/{image}:latest"
    names = [name, image] if draw.chance(0.5) else [name]
    return {"names": names, "sizeBytes": size}
