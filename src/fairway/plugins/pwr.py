"""PWR: the node whose power draw grows least.

A device that anybody has a part of draws its full power, any other its idle power; CPUs draw by package: full power if
any of its cores is busy. The score is how much the node's draw would fall (it can only grow, so it is not above 0),
in whole watts, stretched over 0 to 100 between the worst and the best feasible node. A share goes to the device that
adds least, one in use if there is any; combine it with FGD by weights, and the one listed last chooses the device.
"Power- and Fragmentation-aware Online Scheduling for GPU Datacenters", CCGrid 2025 (arXiv 2412.17484).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster import CPU, Cluster
from fairway.model import Pod
from fairway.model.device_need import WHOLE_DEVICE, DeviceNeed
from fairway.model.meta import Value
from fairway.plugin import Nodes, Plugin, PluginArgs, PodClass, Problem
from fairway.plugins.best_fit import stretched

CPU_MODEL: Final = "alibabacloud.com/cpu-model"
MILLI_CPU_A_CORE: Final = 2000  # two hardware threads


class Watts(NamedTuple):
    """What something draws."""

    idle: float
    full: float


class Package(NamedTuple):
    """A processor."""

    num_cores: int
    watts: Watts


GPU_WATTS: Final = {
    "T4": Watts(10, 70),
    "A10": Watts(30, 150),
    "G2": Watts(30, 150),  # undisclosed; taken for an A10
    "P100": Watts(25, 250),
    "V100": Watts(30, 300),
    "V100M16": Watts(30, 300),
    "V100M32": Watts(30, 300),
    "A100": Watts(50, 400),
    "G3": Watts(50, 400),  # undisclosed; taken for an A100
}
UNKNOWN_GPU: Final = Watts(30, 250)
UNKNOWN_CPU: Final = Package(16, Watts(15, 120))
PACKAGES: Final = {
    "8163": Package(24, Watts(20, 165)),
    "6326": Package(16, Watts(20, 185)),
    "8369B": Package(32, Watts(20, 270)),
    "8269CY": Package(26, Watts(20, 205)),
}
"""By a part of the value of the node label alibabacloud.com/cpu-model."""


class PowerRequest(NamedTuple):
    """What a pod takes."""

    milli_cpu: int
    need: DeviceNeed | None


class WattsArgs(Value, frozen=True, kw_only=True):
    """What a device draws when nobody has a part of it, and when somebody has."""

    idle: Annotated[float, msgspec.Meta(ge=0)]
    full: Annotated[float, msgspec.Meta(ge=0)]


class PWRArgs(PluginArgs, frozen=True, kw_only=True):
    """The power of device models, besides or instead of those that are known."""

    gpu_watts: dict[str, WattsArgs] = msgspec.field(default_factory=dict)

    def problems(self) -> Iterator[Problem]:
        """A device that draws less at work than idle."""
        for model, watts in self.gpu_watts.items():
            if watts.full < watts.idle:
                yield Problem(
                    f"gpuWatts.{model}.full", f"{watts.full:g} is below idle; allowed: {watts.idle:g} or more"
                )


class PWR(Plugin):
    """The least growth of power."""

    annotations = ()
    Args = PWRArgs
    args: PWRArgs
    normalize = "own"

    def __init__(self, cluster: Cluster, args: PWRArgs | None = None) -> None:
        super().__init__(cluster, args)
        told = self.args.gpu_watts
        self._gpu_watts = GPU_WATTS | {model: Watts(each.idle, each.full) for model, each in told.items()}

    def pre_score(self, pod: PodClass, nodes: Nodes) -> PowerRequest:
        """CPU and devices."""
        return PowerRequest(pod.requests.get("cpu", 0), pod.devices)

    def score(self, pod: PodClass, nodes: Nodes, state: PowerRequest) -> NDArray[np.int64]:
        """Watts saved: 0, or less."""
        grown = self._gpu_growth(nodes, state.need) + self._cpu_growth(nodes, state.milli_cpu)
        scores: NDArray[np.int64] = (-grown).astype(np.int64)
        return scores

    def normalize_scores(
        self, pod: PodClass, nodes: Nodes, state: PowerRequest, scores: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """From the worst (0) to the best (100)."""
        return stretched(scores, equal=100)

    def _gpu_growth(self, nodes: Nodes, need: DeviceNeed | None) -> NDArray[np.float64]:
        """How many idle devices would be opened, times what that adds."""
        if need is None:
            return np.zeros(len(nodes))
        devices = nodes.cluster.devices
        if need.is_share:
            free = nodes.of(devices.free)
            if need.pinned:
                free = free[:, [index for index in need.pinned if index < free.shape[1]]]
            is_open = ((free >= need.milli) & (free < WHOLE_DEVICE)).any(axis=1)
            opened = np.where(is_open, 0, 1)
        else:
            opened = np.full(len(nodes), need.count)
        watts = [self._gpu_watts.get(name, UNKNOWN_GPU) for name in devices.models.values] + [UNKNOWN_GPU]
        growth = np.array([each.full - each.idle for each in watts])  # (num_models + 1,)
        return np.asarray(opened * growth.take(nodes.of(devices.model), mode="wrap"), np.float64)

    def _cpu_growth(self, nodes: Nodes, milli_cpu: int) -> NDArray[np.float64]:
        """How many idle packages would be opened, times what that adds."""
        allocatable = nodes.of(nodes.table.allocatable[:, CPU])
        free = allocatable - nodes.of(nodes.table.requested[:, CPU])
        labels = nodes.table.labels.column(CPU_MODEL)
        known = [_package(value or "") for value in labels.values.values] + [UNKNOWN_CPU]
        kinds = nodes.of(labels.ids)
        num_cores = np.array([each.num_cores for each in known]).take(kinds, mode="wrap")
        growth = np.array([each.watts.full - each.watts.idle for each in known]).take(kinds, mode="wrap")
        cores = -(-allocatable // MILLI_CPU_A_CORE)

        def active(left: NDArray[np.int64]) -> NDArray[np.int64]:
            busy = cores - left // MILLI_CPU_A_CORE
            return np.asarray(-(-busy // num_cores), np.int64)

        return np.asarray((active(free - milli_cpu) - active(free)) * growth, np.float64)

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """Move a share to the first device in use that has room; the first idle one if none has."""
        need = pod_class.devices
        if need is None or not need.is_share or need.pinned:
            return
        free = self.cluster.devices.free_without(pod.metadata.uid)
        enough = [index for index, amount in enumerate(free) if amount >= need.milli]
        if enough:
            chosen = min(enough, key=lambda index: (free[index] == WHOLE_DEVICE, index))
            self.cluster.give_devices(pod.metadata.uid, (chosen,))


def _package(label: str) -> Package:
    return next((package for part, package in PACKAGES.items() if part in label), UNKNOWN_CPU)
