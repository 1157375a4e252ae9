"""GpuPacking: shared devices first, then idle devices of nodes in use, then empty nodes.

Of devices in use, the fuller the better; of idle devices on a node in use, the fewer are opened the better; of
empty nodes, the smaller the better. Pods that need no device score nodes alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairway.model.device_need import WHOLE_DEVICE, DeviceNeed
from fairway.plugin import MAX_SCORE, SKIP, Nodes, Plugin, PodClass, Skip

EMPTY_NODE = 33
IDLE_DEVICE = 50


class GpuPacking(Plugin):
    """Fill what is open before opening more."""

    annotations = ()

    def pre_score(self, pod: PodClass, nodes: Nodes) -> DeviceNeed | Skip:
        """Only pods that need devices are packed."""
        return SKIP if pod.devices is None else pod.devices

    def score(self, pod: PodClass, nodes: Nodes, state: DeviceNeed) -> NDArray[np.int64]:
        """The devices with the least left that suffice decide the step of the ladder."""
        devices = nodes.cluster.devices
        idle = nodes.of(devices.idle).astype(np.int64)
        free = nodes.of(devices.free)  # (num_rows, max_devices)
        too_big = WHOLE_DEVICE + 1
        enough = np.where(free >= state.milli, free, too_big)
        if state.count > 1:
            enough.sort(axis=1)
            chosen = enough[:, : state.count]
        else:  # much faster than sorting
            chosen = enough.min(axis=1, keepdims=True)
        opened = (chosen == WHOLE_DEVICE).sum(axis=1)
        shared = MAX_SCORE - (chosen // 10).sum(axis=1, dtype=np.int64) // 10
        on_used_node = np.where(
            opened > 0, np.maximum(IDLE_DEVICE - opened, EMPTY_NODE), np.maximum(shared, IDLE_DEVICE)
        )
        is_empty = idle == nodes.of(devices.count)
        scores: NDArray[np.int64] = np.where(is_empty, np.maximum(EMPTY_NODE - idle, idle), on_used_node)
        return np.minimum(scores, MAX_SCORE)
