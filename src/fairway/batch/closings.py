"""Times at which rows are closed: what windows and reservations mean to the calendar.

In: occurrences of windows, reservations with their nodes. Out: `Closing`s, which the desk puts into its calendar under
their keys (`keep_closed`) and which extensions may not cross. Those that a job may enter are named by `windows` (jobs
without a limit, long before) and by `reservations` (its own).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairway.plan import Calendar

__all__ = ["Closing", "keep_closed"]


@dataclass(frozen=True, slots=True, eq=False)
class Closing:
    """Rows that nobody else may be on within [start, end)."""

    key: str  # in the calendar
    kind: Literal["maintenance", "reservation"]
    name: str
    rows: NDArray[np.intp]  # (num_rows,)
    start: float
    end: float
    clears: bool = False  # whoever is there by then has to leave

    def is_same(self, other: Closing) -> bool:
        """Does it close the same rows at the same time?"""
        is_alike = (self.start, self.end, self.clears) == (other.start, other.end, other.clears)
        return is_alike and np.array_equal(self.rows, other.rows)


def keep_closed(calendar: Calendar, before: Iterable[Closing], after: Iterable[Closing]) -> None:
    """Let the calendar have what is closed now instead of what was; what is the same is not touched."""
    former = {closing.key: closing for closing in before}
    for closing in after:
        known = former.pop(closing.key, None)
        if known is not None and known.is_same(closing):
            continue
        if known is not None:
            calendar.remove(known.key)
        calendar.close(closing.key, closing.rows, closing.start, closing.end)
    for key in former:
        calendar.remove(key)
