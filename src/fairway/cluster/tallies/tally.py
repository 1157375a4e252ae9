"""Tallies: what some plugins count about placed pods, and nobody else needs.

In: every pod that comes to a row or leaves it, what-if included, once somebody asked for the tally
(`Cluster.tally`). Out: whatever the tally keeps. Who asks for none pays for none. Of a pod that is there, a tally goes
by nothing that changes while the pod's class stays the same. `Occupancy` tells them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.nodes import NodeTable
from fairway.cluster.pod_class import PodClass
from fairway.model import Pod

__all__ = ["NO_ROWS", "RowsByKey", "Tally"]

K = TypeVar("K", bound=Hashable)
NO_ROWS: Mapping[int, int] = {}


class Tally(Protocol):
    """Counts pods by row, in its own way."""

    def __init__(self, nodes: NodeTable) -> None:
        """The rows are those of this table."""

    def came(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """The pod is on that row now."""

    def left(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """It is there no longer."""

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""


class RowsByKey(Generic[K]):
    """On which rows there are how many pods of some key; keys without pods are forgotten."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[K, dict[int, int]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def add(self, key: K, row: int) -> None:
        """One more there."""
        rows = self._rows.get(key)
        if rows is None:
            self._rows[key] = {row: 1}
        else:
            rows[row] = rows.get(row, 0) + 1

    def remove(self, key: K, row: int) -> None:
        """One fewer there."""
        rows = self._rows[key]
        if rows[row] > 1:
            rows[row] -= 1
            return
        del rows[row]
        if not rows:
            del self._rows[key]

    def rows(self, key: K) -> Mapping[int, int]:
        """How many on each row that has any."""
        return self._rows.get(key, NO_ROWS)

    def counts(self, key: K, rows: NDArray[np.intp] | slice, num_rows: int) -> NDArray[np.int64] | int:
        """How many on each of these rows: (num_rows,), or just 0 if there are none anywhere."""
        there = self._rows.get(key)
        if there is None:
            return 0
        if not isinstance(rows, slice) and len(rows) <= len(there):
            return np.array([there.get(row, 0) for row in rows.tolist()], np.int64)
        counts = np.zeros(num_rows, np.int64)
        counts[list(there)] = list(there.values())
        return counts[rows]
