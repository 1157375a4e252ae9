"""GpuClustering: pods of a kind together; fuller nodes first among equals.

Kinds are shares of a device, and whole devices by their number. Best are nodes that host pods of the same kind only,
then those that host it among others, then those without any pod on a device, last those with other kinds only.
Pods that need no device score nodes alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairway.plugin import SKIP, Nodes, Plugin, PluginArgs, PodClass, Skip
from fairway.plugins.argument_types import LARGEST_GPU_MILLI, Positive

STEP = 25


class GpuClusteringArgs(PluginArgs, frozen=True, kw_only=True):
    """The devices of the largest node, in thousandths: a node is fuller the less of that it has left."""

    largest_gpu_milli: Positive = LARGEST_GPU_MILLI


class GpuClustering(Plugin):
    """Birds of a feather."""

    annotations = ()
    Args = GpuClusteringArgs
    args: GpuClusteringArgs

    def pre_score(self, pod: PodClass, nodes: Nodes) -> int | Skip:
        """The kind of the pod."""
        return SKIP if pod.devices is None else nodes.cluster.devices.kind_of(pod.devices)

    def score(self, pod: PodClass, nodes: Nodes, state: int) -> NDArray[np.int64]:
        """25 points a step, and up to 25 for what is taken already."""
        devices, largest = nodes.cluster.devices, self.args.largest_gpu_milli
        left = nodes.of(devices.left)
        taken = np.maximum(STEP * (largest - left) // largest, 0)
        num_pods = nodes.of(devices.num_pods)  # (num_rows, num_kinds)
        own = num_pods[:, state]
        others = num_pods.sum(axis=1) - own
        steps = np.where(own > 0, np.where(others > 0, 2, 3), np.where(others > 0, 0, 1))
        scores: NDArray[np.int64] = taken + STEP * steps
        return scores
