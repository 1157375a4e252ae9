"""DotProduct: the node whose free resources are least aligned with what the pod asks for.

The free CPU and devices of a node, and the pod's wishes, are vectors of parts of the largest node (or of the node, or
of the pod): the smaller their dot product the higher the score. A node with several devices is one vector (`merge`), or
several, of which the best that has room counts: one for each device in use and one for the idle ones together, each
with all of the CPU (`share`) or with its part of it (`divide`), or with just the devices it would take (`extend`).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import CPU
from fairway.model.device_need import WHOLE_DEVICE, DeviceNeed
from fairway.plugin import MAX_SCORE, Nodes, Plugin, PluginArgs, PodClass
from fairway.plugins.argument_types import LARGEST_GPU_MILLI, LARGEST_MILLI_CPU, Positive

Column = NDArray[np.float64]


class DotProductRequest(NamedTuple):
    """What a pod takes."""

    milli_cpu: int
    gpu_milli: int
    need: DeviceNeed | None


class DotProductArgs(PluginArgs, frozen=True, kw_only=True):
    """How a node with several devices becomes a vector, and what amounts are divided by.

    `merge`: all its devices are one. `share`: each device in use, and the idle ones together, make a vector of their
    own with all of the CPU. `divide`: the same with the CPU divided in proportion. `extend`: every device is a
    dimension of its own. `norm`: by the largest node, by the node itself, or by the pod.
    """

    mode: Literal["merge", "share", "divide", "extend"] = "merge"
    norm: Literal["max", "node", "pod"] = "max"
    largest_milli_cpu: Positive = LARGEST_MILLI_CPU
    largest_gpu_milli: Positive = LARGEST_GPU_MILLI


class DotProduct(Plugin):
    """The least aligned node."""

    annotations = ()
    Args = DotProductArgs
    args: DotProductArgs

    def pre_score(self, pod: PodClass, nodes: Nodes) -> DotProductRequest:
        """CPU and devices in thousandths."""
        return DotProductRequest(
            pod.requests.get("cpu", 0), 0 if pod.devices is None else pod.devices.total, pod.devices
        )

    def score(self, pod: PodClass, nodes: Nodes, state: DotProductRequest) -> NDArray[np.int64]:
        """100 where the vectors have nothing in common."""
        if self.args.mode == "merge" or state.need is None:
            left = nodes.of(nodes.cluster.devices.left)
            product = self._product(nodes, state, self._free_cpu(nodes), left.astype(np.float64))
        else:
            product = self._best_product(nodes, state, state.need)
        if self.args.norm == "pod":
            product = np.tanh(product / 10)
        scores: NDArray[np.int64] = (MAX_SCORE * (1 - product)).astype(np.int64)
        return np.clip(scores, 0, MAX_SCORE)

    def _best_product(self, nodes: Nodes, request: DotProductRequest, need: DeviceNeed) -> Column:
        """The smallest over the groups of devices that have room; as if empty where none has."""
        devices = nodes.cluster.devices
        free = nodes.of(devices.free)  # (num_rows, max_devices)
        idle = nodes.of(devices.idle)
        left = nodes.of(devices.left)
        cpu = self._free_cpu(nodes)
        best = np.full(len(nodes), np.inf)
        if need.is_share:
            for index in range(free.shape[1]):
                each = free[:, index]
                room = (each >= need.milli) & (each < WHOLE_DEVICE)
                product = self._group(nodes, request, cpu, each.astype(np.float64), left)
                best = np.where(room, np.minimum(best, product), best)
        together = idle * WHOLE_DEVICE if self.args.mode != "extend" else np.minimum(idle, need.count) * WHOLE_DEVICE
        product = self._group(nodes, request, cpu, together.astype(np.float64), left)
        best = np.where(idle >= need.count, np.minimum(best, product), best)
        return np.where(np.isinf(best), 1.0, best)

    def _group(
        self, nodes: Nodes, request: DotProductRequest, cpu: Column, gpu: Column, left: NDArray[np.int64]
    ) -> Column:
        if self.args.mode == "divide":
            cpu = cpu * gpu / np.maximum(left, 1)
        return self._product(nodes, request, cpu, gpu)

    def _product(self, nodes: Nodes, request: DotProductRequest, cpu: Column, gpu: Column) -> Column:
        """Half the dot product of (cpu, gpu) and the request, each divided by the norm."""
        told = self.args
        if told.norm == "max":
            by_cpu: Column | float = float(told.largest_milli_cpu)
            by_gpu: Column | float = float(told.largest_gpu_milli)
        elif told.norm == "node":
            by_cpu = np.maximum(nodes.of(nodes.table.allocatable[:, CPU]), 1).astype(np.float64)
            by_gpu = np.maximum(nodes.of(nodes.cluster.devices.count), 1) * float(WHOLE_DEVICE)
        else:  # a dimension that the pod does not ask for counts nothing
            by_cpu, by_gpu = float(request.milli_cpu or 1), float(request.gpu_milli or 1)
        product: Column = (cpu / by_cpu) * (request.milli_cpu / by_cpu) + (gpu / by_gpu) * (request.gpu_milli / by_gpu)
        return product / 2

    def _free_cpu(self, nodes: Nodes) -> Column:
        table = nodes.table
        free = nodes.of(table.allocatable[:, CPU]) - nodes.of(table.requested[:, CPU])
        return np.asarray(free, np.float64)
