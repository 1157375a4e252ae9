"""The journal of changed rows: how caches learn what to look at again.

In: `mark(row)` from the tables whenever a row's content changes. Out: `since(position)`, the distinct rows marked after
a reader last looked. Readers keep their own position; the journal keeps a bounded tail and answers None ("everything
may have changed") to a reader that fell behind it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NO_ROWS: NDArray[np.intp] = np.empty(0, np.intp)
FIRST_ROOM = 32
A_FEW = 8
"""Up to so many marks, a set tells rows apart faster than sorting does."""


class Journal:
    """An append-only list of row numbers with a bounded memory."""

    __slots__ = ("_limit", "_room", "_rows", "_start", "end")

    def __init__(self, limit: int = 65_536) -> None:
        self._room = 0  # made with the first entry: there are journals by the thousand in which nothing happens
        self._rows = NO_ROWS  # (room,): what is written once is never written again
        self._start = 0  # position of _rows[0]
        self._limit = limit
        self.end = 0  # position after the newest entry: where an up-to-date reader stands

    def mark(self, row: int) -> None:
        """This row's content changed."""
        filled = self.end - self._start
        if filled == self._room:
            filled = self._make_room()
        self._rows[filled] = row
        self.end += 1

    def _make_room(self) -> int:
        """Forget the oldest entries if there are twice as many as have to be remembered. Returns how many are left."""
        kept = self._rows
        if len(kept) >= 2 * self._limit:
            kept = kept[len(kept) - self._limit :]
            self._start = self.end - self._limit
        self._room = min(max(2 * len(kept), FIRST_ROOM), 2 * self._limit)
        self._rows = np.empty(self._room, np.intp)
        self._rows[: len(kept)] = kept
        return len(kept)

    def forget(self) -> None:
        """Send every reader back to the beginning, as when rows appear or their meaning changes."""
        self._room = 0
        self._rows = NO_ROWS
        self.end += 1
        self._start = self.end

    def entries_since(self, position: int) -> NDArray[np.intp] | None:
        """The rows marked since `position`, as often as they were; None if that can not be told any more."""
        return None if position < self._start else self._rows[position - self._start : self.end - self._start]

    def since(self, position: int) -> NDArray[np.intp] | None:
        """The distinct rows marked since `position`, or None if that can not be told any more."""
        if position == self.end:
            return NO_ROWS
        if position < self._start:
            return None
        tail = self._rows[position - self._start : self.end - self._start]
        if len(tail) == 1:
            return tail
        if len(tail) <= A_FEW:
            return np.array(list(set(tail.tolist())), np.intp)
        ordered = tail.copy()
        ordered.sort()
        is_first = np.empty(len(ordered), bool)
        is_first[0] = True
        np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
        return ordered[is_first]


class LatestJournal(Journal):
    """A journal that also tells for each row when it was marked last."""

    __slots__ = ("latest",)

    def __init__(self, capacity: int, limit: int = 65_536) -> None:
        super().__init__(limit)
        self.latest = np.zeros(capacity, np.int64)  # (capacity,): the position after a row's newest entry; 0: none

    def mark(self, row: int) -> None:
        """This row's content changed."""
        super().mark(row)
        self.latest[row] = self.end

    def forget(self) -> None:
        """Send every reader back to the beginning, as when rows appear or their meaning changes."""
        super().forget()
        self.latest[:] = self.end

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        latest = np.zeros(capacity, np.int64)
        latest[: len(self.latest)] = self.latest
        self.latest = latest
