"""The `args` of a plugin: decoded into its struct, and checked as kube-scheduler checks them.

In: a `pluginConfig` entry's `args` as found in the file. Out: the struct of `fairway.model.scheduler_args` that the
built-in plugin reads, or the plain mapping for a plugin that declares none. The rules are those of
apis/config/validation/validation_pluginargs.go 1.36, under its default feature gates. Called by `config`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from fairway.config.config_file import API_VERSION
from fairway.config.fields import Problem, alternatives, decode_fields, shown
from fairway.model.affinity import NodeSelectorRequirement, NodeSelectorTerm
from fairway.model.gpu_args import (
    BestFitArgs,
    DotProductArgs,
    FGDArgs,
    GpuClusteringArgs,
    GpuShareArgs,
    PWRArgs,
    RandomArgs,
)
from fairway.model.meta import Value
from fairway.model.scheduler_args import (
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    UtilizationShapePoint,
    VolumeBindingArgs,
)

__all__ = ["decode_args", "default_args", "name_fault"]

ARGS: Final[dict[str, type[Value]]] = {
    "BestFit": BestFitArgs,
    "DefaultPreemption": DefaultPreemptionArgs,
    "DotProduct": DotProductArgs,
    "DynamicResources": DynamicResourcesArgs,
    "FGD": FGDArgs,
    "GpuClustering": GpuClusteringArgs,
    "GpuShare": GpuShareArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PWR": PWRArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "Random": RandomArgs,
    "VolumeBinding": VolumeBindingArgs,
}


def default_args(plugin: str) -> Value | None:
    """What the plugin is told when the configuration says nothing; None for a plugin that takes no arguments."""
    return ARGS[plugin]() if plugin in ARGS else None


def decode_args(plugin: str, args: Any, path: str, problems: list[Problem]) -> Any:
    """The plugin's struct; a plugin without one gets the mapping as it stands in the file."""
    if args is None:
        return default_args(plugin)
    if not isinstance(args, dict):
        problems.append(Problem(path, f"expected fields, got {shown(args)}"))
        return None
    if plugin not in ARGS:
        return args
    wanted = {"apiVersion": API_VERSION, "kind": f"{plugin}Args"}
    wrong = [
        Problem(f"{path}.{key}", f"{shown(args[key])} is unknown; here it is {word}")
        for key, word in wanted.items()
        if args.get(key) not in (None, "", word)
    ]
    if wrong:
        problems.extend(wrong)
        return None
    plain = {key: value for key, value in args.items() if key not in wanted}
    struct = decode_fields(plain, ARGS[plugin], path, problems)
    if struct is not None:
        problems.extend(Problem(f"{path}.{fault.path}", fault.text) for fault in _faults(struct))
    return struct


def _faults(struct: Value) -> Faults:
    rules = RULES.get(type(struct))
    return iter(()) if rules is None else rules(struct)


def name_fault(name: str) -> str | None:
    """What is wrong with a label key or resource name: `validation.IsQualifiedName`."""
    prefix, slash, word = name.rpartition("/")
    if slash and not (len(prefix) <= 253 and PREFIX.fullmatch(prefix)):
        return f"{shown(name)} has a bad prefix: before the slash stands a DNS name of at most 253 characters"
    if not (len(word) <= 63 and WORD.fullmatch(word)):
        return (
            f"{shown(name)} is not a name: at most 63 letters, digits, '-', '_' and '.', with a letter or digit at"
            " both ends, optionally after a DNS name and a slash"
        )
    return None


WORD: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
INTEGER: Final = re.compile(r"[-+]?[0-9]+")

Faults = Iterator[Problem]
"""Problems whose paths begin at the struct that is checked."""


def _outside(path: str, value: float, low: float, high: float) -> Faults:
    if not low <= value <= high:
        yield Problem(path, f"{value:g} is out of range; allowed: {low} to {high}")


def _default_preemption(args: DefaultPreemptionArgs) -> Faults:
    yield from _outside("minCandidateNodesPercentage", args.min_candidate_nodes_percentage, 0, 100)
    if args.min_candidate_nodes_absolute < 0:
        yield Problem("minCandidateNodesAbsolute", "it is negative; allowed: 0 or more")
    if args.min_candidate_nodes_percentage == args.min_candidate_nodes_absolute == 0:
        yield Problem("minCandidateNodesPercentage", "it is 0 and so is minCandidateNodesAbsolute; one must be more")


