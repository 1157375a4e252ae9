"""Cases about groups of pods: a cluster, PodGroups of every sort, and their members, some of which run already.

In: a `Draw`, a name, and one of the kinds of such cases. Out: a case as the corpus has them, without decisions, with
the feature gates that it is to be decided with. Members of a group are replicas of one or two pods.
Called by `cases`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Final

from tests.fuzz.draw import Draw, Json
from tests.fuzz.nodes import make_namespaces, make_nodes
from tests.fuzz.pods import Setting, make_pod
from tests.fuzz.policies import make_budgets, make_priority_classes
from tests.fuzz.storage import Storage, make_storage
from tests.fuzz.words import HOST, NAMESPACES, ZONE

__all__ = ["GROUP_KINDS", "GROUP_USUAL", "make_group_case"]

GATES: Final = ("GenericWorkload", "GangScheduling")
TOPOLOGY: Final = "TopologyAwareWorkloadScheduling"
PREEMPTION: Final = "WorkloadAwarePreemption"

GROUP_USUAL: Final[Mapping[str, float]] = {
    "volumes": 0.05,
    "storage": 0.25,
    "node affinity": 0.1,
    "pod affinity": 0.12,
    "pod anti-affinity": 0.15,
    "spread": 0.15,
    "taints": 0.12,
    "tolerations": 0.3,
    "node selector": 0.04,
    "ports": 0.05,
    "roomy": 0.25,
    "priorities": 0.9,
    "budgets": 0.5,
    "crowd": 0.5,
    "important": 0.5,
    "gates": 0.03,
    "other pods nominated": 0.1,
    "fit arguments": 0.1,
    "topology": 0.7,
}
CROWDED: Final[Mapping[str, float]] = {"roomy": 0.05, "crowd": 1.0, "important": 0.8, "priorities": 1.0, "taints": 0.05}

GROUP_KINDS: Final[Mapping[str, tuple[tuple[str, ...], Mapping[str, float]]]] = {
    "gang-basic": (GATES, {}),
    "gang-preempt": (GATES, CROWDED),
    "gang-topology": ((*GATES, TOPOLOGY), {"topology": 0.85, "fit arguments": 0.3}),
    "gang-wap": ((*GATES, PREEMPTION), CROWDED),
    "gang-all": ((*GATES, TOPOLOGY, PREEMPTION), {**CROWDED, "topology": 0.4, "fit arguments": 0.2}),
}
"""By kind: the gates that are open, and the features that are likelier, or less likely, than usual."""


def make_group_case(draw: Draw, name: str, kind: str) -> Json:
    """One case."""
    gates = GROUP_KINDS[kind][0]
    nodes = make_nodes(draw, draw.pick((1, 2, 3, 4, 6, 8, 10)))
    names = [node["metadata"]["name"] for node in nodes]
    classes = make_priority_classes(draw) if draw.has("priorities") else []
    storage = make_storage(draw, names) if draw.has("storage") else Storage()
    setting = Setting(names, [each["metadata"]["name"] for each in classes], storage)
    new = [_group(draw, f"pg-{number}", classes, gates) for number in range(draw.pick((1, 1, 2, 3, 4)))]
    old = [_group(draw, f"old-{number}", classes, gates) for number in range(draw.pick((0, 1, 2)))]
    crowd = draw.number(2, 6) if draw.has("crowd") else draw.pick((0, 1, 1, 2))
    running = [make_pod(draw, setting, node=draw.pick(names)) for _ in range(crowd * len(names))]
    for pod in running:
        if draw.chance(0.35):
            _join(pod, draw.pick([*old, *new] if draw.chance(0.4) or not old else old))
    promised = [
        _waiting(make_pod(draw, setting, nominated=draw.pick(names)))
        for _ in range(draw.number(1, 2))
        if draw.has("other pods nominated")
    ]
    members = [_members(draw, setting, group) for group in new]
    for group, pods in zip(new, members, strict=True):
        if gang := group["spec"]["schedulingPolicy"].get("gang"):
            gang["minCount"] = max(1, len(pods) + draw.pick((-3, -2, -1, -1, 0, 0, 0, 0, 1)))
    missing = draw.pick(new) if draw.chance(0.06) else None
    groups = [group for group in (*old, *new) if group is not missing]
    budgets = make_budgets(draw) if draw.has("budgets") else []
    return {
        "name": name,
        "focus": kind,
        "featureGates": dict.fromkeys(gates, True),
        "config": _configuration(draw),
        "objects": [*make_namespaces(draw), *nodes, *classes, *budgets, *storage.objects, *groups, *running, *promised],
        "pods": _mixed(draw, members),
    }


def _group(draw: Draw, name: str, classes: Sequence[Json], gates: Sequence[str]) -> Json:
    spec: Json = {"schedulingPolicy": {"gang": {"minCount": draw.number(1, 4)}} if draw.chance(0.8) else {"basic": {}}}
    if PREEMPTION in gates:
        spec["disruptionMode"] = draw.pick(("Pod", "PodGroup"))
        if classes and draw.chance(0.75):
            chosen = classes[-1] if name.startswith("pg") and draw.has("important") else draw.pick(classes)
            spec |= {"priorityClassName": chosen["metadata"]["name"], "priority": chosen["value"]}
    if TOPOLOGY in gates and draw.has("topology"):
        key = draw.pick((ZONE, ZONE, "rack", "rack", HOST, "disk", "absent"))
        spec["schedulingConstraints"] = {"topology": [{"key": key}]}
    namespace = draw.pick(NAMESPACES) if draw.chance(0.2) else "default"
    metadata = {"name": name, "namespace": namespace, "uid": f"group-{name}"}
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "metadata": metadata, "spec": spec}


def _join(pod: Json, group: Json) -> None:
    pod["metadata"]["namespace"] = group["metadata"]["namespace"]
    pod["metadata"].pop("ownerReferences", None)
    pod["spec"]["schedulingGroup"] = {"podGroupName": group["metadata"]["name"]}


def _waiting(pod: Json) -> Json:
    pod["spec"].pop("schedulingGates", None)
    pod["spec"].pop("nodeName", None)
    return pod


def _members(draw: Draw, setting: Setting, group: Json) -> list[Json]:
    """Replicas of one pod, or of two: a leader and its workers."""
    found: list[Json] = []
    for _ in range(draw.pick((1, 1, 2))):
        first = make_pod(draw, setting)
        first["spec"].pop("nodeName", None)
        _join(first, group)
        found.append(first)
        gates = first["spec"].pop("schedulingGates", None)
        for _ in range(draw.pick((0, 1, 1, 2, 2, 3, 4, 6))):
            other = copy.deepcopy(first)
            number = draw.count("pod")
            other["metadata"] |= {"name": f"p{number}", "uid": f"uid-{number}"}
            if setting.classes and draw.chance(0.1):
                other["spec"]["priorityClassName"] = draw.pick(setting.classes)
            found.append(other)
        if gates:
            draw.pick(found)["spec"]["schedulingGates"] = gates
    return found


def _mixed(draw: Draw, members: Sequence[Sequence[Json]]) -> list[Json]:
    """Members of groups come one group after the other, or in turn."""
    if draw.chance(0.7):
        return [pod for pods in members for pod in pods]
    longest = max(map(len, members))
    return [pods[index] for index in range(longest) for pods in members if index < len(pods)]


def _configuration(draw: Draw) -> Json:
    """Preemption looks at all nodes, as which ones it looks at is left to chance otherwise."""
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "DefaultPreemptionArgs"}
    arguments: Json = {**kind, "minCandidateNodesPercentage": 100, "minCandidateNodesAbsolute": 100}
    configured = [{"name": "DefaultPreemption", "args": arguments}]
    if draw.has("fit arguments"):
        configured.append({"name": "NodeResourcesFit", "args": _fit_arguments(draw)})
    profile = {"schedulerName": "default-scheduler", "pluginConfig": configured}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


def _fit_arguments(draw: Draw) -> Json:
    resources = draw.some(("cpu", "memory", "ephemeral-storage", "example.com/gpu"), least=1)
    strategy: Json = {
        "type": draw.pick(("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")),
        "resources": [{"name": name, "weight": draw.pick((1, 1, 2, 5))} for name in resources],
    }
    if strategy["type"] == "RequestedToCapacityRatio":
        shape = [{"utilization": 0, "score": draw.number(0, 10)}, {"utilization": 100, "score": draw.number(0, 10)}]
        strategy["requestedToCapacityRatio"] = {"shape": shape}
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "NodeResourcesFitArgs"}
    return {**kind, "scoringStrategy": strategy}
