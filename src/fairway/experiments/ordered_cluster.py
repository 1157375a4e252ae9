"""The order-only protocol: pods arrive one by one, are placed or turned away, and stay.

In: an `OrderedWorkload` and a policy as a profile's configuration. Out: an `OrderRun`: for each arrival the node and
the devices it got, how much is allocated, and how much of what is idle is fragmented. There is no time, no queue, no
second try, no preemption, and nothing ever leaves. The engine is the one that schedules for real; what is particular
here is only the order and that ties go to the node that is listed first. Called by experiments and `conformance`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Cluster
from fairway.cluster.gpus.fragmentation import Fragmentation
from fairway.cluster.gpus.typical_pods import TypicalPods
from fairway.cluster.nodes import CPU
from fairway.config import ProfileConfig
from fairway.cycle import Outcome, Profile, Stop
from fairway.cycle.placing import place
from fairway.experiments.load_columns import LoadColumns, columns_by_load
from fairway.experiments.openb_data import OrderedWorkload
from fairway.model import ObjectMeta, Pod
from fairway.model.device_need import device_need, index_text
from fairway.trace.openb_order import arrival_names

__all__ = ["OrderRun", "OrderedCluster", "RunKey", "run_in_order"]

Progress = Callable[[int], None]
EVERY: Final = 512  # arrivals between two reports
STATES_AT_ONCE: Final = 4096


class RunKey(NamedTuple):
    """One run: which pods, how they are placed, in which order they come."""

    trace: str
    policy: str
    seed: int

    def __str__(self) -> str:
        return f"{self.trace} {self.policy} seed {self.seed}"


@dataclass(frozen=True)
class OrderRun:
    """What became of each arrival, and of the cluster."""

    capacity: int  # milli of all devices
    names: list[str]  # of the arrivals
    nodes: list[str]  # by row
    rows: NDArray[np.int32]  # (num_arrivals,) the node each got; -1: none
    devices: list[tuple[int, ...]]  # of each arrival
    arrived: NDArray[np.int64]  # (num_arrivals,) milli asked for so far
    used: NDArray[np.int64]  # (num_arrivals,) milli allocated so far
    frag: NDArray[np.float64]  # (num_arrivals,) milli of idle devices that are of no use, expected
    causes: NDArray[np.float64]  # (num_causes,) milli of idle devices at the end, by `Cause`

    @cached_property
    def columns(self) -> LoadColumns:
        """The metrics by load."""
        return columns_by_load(self.arrived, self.used, self.frag, self.capacity)

    @property
    def num_failed(self) -> int:
        """Arrivals that were turned away."""
        return int((self.rows < 0).sum())

    def placements(self) -> Iterator[tuple[str, str, str]]:
        """For each arrival its name, node and devices as text; empty where it got none."""
        for name, row, devices in zip(self.names, self.rows.tolist(), self.devices, strict=True):
            yield name, self.nodes[row] if row >= 0 else "", index_text(devices)


class OrderedCluster:
    """The cluster of a run, while it fills and afterwards."""

    def __init__(self, workload: OrderedWorkload, config: ProfileConfig, typical: TypicalPods, seed: int) -> None:
        """`seed` is for policies that choose by chance."""
        self.workload = workload
        self.cluster = Cluster()
        self.cluster.typical_pods = typical
        self.cluster.load(workload.nodes)
        # Nobody asks why a pod is turned away, and finding reasons takes longer than everything else.
        self.profile = Profile(config, self.cluster, tie_break="listed", sampling="all", seed=seed, diagnoses=False)
        self.fragmentation = self.cluster.fragmentation(typical)

    def place(self, pod: Pod) -> int:
        """Put a pod where the policy wants it; the row, or -1 if it fits nowhere."""
        decision, obstacle = place(self.profile, pod)
        if decision.outcome is Outcome.ERROR:
            raise RuntimeError(f"{pod.key}: {decision.error}")
        if isinstance(obstacle, Stop):
            point, plugin, refusal = obstacle
            raise RuntimeError(f"{pod.key}: {plugin} refused at {point.lower()}: {', '.join(refusal.reasons)}")
        return decision.row

    def fill(self, progress: Progress | None = None) -> OrderRun:
        """Let everybody arrive; once only."""
        workload, cluster = self.workload, self.cluster
        names = list(arrival_names(workload.order, [pod.metadata.name for pod in workload.pods]))
        needs = [device_need(pod) for pod in workload.pods]
        totals = np.array([0 if need is None else need.total for need in needs], np.int64)  # (num_pods,)
        asked = totals[workload.order]  # (num_arrivals,)
        rows = np.full(len(names), -1, np.int32)
        devices: list[tuple[int, ...]] = [()] * len(names)
        states = _States(cluster, self.fragmentation, len(names))
        has_need = [need is not None for need in needs]
        for number, (name, which) in enumerate(zip(names, workload.order.tolist(), strict=True)):
            pod = _copy(workload.pods[which], name)
            row = self.place(pod)
            if row >= 0:
                rows[number] = row
                states.keep(row)
                if has_need[which]:
                    devices[number] = cluster.devices.indices_of(name)
            if progress is not None and number % EVERY == EVERY - 1:
                progress(EVERY)
        if progress is not None:
            progress(len(names) % EVERY)
        return OrderRun(
            workload.capacity,
            names,
            list(cluster.nodes.names),
            rows,
            devices,
            np.cumsum(asked),
            np.cumsum(np.where(rows >= 0, asked, 0)),
            states.totals(rows),
            self.fragmentation.breakdown,
        )


def run_in_order(
    workload: OrderedWorkload,
    config: ProfileConfig,
    typical: TypicalPods | None = None,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> OrderRun:
    """One run; without typical pods, those of the whole list. `progress` hears numbers that add up to the arrivals."""
    typical = typical or TypicalPods.of_pods(workload.pods)
    return OrderedCluster(workload, config, typical, seed).fill(progress)


class _States:
    """The state of a row after each placement, kept to be measured all at once."""

    def __init__(self, cluster: Cluster, fragmentation: Fragmentation, num_arrivals: int) -> None:
        self._fragmentation = fragmentation
        self._begin = fragmentation.total
        self._initial = fragmentation.amount.copy()  # (capacity,)
        self._cluster = cluster
        self._number = 0
        self._rows = np.empty(num_arrivals, np.intp)
        self._milli_cpu = np.empty(num_arrivals, np.int64)
        self._free = np.empty((num_arrivals, self._cluster.devices.free.shape[1]), np.int32)

    def keep(self, row: int) -> None:
        """Remember how the row is now."""
        number, nodes = self._number, self._cluster.nodes
        self._rows[number] = row
        self._milli_cpu[number] = nodes.allocatable[row, CPU] - nodes.requested[row, CPU]
        self._free[number] = self._cluster.devices.free[row]
        self._number += 1

    def totals(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """The fragmentation of the cluster after each arrival: (num_arrivals,)."""
        amounts = np.concatenate([np.empty(0), *self._measured()])  # (num_placed,)
        kept = self._rows[: self._number]
        before = self._initial[kept]
        by_row = np.argsort(kept, kind="stable")
        again = np.flatnonzero(kept[by_row][1:] == kept[by_row][:-1])  # placed on a row that has a state already
        before[by_row[again + 1]] = amounts[by_row[again]]
        changes = np.zeros(len(rows))
        changes[rows >= 0] = amounts - before
        totals: NDArray[np.float64] = self._begin + np.cumsum(changes)
        return totals

    def _measured(self) -> Iterator[NDArray[np.float64]]:
        measure = self._fragmentation
        for begin in range(0, self._number, STATES_AT_ONCE):
            part = slice(begin, min(begin + STATES_AT_ONCE, self._number))
            free = self._free[part]
            tallies = measure.tallies_of(free)
            model = self._cluster.devices.model[self._rows[part]]
            yield measure.amounts_if(tallies, free.sum(axis=1, dtype=np.int64), self._milli_cpu[part], model)


def _copy(pod: Pod, name: str) -> Pod:
    """The pod as it arrives: under a name and uid of its own."""
    own = pod.metadata
    meta = ObjectMeta(name=name, namespace=own.namespace, uid=name, labels=own.labels, annotations=own.annotations)
    return Pod(metadata=meta, spec=pod.spec, status=pod.status)