def _inter_pod_affinity(args: InterPodAffinityArgs) -> Faults:
    yield from _outside("hardPodAffinityWeight", args.hard_pod_affinity_weight, 0, 100)


def _node_affinity(args: NodeAffinityArgs) -> Faults:
    if args.added_affinity is None:
        return
    required = args.added_affinity.required
    path = "addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    for index, term in enumerate(required.node_selector_terms if required else ()):
        yield from _term(f"{path}[{index}]", term)
    path = "addedAffinity.preferredDuringSchedulingIgnoredDuringExecution"
    for index, preferred in enumerate(args.added_affinity.preferred):
        if preferred.weight != 0:  # a term that counts for nothing is not even looked at
            yield from _term(f"{path}[{index}].preference", preferred.preference)


def _term(path: str, term: NodeSelectorTerm) -> Faults:
    for index, requirement in enumerate(term.match_expressions):
        yield from _label_requirement(f"{path}.matchExpressions[{index}]", requirement)
    for index, requirement in enumerate(term.match_fields):
        at = f"{path}.matchFields[{index}]"
        if requirement.operator not in ("In", "NotIn"):
            unknown = alternatives(requirement.operator, ("In", "NotIn"))
            yield Problem(f"{at}.operator", f"{shown(requirement.operator)} is not for fields{unknown}")
        elif len(requirement.values) != 1:
            yield Problem(f"{at}.values", f"{len(requirement.values)} values; a field is compared with exactly one")


# How many values each operator takes: at least, at most (None: any number).
OPERATORS: Final[dict[str, tuple[int, int | None]]] = {
    "In": (1, None),
    "NotIn": (1, None),
    "Exists": (0, 0),
    "DoesNotExist": (0, 0),
    "Gt": (1, 1),
    "Lt": (1, 1),
}


def _label_requirement(path: str, requirement: NodeSelectorRequirement) -> Faults:
    operator, values = requirement.operator, requirement.values
    if operator not in OPERATORS:
        yield Problem(f"{path}.operator", f"{shown(operator)} is unknown{alternatives(operator, OPERATORS)}")
        return
    if fault := name_fault(requirement.key):
        yield Problem(f"{path}.key", fault)
    least, most = OPERATORS[operator]
    if len(values) < least or (most is not None and len(values) > most):
        allowed = "at least one" if most is None else "exactly one" if most else "none"
        yield Problem(f"{path}.values", f"{len(values)} values; {operator} takes {allowed}")
    for index, value in enumerate(values):
        if operator in ("Gt", "Lt") and not (INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**63):
            yield Problem(f"{path}.values[{index}]", f"{shown(value)} is not an integer, which {operator} compares")
        if value and not (len(value) <= 63 and WORD.fullmatch(value)):
            yield Problem(f"{path}.values[{index}]", f"{shown(value)} cannot be the value of a label")


def _node_resources_fit(args: NodeResourcesFitArgs) -> Faults:
    for index, name in enumerate(args.ignored_resources):
        if fault := name_fault(name):
            yield Problem(f"ignoredResources[{index}]", fault)
    for index, group in enumerate(args.ignored_resource_groups):
        if "/" in group:
            yield Problem(f"ignoredResourceGroups[{index}]", f"{shown(group)} has a slash; a group stands before it")
        elif fault := name_fault(group):
            yield Problem(f"ignoredResourceGroups[{index}]", fault)
    strategy = args.scoring_strategy
    for index, resource in enumerate(strategy.resources):
        yield from _outside(f"scoringStrategy.resources[{index}].weight", resource.weight, 1, 100)
    path = "scoringStrategy.requestedToCapacityRatio"
    ratio = strategy.requested_to_capacity_ratio
    if strategy.type == "RequestedToCapacityRatio":
        if ratio is None:
            yield Problem(path, "missing; the type RequestedToCapacityRatio needs it")
        else:
            yield from _shape(f"{path}.shape", ratio.shape)
    elif ratio is not None:
        yield Problem(path, f"only for the type RequestedToCapacityRatio, and the type is {strategy.type}")


