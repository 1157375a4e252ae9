"""Fragmentation: how much of the idle devices is of no use to the typical pods.

In: a cluster and its typical pods. Out: per row, in thousandths of a device, the expected part of what is idle that a
typical pod could not use, by cause (`Cause`), brought up to date for changed rows by `refresh`; and the same for states
that are only imagined (`amounts_if`). The FGD policy and the metrics of runs both read it.

For a node with idle L in all, a typical pod that needs no device, may not have the model, lacks CPU or lacks devices
can use none of L; one that fits can not use devices with less than it needs. Sums run over typical pods in their order,
cause by cause, so that equal states give equal numbers to the last bit: policies compare them.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.gpus.typical_pods import TypicalPods
from fairway.cluster.nodes import CPU
from fairway.model.device_need import WHOLE_DEVICE

if TYPE_CHECKING:
    from fairway.cluster.cluster import Cluster


class Cause(enum.IntEnum):
    """What becomes of idle devices, seen by a typical pod; all but USABLE is fragmentation."""

    LACKS_BOTH = 0  # neither CPU nor devices suffice
    LACKS_GPU = 1  # devices do not suffice, or this one has too little left
    USABLE = 2
    LACKS_CPU = 3
    NO_GPU_TASK = 4  # it needs no device, and has the CPU
    NO_GPU_TASK_LACKS_CPU = 5
    NO_ACCESS = 6  # the model is not what it asks for


NUM_CAUSES = len(Cause)
ADDED = (
    Cause.LACKS_BOTH,
    Cause.LACKS_GPU,
    Cause.LACKS_CPU,
    Cause.NO_GPU_TASK,
    Cause.NO_GPU_TASK_LACKS_CPU,
    Cause.NO_ACCESS,
)
"""The order in which causes add up to the amount."""

# By who asks (a GPU task, a task without GPU, a GPU task of other models), enough CPU?, enough devices?
CAUSES = np.array(
    [
        [Cause.LACKS_BOTH, Cause.LACKS_CPU, Cause.LACKS_GPU, Cause.LACKS_GPU],
        [Cause.NO_GPU_TASK_LACKS_CPU, Cause.NO_GPU_TASK_LACKS_CPU, Cause.NO_GPU_TASK, Cause.NO_GPU_TASK],
        [Cause.NO_ACCESS] * 4,
    ],
    np.intp,
).ravel()  # (3 * 4,)
FITS = 3  # a GPU task with enough of both: the part it can not use is the devices with too little left


class Fragmentation:
    """The measure of every row."""

    def __init__(self, cluster: Cluster, typical: TypicalPods) -> None:
        self.typical = typical
        self._cluster = cluster
        self._milli_cpu = typical.milli_cpu
        self._num_gpu = typical.num_gpu.astype(np.int32)
        self._shares = np.array(typical.shares)  # (num_shapes,)
        amounts = np.arange(WHOLE_DEVICE + 1, dtype=np.int32)[:, None]
        enough = amounts >= typical.gpu_milli
        # What a device with so much left adds to a row: to devices that are enough, and to what is too little.
        self.per_device: NDArray[np.int32] = np.hstack((enough, np.where(enough, 0, amounts))).astype(np.int32)
        self._who = np.empty((0, 0), np.intp)  # (num_models + 1, num_shapes): 4 times the row of CAUSES
        self._capacity = -1
        self._node_position = self._pod_position = -1
        self.tallies: NDArray[np.int32] = np.empty((0, 0), np.int32)  # (capacity, 2 * num_shapes)
        self.amount: NDArray[np.float64] = np.empty(0)  # (capacity,)
        self.by_cause: NDArray[np.float64] = np.empty((0, NUM_CAUSES))  # (capacity, num_causes)

    @property
    def total(self) -> float:
        """Of all nodes together, in thousandths of a device."""
        self.refresh()
        return float(self.amount.sum())

    @property
    def breakdown(self) -> NDArray[np.float64]:
        """All idle devices by cause, (num_causes,)."""
        self.refresh()
        return np.asarray(self.by_cause.sum(axis=0))

    def refresh(self) -> None:
        """Measure again the rows that changed."""
        cluster = self._cluster
        node_end, pod_end = cluster.node_journal.end, cluster.pod_journal.end
        if node_end == self._node_position and pod_end == self._pod_position:
            return
        changed = cluster.pod_journal.since(self._pod_position)
        if changed is None or node_end != self._node_position:
            nodes = cluster.node_journal.since(self._node_position)
            if nodes is None or changed is None or self._capacity != cluster.nodes.capacity:
                changed = np.arange(cluster.nodes.num_rows)
                self._allocate(cluster.nodes.capacity)
            else:
                changed = np.union1d(nodes, changed)
        self._node_position, self._pod_position = node_end, pod_end
        self._measure(changed)

    def _allocate(self, capacity: int) -> None:
        self._capacity = capacity
        self.tallies = np.zeros((capacity, self.per_device.shape[1]), np.int32)
        self.amount = np.zeros(capacity)
        self.by_cause = np.zeros((capacity, NUM_CAUSES))

    def _measure(self, rows: NDArray[np.intp]) -> None:
        devices = self._cluster.devices
        free = devices.free.take(rows, 0)
        tallies = self.tallies_of(free)
        self.tallies[rows] = tallies
        left = devices.left.take(rows)
        by_cause = self.by_cause_if(tallies, left, self.free_cpu(rows), devices.model.take(rows))
        self.by_cause[rows] = by_cause
        self.amount[rows] = _amounts(by_cause)

    def tallies_of(self, free: NDArray[np.int32]) -> NDArray[np.int32]:
        """The sum of `per_device` over devices with so much left, (num_states, max_devices).

        Places where there is no device read as devices with nothing left, which add nothing.
        """
        tallies: NDArray[np.int32] = self.per_device.take(free, 0).sum(axis=1, dtype=np.int32)
        return tallies

    def free_cpu(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """What is left of the CPU of these rows."""
        nodes = self._cluster.nodes
        free: NDArray[np.int64] = nodes.allocatable[rows, CPU] - nodes.requested[rows, CPU]
        return free

    def amounts_if(
        self,
        tallies: NDArray[np.int32],
        left: NDArray[np.int64],
        milli_cpu: NDArray[np.int64],
        model: NDArray[np.int32],
    ) -> NDArray[np.float64]:
        """The amount in imagined states: their `tallies_of`, what is left of devices in all, free CPU, the model id."""
        return _amounts(self._by_cause(tallies, left, milli_cpu, model)[0])

    def by_cause_if(
        self,
        tallies: NDArray[np.int32],
        left: NDArray[np.int64],
        milli_cpu: NDArray[np.int64],
        model: NDArray[np.int32],
    ) -> NDArray[np.float64]:
        """The same by cause, with what is usable: (num_states, num_causes)."""
        by_cause, fits = self._by_cause(tallies, left, milli_cpu, model)
        usable = (left[:, None] - tallies[:, len(self._shares) :]) * self._shares
        by_cause[:, Cause.USABLE] = np.where(fits, usable, 0.0).sum(axis=1)
        return by_cause

    def causes_if(
        self,
        tallies: NDArray[np.int32],
        left: NDArray[np.int64],
        milli_cpu: NDArray[np.int64],
        model: NDArray[np.int32],
    ) -> NDArray[np.intp]:
        """What each typical pod meets in imagined states, USABLE where it fits: `Cause`s, (num_states, num_shapes)."""
        code = self._codes(tallies, milli_cpu, model)
        return np.where(code == FITS, Cause.USABLE, CAUSES.take(code))

    def _by_cause(
        self,
        tallies: NDArray[np.int32],
        left: NDArray[np.int64],
        milli_cpu: NDArray[np.int64],
        model: NDArray[np.int32],
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """(num_states, num_causes) without what is usable, and who fits, (num_states, num_shapes)."""
        num_states, num_shapes = len(left), len(self._shares)
        code = self._codes(tallies, milli_cpu, model)
        fits = code == FITS
        lost = np.where(fits, tallies[:, num_shapes:], left[:, None]) * self._shares
        place = CAUSES.take(code)
        place += np.arange(0, num_states * NUM_CAUSES, NUM_CAUSES)[:, None]
        # bincount adds in the order of its input: typical pod after typical pod.
        sums: NDArray[np.float64] = np.bincount(place.ravel(), lost.ravel(), num_states * NUM_CAUSES)  # type: ignore[assignment]
        return sums.reshape(num_states, NUM_CAUSES), fits

    def _codes(
        self, tallies: NDArray[np.int32], milli_cpu: NDArray[np.int64], model: NDArray[np.int32]
    ) -> NDArray[np.intp]:
        """Indices into CAUSES, (num_states, num_shapes)."""
        code = self._who_asks().take(model, 0, mode="wrap")
        code += (milli_cpu[:, None] >= self._milli_cpu) * 2
        code += tallies[:, : len(self._shares)] >= self._num_gpu
        return code

    def _who_asks(self) -> NDArray[np.intp]:
        devices = self._cluster.devices
        if len(self._who) != len(devices.models) + 1:
            kinds = np.zeros((len(devices.models) + 1, len(self.typical)), np.intp)
            for number, shape in enumerate(self.typical.shapes):
                if not shape.num_gpu:
                    kinds[:, number] = 4
                else:
                    models = tuple(shape.models.split("|")) if shape.models else ()
                    kinds[:, number] = np.where(devices.is_allowed(models), 0, 8)
            self._who = kinds
        return self._who


def _amounts(by_cause: NDArray[np.float64]) -> NDArray[np.float64]:
    first, *others = ADDED
    amounts: NDArray[np.float64] = by_cause[:, first]
    for cause in others:
        amounts = amounts + by_cause[:, cause]
    return amounts
