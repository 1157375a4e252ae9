"""The device table: what is left of every GPU on every node, and who has it.

In: nodes and pods as `Cluster` hears of them or decides. A node has as many devices as its allocatable
alibabacloud.com/gpu-count, or else nvidia.com/gpu, says, all of one model (a label). Out: columns over rows and devices
that plugins read, and `indices_of(uid)`, the devices a pod holds. Unless somebody says which, a pod gets the devices of
`default_choice`. Pods that the world put where there was no room are booked all the same; `free` never leaves 0..1000.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.interning import Interner
from fairway.model import Node, Pod
from fairway.model.device_need import (
    GPU_COUNT,
    GPU_INDEX,
    GPU_MODEL,
    GPU_RESOURCE,
    MOST_DEVICES,
    WHOLE_DEVICE,
    DeviceNeed,
    pinned_devices,
)

MODEL_LABELS: Final = (GPU_MODEL, "nvidia.com/gpu.product")
COUNT_RESOURCES: Final = (GPU_COUNT, GPU_RESOURCE)
SHARE: Final = 0
"""The kind of a pod that has a share of a device; other kinds are the number of whole devices."""


T = TypeVar("T", bound=np.generic)


class Holding(NamedTuple):
    """What a pod has."""

    row: int
    need: DeviceNeed
    indices: tuple[int, ...]


class DeviceTable:
    """Columns over rows and their devices."""

    def __init__(self, capacity: int) -> None:
        self.models: Interner[str] = Interner()
        self.kinds: Interner[int] = Interner((SHARE,))
        self.num_devices = 0  # in all
        self.left_milli = 0  # of all devices together
        self.count: NDArray[np.int32] = np.zeros(capacity, np.int32)  # (capacity,)
        self.model: NDArray[np.int32] = np.full(capacity, -1, np.int32)  # (capacity,); -1: no model is known
        self.free: NDArray[np.int32] = np.zeros((capacity, 1), np.int32)  # (capacity, max_devices); 0: no such device
        self.left: NDArray[np.int64] = np.zeros(capacity, np.int64)  # (capacity,): the sum of free
        self.most: NDArray[np.int32] = np.zeros(capacity, np.int32)  # (capacity,): the highest of free
        self.idle: NDArray[np.int32] = np.zeros(capacity, np.int32)  # (capacity,): devices nobody has a part of
        self.num_pods: NDArray[np.int32] = np.zeros((capacity, 1), np.int32)  # (capacity, num_kinds)
        self._used: NDArray[np.int32] = self.free.copy()  # (capacity, max_devices): as booked, even beyond 1000
        self._holdings: dict[str, Holding] = {}
        self.remembered: dict[tuple[str, int], tuple[int, ...]] = {}  # what uid had on a row it will come back to

    def __len__(self) -> int:
        """How many pods have devices."""
        return len(self._holdings)

    @property
    def total_milli(self) -> int:
        """What there is, used or not."""
        return self.num_devices * WHOLE_DEVICE

    @property
    def used_milli(self) -> int:
        """What pods hold, of all devices together."""
        return self.total_milli - self.left_milli

    # -- nodes -------------------------------------------------------------------------------------------------------

    def set_node(self, row: int, node: Node) -> None:
        """Take over the devices that a node says it has."""
        allocatable = node.status.allocatable
        quantity = next((allocatable[name] for name in COUNT_RESOURCES if name in allocatable), None)
        count = 0 if quantity is None else max(quantity.value, 0)
        if not count and not self.count[row]:
            return
        if count > self.free.shape[1]:
            self._reshape(len(self.count), count)
        labels = node.metadata.labels
        name = next((labels[key] for key in MODEL_LABELS if key in labels), "") if count else ""
        self.model[row] = self.models.id_of(name) if name else -1
        self.num_devices += count - int(self.count[row])
        self.count[row] = count
        self._recount(row)

    def clear_node(self, row: int) -> None:
        """The row's node is gone, and its pods before it."""
        if self.count[row]:
            self.num_devices -= int(self.count[row])
            self.count[row], self.model[row] = 0, -1
            self._recount(row)

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        self._reshape(capacity, self.free.shape[1])

    # -- pods --------------------------------------------------------------------------------------------------------

    def place(self, pod: Pod, row: int, need: DeviceNeed) -> None:
        """Give a pod the devices that it is remembered to have had there, or that its annotation names, or any."""
        indices = self.remembered.pop((pod.metadata.uid, row), None)
        if indices is None and GPU_INDEX in pod.metadata.annotations:
            indices = pinned_devices(pod)[: need.count] or None
        self.take(row, pod.metadata.uid, need, indices)

    def remember(self, pod: Pod, row: int, indices: tuple[int, ...]) -> None:
        """A pod that will be placed there again had these, and does not say otherwise."""
        if indices and GPU_INDEX not in pod.metadata.annotations:
            self.remembered[pod.metadata.uid, row] = indices

    def take(self, row: int, uid: str, need: DeviceNeed, indices: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """Give a pod these devices, by default those of `default_choice`; returns them."""
        if indices is None:
            indices = self.choose(row, need)
        elif max(indices, default=0) >= self.free.shape[1]:
            self._reshape(len(self.count), max(indices) + 1)
        self._holdings[uid] = Holding(row, need, indices)
        self._book(row, need, indices, 1)
        return indices

    def release(self, uid: str, remember: bool = False) -> None:
        """Take a pod's devices back; `remember` them if it may come back to the row, as in what-if."""
        holding = self._holdings.pop(uid)
        self._book(holding.row, holding.need, holding.indices, -1)
        if remember:
            self.remembered[uid, holding.row] = holding.indices

    def move(self, uid: str, indices: tuple[int, ...]) -> bool:
        """Give a pod these devices of its node; False if it had them already."""
        row, need, before = self._holdings[uid]
        if indices == before:
            return False
        self.release(uid)
        self.take(row, uid, need, indices)
        return True

    def indices_of(self, uid: str) -> tuple[int, ...]:
        """The devices a pod holds, in order; none if it holds none."""
        holding = self._holdings.get(uid)
        return holding.indices if holding is not None else ()

    def free_without(self, uid: str) -> list[int]:
        """What would be free of each device of a pod's node without the pod."""
        row, need, indices = self._holdings[uid]
        used = self._used[row, : self.count[row]].copy()
        used[[index for index in indices if index < len(used)]] -= need.milli
        return [max(WHOLE_DEVICE - amount, 0) for amount in used.tolist()]

    def choose(self, row: int, need: DeviceNeed) -> tuple[int, ...]:
        """The devices that a pod gets unless a policy says otherwise, and if need be more than there is."""
        free = self.free[row, : self.count[row]].tolist()
        chosen = default_choice(free, need)
        if chosen is None:  # no room, but it is there: from what is left most of
            chosen = tuple(sorted(sorted(range(len(free)), key=lambda index: -free[index])[: need.count]))
        return chosen

    def kind_of(self, need: DeviceNeed) -> int:
        """The column of `num_pods` that counts such pods."""
        kind = self.kinds.id_of(SHARE if need.is_share else min(need.count, MOST_DEVICES))
        if kind >= self.num_pods.shape[1]:
            self.num_pods = _widened(self.num_pods, (len(self.num_pods), kind + 1))
        return kind

    def is_allowed(self, models: tuple[str, ...]) -> NDArray[np.bool_]:
        """By model id: may a pod that asks for these models have it? The last entry is for nodes without one."""
        allowed = np.full(len(self.models) + 1, not models)  # (num_models + 1,)
        for name in models:
            number = self.models.find(name)
            if number >= 0:
                allowed[number] = True
        return allowed

    def _book(self, row: int, need: DeviceNeed, indices: tuple[int, ...], sign: int) -> None:
        kind = self.kind_of(need)
        self.num_pods[row, kind] += sign
        used = self._used[row]
        for index in indices:
            used[index] += sign * need.milli
        self._recount(row)

    def _recount(self, row: int) -> None:
        count = int(self.count[row])
        free = [WHOLE_DEVICE - amount if amount < WHOLE_DEVICE else 0 for amount in self._used[row].tolist()[:count]]
        left = sum(free)
        self.left_milli += left - int(self.left[row])
        self.free[row, :count] = free
        self.free[row, count:] = 0
        self.left[row] = left
        self.most[row] = max(free, default=0)
        self.idle[row] = free.count(WHOLE_DEVICE)

    def _reshape(self, capacity: int, max_devices: int) -> None:
        old = len(self.count)
        for name in ("count", "model", "left", "most", "idle"):
            setattr(self, name, _widened(getattr(self, name), (capacity,)))
        self.model[old:] = -1
        self.free = _widened(self.free, (capacity, max_devices))
        self._used = _widened(self._used, (capacity, max_devices))
        self.num_pods = _widened(self.num_pods, (capacity, self.num_pods.shape[1]))


def default_choice(free: Sequence[int], need: DeviceNeed) -> tuple[int, ...] | None:
    """The rule "best": of a share, the device with least left that has enough; of whole devices, the first idle ones.

    None if there is no room. Pinned pods get what they are pinned to, or nothing.
    """
    if need.pinned:
        fits = all(index < len(free) and free[index] >= need.milli for index in need.pinned)
        return need.pinned if fits else None
    enough = [index for index, amount in enumerate(free) if amount >= need.milli]
    if len(enough) < need.count:
        return None
    if need.is_share:
        return (min(enough, key=free.__getitem__),)
    return tuple(enough[: need.count])


def _widened(array: NDArray[T], shape: tuple[int, ...]) -> NDArray[T]:
    wider: NDArray[T] = np.zeros(shape, array.dtype)
    wider[tuple(slice(0, length) for length in array.shape)] = array
    return wider
