"""Node labels as columns: one integer per node and label key.

In: the labels of a row's node, whenever it appears or changes. Out: `column(key)`, an array of value ids over rows
(-1 where the label is absent). Columns are made when somebody first asks for a key and kept up to date from then on, so
the thousands of keys nobody asks about cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.interning import Interner


class LabelColumn:
    """The values of one label key over all rows."""

    __slots__ = ("ids", "key", "values")

    def __init__(self, key: str, capacity: int) -> None:
        self.key = key
        self.values: Interner[str] = Interner()
        self.ids: NDArray[np.int32] = np.full(capacity, -1, np.int32)  # (capacity,)

    def set(self, row: int, value: str | None) -> None:
        """Write one row; None when the node has no such label."""
        self.ids[row] = -1 if value is None else self.values.id_of(value)

    def truth_table(self, judge: Callable[[str], bool], absent: bool) -> NDArray[np.bool_]:
        """`judge` applied to each distinct value; the last entry, reached by id -1, is for rows without the label."""
        table = np.empty(len(self.values) + 1, bool)
        table[:-1] = [judge(value) for value in self.values.values]
        table[-1] = absent
        return table


class LabelColumns:
    """All label columns anybody asked for."""

    __slots__ = ("_capacity", "_columns", "_rows")

    def __init__(self, rows: Sequence[Mapping[str, str] | None], capacity: int) -> None:
        self._rows = rows  # the labels of each row, a live view kept by the node table
        self._capacity = capacity
        self._columns: dict[str, LabelColumn] = {}

    def column(self, key: str) -> LabelColumn:
        """The column of `key`, built now if nobody asked for it before."""
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = LabelColumn(key, self._capacity)
            for row, labels in enumerate(self._rows):
                if labels is not None and key in labels:
                    column.set(row, labels[key])
        return column

    def set(self, row: int, labels: Mapping[str, str] | None) -> list[LabelColumn]:
        """A row's labels changed; returns the columns in which it now reads differently."""
        changed = []
        for key, column in self._columns.items():
            value = labels.get(key) if labels is not None else None
            before = column.ids[row]
            column.set(row, value)
            if column.ids[row] != before:
                changed.append(column)
        return changed

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        self._capacity = capacity
        for column in self._columns.values():
            ids = np.full(capacity, -1, np.int32)
            ids[: len(column.ids)] = column.ids
            column.ids = ids
