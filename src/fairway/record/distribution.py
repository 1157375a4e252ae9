"""Many numbers in a few: mean and percentiles, and how equal shares are.

In: arrays. Out: what `Metrics` and reports show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Distribution", "jain_index"]


@dataclass(frozen=True, slots=True)
class Distribution:
    """A set of numbers; all but `count` are None if it is empty. Percentiles are interpolated linearly."""

    count: int
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Self:
        """What these numbers come to."""
        if not len(values):
            return cls(0)
        p50, p95, p99 = np.percentile(values, [50, 95, 99]).tolist()
        return cls(len(values), float(values.mean()), p50, p95, p99, float(values.max()))


def jain_index(shares: NDArray[np.float64]) -> float | None:
    """Jain's fairness index: 1 if all shares are equal, 1/n if one of n has everything; None if all are nothing.

    The square of the sum over n times the sum of the squares.
    """
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares > 0 else None
