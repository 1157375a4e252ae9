from typing import Any

import pytest

from fairway.config.fields import Problem
from fairway.config.plugin_args import decode_args
from fairway.model import (
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    TopologySpreadConstraint,
    label_key_problem,
)
from fairway.model.duration import Duration
from fairway.plugins.allocation import ResourceSpec
from fairway.plugins.default_preemption import DefaultPreemptionArgs
from fairway.plugins.dynamic_resources import DynamicResourcesArgs
from fairway.plugins.inter_pod_affinity import InterPodAffinityArgs
from fairway.plugins.node_affinity_args import NodeAffinityArgs
from fairway.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocationArgs
from fairway.plugins.node_resources_fit_args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatio,
    ScoringStrategy,
    UtilizationShapePoint,
)
from fairway.plugins.pod_topology_spread import PodTopologySpreadArgs
from fairway.plugins.registry import REGISTRY
from fairway.plugins.volume_binding_args import VolumeBindingArgs

VERSION = "kubescheduler.config.k8s.io/v1"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def decode(plugin: str, args: Any) -> tuple[Any, list[Problem]]:
    problems: list[Problem] = []
    return decode_args(plugin, REGISTRY[plugin].args, args, "args", problems), problems


def requirement(**fields: Any) -> dict[str, Any]:
    return {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [fields]}]}}}


def strategy(**fields: Any) -> dict[str, Any]:
    return {"scoringStrategy": fields}


def ratio(*points: tuple[int, int]) -> dict[str, Any]:
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return strategy(type="RequestedToCapacityRatio", requestedToCapacityRatio={"shape": shape})


GOOD: dict[str, tuple[str, Any, Any]] = {
    "preemption": (
        "DefaultPreemption",
        {"apiVersion": VERSION, "kind": "DefaultPreemptionArgs", "minCandidateNodesAbsolute": 0},
        DefaultPreemptionArgs(min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=0),
    ),
    "null-is-absent": (
        "DefaultPreemption",
        {"minCandidateNodesPercentage": None},
        DefaultPreemptionArgs(min_candidate_nodes_percentage=10),
    ),
    "no-args": ("InterPodAffinity", None, InterPodAffinityArgs()),
    "whole-float": (
        "InterPodAffinity",
        {"hardPodAffinityWeight": 5.0},
        InterPodAffinityArgs(hard_pod_affinity_weight=5),
    ),
    "added-affinity": (
        "NodeAffinity",
        requirement(key="zone", operator="Gt", values=["3"]),
        NodeAffinityArgs(
            added_affinity=NodeAffinity(
                required_during_scheduling_ignored_during_execution=NodeSelector(
                    node_selector_terms=(
                        NodeSelectorTerm(
                            match_expressions=(NodeSelectorRequirement(key="zone", operator="Gt", values=("3",)),)
                        ),
                    )
                )
            )
        ),
    ),
    "weightless-resources": (
        "NodeResourcesFit",
        strategy(type="MostAllocated", resources=[{"name": "cpu"}, {"name": "a.com/gpu", "weight": 0}]),
        NodeResourcesFitArgs(
            scoring_strategy=ScoringStrategy(
                type="MostAllocated", resources=(ResourceSpec(name="cpu"), ResourceSpec(name="a.com/gpu", weight=1))
            )
        ),
    ),
    "no-resources": (
        "NodeResourcesFit",
        {"ignoredResourceGroups": ["a.com"], **strategy(type="LeastAllocated", resources=[])},
        NodeResourcesFitArgs(ignored_resource_groups=("a.com",)),
    ),
    "ratio": (
        "NodeResourcesFit",
        ratio((0, 0), (100, 10)),
        NodeResourcesFitArgs(
            scoring_strategy=ScoringStrategy(
                type="RequestedToCapacityRatio",
                requested_to_capacity_ratio=RequestedToCapacityRatio(
                    shape=(UtilizationShapePoint(), UtilizationShapePoint(utilization=100, score=10))
                ),
            )
        ),
    ),
    "balanced": (
        "NodeResourcesBalancedAllocation",
        {"resources": [{"name": "memory"}]},
        NodeResourcesBalancedAllocationArgs(resources=(ResourceSpec(name="memory"),)),
    ),
    "spread": (
        "PodTopologySpread",
        {
            "defaultingType": "List",
            "defaultConstraints": [{"maxSkew": 2, "topologyKey": "a.io/zone", "whenUnsatisfiable": "DoNotSchedule"}],
        },
        PodTopologySpreadArgs(
            defaulting_type="List",
            default_constraints=(
                TopologySpreadConstraint(max_skew=2, topology_key="a.io/zone", when_unsatisfiable="DoNotSchedule"),
            ),
        ),
    ),
    "volumes": ("VolumeBinding", {"bindTimeoutSeconds": 0}, VolumeBindingArgs(bind_timeout_seconds=0)),
    "devices": (
        "DynamicResources",
        {"filterTimeout": "0s", "bindingTimeout": "1m30s"},
        DynamicResourcesArgs(filter_timeout=Duration(0), binding_timeout=Duration(90)),
    ),
    "a-plugin-without-args-of-its-own": ("ImageLocality", {"label": "power", "kind": 3}, {"label": "power", "kind": 3}),
    "a-plugin-without-args-of-its-own-without": ("ImageLocality", None, None),
}


