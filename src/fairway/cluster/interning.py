"""Interning: equal values share one small integer, so that columns can hold numbers.

In: any hashable value. Out: its id, dense from 0. An `Interner` keeps what it has seen, for values that come from a
file or from people who run the cluster. A `CountedInterner` keeps a value for as long as somebody holds it, for values
that come and go with nodes and pods: an id is stable while it is held, and then given to the next new value.
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


class CountedInterner(Generic[T]):
    """Distinct values, each with the number of those who hold it; what nobody holds is forgotten."""

    __slots__ = ("_free", "_holders", "_ids", "values", "version")

    def __init__(self, values: tuple[T, ...] = ()) -> None:
        """`values` are held from the beginning, and for ever."""
        self.values: list[T | None] = list(values)  # None: the id is free
        self._ids: dict[T, int] = {value: number for number, value in enumerate(values)}
        self._holders: list[int] = [1] * len(values)
        self._free: list[int] = []
        self.version = 0  # changes when an id gets or loses its meaning

    def __len__(self) -> int:
        """One more than the highest id that was ever in use: how long an array over ids has to be."""
        return len(self.values)

    def __getitem__(self, number: int) -> T:
        value = self.values[number]
        if value is None:
            raise KeyError(number)
        return value

    @property
    def num_held(self) -> int:
        """How many distinct values somebody holds."""
        return len(self._ids)

    def hold(self, value: T) -> int:
        """The id of `value`, for as long as the caller does not `release` it."""
        number = self._ids.get(value)
        if number is not None:
            self._holders[number] += 1
            return number
        self.version += 1
        if self._free:
            number = self._free.pop()
            self.values[number], self._holders[number] = value, 1
        else:
            number = len(self.values)
            self.values.append(value)
            self._holders.append(1)
        self._ids[value] = number
        return number

    def release(self, number: int) -> None:
        """One who held it does so no more."""
        self._holders[number] -= 1
        if not self._holders[number]:
            del self._ids[self[number]]
            self.values[number] = None
            self._free.append(number)
            self.version += 1

    def find(self, value: T) -> int:
        """The id of `value`, or -1 if nobody holds it."""
        return self._ids.get(value, -1)
