"""Where data may be: which nodes are ready, and what they are called, as one state with a version.

In: the node table and its journal. Out: `refresh`, after which `ready` tells the rows whose copies count, `ids(key)`
the rows' values of a label, and `load` how busy rows are; `version` changes when a node comes, goes, gets other labels
or becomes ready or not, and with it all that was worked out from it. The host name of a node without such a label is
its name. Read by `data_copies` and the plugin DataLocality.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.nodes import MEMORY
from fairway.model import Node
from fairway.model.dataset import NODE_LOAD

if TYPE_CHECKING:
    from fairway.cluster.cluster import Cluster

__all__ = ["HOSTNAME", "DataGround"]

HOSTNAME: Final = "kubernetes.io/hostname"
ONE, FULL = np.array(1, np.int64), np.array(1.0)  # (): see fairway.cycle.answers on why they are arrays


class DataGround:
    """The nodes as far as data is concerned."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.nodes
        self._journal = cluster.node_journal
        self._position = -1
        self._labels: list[Mapping[str, str] | None] = []  # of each row when it was last looked at
        self._ids: dict[str, NDArray[np.int64]] = {}
        self.version = 0
        self.ready: NDArray[np.bool_] = np.zeros(0, bool)  # (num_rows,)
        self._room: NDArray[np.int64] | None = None
        self._told_load: NDArray[np.float64] = np.zeros(0)  # (num_rows,): what annotations say

    def refresh(self) -> int:
        """Look at the nodes that changed; returns the version."""
        if self._position == self._journal.end:
            return self.version
        nodes = self._nodes
        rows = self._journal.since(self._position)
        num_rows = nodes.num_rows
        if rows is None or len(self.ready) != num_rows:
            rows = np.arange(num_rows)
            self._labels = [None] * num_rows
            self.ready, self._told_load = np.zeros(num_rows, bool), np.zeros(num_rows)
            self._changed()
        for row in rows.tolist():
            node = nodes.objects[row]
            labels = None if node is None else node.metadata.labels
            is_ready = node is not None and _is_ready(node)
            if self._labels[row] != labels or self.ready.item(row) != is_ready:
                self._changed()
            self._labels[row], self.ready[row] = labels, is_ready
            self._told_load[row] = 0.0 if node is None else _told_load(node)
        self._position = self._journal.end
        self._room = None
        return self.version

    def _changed(self) -> None:
        self.version += 1
        self._ids.clear()

    def ids(self, key: str) -> NDArray[np.int64]:  # (num_rows,)
        """For each row a number for its value of the label, -1 without one; equal values have equal numbers."""
        found = self._ids.get(key)
        if found is None:
            column = self._nodes.labels.column(key)
            found = column.ids[: self._nodes.num_rows].astype(np.int64)
            if key == HOSTNAME:  # a kubelet calls itself after its node
                for row in np.flatnonzero((found < 0) & self._nodes.alive[: len(found)]).tolist():
                    known = column.values.find(self._nodes.names[row])
                    found[row] = known if known >= 0 else len(column.values) + row
            self._ids[key] = found
        return found

    def numbers_of(self, key: str, values: Iterable[str]) -> dict[str, int]:
        """By value: its number in `ids`, -1 if no node has it."""
        column, row_of = self._nodes.labels.column(key), self._nodes.row_of
        numbers = {}
        for value in values:
            number = column.values.find(value) if value else -1  # nothing is told by an empty value
            row = row_of.get(value, -1) if number < 0 and key == HOSTNAME else -1
            if row >= 0 and key not in (self._labels[row] or ()):
                number = self.ids(key).item(row)
            numbers[value] = number
        return numbers

    def mask_of(self, key: str, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:  # (num_rows,)
        """The rows whose number in `ids` is one of these, but -1."""
        ids = self.ids(key)
        table = np.zeros(int(ids.max(initial=-1)) + 2, bool)
        table[numbers] = True
        table[-1] = False  # where -1 looks
        return table.take(ids)

    def rows_with(self, key: str, value: str) -> NDArray[np.intp]:
        """The rows whose node has that label."""
        number = self.numbers_of(key, (value,))[value]
        return np.flatnonzero(self.ids(key) == number) if number >= 0 else np.empty(0, np.intp)

    def load(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """Of these rows, the larger of the shares of CPU and memory (the first columns) that pods asked for; 0 to 1."""
        shares = self._nodes.requested.T[: MEMORY + 1].take(rows, 1) / self._capacity().take(rows, 1)
        load: NDArray[np.float64] = np.minimum(shares.max(axis=0), FULL)
        return load

    def _capacity(self) -> NDArray[np.int64]:  # (2, num_rows)
        """CPU and memory of each row, at least one of each."""
        if self._room is None:
            self._room = np.maximum(self._nodes.allocatable.T[: MEMORY + 1, : len(self.ready)], ONE)
        return self._room

    def told_load(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The same as annotations of the nodes tell it; 0 where they do not."""
        return self._told_load.take(rows)


def _is_ready(node: Node) -> bool:
    """Does the node say that it is ready, or at least nothing else?"""
    return all(condition.status == "True" for condition in node.status.conditions if condition.type == "Ready")


def _told_load(node: Node) -> float:
    try:
        load = float(node.metadata.annotations.get(NODE_LOAD, "0"))
    except ValueError:
        return 0.0
    return min(max(load, 0.0), 1.0) if not math.isnan(load) else 0.0
