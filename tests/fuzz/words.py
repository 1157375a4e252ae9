"""The few label keys, values and names that all objects of a case share, so that they meet.

In: a `Draw`. Out: labels, selectors and lists of requirements. Used wherever an object has or selects labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.fuzz.draw import Draw, Json

__all__ = [
    "NAMESPACES",
    "NODE_KEYS",
    "ODD_VALUES",
    "POD_KEYS",
    "TOPOLOGY_KEYS",
    "label_selector",
    "namespace_labels",
    "node_requirement",
    "pod_labels",
]

NAMESPACES: Final = ("default", "team-a", "team-b")
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
HOST: Final = "kubernetes.io/hostname"
TOPOLOGY_KEYS: Final = (ZONE, REGION, HOST, "rack")
NODE_KEYS: Final[dict[str, tuple[str, ...]]] = {
    ZONE: ("z1", "z2", "z3"),
    REGION: ("r1", "r2"),
    "rack": ("k1", "k2", "k3", ""),
    "disk": ("ssd", "hdd"),
    "cores": ("8", "16", "3", "007", "many", "9223372036854775807"),
}
POD_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "app": ("web", "db", "cache"),
    "tier": ("front", "back"),
    "pod-template-hash": ("h1", "h2"),
    "empty": ("",),
}
ODD_VALUES: Final = ("abc", "1.5", "", "100000000000000000000", "+5", "-", "a b", "ü", "0x10", "1_000", "x" * 64)
"""What the API takes as a value of preferred node affinity though no label compares with it."""


def pod_labels(draw: Draw) -> dict[str, str]:
    """Labels of a pod."""
    return {key: draw.pick(values) for key, values in POD_KEYS.items() if draw.chance(0.55)}


def namespace_labels(draw: Draw, name: str) -> dict[str, str]:
    """Labels of a namespace."""
    labels = {"kubernetes.io/metadata.name": name}
    return labels | ({"team": draw.pick(("red", "blue"))} if draw.chance(0.7) else {})


def label_selector(draw: Draw, keys: Mapping[str, tuple[str, ...]] | None = None) -> Json:
    """A label selector with any of the four operators; at times an empty one."""
    keys = POD_KEYS if keys is None else keys
    if draw.chance(0.06):
        return {}
    found: Json = {}
    if draw.chance(0.6):
        key = draw.pick(list(keys))
        found["matchLabels"] = {key: draw.pick(keys[key])}
    if not found or draw.chance(0.3):
        found["matchExpressions"] = [_requirement(draw, keys) for _ in range(draw.number(1, 2))]
    return found


def _requirement(draw: Draw, keys: Mapping[str, tuple[str, ...]]) -> Json:
    key = draw.pick([*keys, "absent"])
    operator = draw.pick(("In", "NotIn", "Exists", "DoesNotExist"))
    values = keys.get(key, ("nothing",))
    if operator in ("In", "NotIn"):
        return {"key": key, "operator": operator, "values": draw.some(values, least=1)}
    return {"key": key, "operator": operator}


def node_requirement(draw: Draw, odd: bool = False) -> Json:
    """A requirement on node labels; an odd one has a value that is no integer, or no label value at all."""
    operator = draw.pick(("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        value = str(draw.pick((0, 7, 8, 12)))
        if odd:
            value = draw.pick(ODD_VALUES)
        elif draw.has("odd values"):
            value = draw.pick(ODD_VALUES[:4])
        return {"key": draw.pick(("cores", "cores", "disk")), "operator": operator, "values": [value]}
    key = draw.pick([*NODE_KEYS, "absent"])
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    values = draw.some(NODE_KEYS.get(key, ("nothing",)), least=1)
    if odd and draw.chance(0.5):
        values.append(draw.pick(ODD_VALUES))
    return {"key": key, "operator": operator, "values": values}
