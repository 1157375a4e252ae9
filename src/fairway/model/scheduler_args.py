"""What the built-in plugins can be told: the `args` of a `pluginConfig` entry, with kube-scheduler's defaults.

`fairway.config.plugin_args` decodes and validates them from a KubeSchedulerConfiguration; a plugin gets its struct as
`args`. Constructed without arguments, each is what kube-scheduler 1.36 uses when the configuration says nothing
(apis/config/v1/defaults.go, default feature gates): a field that defaulting replaces when it is empty or zero is
replaced here too, however the struct came about.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final, Literal

import msgspec

from fairway.model.affinity import NodeAffinity
from fairway.model.meta import Int32, Int64, Value
from fairway.model.pod import TopologySpreadConstraint

__all__ = [
    "DefaultPreemptionArgs",
    "Duration",
    "DynamicResourcesArgs",
    "InterPodAffinityArgs",
    "NodeAffinityArgs",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "PodTopologySpreadArgs",
    "RequestedToCapacityRatio",
    "ResourceSpec",
    "ScoringStrategy",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
    "parse_duration",
]

NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "\N{MICRO SIGN}s": 10**3,
    "\N{GREEK SMALL LETTER MU}s": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
MAX_NANOSECONDS: Final = 2**63 - 1
DURATION_TERM: Final = re.compile(
    r"(\d+\.?\d*|\.\d+)(ns|us|\N{MICRO SIGN}s|\N{GREEK SMALL LETTER MU}s|ms|s|m|h)", re.ASCII
)


class Duration(float):
    """Seconds. Written as Go writes durations: "15s", "1m30s", "500ms"."""

    __slots__ = ()


def parse_duration(text: str) -> Duration:
    """Read a Go duration (time.ParseDuration); `ValueError` says what is wrong with it."""
    unsigned = text[1:] if text[:1] in ("-", "+") else text
    nanoseconds = Fraction(0)
    end = 0
    while end < len(unsigned) and (term := DURATION_TERM.match(unsigned, end)):
        # A bare ending point ("1.s") is as good as ".0" in Go; Fraction wants the digit.
        nanoseconds += Fraction(f"{term[1]}0" if "." in term[1] else term[1]) * NANOSECONDS[term[2]]
        end = term.end()
    if unsigned != "0" and (not unsigned or end < len(unsigned)):
        raise ValueError(f'{text!r} is not a duration such as "15s", "1m30s" or "500ms"')
    if nanoseconds > MAX_NANOSECONDS:
        raise ValueError(f"{text!r} is longer than 292 years")
    return Duration((-1 if text.startswith("-") else 1) * int(nanoseconds) / 10**9)


class DefaultPreemptionArgs(Value, frozen=True, kw_only=True):
    """How many nodes preemption tries at least: a share of the cluster, and not fewer than a number."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class InterPodAffinityArgs(Value, frozen=True, kw_only=True):
    """How much running pods that require the incoming one nearby count in scoring."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(Value, frozen=True, kw_only=True):
    """Node affinity that every pod of the profile has besides its own."""

    added_affinity: NodeAffinity | None = None


class ResourceSpec(Value, frozen=True, kw_only=True):
    """A resource that is scored, and how much it counts; a weight of 0 means 1."""

    name: str = ""
    weight: Int64 = 1

    def __post_init__(self) -> None:
        if self.weight == 0:
            msgspec.structs.force_setattr(self, "weight", 1)


CPU_AND_MEMORY: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


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


class NodeResourcesFitArgs(Value, frozen=True, kw_only=True):
    """Resources not to check, by name or by group (what stands before the slash), and how to score."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type="LeastAllocated")


class NodeResourcesBalancedAllocationArgs(Value, frozen=True, kw_only=True):
    """The resources whose utilisation should be even; none named means CPU and memory."""

    resources: tuple[ResourceSpec, ...] = ()

    def __post_init__(self) -> None:
        if not self.resources:
            msgspec.structs.force_setattr(self, "resources", CPU_AND_MEMORY)


class PodTopologySpreadArgs(Value, frozen=True, kw_only=True):
    """How pods without constraints of their own are spread: as Kubernetes sees fit (System), or by this list (List)."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Literal["System", "List"] = "System"


class VolumeBindingArgs(Value, frozen=True, kw_only=True):
    """How long binding may wait for volumes. `shape` belongs to a feature that is off in kube-scheduler 1.36."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


class DynamicResourcesArgs(Value, frozen=True, kw_only=True):
    """How long looking for devices on one node may take (0: as long as it takes), and binding may wait for them."""

    filter_timeout: Duration = Duration(10)
    binding_timeout: Duration = Duration(600)
