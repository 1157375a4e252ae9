"""Numbers by row: a dictionary while few rows have one, an array from then on.

In: changes, row by row. Out: the number of a row, all of them as an array, or their sums over groups of rows. A counter
of pods has one, and so does everybody who follows a counter: where somebody sends a pod with ten thousand affinity
terms, each of them counts one pod on one of five thousand rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEW = 8
ROWS_PER_ENTRY = 128
"""An entry of a dictionary takes more than one of an array: it pays for no more than one row in so many."""


class RowCounts:
    """How many on each row."""

    __slots__ = ("_few", "_length", "_many")

    def __init__(self, length: int, counts: NDArray[np.int32] | None = None) -> None:
        self._length = length
        self._few: dict[int, int] = {}
        self._many: NDArray[np.int32] | None = None  # (length,); the dictionary is empty then
        if counts is not None:
            rows = counts.nonzero()[0]
            if len(rows) > self._most_few:
                self._many = counts
            else:
                self._few = dict(zip(rows.tolist(), counts.take(rows).tolist(), strict=True))

    @property
    def _most_few(self) -> int:
        return max(FEW, self._length // ROWS_PER_ENTRY)

    def __getitem__(self, row: int) -> int:
        return self._few.get(row, 0) if self._many is None else self._many.item(row)

    def __setitem__(self, row: int, count: int) -> None:
        if self._many is not None:
            self._many[row] = count
        elif count:
            self._few[row] = count
            if len(self._few) > self._most_few:
                self._many = self.array()
                self._few = {}
        else:
            self._few.pop(row, None)

    def add(self, row: int, amount: int) -> None:
        """So many more on a row."""
        if self._many is not None:
            self._many[row] += amount
        else:
            self[row] = self._few.get(row, 0) + amount

    def catch_up(self, other: RowCounts, row: int) -> int:
        """Have as many as the other on a row; returns how many more that is."""
        mine, others = self._many, other._many
        count = other[row] if others is None else others.item(row)
        delta = count - (self[row] if mine is None else mine.item(row))
        if delta:
            self[row] = count
        return delta

    def array(self) -> NDArray[np.int32]:
        """All of them, (length,). Never write to it."""
        if self._many is not None:
            return self._many
        counts = np.zeros(self._length, np.int32)
        for row, count in self._few.items():
            counts[row] = count
        return counts

    def sums(self, groups: NDArray[np.intp], num_groups: int) -> NDArray[np.int64]:
        """The sum over each group, where `groups` has the group of each of the first rows."""
        if self._many is not None:
            return np.bincount(groups, self._many[: len(groups)], num_groups).astype(np.int64)
        found = np.zeros(num_groups, np.int64)
        for row, count in self._few.items():
            if row < len(groups):
                found[groups[row]] += count
        return found

    def copy(self) -> RowCounts:
        """The same, to be changed apart from this one."""
        made = RowCounts(self._length)
        made._few = self._few.copy()
        made._many = None if self._many is None else self._many.copy()
        return made

    def grow(self, length: int) -> None:
        """Make room for more rows."""
        self._length = length
        if self._many is not None:
            many = np.zeros(length, np.int32)
            many[: len(self._many)] = self._many
            self._many = many
