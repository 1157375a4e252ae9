"""Interning: equal values share one small integer, so that columns can hold numbers.

In: any hashable value. Out: its id, dense from 0, stable for the life of the interner. Used by every table of
`fairway.cluster`: resource names, label values, taint sets, image sets, feature sets, label sets.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """A growing list of distinct values and the way back from a value to its index."""

    __slots__ = ("_ids", "values")

    def __init__(self, values: tuple[T, ...] = ()) -> None:
        self.values: list[T] = list(values)
        self._ids: dict[T, int] = {value: number for number, value in enumerate(self.values)}

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, number: int) -> T:
        return self.values[number]

    def id_of(self, value: T) -> int:
        """The id of `value`, given out now if it is new."""
        number = self._ids.get(value)
        if number is None:
            number = self._ids[value] = len(self.values)
            self.values.append(value)
        return number

    def find(self, value: T) -> int:
        """The id of `value`, or -1 if it was never seen."""
        return self._ids.get(value, -1)
