"""Every built-in plugin passes the check that users' plugins pass, with the default and with other arguments."""

from typing import Any

import pytest

from fairway.model import (
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
)
from fairway.plugins.allocation import ResourceSpec
from fairway.plugins.fgd import FGDArgs, TypicalPodArgs
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
from fairway.testing import check_plugin

WITHOUT_METHODS = {"DefaultBinder", "TopologyPlacementGenerator"}
"""Names that a configuration must know; what they stand for, the scheduler does itself."""

INEXACT_HINTS = {
    # kube-scheduler's do not wake a pod that only the anti-affinity of others kept off, when a node comes.
    "InterPodAffinity",
    # kube-scheduler's wait for the CSINode that comes with a node.
    "NodeVolumeLimits",
}

TOLD = {
    # Left to itself it takes for typical what runs when it is first asked, and keeps to that.
    "FGD": FGDArgs(typical_pods=(TypicalPodArgs(gpu_milli=1000, gpu_count=1), TypicalPodArgs(milli_cpu=500))),
}

SSD = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="disk", operator="In", values=("ssd",)),))
GPU = ResourceSpec(name="example.com/gpu", weight=3)
SHAPE = (UtilizationShapePoint(utilization=0, score=0), UtilizationShapePoint(utilization=80, score=10))
ARGUMENTS: dict[str, tuple[str, Any]] = {
    "added affinity": (
        "NodeAffinity",
        NodeAffinityArgs(
            added_affinity=NodeAffinity(
                required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=(SSD,)),
                preferred_during_scheduling_ignored_during_execution=(
                    PreferredSchedulingTerm(weight=5, preference=SSD),
                ),
            )
        ),
    ),
    "most allocated": (
        "NodeResourcesFit",
        NodeResourcesFitArgs(
            ignored_resource_groups=("example.com",),
            scoring_strategy=ScoringStrategy(type="MostAllocated", resources=(ResourceSpec(name="cpu"), GPU)),
        ),
    ),
    "requested to capacity": (
        "NodeResourcesFit",
        NodeResourcesFitArgs(
            scoring_strategy=ScoringStrategy(
                type="RequestedToCapacityRatio",
                resources=(ResourceSpec(name="memory", weight=2), GPU),
                requested_to_capacity_ratio=RequestedToCapacityRatio(shape=SHAPE),
            )
        ),
    ),
    "balanced with devices": (
        "NodeResourcesBalancedAllocation",
        NodeResourcesBalancedAllocationArgs(resources=(ResourceSpec(name="cpu"), ResourceSpec(name="memory"), GPU)),
    ),
    "listed constraints": (
        "PodTopologySpread",
        PodTopologySpreadArgs(
            defaulting_type="List",
            default_constraints=(
                TopologySpreadConstraint(max_skew=1, topology_key="disk", when_unsatisfiable="ScheduleAnyway"),
            ),
        ),
    ),
    "preferences ignored": (
        "InterPodAffinity",
        InterPodAffinityArgs(hard_pod_affinity_weight=50, ignore_preferred_terms_of_existing_pods=True),
    ),
}


@pytest.mark.parametrize("name", sorted(REGISTRY.keys() - WITHOUT_METHODS))
def test_built_in_plugin_keeps_its_word(name: str) -> None:
    plugin = REGISTRY[name].factory
    assert isinstance(plugin, type)
    check_plugin(plugin, args=TOLD.get(name), examples=12, hints=name not in INEXACT_HINTS)


@pytest.mark.parametrize(("name", "args"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_built_in_plugin_keeps_its_word_with_other_arguments(name: str, args: Any) -> None:
    plugin = REGISTRY[name].factory
    assert isinstance(plugin, type)
    check_plugin(plugin, args=args, examples=12, hints=name not in INEXACT_HINTS)


@pytest.mark.parametrize("name", sorted(WITHOUT_METHODS))
def test_a_name_without_methods_is_no_plugin_to_check(name: str) -> None:
    plugin = REGISTRY[name].factory
    assert isinstance(plugin, type)
    with pytest.raises(AssertionError, match="it would do nothing"):
        check_plugin(plugin)
