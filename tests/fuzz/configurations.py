"""Scheduler configurations: plugins left out as a whole or at single extension points, weights, arguments.

In: a `Draw`, and the names of nodes. Out: a KubeSchedulerConfiguration with one profile.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.affinity import make_node_selector_terms
from tests.fuzz.draw import Draw, Json
from tests.fuzz.words import TOPOLOGY_KEYS, node_requirement

__all__ = ["POINTS", "make_configuration"]

PRE_FILTERS = (
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeDeclaredFeatures",
)
SCORES = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeBinding",
    "PodTopologySpread",
    "InterPodAffinity",
    "DynamicResources",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
)
POINTS = {
    "preEnqueue": ("SchedulingGates", "DefaultPreemption"),
    "preFilter": PRE_FILTERS,
    "filter": ("NodeUnschedulable", "NodeName", "TaintToleration", *PRE_FILTERS),
    "postFilter": ("DynamicResources", "DefaultPreemption"),
    "preScore": tuple(name for name in SCORES if name not in ("ImageLocality", "DynamicResources")),
    "score": SCORES,
    "reserve": ("VolumeBinding", "DynamicResources"),
}
"""Where kube-scheduler's default plugins take part, as far as a decision goes."""

EVERYWHERE = ("PrioritySort", "DefaultBinder")
RESOURCES = ("cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi")


def make_configuration(draw: Draw, nodes: Sequence[str]) -> Json:
    """One profile."""
    plugins: Json = {}
    if draw.chance(0.35):
        plugins["multiPoint"] = _multi_point(draw)
    for point, names in POINTS.items():
        if draw.has("single points"):
            plugins[point] = _single_point(draw, point, names)
    profile: Json = {"plugins": plugins}
    if arguments := _arguments(draw, nodes):
        profile["pluginConfig"] = arguments
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


def _multi_point(draw: Draw) -> Json:
    everyone = list(dict.fromkeys(name for names in POINTS.values() for name in names))
    if draw.chance(0.3):
        kept = draw.some(everyone, least=1)
        return {"disabled": [{"name": "*"}], "enabled": [_weighed(draw, name) for name in (*kept, *EVERYWHERE)]}
    found: Json = {"disabled": [{"name": name} for name in draw.some(everyone, 4)]}
    if draw.chance(0.4):
        left_out = {each["name"] for each in found["disabled"]}
        found["enabled"] = [_weighed(draw, name) for name in draw.some([n for n in everyone if n not in left_out], 3)]
    return found


def _weighed(draw: Draw, name: str) -> Json:
    return (
        {"name": name, "weight": draw.pick((1, 2, 5, 100))} if name in SCORES and draw.chance(0.6) else {"name": name}
    )


def _single_point(draw: Draw, point: str, names: Sequence[str]) -> Json:
    if draw.chance(0.15):
        kept = draw.some(names, least=0)
        return {"disabled": [{"name": "*"}], "enabled": [_weighed(draw, name) for name in kept]}
    left_out = draw.some(names, 2, 1)
    found: Json = {"disabled": [{"name": name} for name in left_out]}
    if draw.chance(0.3):
        again = draw.some(names, 2)
        found["enabled"] = [_weighed(draw, name) if point == "score" else {"name": name} for name in again]
    return found


def _arguments(draw: Draw, nodes: Sequence[str]) -> list[Json]:
    makers = {
        "NodeResourcesFit": _fit,
        "NodeResourcesBalancedAllocation": _balanced,
        "InterPodAffinity": _inter_pod_affinity,
        "PodTopologySpread": _spread,
        "DefaultPreemption": _preemption,
    }
    found = [{"name": name, "args": make(draw)} for name, make in makers.items() if draw.chance(0.35)]
    if draw.chance(0.3):
        found.append({"name": "NodeAffinity", "args": _added(draw, nodes)})
    return found


def _weights(draw: Draw) -> list[Json]:
    return [{"name": name, "weight": draw.pick((1, 1, 3, 10, 100))} for name in draw.some(RESOURCES, 4, 1)]


def _fit(draw: Draw) -> Json:
    strategy: Json = {"type": draw.pick(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"))}
    if strategy["type"] == "RequestedToCapacityRatio" or draw.chance(0.6):
        strategy["resources"] = _weights(draw)
    if strategy["type"] == "RequestedToCapacityRatio":
        points = sorted({draw.number(0, 100) for _ in range(draw.number(1, 4))})
        shape = [{"utilization": point, "score": draw.number(0, 10)} for point in points]
        strategy["requestedToCapacityRatio"] = {"shape": shape}
    found: Json = {"scoringStrategy": strategy}
    if draw.chance(0.25):
        found["ignoredResources"] = ["example.com/gpu"]
    if draw.chance(0.15):
        found["ignoredResourceGroups"] = ["example.com"]
    return found


def _balanced(draw: Draw) -> Json:
    return {"resources": [{**each, "weight": 1} for each in _weights(draw)]}


def _inter_pod_affinity(draw: Draw) -> Json:
    return {
        "hardPodAffinityWeight": draw.pick((0, 1, 50, 100)),
        "ignorePreferredTermsOfExistingPods": draw.chance(0.4),
    }


def _spread(draw: Draw) -> Json:
    if draw.chance(0.3):
        return {"defaultingType": draw.pick(("System", "List"))}
    constraints = {}
    for _ in range(draw.number(1, 3)):
        key, when = draw.pick(TOPOLOGY_KEYS), draw.pick(("ScheduleAnyway", "DoNotSchedule"))
        constraints[key, when] = {"topologyKey": key, "whenUnsatisfiable": when, "maxSkew": draw.number(1, 4)}
    return {"defaultingType": "List", "defaultConstraints": list(constraints.values())}


def _preemption(draw: Draw) -> Json:
    """All candidates are looked at: otherwise kube-scheduler looks at some, beginning anywhere."""
    return draw.pick(({"minCandidateNodesPercentage": 100}, {"minCandidateNodesAbsolute": draw.number(100, 500)}))


def _added(draw: Draw, nodes: Sequence[str]) -> Json:
    found: Json = {}
    if draw.chance(0.6):
        terms = [{"matchExpressions": [node_requirement(draw)]} for _ in range(draw.number(1, 2))]
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if not found or draw.chance(0.5):
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": draw.number(1, 100), "preference": term} for term in make_node_selector_terms(draw, nodes)
        ]
    return {"addedAffinity": found}
