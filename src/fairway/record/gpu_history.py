"""GPU devices over time: how much was allocated, and how much of the idle was of no use to the run's pods.

In: a run whose nodes have devices. Out: a `GpuHistory`: what every node's devices were like between changes, with the
fragmentation of each state (`fairway.cluster.gpus.fragmentation`) by cause; from it curves, values by node, and
`GpuMetrics`. Typical pods are those of the run, by the rule of `TypicalPods`. Called by `metrics` and by reports.

Devices of pods are those that the run recorded (`pods.gpu_index`). Nodes count while they are ready.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from fairway.cluster import Cause, Cluster, Event, Fragmentation, Shape, TypicalPods, Verb
from fairway.model.device_need import WHOLE_DEVICE, DeviceNeed, device_need
from fairway.record.load import Curve, Floats
from fairway.record.manifests import node_of, pod_of
from fairway.record.run import Run

__all__ = ["CAUSES", "GpuHistory", "GpuMetrics", "device_needs", "device_nodes", "gpu_history", "gpu_metrics"]

STATES_AT_ONCE = 8192
CAUSES = tuple(cause.name.lower() for cause in Cause)


@dataclass(frozen=True, slots=True)
class GpuMetrics:
    """Devices in numbers, averaged over the run."""

    total: float  # devices that were there
    allocated: float  # share of them
    allocated_peak: float  # the largest at any time
    fragmentation_amount: float  # devices, idle but of no use
    fragmentation_rate: float  # share of all devices
    fragmentation_ratio: float  # share of the idle ones
    idle: dict[str, float]  # by cause: share of all devices


@dataclass(frozen=True)
class GpuHistory:
    """States of nodes, each from a time to the next; sorted by node, then time. Amounts in devices."""

    nodes: list[str]  # names, by number
    node: NDArray[np.int32]  # (num_states,)
    begin: Floats  # (num_states,) seconds
    end: Floats  # (num_states,)
    there: Floats  # (num_states,) devices of the node
    idle: Floats  # (num_states,)
    by_cause: Floats  # (num_states, num_causes), by `Cause`; they add up to `idle`

    @property
    def fragmented(self) -> Floats:
        """(num_states,): idle, but of no use to typical pods."""
        return np.asarray(self.by_cause.sum(axis=1) - self.by_cause[:, Cause.USABLE])

    def curve(self, amounts: Floats) -> Curve:
        """The sum over nodes of an amount by state, over time."""
        times = np.concatenate([self.begin, self.end])
        order = np.argsort(times, kind="stable")
        sums = np.cumsum(np.concatenate([amounts, -amounts])[order])
        times = times[order]
        last = np.append(times[1:] != times[:-1], True)
        return Curve(times[last], sums[last])

    def by_node(self) -> dict[str, tuple[float, float]]:
        """For each node its mean idle and fragmented devices, while it was there."""
        seconds = self.end - self.begin
        size = len(self.nodes)
        total = np.bincount(self.node, seconds, size)
        means = [
            np.divide(np.bincount(self.node, amounts * seconds, size), total, out=np.zeros(size), where=total > 0)
            for amounts in (self.idle, self.fragmented)
        ]
        return {name: (float(idle), float(lost)) for name, idle, lost in zip(self.nodes, *means, strict=True)}

    def metrics(self) -> GpuMetrics | None:
        """Averages over time; None of a run that took none."""
        seconds = self.end - self.begin
        there = float((self.there * seconds).sum())
        if there <= 0:
            return None
        length = float(self.end.max() - self.begin.min())
        idle, lost = float((self.idle * seconds).sum()), float((self.fragmented * seconds).sum())
        causes = (self.by_cause * seconds[:, None]).sum(axis=0) / there
        capacity, used = self.curve(self.there), self.curve(self.there - self.idle)
        present = capacity.values > 0
        return GpuMetrics(
            total=there / length,
            allocated=1 - idle / there,
            allocated_peak=float((used.values[present] / capacity.values[present]).max(initial=0.0)),
            fragmentation_amount=lost / length,
            fragmentation_rate=lost / there,
            fragmentation_ratio=lost / idle if idle > 0 else 0.0,
            idle=dict(zip(CAUSES, causes.tolist(), strict=True)),
        )


def gpu_metrics(run: Run) -> GpuMetrics | None:
    """Devices of a run in numbers; None if it has none."""
    history = gpu_history(run)
    return None if history is None else history.metrics()


def gpu_history(run: Run) -> GpuHistory | None:
    """Read a run; None if no node has devices, or no pod is known."""
    cluster, rows = device_nodes(run)
    if not cluster.devices.num_devices:
        return None
    needs, shapes = device_needs(run)
    if not shapes:
        return None
    measure = Fragmentation(cluster, TypicalPods.of_counts(shapes))
    changes = _node_changes(rows, cluster.devices.free.shape[1], run.end_seconds)
    changes += _pod_changes(run, needs, cluster.devices.free.shape[1])
    names = {row["node_id"]: row["node"] for row in rows}
    return _history(cluster, measure, changes, [names[number] for number in sorted(names)])


class _Change(NamedTuple):
    """What is different on a node from a time on."""

    node: int
    time: float
    milli_cpu: int  # more of it free
    there: NDArray[np.int32]  # (max_devices,) 1: one more device, -1: one less
    used: NDArray[np.int32]  # (max_devices,) milli


def _node_changes(rows: list[dict[str, Any]], max_devices: int, end: float) -> list[_Change]:
    nothing = np.zeros(max_devices, np.int32)
    changes = []
    for row in rows:
        if not row["is_ready"] or not row["count"]:
            continue
        devices = (np.arange(max_devices) < row["count"]).astype(np.int32)
        until = end if row["to_seconds"] is None else row["to_seconds"]
        changes.append(_Change(row["node_id"], row["from_seconds"], row["milli_cpu"], devices, nothing))
        changes.append(_Change(row["node_id"], until, -row["milli_cpu"], -devices, nothing))
    return changes


def _pod_changes(run: Run, needs: dict[int, DeviceNeed | None], max_devices: int) -> list[_Change]:
    nothing = np.zeros(max_devices, np.int32)
    cpu = f'o."{run.resources["cpu"]}"' if "cpu" in run.resources else "0"
    index = "p.gpu_index" if "gpu_index" in run.pods.columns else "NULL"  # runs of earlier versions do not say
    held = run.sql(
        f"SELECT o.node_id, o.from_seconds, o.to_seconds, {cpu} AS milli_cpu, p.template_id, {index} AS gpu_index "
        "FROM occupancy AS o JOIN pods AS p USING (pod_id)"
    )
    changes = []
    for row in held.rows():
        need, used = needs[row["template_id"]], nothing
        if need is not None and row["gpu_index"]:
            used = nothing.copy()
            used[[int(number) for number in row["gpu_index"].split("-") if int(number) < max_devices]] = need.milli
        until = run.end_seconds if row["to_seconds"] is None else row["to_seconds"]
        changes.append(_Change(row["node_id"], row["from_seconds"], -row["milli_cpu"], nothing, used))
        changes.append(_Change(row["node_id"], until, row["milli_cpu"], nothing, -used))
    return changes


def _history(cluster: Cluster, measure: Fragmentation, changes: list[_Change], names: list[str]) -> GpuHistory:
    """States between changes; of several changes at one time only what follows from all of them is a state."""
    node = np.array([change.node for change in changes], np.int32)
    time = np.array([change.time for change in changes])
    order = np.lexsort((time, node))
    node, time = node[order], time[order]
    # Every node's changes add up to nothing, for all that comes goes at the latest at the end: sums need no new start.
    milli_cpu = np.cumsum(np.array([change.milli_cpu for change in changes], np.int64)[order])
    there = np.cumsum(np.array([change.there for change in changes])[order], axis=0)
    used = np.cumsum(np.array([change.used for change in changes])[order], axis=0)
    is_next = node[1:] == node[:-1]
    until = np.append(np.where(is_next, time[1:], time[:-1]), time[-1:])
    kept = (until > time) & there.any(axis=1)
    node, time, until = node[kept], time[kept], until[kept]
    free = np.clip(there[kept] * WHOLE_DEVICE - used[kept], 0, WHOLE_DEVICE).astype(np.int32)
    model = np.array([cluster.devices.model[cluster.nodes.row_of[str(number)]] for number in node.tolist()], np.int32)
    by_cause = np.zeros((len(node), len(Cause)))
    for begin in range(0, len(node), STATES_AT_ONCE):
        part = slice(begin, begin + STATES_AT_ONCE)
        tallies = measure.tallies_of(free[part])
        left = free[part].sum(axis=1, dtype=np.int64)
        by_cause[part] = measure.by_cause_if(tallies, left, milli_cpu[kept][part], model[part])
    return GpuHistory(
        names,
        node,
        time,
        until,
        there[kept].sum(axis=1).astype(float),
        free.sum(axis=1) / WHOLE_DEVICE,
        by_cause / WHOLE_DEVICE,
    )


def device_nodes(run: Run) -> tuple[Cluster, list[dict[str, Any]]]:
    """A cluster of all nodes that ever were, under their numbers in the run, and their states."""
    cluster = Cluster()
    states = []
    for row in run.sql("SELECT * FROM nodes ORDER BY node_id, from_seconds").rows():
        node = node_of(run, row["manifest"])
        name = str(row["node_id"])  # a node that is made again under its name is another one
        cluster.apply(Event(Verb.ADDED, replace(node, metadata=replace(node.metadata, name=name))))
        number = cluster.nodes.row_of[name]
        cpu = node.status.allocatable.get("cpu")
        states.append(row | {"count": int(cluster.devices.count[number]), "milli_cpu": 0 if cpu is None else cpu.milli})
    return cluster, states


def device_needs(run: Run) -> tuple[dict[int, DeviceNeed | None], dict[Shape, int]]:
    """What pods of each template need, and how often each shape comes."""
    often = {
        row["template_id"]: row["num_pods"]
        for row in run.sql("SELECT template_id, count(*) AS num_pods FROM pods GROUP BY template_id").rows()
    }
    needs: dict[int, DeviceNeed | None] = {}
    shapes: Counter[Shape] = Counter()
    for row in run.templates.rows():
        pod = pod_of(run, row["manifest"])
        needs[row["template_id"]] = device_need(pod)
        shapes[Shape.of_pod(pod)] += often.get(row["template_id"], 0)
    return needs, dict(+shapes)
