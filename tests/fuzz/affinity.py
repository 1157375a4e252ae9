"""Where a pod wants to be: node affinity, affinity to other pods, spread, tolerations.

In: a `Draw`, and the names of nodes. Out: parts of a pod's spec.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.draw import Draw, Json
from tests.fuzz.nodes import EFFECTS, TAINTS
from tests.fuzz.words import NAMESPACES, NODE_KEYS, POD_KEYS, TOPOLOGY_KEYS, label_selector, node_requirement

__all__ = ["make_affinity", "make_node_selector_terms", "make_spread", "make_tolerations"]

TEAMS = {"team": ("red", "blue"), "kubernetes.io/metadata.name": NAMESPACES}


def make_affinity(draw: Draw, nodes: Sequence[str]) -> Json:
    """`spec.affinity`, or nothing."""
    found: Json = {}
    if draw.has("node affinity"):
        found["nodeAffinity"] = _node_affinity(draw, nodes)
    if draw.has("pod affinity"):
        found["podAffinity"] = _pod_affinity(draw)
    if draw.has("pod anti-affinity"):
        found["podAntiAffinity"] = _pod_affinity(draw)
    return found


def make_node_selector_terms(draw: Draw, nodes: Sequence[str]) -> list[Json]:
    """Terms of a node selector, some of which name nodes."""
    return [_node_term(draw, nodes) for _ in range(draw.number(1, 3))]


def _node_term(draw: Draw, nodes: Sequence[str], odd: bool = False) -> Json:
    term: Json = {}
    if draw.chance(0.8):
        term["matchExpressions"] = [node_requirement(draw, odd) for _ in range(draw.number(1, 2))]
    if draw.chance(0.15) or draw.has("matchFields"):
        name = draw.pick([*nodes, "gone"]) if nodes else "gone"
        operator = draw.pick(("In", "In", "NotIn"))
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
        if draw.has("matchFields"):
            term.pop("matchExpressions", None)
    return term


def _node_affinity(draw: Draw, nodes: Sequence[str]) -> Json:
    found: Json = {}
    if draw.chance(0.5):
        terms = make_node_selector_terms(draw, nodes)
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if draw.chance(0.6):
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": draw.number(1, 100), "preference": _node_term(draw, nodes, odd=draw.has("odd values"))}
            for _ in range(draw.number(1, 3))
        ]
    return found


def _pod_affinity(draw: Draw) -> Json:
    found: Json = {}
    if draw.chance(0.55):
        found["requiredDuringSchedulingIgnoredDuringExecution"] = [_pod_term(draw) for _ in range(draw.number(1, 2))]
    if draw.chance(0.55):
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": draw.number(1, 100), "podAffinityTerm": _pod_term(draw)} for _ in range(draw.number(1, 2))
        ]
    return found


def _pod_term(draw: Draw) -> Json:
    term: Json = {"topologyKey": draw.pick([*TOPOLOGY_KEYS, "absent"] if draw.chance(0.3) else TOPOLOGY_KEYS)}
    if draw.chance(0.93):
        term["labelSelector"] = label_selector(draw)
    if draw.chance(0.2):
        term["namespaces"] = draw.some((*NAMESPACES, "gone"), least=1)
    if draw.chance(0.25):
        term["namespaceSelector"] = label_selector(draw, TEAMS)
    if "labelSelector" in term and draw.chance(0.15):
        taken = _selected_keys(term["labelSelector"])
        keys = [key for key in POD_KEYS if key not in taken]
        if keys:
            term[draw.pick(("matchLabelKeys", "mismatchLabelKeys"))] = draw.some(keys, 2, 1)
    return term


def _selected_keys(selector: Json) -> set[str]:
    return {*selector.get("matchLabels", ()), *(each["key"] for each in selector.get("matchExpressions", ()))}


def make_spread(draw: Draw) -> list[Json]:
    """`spec.topologySpreadConstraints`, with every policy there is."""
    found: dict[tuple[str, str], Json] = {}
    for _ in range(draw.number(1, 3)):
        key = draw.pick([*TOPOLOGY_KEYS, "absent"] if draw.chance(0.2) else TOPOLOGY_KEYS)
        when = draw.pick(("DoNotSchedule", "ScheduleAnyway"))
        constraint: Json = {"topologyKey": key, "whenUnsatisfiable": when, "maxSkew": draw.pick((1, 1, 2, 3, 5))}
        if draw.chance(0.93):
            constraint["labelSelector"] = label_selector(draw)
        if when == "DoNotSchedule" and draw.chance(0.3):
            constraint["minDomains"] = draw.number(1, 5)
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if draw.chance(0.4):
                constraint[policy] = draw.pick(("Honor", "Ignore"))
        if "labelSelector" in constraint and draw.chance(0.25):
            keys = [each for each in POD_KEYS if each not in _selected_keys(constraint["labelSelector"])]
            if keys:
                constraint["matchLabelKeys"] = draw.some(keys, 2, 1)
        found[key, when] = constraint
    return list(found.values())


def make_tolerations(draw: Draw) -> list[Json]:
    """`spec.tolerations`: exact ones, wide ones, and one for everything."""
    found = []
    for _ in range(draw.number(1, 3)):
        if draw.chance(0.1):
            found.append({"operator": "Exists"})
            continue
        key, value = draw.pick(TAINTS)
        toleration: Json = {"key": key, "operator": draw.pick(("Equal", "Exists"))}
        if toleration["operator"] == "Equal" and (value or draw.chance(0.3)):
            toleration["value"] = value if draw.chance(0.8) else "other"
        if draw.chance(0.7):
            toleration["effect"] = draw.pick(EFFECTS)
            if toleration["effect"] == "NoExecute" and draw.chance(0.4):
                toleration["tolerationSeconds"] = draw.pick((0, 60))
        found.append(toleration)
    return found


def node_selector(draw: Draw) -> dict[str, str]:
    """`spec.nodeSelector`."""
    return {key: draw.pick(NODE_KEYS[key]) for key in draw.some(list(NODE_KEYS), 2, 1)}
