"""GPU devices of a run as rows of a heat map: which pod held how much of which, and when.

In: an open run whose nodes have devices. Out: a `HeatSubject` of devices (node and index), grouped by model.
Devices of pods are those that the run recorded (`pods.gpu_index`); what a pod needs of each is `model.device_need`'s.
Called by `sources`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Cluster
from fairway.model.device_need import WHOLE_DEVICE
from fairway.record import Run
from fairway.record.gpu_history import device_needs, device_nodes
from fairway.web.heat_subject import HeldTimes, ThingAmounts

__all__ = ["DEVICE", "DeviceSubject"]

DEVICE: Final = "gpu"
Floats = NDArray[np.float64]


class DeviceSubject:
    """Devices, numbered by node and index."""

    resources: Sequence[str] = (DEVICE,)

    def __init__(self, run: Run, states: Sequence[Mapping[str, Any]], models: Mapping[int, str]) -> None:
        """`states` are those of nodes, each with `count` devices; `models` are by node."""
        self._run = run
        self._states = states
        size: dict[int, int] = {}
        for state in states:
            size[state["node_id"]] = max(size.get(state["node_id"], 0), state["count"])
        self._first: dict[int, int] = {}  # device of each node
        self._size = size
        self.nodes: list[str] = []
        self.index: list[int] = []
        self.models: list[str] = []
        names = {state["node_id"]: state["node"] for state in states}
        for node in sorted(size, key=lambda node: (models[node], node)):
            self._first[node] = len(self.nodes)
            self.nodes += [names[node]] * size[node]
            self.index += range(size[node])
            self.models += [models[node]] * size[node]

    @classmethod
    def of(cls, run: Run) -> DeviceSubject | None:
        """Read them; None if there are none."""
        cluster, states = device_nodes(run)
        if not cluster.devices.num_devices:
            return None
        rows = {state["node_id"]: cluster.nodes.row_of[str(state["node_id"])] for state in states}
        models = {node: _model(cluster, row) for node, row in rows.items()}
        return cls(run, states, models)

    @property
    def names(self) -> Sequence[str]:
        """node/index."""
        return [f"{node}/{index}" for node, index in zip(self.nodes, self.index, strict=True)]

    @property
    def labels(self) -> Sequence[Mapping[str, str]]:
        """What can be ordered and filtered by."""
        return [{"model": model, "node": node} for model, node in zip(self.models, self.nodes, strict=True)]

    def held_times(self) -> HeldTimes:
        """When pods held devices."""
        return self._held[0]

    def held_amounts(self, resource: str) -> Floats:
        """How much of each, in thousandths."""
        del resource  # there is one
        return self._held[1]

    def there(self, resource: str) -> ThingAmounts:
        """Each is there while its node is ready."""
        del resource
        end = self._run.end_seconds
        rows = [
            (self._first[state["node_id"]] + index, state["from_seconds"], state["to_seconds"])
            for state in self._states
            if state["is_ready"]
            for index in range(state["count"])
        ]
        begin = np.minimum(np.array([row[1] for row in rows], np.float64), end)
        until = np.minimum(np.array([end if row[2] is None else row[2] for row in rows], np.float64), end)
        amount = np.full(len(rows), float(WHOLE_DEVICE))
        return ThingAmounts(np.array([row[0] for row in rows], np.int32), begin, np.maximum(begin, until), amount)

    @cached_property
    def _held(self) -> tuple[HeldTimes, Floats]:
        if "gpu_index" not in self._run.pods.columns:  # runs of earlier versions do not say
            nothing = np.zeros(0)
            return HeldTimes(np.zeros(0, np.int32), nothing, nothing, np.zeros(0, np.int32)), nothing
        needs, end = device_needs(self._run)[0], self._run.end_seconds
        rows = []
        for row in self._run.sql(
            "SELECT o.node_id, o.from_seconds, o.to_seconds, o.pod_id, p.template_id, p.gpu_index "
            "FROM occupancy AS o JOIN pods AS p USING (pod_id) WHERE p.gpu_index IS NOT NULL ORDER BY o.rowid"
        ).rows():
            need = needs[row["template_id"]]
            if need is None:
                continue
            until = end if row["to_seconds"] is None else row["to_seconds"]
            for index in {int(text) for text in row["gpu_index"].split("-") if text.isdecimal()}:
                if index < self._size.get(row["node_id"], 0):
                    device = self._first[row["node_id"]] + index
                    rows.append((device, min(row["from_seconds"], end), min(until, end), row["pod_id"], need.milli))
        columns = list(zip(*rows, strict=True)) or [(), (), (), (), ()]
        begin, stop = np.array(columns[1], np.float64), np.array(columns[2], np.float64)
        times = HeldTimes(
            np.array(columns[0], np.int32), begin, np.maximum(begin, stop), np.array(columns[3], np.int32)
        )
        return times, np.array(columns[4], np.float64)


def _model(cluster: Cluster, row: int) -> str:
    number = int(cluster.devices.model[row])
    return "" if number < 0 else cluster.devices.models[number]
