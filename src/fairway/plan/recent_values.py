"""The last values of something, and their quantiles.

In: numbers as they come (`add`); beyond `size` the oldest is forgotten. Out: quantiles, without sorting anew: the
values are kept twice, as they came and in order. Used by `run_history` (how much of its limit a job uses) and
`calibration` (how late jobs start).
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque

__all__ = ["RecentValues"]


class RecentValues:
    """The last `size` values."""

    __slots__ = ("_arrived", "_ordered", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._arrived: deque[float] = deque()
        self._ordered: list[float] = []

    def copy(self) -> RecentValues:
        """Another one that may go its own way."""
        twin = RecentValues(self._size)
        twin._arrived, twin._ordered = self._arrived.copy(), self._ordered.copy()
        return twin

    def __len__(self) -> int:
        return len(self._ordered)

    def add(self, value: float) -> None:
        """One value more, which is a number."""
        assert not math.isnan(value), "no order has a place for it"
        self._arrived.append(value)
        insort(self._ordered, value)
        if len(self._arrived) > self._size:
            oldest = self._arrived.popleft()
            del self._ordered[bisect_left(self._ordered, oldest)]

    def quantile(self, share: float) -> float:
        """The value below which this share of them lies, between two neighbours by interpolation; there are some."""
        position = (len(self._ordered) - 1) * share
        low = math.floor(position)
        high = min(low + 1, len(self._ordered) - 1)
        below, above = self._ordered[low], self._ordered[high]
        return below if below == above else below + (above - below) * (position - low)

    def bound(self, share: float) -> float:
        """What the next value stays below with this chance, if it is like these: with few values the largest.

        The next one is equally likely to fall into each of the gaps between those that are known, so the share is that
        of one value more than there are. An interpolated quantile is too small by about half a gap.
        """
        rank = math.ceil(share * (len(self._ordered) + 1))
        return self._ordered[min(rank, len(self._ordered)) - 1]
