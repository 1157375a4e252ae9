"""What NodeResourcesFit can be told, with kube-scheduler's defaults and checks.

Constructed without arguments it is what kube-scheduler 1.36 uses when the configuration says nothing
(apis/config/v1/defaults.go): a field that defaulting replaces when it is empty is replaced here too, however the
struct came about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, Self

import msgspec

from fairway.model import label_key_problem
from fairway.model.field_problem import out_of_range, shown
from fairway.model.meta import Int32, Value
from fairway.plugin import PluginArgs, Problem
from fairway.plugins.allocation import CPU_AND_MEMORY, ResourceSpec

__all__ = ["NodeResourcesFitArgs", "RequestedToCapacityRatio", "ScoringStrategy", "UtilizationShapePoint"]


class UtilizationShapePoint(Value, frozen=True, kw_only=True):
    """At this utilisation (0 to 100) a node is worth this score (0 to 10)."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatio(Value, frozen=True, kw_only=True):
    """The points between which scores are interpolated, by increasing utilisation."""

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(Value, frozen=True, kw_only=True):
    """Which nodes NodeResourcesFit prefers, judged by which resources; none named means CPU and memory."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None

    def __post_init__(self) -> None:
        if not self.resources:
            msgspec.structs.force_setattr(self, "resources", CPU_AND_MEMORY)


class NodeResourcesFitArgs(PluginArgs, frozen=True, kw_only=True):
    """Resources not to check, by name or by group (what stands before the slash), and how to score."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type="LeastAllocated")

    def problems(self) -> Iterator[Problem]:
        """What kube-scheduler would refuse (apis/config/validation/validation_pluginargs.go 1.36)."""
        for index, name in enumerate(self.ignored_resources):
            if fault := label_key_problem(name):
                yield Problem(f"ignoredResources[{index}]", fault)
        for index, group in enumerate(self.ignored_resource_groups):
            if "/" in group:
                yield Problem(
                    f"ignoredResourceGroups[{index}]", f"{shown(group)} has a slash; a group stands before it"
                )
            elif fault := label_key_problem(group):
                yield Problem(f"ignoredResourceGroups[{index}]", fault)
        strategy = self.scoring_strategy
        for index, resource in enumerate(strategy.resources):
            yield from out_of_range(f"scoringStrategy.resources[{index}].weight", resource.weight, 1, 100)
        path = "scoringStrategy.requestedToCapacityRatio"
        ratio = strategy.requested_to_capacity_ratio
        if strategy.type == "RequestedToCapacityRatio":
            if ratio is None:
                yield Problem(path, "missing; the type RequestedToCapacityRatio needs it")
            else:
                yield from _shape(f"{path}.shape", ratio.shape)
        elif ratio is not None:
            yield Problem(path, f"only for the type RequestedToCapacityRatio, and the type is {strategy.type}")

    def leaving(self, resources: tuple[str, ...]) -> Self:
        """What extenders look after is not checked here: their list replaces the user's (scheduler.go, 1.36)."""
        return msgspec.structs.replace(self, ignored_resources=resources) if resources else self


def _shape(path: str, shape: Sequence[UtilizationShapePoint]) -> Iterator[Problem]:
    if not shape:
        yield Problem(path, "empty; at least one point is needed")
    for index, point in enumerate(shape):
        yield from out_of_range(f"{path}[{index}].utilization", point.utilization, 0, 100)
        yield from out_of_range(f"{path}[{index}].score", point.score, 0, 10)
        if index and shape[index - 1].utilization >= point.utilization:
            yield Problem(f"{path}[{index}].utilization", "not above that of the point before; sort by utilization")
