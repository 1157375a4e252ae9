"""Chance, from one seed: everything random about a case comes from here.

In: a numpy generator and a mix, which says how likely each feature of a case is. Out: choices. Called by every module
that makes a part of a case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["Draw", "Json"]

T = TypeVar("T")
Json = dict[str, Any]


class Draw:
    """Choices for one case."""

    def __init__(self, generator: np.random.Generator, mix: Mapping[str, float]) -> None:
        self._generator = generator
        self._mix = mix
        self._numbers: dict[str, int] = {}

    def has(self, feature: str) -> bool:
        """Does this part of the case have the feature? As likely as the mix says; 0.05 if it says nothing."""
        return self.chance(self._mix.get(feature, 0.05))

    def chance(self, probability: float) -> bool:
        """True, so often."""
        return bool(self._generator.random() < probability)

    def number(self, low: int, high: int) -> int:
        """A whole number; both ends are possible."""
        return int(self._generator.integers(low, high + 1))

    def pick(self, items: Sequence[T]) -> T:
        """One of them."""
        return items[int(self._generator.integers(len(items)))]

    def some(self, items: Sequence[T], most: int | None = None, least: int = 0) -> list[T]:
        """A few of them, in their order."""
        most = min(len(items), len(items) if most is None else most)
        count = self.number(min(least, most), most)
        chosen = sorted(self._generator.choice(len(items), count, replace=False).tolist()) if count else []
        return [items[index] for index in chosen]

    def count(self, name: str) -> int:
        """The next number of a series: 0, 1, 2 ..."""
        self._numbers[name] = self._numbers.get(name, -1) + 1
        return self._numbers[name]
