"""A view of some nodes: what a plugin is handed.

In: the cluster and the rows meant. Out: columns over just those rows, in the same order, under the names a person would
use. Made by the cycle whenever plugins are asked, and good for that moment only: what several of them look at is
gathered once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.nodes import NodeTable
from fairway.model import Node

if TYPE_CHECKING:
    from fairway.cluster.cluster import Cluster

Rows = NDArray[np.intp] | slice


class Nodes:
    """Some rows of the node table. `rows` is an index for the table's arrays: a slice for all rows, or an array."""

    __slots__ = ("_amounts", "cluster", "rows", "table")

    def __init__(self, cluster: Cluster, rows: Rows | None = None) -> None:
        self.cluster = cluster
        self.table: NodeTable = cluster.nodes
        self.rows: Rows = slice(0, self.table.num_rows) if rows is None else rows
        self._amounts: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        return self.table.num_rows if isinstance(self.rows, slice) else len(self.rows)

    def of(self, array: NDArray[Any]) -> NDArray[Any]:
        """An array over the table's rows, cut to these rows. Never write to the result."""
        rows = self.rows
        if isinstance(rows, slice):
            return array[rows]
        if array.ndim == 2 and array.flags.f_contiguous:  # `take` would copy all of it first
            return array.T.take(rows, 1).T
        return array.take(rows, 0)

    @property
    def amounts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Allocatable and requested by column: each (num_resources, num_rows). Never write to them."""
        if self._amounts is None:
            table, rows = self.table, self.rows
            num_resources = len(table.resources)  # the tables have room for some more
            has, taken = table.allocatable.T[:num_resources], table.requested.T[:num_resources]
            if isinstance(rows, slice):
                self._amounts = has[:, rows], taken[:, rows]
            else:
                self._amounts = has.take(rows, 1), taken.take(rows, 1)
        return self._amounts

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The row numbers as an array."""
        return np.arange(self.table.num_rows, dtype=np.intp) if isinstance(self.rows, slice) else self.rows

    @property
    def names(self) -> list[str]:
        """Node names."""
        names = self.table.names
        return list(names) if isinstance(self.rows, slice) else [names[row] for row in self.rows]

    @property
    def objects(self) -> list[Node]:
        """The API objects; rows whose node is gone read as an empty node."""
        objects = self.table.objects
        rows = range(self.table.num_rows) if isinstance(self.rows, slice) else self.rows
        return [objects[row] or Node() for row in rows]

    def label(self, key: str) -> NDArray[np.object_]:
        """The value of a label, "" where it is absent."""
        column = self.table.labels.column(key)
        values = np.array([*column.values.values, ""], object)
        return values[column.ids[self.rows]]

    def allocatable(self, resource: str) -> NDArray[np.int64]:
        """What the nodes have of a resource (cpu in thousandths, memory in bytes)."""
        column = self.table.resources.find(resource)
        return np.zeros(len(self), np.int64) if column < 0 else self.table.allocatable[self.rows, column]

    def requested(self, resource: str) -> NDArray[np.int64]:
        """What the pods on them have asked for; of `pods`, their number."""
        column = self.table.resources.find(resource)
        if column >= 0:
            return self.table.requested[self.rows, column]
        amounts = np.zeros(self.table.num_rows, np.int64)  # of something that no node has
        for row, amount in self.table.placed_requests(resource):
            amounts[row] += amount
        return amounts[self.rows]

    def free(self, resource: str) -> NDArray[np.int64]:
        """Allocatable minus requested."""
        return self.allocatable(resource) - self.requested(resource)

    @property
    def num_pods(self) -> NDArray[np.int64]:
        """How many pods run on them."""
        return self.requested("pods")
