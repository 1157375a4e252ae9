"""The node table: one row a node, one array a property.

In: nodes, as `Cluster.apply` hears of them, and what is placed on their rows. Out: columns that plugins read. A row
keeps its number as long as its node lives; rows of deleted nodes are dead (`alive` False) until a new node takes them.
Arrays have room for `capacity` rows, of which the first `num_rows` have been used; those of two dimensions lie in
memory column by column, as they are mostly read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.images import ImageTable
from fairway.cluster.interning import CountedInterner
from fairway.cluster.labels import LabelColumn, LabelColumns
from fairway.cluster.resource_columns import ResourceColumns
from fairway.model import Node, Quantity, Taint

CPU, MEMORY, EPHEMERAL_STORAGE, PODS = range(4)
FIRST_RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")
"""The columns every cluster has; cpu is in thousandths, everything else in whole units."""

T = TypeVar("T", bound=np.generic)
V = TypeVar("V", bound=Hashable)


class NodeTable:
    """Columns over nodes."""

    def __init__(self, capacity: int = 16) -> None:
        self.capacity = capacity
        self.num_rows = 0
        self.row_of: dict[str, int] = {}
        self.names: list[str] = []
        self.objects: list[Node | None] = []
        self.resources = ResourceColumns(FIRST_RESOURCES)
        self.placed_requests: Callable[[str], Iterable[tuple[int, int]]] = _nobody  # of a resource: row and amount
        self.taint_values: CountedInterner[tuple[Taint, ...]] = CountedInterner(((),))  # without timeAdded
        self.feature_values: CountedInterner[frozenset[str]] = CountedInterner((frozenset(),))
        self.images = ImageTable(capacity)
        self._labels: list[Mapping[str, str] | None] = []
        self.labels = LabelColumns(self._labels, capacity)
        self._dead: list[int] = []
        self.bare: set[int] = set()  # rows without any cpu or memory, dead ones included: nothing to divide by
        self._ranks: NDArray[np.int32] | None = None

        num_resources = len(self.resources)
        self.alive: NDArray[np.bool_] = np.zeros(capacity, bool)  # (capacity,)
        self.unschedulable: NDArray[np.bool_] = np.zeros(capacity, bool)  # (capacity,)
        shape = (capacity, num_resources)
        self.allocatable: NDArray[np.int64] = np.zeros(shape, np.int64, "F")  # (capacity, num_resources)
        self.requested: NDArray[np.int64] = np.zeros(shape, np.int64, "F")  # (capacity, num_resources)
        # cpu and memory with defaults for pods that ask for none, for scoring
        self.nonzero: NDArray[np.int64] = np.zeros((capacity, 2), np.int64, "F")  # (capacity, 2)
        self.taint_sets: NDArray[np.int32] = np.zeros(capacity, np.int32)  # (capacity,)
        self.feature_sets: NDArray[np.int32] = np.zeros(capacity, np.int32)  # (capacity,)

    @property
    def num_alive(self) -> int:
        """How many nodes there are."""
        return len(self.row_of)

    def resource_column(self, name: str) -> int:
        """The column of a resource that somebody here wants to read, whether a node has it or not.

        It is kept for good: for names in configurations and commands. What pods ask for is looked up in `resources`.
        """
        if self.resources.pin(name):
            self._fill_column(name)
        return self.resources.find(name)

    def _fill_column(self, name: str) -> None:
        """A resource got its column: write what pods that are there already ask for."""
        column = self.resources.find(name)
        if column >= self.allocatable.shape[1]:
            wider = max(column + 1, 2 * self.allocatable.shape[1])
            self.allocatable = _widened(self.allocatable, (self.capacity, wider))
            self.requested = _widened(self.requested, (self.capacity, wider))
        for row, amount in self.placed_requests(name):
            self.requested[row, column] += amount

    def _release_resource(self, name: str) -> None:
        freed = self.resources.release(name)
        if freed >= 0:
            self.allocatable[:, freed] = 0
            self.requested[:, freed] = 0

    def claim_row(self, name: str) -> int:
        """A row for a node that is new: a dead one if there is any. The caller then calls `set`."""
        if self._dead:
            row = self._dead.pop()
        else:
            row = self.num_rows
            if row == self.capacity:
                self._grow(2 * self.capacity)
            self.num_rows += 1
            self.names.append("")
            self.objects.append(None)
            self._labels.append(None)
        self.row_of[name] = row
        self.names[row] = name
        self.alive[row] = True
        self._ranks = None
        return row

    def set(self, row: int, node: Node) -> list[LabelColumn]:
        """Write a node into its row; returns the label columns that changed."""
        before = _allocatable(self.objects[row])
        self.objects[row] = node
        self.allocatable[row] = 0
        for name, quantity in node.status.allocatable.items():
            if name not in before and self.resources.hold(name):
                self._fill_column(name)
            column = self.resources.find(name)
            self.allocatable[row, column] = quantity.milli if column == CPU else quantity.value
        for name in before:
            if name not in node.status.allocatable:
                self._release_resource(name)
        if self.allocatable[row, CPU] and self.allocatable[row, MEMORY]:
            self.bare.discard(row)
        else:
            self.bare.add(row)
        self.unschedulable[row] = node.spec.unschedulable
        taints = tuple(Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in node.spec.taints)
        _exchange(self.taint_values, self.taint_sets, row, taints)
        _exchange(self.feature_values, self.feature_sets, row, frozenset(node.status.declared_features))
        self.images.set(row, node.status.images)
        return self._relabel(row, node.metadata.labels)

    def clear(self, row: int) -> list[LabelColumn]:
        """The row's node is gone."""
        del self.row_of[self.names[row]]
        self.names[row] = ""
        for name in _allocatable(self.objects[row]):
            self._release_resource(name)
        self.objects[row] = None
        self.alive[row] = False
        self.unschedulable[row] = False
        self.allocatable[row] = 0
        self.bare.add(row)
        _exchange(self.taint_values, self.taint_sets, row, ())
        _exchange(self.feature_values, self.feature_sets, row, frozenset())
        self.images.set(row, ())
        self._ranks = None
        self._dead.append(row)
        return self._relabel(row, None)

    def name_ranks(self) -> NDArray[np.int32]:
        """Each row's place among the node names in byte order; dead rows come last."""
        if self._ranks is None:
            order = sorted(range(self.num_rows), key=lambda row: (not self.alive[row], self.names[row].encode()))
            self._ranks = np.empty(self.num_rows, np.int32)
            self._ranks[order] = np.arange(self.num_rows, dtype=np.int32)
        return self._ranks

    def _relabel(self, row: int, labels: Mapping[str, str] | None) -> list[LabelColumn]:
        return [] if self._labels[row] == labels else self.labels.set(row, labels)

    def _grow(self, capacity: int) -> None:
        for name in ("alive", "unschedulable", "taint_sets", "feature_sets"):
            setattr(self, name, _widened(getattr(self, name), (capacity,)))
        for name in ("allocatable", "requested", "nonzero"):
            array = getattr(self, name)
            setattr(self, name, _widened(array, (capacity, array.shape[1])))
        self.labels.grow(capacity)
        self.images.grow(capacity)
        self.capacity = capacity


def _nobody(name: str) -> Iterable[tuple[int, int]]:
    return ()


def _allocatable(node: Node | None) -> Mapping[str, Quantity]:
    return {} if node is None else node.status.allocatable


def _exchange(values: CountedInterner[V], column: NDArray[np.int32], row: int, value: V) -> None:
    """Write one row of a column of ids. The first value, which rows without a node have, is there for good."""
    before = column.item(row)
    column[row] = values.hold(value) if values.find(value) else 0
    if before:
        values.release(before)


def _widened(array: NDArray[T], shape: tuple[int, ...]) -> NDArray[T]:
    wider: NDArray[T] = np.zeros(shape, array.dtype, "F")
    wider[tuple(slice(0, length) for length in array.shape)] = array
    return wider