@pytest.mark.parametrize(("plugin", "args", "expected"), GOOD.values(), ids=GOOD)
def test_args_are_decoded_and_completed(plugin: str, args: Any, expected: Any) -> None:
    assert decode(plugin, args) == (expected, [])


def test_args_nobody_gave_are_the_defaults() -> None:
    cpu_and_memory = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))
    fit = NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(type="LeastAllocated", resources=cpu_and_memory))
    assert decode("NodeResourcesFit", None) == (fit, [])
    balanced = NodeResourcesBalancedAllocationArgs(resources=cpu_and_memory)
    assert decode("NodeResourcesBalancedAllocation", None) == (balanced, [])
    assert decode("TaintToleration", None) == (None, [])


SPREAD = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
BAD: dict[str, tuple[str, Any, list[tuple[str, str]]]] = {
    "not-a-mapping": ("NodeAffinity", [], [("args", "expected fields, got []")]),
    "unknown-field": (
        "NodeAffinity",
        {"addedAfinity": {}},
        [("args.addedAfinity", "unknown field; did you mean addedAffinity? Allowed: addedAffinity")],
    ),
    "unknown-field-deep-inside": (
        "NodeAffinity",
        {"addedAffinity": {REQUIRED: {"terms": []}}},
        [(f"args.addedAffinity.{REQUIRED}.terms", "unknown field; allowed: nodeSelectorTerms")],
    ),
    "kind": (
        "NodeAffinity",
        {"kind": "InterPodAffinityArgs"},
        [("args.kind", '"InterPodAffinityArgs" is unknown; here it is NodeAffinityArgs')],
    ),
    "version": (
        "NodeAffinity",
        {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"},
        [("args.apiVersion", '"kubescheduler.config.k8s.io/v1beta3" is unknown; here it is kubescheduler')],
    ),
    "preemption-range": (
        "DefaultPreemption",
        {"minCandidateNodesPercentage": 101, "minCandidateNodesAbsolute": -1},
        [
            ("args.minCandidateNodesPercentage", "101 is out of range; allowed: 0 to 100"),
            ("args.minCandidateNodesAbsolute", "it is negative; allowed: 0 or more"),
        ],
    ),
    "preemption-nothing": (
        "DefaultPreemption",
        {"minCandidateNodesPercentage": 0, "minCandidateNodesAbsolute": 0},
        [("args.minCandidateNodesPercentage", "it is 0 and so is minCandidateNodesAbsolute; one must be more")],
    ),
    "hard-weight": (
        "InterPodAffinity",
        {"hardPodAffinityWeight": 101},
        [("args.hardPodAffinityWeight", "101 is out of range; allowed: 0 to 100")],
    ),
    "operator": (
        "NodeAffinity",
        requirement(key="zone", operator="in", values=["a"]),
        [
            (
                f"args.addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator",
                '"in" is unknown; did you mean In? Allowed: In, NotIn, Exists, DoesNotExist, Gt, Lt',
            )
        ],
    ),
    "key-and-values": (
        "NodeAffinity",
        requirement(key="-zone", operator="In"),
        [
            (f"args.addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].key", "'-zone' must be"),
            (
                f"args.addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values",
                "0 values; In takes at least one",
            ),
        ],
    ),
    "exists-with-values": (
        "NodeAffinity",
        requirement(key="zone", operator="Exists", values=["a"]),
        [
            (
                f"args.addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values",
                "1 values; Exists takes none",
            )
        ],
    ),
    "gt-without-number": (
        "NodeAffinity",
        requirement(key="zone", operator="Gt", values=["many"]),
        [
            (
                f"args.addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values[0]",
                '"many" is not an integer, which Gt compares',
            )
        ],
    ),
    "label-value": (
        "NodeAffinity",
        requirement(key="zone", operator="In", values=["", "a b"]),
        [
            (
                f"args.addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values[1]",
                '"a b" cannot be the value of a label',
            )
        ],
    ),
    "preferred-field": (
        "NodeAffinity",
        {
            "addedAffinity": {
                PREFERRED: [
                    {"weight": 0, "preference": {"matchFields": [{"operator": "Lt"}]}},
                    {"weight": 1, "preference": {"matchFields": [{"operator": "Exists"}, {"operator": "In"}]}},
                ]
            }
        },
        [
            (
                f"args.addedAffinity.{PREFERRED}[1].preference.matchFields[0].operator",
                '"Exists" is not for fields; allowed: In, NotIn',
            ),
            (
                f"args.addedAffinity.{PREFERRED}[1].preference.matchFields[1].values",
                "0 values; a field is compared with exactly one",
            ),
        ],
    ),
    "strategy-type": (
        "NodeResourcesFit",
        strategy(type="leastAllocated"),
        [("args.scoringStrategy.type", '"leastAllocated" is unknown; did you mean LeastAllocated? Allowed: LeastA')],
    ),
    "strategy-without-type": (
        "NodeResourcesFit",
        strategy(resources=[]),
        [("args.scoringStrategy.type", "missing; it is one of LeastAllocated, MostAllocated, RequestedToCapacityRa")],
    ),
    "resource-weight": (
        "NodeResourcesFit",
        strategy(type="MostAllocated", resources=[{"name": "cpu", "weight": 101}, {"name": "cpu", "weight": -1}]),
        [
            ("args.scoringStrategy.resources[0].weight", "101 is out of range; allowed: 1 to 100"),
            ("args.scoringStrategy.resources[1].weight", "-1 is out of range; allowed: 1 to 100"),
        ],
    ),
    "ratio-missing": (
        "NodeResourcesFit",
        strategy(type="RequestedToCapacityRatio"),
        [("args.scoringStrategy.requestedToCapacityRatio", "missing; the type RequestedToCapacityRatio needs it")],
    ),
    "ratio-unwanted": (
        "NodeResourcesFit",
        strategy(type="MostAllocated", requestedToCapacityRatio={}),
        [("args.scoringStrategy.requestedToCapacityRatio", "only for the type RequestedToCapacityRatio, and the typ")],
    ),
    "ratio-empty": (
        "NodeResourcesFit",
        ratio(),
        [("args.scoringStrategy.requestedToCapacityRatio.shape", "empty; at least one point is needed")],
    ),
    "ratio-range": (
        "NodeResourcesFit",
        ratio((-1, 0), (0, 11), (0, 1)),
        [
            ("args.scoringStrategy.requestedToCapacityRatio.shape[0].utilization", "-1 is out of range; allowed: 0 to"),
            ("args.scoringStrategy.requestedToCapacityRatio.shape[1].score", "11 is out of range; allowed: 0 to 10"),
            (
                "args.scoringStrategy.requestedToCapacityRatio.shape[2].utilization",
                "not above that of the point before",
            ),
        ],
    ),
    "ignored": (
        "NodeResourcesFit",
        {"ignoredResources": ["cpu", "a b"], "ignoredResourceGroups": ["a.com/x", "", "ok"]},
        [
            ("args.ignoredResources[1]", "'a b' must be"),
            ("args.ignoredResourceGroups[0]", '"a.com/x" has a slash; a group stands before it'),
            ("args.ignoredResourceGroups[1]", "must not be empty"),
        ],
    ),
    "balanced": (
        "NodeResourcesBalancedAllocation",
        {"resources": [{"name": "cpu", "weight": 2}, {"name": "cpu"}]},
        [
            ("args.resources[0].weight", "2 is not allowed; every weight here is 1"),
            ("args.resources[1].name", '"cpu" is listed twice'),
        ],
    ),
    "spread-type": (
        "PodTopologySpread",
        {"defaultingType": "list"},
        [("args.defaultingType", '"list" is unknown; did you mean List? Allowed: System, List')],
    ),
    "spread-system-with-list": (
        "PodTopologySpread",
        {"defaultConstraints": [SPREAD]},
        [("args.defaultingType", "System, although defaultConstraints are given; write List to use them")],
    ),
    "spread-constraints": (
        "PodTopologySpread",
        {
            "defaultingType": "List",
            "defaultConstraints": [SPREAD, {"labelSelector": {}}, {**SPREAD, "whenUnsatisfiable": "Never"}, SPREAD],
        },
        [
            ("args.defaultConstraints[1].maxSkew", "0 is out of range; allowed: 1 or more"),
            ("args.defaultConstraints[1].topologyKey", "must not be empty"),
            ("args.defaultConstraints[1].whenUnsatisfiable", '"" is unknown; allowed: DoNotSchedule, ScheduleAnyway'),
            ("args.defaultConstraints[1].labelSelector", "not allowed; which pods count follows from each pod's"),
            ("args.defaultConstraints[2].whenUnsatisfiable", '"Never" is unknown; allowed: DoNotSchedule, Sched'),
            ("args.defaultConstraints[3]", "zone with DoNotSchedule is listed twice"),
        ],
    ),
    "volumes": (
        "VolumeBinding",
        {"bindTimeoutSeconds": -1, "shape": []},
        [
            ("args.bindTimeoutSeconds", "-1 is negative; allowed: 0 or more"),
            ("args.shape", "not allowed; it belongs to StorageCapacityScoring"),
        ],
    ),
    "devices": (
        "DynamicResources",
        {"filterTimeout": "-1s", "bindingTimeout": "999ms"},
        [
            ("args.filterTimeout", "it is negative; allowed: 0s (no limit) or more"),
            ("args.bindingTimeout", "too short; allowed: 1s or more"),
        ],
    ),
}


@pytest.mark.parametrize(("plugin", "args", "expected"), BAD.values(), ids=BAD)
def test_args_that_kube_scheduler_refuses_are_refused(plugin: str, args: Any, expected: list[tuple[str, str]]) -> None:
    _, problems = decode(plugin, args)
    assert [problem.path for problem in problems] == [path for path, _ in expected]
    for problem, (_, text) in zip(problems, expected, strict=True):
        assert problem.text.startswith(text)


GOOD_NAMES = ("cpu", "a_b.C-d", "example.com/gpu", "a" * 63, f"{'a' * 63}.com/x")
BAD_NAMES = ("a" * 64, "", "/x", "x/", "A.com/x", "a.com/b/c", "a-", "a\n", "\u00e9", f"{'a.' * 126}aa/x")


@pytest.mark.parametrize("name", [*GOOD_NAMES, *BAD_NAMES])
def test_names_are_kubernetes_qualified_names(name: str) -> None:
    assert (label_key_problem(name) is None) == (name in GOOD_NAMES)
