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

    __slots__ = ("_copied", "_free", "_free_parts", "_start_parts", "_starts", "more")

    def __init__(self, starts: NDArray[np.float64], free: NDArray[np.int64]) -> None:
        """`starts` (num_stretches,); `free` (num_columns, num_stretches), written to where no start changes."""
        self._starts, self._free = starts, free
        self._start_parts: list[NDArray[np.float64] | tuple[float]] = []
        self._free_parts: list[NDArray[np.int64]] = []
        self._copied = 0  # so many stretches are in these parts, or left out
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
        parts, copied = self._start_parts, self._copied
        if cuts_start:
            parts += (starts[copied : begin + 1], (start,), starts[begin + 1 : until + cuts_end])
        elif joins_start:
            parts += (starts[copied:begin], starts[begin + 1 : until + cuts_end])
        else:
            parts.append(starts[copied : until + cuts_end])
        self._free_parts += (free[:, copied : begin + cuts_start], within[:, joins_start:])
        if cuts_end:
            parts.append((end,))
            self._free_parts.append(free[:, until : until + 1])
        self._copied = until + (cuts_end or joins_end)
        self.more.append((row, cuts_start + cuts_end - joins_start - joins_end))

    def columns(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Starts and free amounts as they are now, if any starts are others."""
        starts = np.concatenate((*self._start_parts, self._starts[self._copied :]))
        return starts, np.concatenate((*self._free_parts, self._free[:, self._copied :]), axis=1)
