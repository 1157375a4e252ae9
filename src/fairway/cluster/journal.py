"""The journal of changed rows: how caches learn what to look at again.

In: `mark(row)` from the tables whenever a row's content changes. Out: `since(position)`, the distinct rows marked after
a reader last looked. Readers keep their own position; the journal keeps a bounded tail and answers None ("everything
may have changed") to a reader that fell behind it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NO_ROWS: NDArray[np.intp] = np.empty(0, np.intp)


class Journal:
    """An append-only list of row numbers with a bounded memory."""

    __slots__ = ("_limit", "_rows", "_start", "end")

    def __init__(self, limit: int = 65_536) -> None:
        self._rows: list[int] = []
        self._start = 0  # position of _rows[0]
        self._limit = limit
        self.end = 0  # position after the newest entry: where an up-to-date reader stands

    def mark(self, row: int) -> None:
        """This row's content changed."""
        rows = self._rows
        rows.append(row)
        self.end += 1
        if len(rows) > 2 * self._limit:
            del rows[: self._limit]
            self._start += self._limit

    def forget(self) -> None:
        """Send every reader back to the beginning, as when rows appear or their meaning changes."""
        self._rows.clear()
        self.end += 1
        self._start = self.end

    def since(self, position: int) -> NDArray[np.intp] | None:
        """The distinct rows marked since `position`, or None if that can not be told any more."""
        if position == self.end:
            return NO_ROWS
        if position < self._start:
            return None
        tail = self._rows[position - self._start :]
        return np.array(tail if len(tail) == 1 else list(set(tail)), np.intp)
