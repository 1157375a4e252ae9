"""GpuShare: nodes whose devices have room, and which of them a share gets.

Filter: a node needs devices of a model the pod accepts, one with enough left for a share, or as many idle ones as the
pod wants whole; a pod pinned to devices needs exactly those. The cluster books devices by the rule "best" (least left
that is enough) when a pod is placed; at `reserve` this plugin moves a share if it was told "worst" or "random".
Policies that choose the device themselves (FGD, PWR) do so at `reserve` too: whoever comes last has the last word.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.gpus.devices import COUNT_RESOURCES
from fairway.model import Node, Pod
from fairway.model.device_need import DeviceNeed, device_need, read_devices
from fairway.plugin import (
    SKIP,
    Action,
    Change,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PluginArgs,
    PodClass,
    Refusal,
    Resource,
    Skip,
)
from fairway.plugins.argument_types import Seed

NO_DEVICES = Refusal(("node(s) had no GPU",), Code.UNRESOLVABLE)


class GpuShareArgs(PluginArgs, frozen=True, kw_only=True):
    """Which device of its node a share gets, where no policy chooses: with the least left, the most, or any."""

    device_choice: Literal["best", "worst", "random"] = "best"
    seed: Seed = 0


class GpuShare(Plugin):
    """Room on devices."""

    annotations = ()
    Args = GpuShareArgs
    args: GpuShareArgs

    # -- filter ------------------------------------------------------------------------------------------------------

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> DeviceNeed | Refusal | Skip:
        """Pods that need no device do not care; wishes that make no sense are refused."""
        if pod.devices_problem is not None:
            key, problem = pod.devices_problem
            return Refusal((f"the pod's {key} {problem}",), Code.UNRESOLVABLE)
        return SKIP if pod.devices is None else pod.devices

    def filter(self, pod: PodClass, nodes: Nodes, state: DeviceNeed) -> NDArray[np.bool_]:
        """Nodes with the right devices, and room on them."""
        devices = nodes.cluster.devices
        mask: NDArray[np.bool_]
        if state.pinned:
            mask = self._pinned_mask(nodes, state)
        elif state.is_share:
            mask = nodes.of(devices.most) >= state.milli
        else:
            mask = nodes.of(devices.idle) >= state.count
        if state.models:
            allowed: NDArray[np.bool_] = devices.is_allowed(state.models)[nodes.of(devices.model)]
            mask = np.logical_and(mask, allowed)
        return mask

    def _pinned_mask(self, nodes: Nodes, need: DeviceNeed) -> NDArray[np.bool_]:
        free = nodes.of(nodes.cluster.devices.free)
        if max(need.pinned) >= free.shape[1]:
            return np.zeros(len(nodes), bool)
        mask: NDArray[np.bool_] = np.logical_and.reduce(free[:, need.pinned] >= need.milli, axis=1)
        return mask

    def explain(self, pod: PodClass, nodes: Nodes, state: DeviceNeed) -> Sequence[Refusal]:
        """No devices, the wrong model, too few of them, or too little left."""
        devices = nodes.cluster.devices
        count = nodes.of(devices.count)
        allowed = devices.is_allowed(state.models).take(nodes.of(devices.model), mode="wrap")
        wrong = Refusal((f"node(s) didn't have GPU model {' or '.join(state.models)}",), Code.UNRESOLVABLE)
        missing = max(state.count, max(state.pinned, default=-1) + 1)
        few = Refusal((f"node(s) had fewer than {missing} GPUs",), Code.UNRESOLVABLE)
        if state.pinned:
            numbers = ", ".join(map(str, state.pinned))
            full = Refusal((f"node(s) had too little left of GPU {numbers}",))
        elif state.is_share:
            full = Refusal((f"node(s) had no GPU with {state.milli}m left",))
        else:
            full = Refusal(("Insufficient idle GPUs",))
        return [
            NO_DEVICES if not has else wrong if not right else few if has < missing else full
            for has, right in zip(count.tolist(), allowed.tolist(), strict=True)
        ]

    # -- after the choice --------------------------------------------------------------------------------------------

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """The cluster has booked the best device; move a share to the one this plugin was told to choose."""
        need = pod_class.devices
        if self.args.device_choice == "best" or need is None or not need.is_share or need.pinned:
            return
        uid = pod.metadata.uid
        free = self.cluster.devices.free_without(uid)
        enough = [index for index, amount in enumerate(free) if amount >= need.milli]
        if not enough:
            return
        if self.args.device_choice == "worst":
            chosen = max(enough, key=lambda index: (free[index], -index))
        else:
            chosen = enough[zlib.crc32(f"{self.args.seed}/{pod.key}/{uid}/{row}".encode()) % len(enough)]
        self.cluster.give_devices(uid, (chosen,))

    # -- events ------------------------------------------------------------------------------------------------------

    def events(self) -> Sequence[Hint]:
        """A pod that left devices, a node that has some, a pod that asks for something else."""
        return (
            Hint(ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE), _had_devices),
            Hint(ClusterEvent(Resource.ASSIGNED_POD, Action.UPDATE), _holds_otherwise),
            Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE), _has_devices),
            Hint(ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE), _asks_otherwise),
        )


def _had_devices(pod: Pod, change: Change) -> bool:
    return isinstance(change.old, Pod) and device_need(change.old) is not None


def _holds_otherwise(pod: Pod, change: Change) -> bool:
    """A pod that only begins to run, or changes its labels, leaves nobody room."""
    old, new = change.old, change.new
    return isinstance(old, Pod) and isinstance(new, Pod) and read_devices(old) != read_devices(new)


def _asks_otherwise(pod: Pod, change: Change) -> bool:
    old, new = change.old, change.new
    if not (isinstance(old, Pod) and isinstance(new, Pod) and new.metadata.uid == pod.metadata.uid):
        return False
    return read_devices(old) != read_devices(new)


def _has_devices(pod: Pod, change: Change) -> bool:
    return isinstance(change.new, Node) and any(name in change.new.status.allocatable for name in COUNT_RESOURCES)