def _shape(path: str, shape: Sequence[UtilizationShapePoint]) -> Faults:
    if not shape:
        yield Problem(path, "empty; at least one point is needed")
    for index, point in enumerate(shape):
        yield from _outside(f"{path}[{index}].utilization", point.utilization, 0, 100)
        yield from _outside(f"{path}[{index}].score", point.score, 0, 10)
        if index and shape[index - 1].utilization >= point.utilization:
            yield Problem(f"{path}[{index}].utilization", "not above that of the point before; sort by utilization")


def _balanced_allocation(args: NodeResourcesBalancedAllocationArgs) -> Faults:
    names: set[str] = set()
    for index, resource in enumerate(args.resources):
        if resource.name in names:
            yield Problem(f"resources[{index}].name", f"{shown(resource.name)} is listed twice")
        names.add(resource.name)
        if resource.weight != 1:
            yield Problem(f"resources[{index}].weight", f"{resource.weight} is not allowed; every weight here is 1")


def _pod_topology_spread(args: PodTopologySpreadArgs) -> Faults:
    if args.defaulting_type == "System" and args.default_constraints:
        yield Problem("defaultingType", "System, although defaultConstraints are given; write List to use them")
    kinds: set[tuple[str, str]] = set()
    for index, constraint in enumerate(args.default_constraints):
        path = f"defaultConstraints[{index}]"
        key, action = constraint.topology_key, constraint.when_unsatisfiable
        if constraint.max_skew <= 0:
            yield Problem(f"{path}.maxSkew", f"{constraint.max_skew} is out of range; allowed: 1 or more")
        if fault := name_fault(key):
            yield Problem(f"{path}.topologyKey", fault)
        if action not in (actions := ("DoNotSchedule", "ScheduleAnyway")):
            yield Problem(f"{path}.whenUnsatisfiable", f"{shown(action)} is unknown{alternatives(action, actions)}")
        if constraint.label_selector is not None:
            yield Problem(f"{path}.labelSelector", "not allowed; which pods count follows from each pod's services")
        if (key, action) in kinds:
            yield Problem(path, f"{key} with {action} is listed twice")
        kinds.add((key, action))


def _volume_binding(args: VolumeBindingArgs) -> Faults:
    if args.bind_timeout_seconds < 0:
        yield Problem("bindTimeoutSeconds", f"{args.bind_timeout_seconds} is negative; allowed: 0 or more")
    if args.shape is not None:
        yield Problem("shape", "not allowed; it belongs to StorageCapacityScoring, which is off in kube-scheduler 1.36")


def _dynamic_resources(args: DynamicResourcesArgs) -> Faults:
    if args.filter_timeout < 0:
        yield Problem("filterTimeout", "it is negative; allowed: 0s (no limit) or more")
    if args.binding_timeout < 1:
        yield Problem("bindingTimeout", "too short; allowed: 1s or more")


def _fgd(args: FGDArgs) -> Faults:
    for index, each in enumerate(args.typical_pods):
        path = f"typicalPods[{index}]"
        if each.gpu_count == 0 and (each.gpu_milli or each.gpu_models):
            yield Problem(f"{path}.gpuCount", "0, although gpuMilli or gpuModels is given; allowed: 1 or more")
        elif each.gpu_count and not each.gpu_milli:
            yield Problem(f"{path}.gpuMilli", "0 with a gpuCount; allowed: 1 to 1000")
        elif each.gpu_count > 1 and each.gpu_milli < 1000:
            text = f"{each.gpu_milli} for {each.gpu_count} devices; only a single device can be shared, allowed: 1000"
            yield Problem(f"{path}.gpuMilli", text)


def _pwr(args: PWRArgs) -> Faults:
    for model, watts in args.gpu_watts.items():
        if watts.full < watts.idle:
            yield Problem(f"gpuWatts.{model}.full", f"{watts.full:g} is below idle; allowed: {watts.idle:g} or more")


RULES: Final[dict[type[msgspec.Struct], Callable[[Any], Faults]]] = {
    DefaultPreemptionArgs: _default_preemption,
    DynamicResourcesArgs: _dynamic_resources,
    FGDArgs: _fgd,
    InterPodAffinityArgs: _inter_pod_affinity,
    NodeAffinityArgs: _node_affinity,
    NodeResourcesBalancedAllocationArgs: _balanced_allocation,
    NodeResourcesFitArgs: _node_resources_fit,
    PWRArgs: _pwr,
    PodTopologySpreadArgs: _pod_topology_spread,
    VolumeBindingArgs: _volume_binding,
}
