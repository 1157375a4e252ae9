"""BestFit: the node with the least left of CPU and devices once the pod is there.

What is left is measured in parts of the largest node, CPU and devices counting half each; integers, then stretched over
0 to 100 between the worst and the best feasible node.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import CPU
from fairway.plugin import MAX_SCORE, Nodes, Plugin, PluginArgs, PodClass
from fairway.plugins.argument_types import LARGEST_GPU_MILLI, LARGEST_MILLI_CPU, Positive


class BestFitRequest(NamedTuple):
    """What a pod takes."""

    milli_cpu: int
    gpu_milli: int


class BestFitArgs(PluginArgs, frozen=True, kw_only=True):
    """The largest node: what is left is measured in parts of it."""

    largest_milli_cpu: Positive = LARGEST_MILLI_CPU
    largest_gpu_milli: Positive = LARGEST_GPU_MILLI


class BestFit(Plugin):
    """The tightest node."""

    annotations = ()
    Args = BestFitArgs
    args: BestFitArgs
    normalize = "own"

    def pre_score(self, pod: PodClass, nodes: Nodes) -> BestFitRequest:
        """CPU and devices in thousandths."""
        return BestFitRequest(pod.requests.get("cpu", 0), 0 if pod.devices is None else pod.devices.total)

    def score(self, pod: PodClass, nodes: Nodes, state: BestFitRequest) -> NDArray[np.int64]:
        """100 where nothing would be left."""
        table, devices, largest = nodes.table, nodes.cluster.devices, self.args
        cpu = nodes.of(table.allocatable[:, CPU]) - nodes.of(table.requested[:, CPU]) - state.milli_cpu
        gpu = nodes.of(devices.left) - state.gpu_milli
        left = cpu / largest.largest_milli_cpu * 0.5 + gpu / largest.largest_gpu_milli * 0.5
        scores: NDArray[np.int64] = ((1 - left) * MAX_SCORE).astype(np.int64)
        return scores

    def normalize_scores(
        self, pod: PodClass, nodes: Nodes, state: BestFitRequest, scores: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """From the worst (0) to the best (100)."""
        return stretched(scores, equal=0)


def stretched(scores: NDArray[np.int64], equal: int) -> NDArray[np.int64]:
    """Integers spread over 0 to 100; `equal` for all if they are all the same."""
    lowest, highest = scores.min(), scores.max()
    if lowest == highest:
        return np.full_like(scores, equal)
    spread: NDArray[np.int64] = (scores - lowest) * MAX_SCORE // (highest - lowest)
    return spread
