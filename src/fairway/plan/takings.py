"""What is taken of rows from one time to another, and how much of it is given back at once.

In: takings of different kinds and times. Out: with `give_back`, all of them given back to a timeline: those that end
together as one, as the members of a job do; from some different times on all of them in one go. Called by `bookings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.plan.timeline import FreeTimeline

__all__ = ["Taking", "give_back"]

FEW_GIVES: Final = 8
"""From so many different times on it is faster to give back everything in one go."""


class Taking(NamedTuple):
    """So much of these rows, within [start, end)."""

    rows: NDArray[np.intp]  # (num_rows_taken,), different ones
    amounts: NDArray[np.int64]  # (num_columns,) or (len(rows), num_columns)
    start: float
    end: float


def give_back(timeline: FreeTimeline, gives: Sequence[Taking]) -> None:
    """All of it is free again."""
    at_once: dict[tuple[float, float], list[Taking]] = {}
    for give in gives:
        at_once.setdefault((give.start, give.end), []).append(give)
    if len(at_once) < FEW_GIVES:
        for (start, end), those in at_once.items():
            timeline.give(*_summed(those), start, end)
        return
    rows, amounts = _joined(gives)
    lengths = [len(give.rows) for give in gives]
    starts, ends = np.array([give.start for give in gives]), np.array([give.end for give in gives])
    timeline.give_each(rows, amounts, starts.repeat(lengths), ends.repeat(lengths))


def _joined(takings: Sequence[Taking]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Rows and amounts one after the other."""
    num_columns = takings[0].amounts.shape[-1]
    amounts = [np.broadcast_to(each.amounts, (len(each.rows), num_columns)) for each in takings]
    return np.concatenate([each.rows for each in takings]), np.concatenate(amounts)


def _summed(takings: Sequence[Taking]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """What these take together, by different rows."""
    if len(takings) == 1:
        return takings[0].rows, takings[0].amounts
    rows, amounts = _joined(takings)
    different, places = np.unique(rows, return_inverse=True)
    sums = np.zeros((len(different), amounts.shape[1]), np.int64)
    np.add.at(sums, places, amounts)
    return different, sums
