"""Parts of waiting pods, compiled once.

In: a part of a pod, such as its affinity, what else its meaning depends on, and how both are compiled. Out: the result,
remembered by the very object that the part is, for as many parts as say no more together than a limit; the longest
unused are forgotten first. Queueing hints are asked about every waiting pod at every event, and to compile what a pod
says may take long: it may have tens of thousands of terms. Parts that nobody else holds any more, because their pods
are gone, are swept out whenever there are twice as many parts as after the last sweep.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

__all__ = ["CompiledParts"]

MOST_BYTES = 6 * 1024 * 1024
"""What all parts that are remembered may say, encoded: four of the worst pods, and in memory some ten times that."""

FEWEST_TO_SWEEP = 512

HELD_BY_US_ALONE = 2
"""What `sys.getrefcount` says of a part that only its entry holds: the entry, and the call itself. Objects that are
left to reference counting alone (`gc=False`) can not be referred to weakly, which would be the plain way."""

ENCODER = msgspec.msgpack.Encoder()

P = TypeVar("P")
C = TypeVar("C")
V = TypeVar("V")


class CompiledPart(NamedTuple, Generic[P, C, V]):
    """What was made of a part."""

    part: P  # held, so that nothing else gets its identity
    context: C
    value: V
    num_bytes: int


class CompiledParts(Generic[P, C, V]):
    """Calls `make(part, context)` and remembers what it returned."""

    __slots__ = ("_found", "_limit", "_make", "_sweep_at", "num_bytes")

    def __init__(self, make: Callable[[P, C], V], limit: int = MOST_BYTES) -> None:
        self._make = make
        self._limit = limit
        self._found: OrderedDict[int, CompiledPart[P, C, V]] = OrderedDict()  # by identity of the part
        self._sweep_at = FEWEST_TO_SWEEP
        self.num_bytes = 0  # that all of them say

    def __len__(self) -> int:
        return len(self._found)

    def __call__(self, part: P, context: C) -> V:
        """What `make` returns, or returned."""
        number = id(part)
        entry = self._found.get(number)
        if entry is not None:
            if (entry.context,) == (context,):  # tuples: the same object is equal without being looked into
                self._found.move_to_end(number)
                return entry.value
            self._forget(number)
        value = self._make(part, context)
        made = CompiledPart(part, context, value, len(ENCODER.encode((part, context))))
        self._found[number] = made
        self.num_bytes += made.num_bytes
        while self.num_bytes > self._limit and len(self._found) > 1:
            self._forget(next(iter(self._found)))
        if len(self._found) >= self._sweep_at:
            self._sweep()
        return value

    def _sweep(self) -> None:
        """Forget parts of pods that are gone."""
        gone = [number for number, entry in self._found.items() if sys.getrefcount(entry.part) <= HELD_BY_US_ALONE]
        for number in gone:
            self._forget(number)
        self._sweep_at = max(FEWEST_TO_SWEEP, 2 * len(self._found))

    def _forget(self, number: int) -> None:
        self.num_bytes -= self._found.pop(number).num_bytes

    def clear(self) -> None:
        """Forget everything."""
        self._found.clear()
        self.num_bytes = 0
