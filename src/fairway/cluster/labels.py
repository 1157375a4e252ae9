"""Node labels as columns: one integer per node and label key.

In: the labels of a row's node, whenever it appears or changes. Out: `column(key)`, an array of value ids over rows
(-1 where the label is absent). Columns are made when somebody first asks for a key and kept up to date from then on, so
the thousands of keys nobody asks about cost nothing; and only keys that some node has get one: whatever pods ask for,
there are no more columns than keys on nodes. All other keys share one column, in which the label is absent everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableSequence

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.interning import CountedInterner


class LabelColumn:
    """The values of one label key over all rows."""

    __slots__ = ("ids", "key", "values")

    def __init__(self, key: str, capacity: int) -> None:
        self.key = key
        self.values: CountedInterner[str] = CountedInterner()
        self.ids: NDArray[np.int32] = np.full(capacity, -1, np.int32)  # (capacity,)

    def set(self, row: int, value: str | None) -> None:
        """Write one row; None when the node has no such label."""
        before = self.ids.item(row)
        self.ids[row] = -1 if value is None else self.values.hold(value)
        if before >= 0:
            self.values.release(before)

    def truth_table(self, judge: Callable[[str], bool], absent: bool) -> NDArray[np.bool_]:
        """`judge` applied to each distinct value; the last entry, reached by id -1, is for rows without the label."""
        table = np.empty(len(self.values) + 1, bool)
        table[:-1] = [value is not None and judge(value) for value in self.values.values]
        table[-1] = absent
        return table


class LabelColumns:
    """The label columns anybody asked for, of keys that some node has."""

    __slots__ = ("_capacity", "_columns", "_nowhere", "_num_rows", "_rows", "keys_version")

    def __init__(self, rows: MutableSequence[Mapping[str, str] | None], capacity: int) -> None:
        self._rows = rows  # the labels of each row, written here and by whoever appends rows
        self._capacity = capacity
        self._columns: dict[str, LabelColumn] = {}
        self._nowhere = LabelColumn("", capacity)
        self._num_rows: dict[str, int] = {}  # by key: how many rows have it
        self.keys_version = 0  # changes when a key comes to the first node or leaves the last
        for labels in rows:
            for key in labels or ():
                self._num_rows[key] = self._num_rows.get(key, 0) + 1

    def __contains__(self, key: object) -> bool:
        """Does any node have a label with that key?"""
        return key in self._num_rows

    def column(self, key: str) -> LabelColumn:
        """The column of `key`, built now if nobody asked for it before."""
        column = self._columns.get(key)
        if column is None:
            if key not in self._num_rows:
                return self._nowhere
            column = self._columns[key] = LabelColumn(key, self._capacity)
            for row, labels in enumerate(self._rows):
                if labels is not None and key in labels:
                    column.set(row, labels[key])
        return column

    def set(self, row: int, labels: Mapping[str, str] | None) -> list[LabelColumn]:
        """A row's labels changed; returns the columns in which it now reads differently."""
        before: Mapping[str, str] = self._rows[row] or {}
        after: Mapping[str, str] = labels or {}
        self._rows[row] = labels
        columns, num_rows = self._columns, self._num_rows
        changed = []
        for key, value in after.items():
            if key in before:
                if before[key] == value:
                    continue
            elif key in num_rows:
                num_rows[key] += 1
            else:
                num_rows[key] = 1
                self.keys_version += 1
            if key in columns:
                columns[key].set(row, value)
                changed.append(columns[key])
        for key in before:
            if key not in after:
                if key in columns:
                    columns[key].set(row, None)
                    changed.append(columns[key])
                self._leave(key)
        return changed

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        self._capacity = capacity
        for column in (self._nowhere, *self._columns.values()):
            ids = np.full(capacity, -1, np.int32)
            ids[: len(column.ids)] = column.ids
            column.ids = ids

    def _leave(self, key: str) -> None:
        """One row less has that key."""
        self._num_rows[key] -= 1
        if not self._num_rows[key]:
            del self._num_rows[key]
            self._columns.pop(key, None)
            self.keys_version += 1
