"""A cache bounded by what its entries weigh, not by how many there are.

In: a function of one hashable key, and how much a key weighs. Out: the function's results, remembered as long as all of
them together weigh no more than a limit; the longest unused are forgotten first. `functools.lru_cache` counts entries,
and an entry made of a pod that somebody sends may be a megabyte. `selector` uses it for what it compiles.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class WeightedCache(Generic[K, V]):
    """Calls `make` and remembers what it returned."""

    __slots__ = ("_found", "_limit", "_make", "_weigh", "weight")

    def __init__(self, make: Callable[[K], V], weigh: Callable[[K], int], limit: int) -> None:
        self._make = make
        self._weigh = weigh
        self._limit = limit
        self._found: OrderedDict[K, tuple[V, int]] = OrderedDict()  # with what each weighs
        self.weight = 0  # of everything that is remembered

    def __len__(self) -> int:
        return len(self._found)

    def __call__(self, key: K) -> V:
        """What `make` returns, or returned, for this key."""
        found = self._found
        entry = found.get(key)
        if entry is not None:
            found.move_to_end(key)
            return entry[0]
        value, weight = self._make(key), self._weigh(key)
        found[key] = value, weight
        self.weight += weight
        while self.weight > self._limit and len(found) > 1:
            self.weight -= found.popitem(last=False)[1][1]
        return value

    def clear(self) -> None:
        """Forget everything."""
        self._found.clear()
        self.weight = 0
