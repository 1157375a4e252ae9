"""What the plugins for shared GPUs can be told: the `args` of their `pluginConfig` entries.

`fairway.config.plugin_args` decodes and checks them; a plugin gets its struct as `args`. Constructed without arguments
each is what the published experiments used.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from fairway.model.meta import Value

__all__ = [
    "BestFitArgs",
    "DotProductArgs",
    "FGDArgs",
    "GpuClusteringArgs",
    "GpuShareArgs",
    "PWRArgs",
    "RandomArgs",
    "TypicalPodArgs",
    "WattsArgs",
]

Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
NotNegative = Annotated[int, msgspec.Meta(ge=0)]

LARGEST_MILLI_CPU = 128_000
LARGEST_GPU_MILLI = 8_000


class GpuShareArgs(Value, frozen=True, kw_only=True):
    """Which device of its node a share gets, where no policy chooses: with the least left, the most, or any."""

    device_choice: Literal["best", "worst", "random"] = "best"
    seed: Seed = 0


class TypicalPodArgs(Value, frozen=True, kw_only=True):
    """A typical pod: what it needs, and how many such pods there are, compared with the others."""

    milli_cpu: NotNegative = 0
    gpu_milli: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    gpu_count: NotNegative = 0
    gpu_models: tuple[str, ...] = ()
    count: Annotated[float, msgspec.Meta(gt=0)] = 1


class FGDArgs(Value, frozen=True, kw_only=True):
    """The workload that fragmentation is measured against; none: the cluster's own typical pods."""

    typical_pods: tuple[TypicalPodArgs, ...] = ()


class BestFitArgs(Value, frozen=True, kw_only=True):
    """The largest node: what is left is measured in parts of it."""

    largest_milli_cpu: Positive = LARGEST_MILLI_CPU
    largest_gpu_milli: Positive = LARGEST_GPU_MILLI


class DotProductArgs(Value, frozen=True, kw_only=True):
    """How a node with several devices becomes a vector, and what amounts are divided by.

    `merge`: all its devices are one. `share`: each device in use, and the idle ones together, make a vector of their
    own with all of the CPU. `divide`: the same with the CPU divided in proportion. `extend`: every device is a
    dimension of its own. `norm`: by the largest node, by the node itself, or by the pod.
    """

    mode: Literal["merge", "share", "divide", "extend"] = "merge"
    norm: Literal["max", "node", "pod"] = "max"
    largest_milli_cpu: Positive = LARGEST_MILLI_CPU
    largest_gpu_milli: Positive = LARGEST_GPU_MILLI


class GpuClusteringArgs(Value, frozen=True, kw_only=True):
    """The devices of the largest node, in thousandths: a node is fuller the less of that it has left."""

    largest_gpu_milli: Positive = LARGEST_GPU_MILLI


class WattsArgs(Value, frozen=True, kw_only=True):
    """What a device draws when nobody has a part of it, and when somebody has."""

    idle: Annotated[float, msgspec.Meta(ge=0)]
    full: Annotated[float, msgspec.Meta(ge=0)]


class PWRArgs(Value, frozen=True, kw_only=True):
    """The power of device models, besides or instead of those that are known."""

    gpu_watts: dict[str, WattsArgs] = msgspec.field(default_factory=dict)


class RandomArgs(Value, frozen=True, kw_only=True):
    """`seed`: other seeds, other choices."""

    seed: Seed = 0
