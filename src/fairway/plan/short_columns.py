"""Rows of short columns changed one after the other, and what lies between them put together once.

In: the columns of a timeline (`FreeTimeline`), where they are short enough to be copied, and changes of different rows
in ascending order (`change`). Out: the columns as they are afterwards, from parts of the old ones. A stretch is cut in
two where a change begins or ends within it, and joined to its neighbour where both are equal then. Called by
`timeline`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["ShortColumns"]


class ShortColumns:
    """The starts and the free amounts of all stretches, while rows of them are changed."""

    __slots__ = ("_copied", "_cuts", "_free", "_free_parts", "_parts", "_shift", "_starts", "more")

    def __init__(self, starts: NDArray[np.float64], free: NDArray[np.int64]) -> None:
        """`starts` (num_stretches,); `free` (num_columns, num_stretches), written to where no start changes."""
        self._starts, self._free = starts, free
        self._parts: list[tuple[int, int]] = []  # of the starts
        self._free_parts: list[NDArray[np.int64]] = []
        self._copied = 0  # so many stretches are in these parts, or left out
        self._shift = 0  # so many there are more by then
        self._cuts: list[tuple[int, float]] = []  # starts that are no former ones, and where they come to be
        self.more: list[tuple[int, int]] = []  # rows whose starts are others, and how many stretches each has more

    def change(
        self, row: int, stretches: tuple[int, int], change: NDArray[np.int64], times: tuple[float, float]
    ) -> None:
        """Add `change` (num_columns, 1) within [start, end) of a row, whose stretches are these."""
        (low, high), (start, end), starts, free = stretches, times, self._starts, self._free
        of_row = starts[low:high]
        begin = low + int(of_row.searchsorted(start, "right")) - 1
        until = high if end == math.inf else low + int(of_row.searchsorted(end, "right")) - 1
        cuts_start, cuts_end = bool(starts[begin] < start), until < high and bool(starts[until] < end)
        within = free[:, begin : until + cuts_end] + change
        # A few numbers are compared faster as they are than as arrays.
        joins_start = not cuts_start and begin > low and free[:, begin - 1].tolist() == within[:, 0].tolist()
        joins_end = not cuts_end and until < high and within[:, -1].tolist() == free[:, until].tolist()
        if not (cuts_start or cuts_end or joins_start or joins_end):
            free[:, begin:until] = within
            return
        copied, shift = self._copied, self._shift
        if cuts_start:
            self._parts += ((copied, begin + 1), (begin, until + cuts_end))
            self._cuts.append((begin + shift + 1, start))
        elif joins_start:
            self._parts += ((copied, begin), (begin + 1, until + cuts_end))
        else:
            self._parts.append((copied, until + cuts_end))
        self._free_parts += (free[:, copied : begin + cuts_start], within[:, joins_start:])
        if cuts_end:
            self._parts.append((until, until + 1))
            self._free_parts.append(free[:, until : until + 1])
            self._cuts.append((until + shift + cuts_start - joins_start + 1, end))
        self._copied = until + (cuts_end or joins_end)
        number = cuts_start + cuts_end - joins_start - joins_end
        self._shift = shift + number
        self.more.append((row, number))

    def columns(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Starts and free amounts as they are now, if any starts are others."""
        before = self._starts
        starts = np.concatenate([*(before[first:end] for first, end in self._parts), before[self._copied :]])
        for place, time in self._cuts:
            starts[place] = time
        return starts, np.concatenate([*self._free_parts, self._free[:, self._copied :]], axis=1)
