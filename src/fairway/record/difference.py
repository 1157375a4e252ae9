"""Where two runs part: the first decision in which they differ.

In: two runs that kept all decisions. Out: a `Difference`; called by `compare`, which then asks why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from fairway.record.errors import RecordError
from fairway.record.run import Run

__all__ = ["COMPARED", "Difference", "first_difference"]

COMPARED = ("time_seconds", "scheduler", "pod", "attempt", "outcome", "node", "nominated_node")
"""The columns of a decision that make it the same or another."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place in which two runs' decisions differ."""

    number: int  # decisions before it are the same
    first: dict[str, Any] | None  # the one run's decision, a row of `decisions`; None: it has no more
    second: dict[str, Any] | None
    columns: tuple[str, ...]  # what differs


def first_difference(first: Run, second: Run, columns: Sequence[str] = COMPARED) -> Difference | None:
    """The first decision in which two runs differ in any of these columns; None if all are the same."""
    for run in (first, second):
        kept = run.meta["options"]["decisions"]
        if kept != "all":
            raise RecordError(f"{run.path} kept {kept} decisions; only runs that kept all can be compared one by one")
    for number, (one, other) in enumerate(zip_longest(first.decisions.rows(), second.decisions.rows())):
        if one is None or other is None:
            return Difference(number, one, other, tuple(columns))
        differing = tuple(column for column in columns if one[column] != other[column])
        if differing:
            return Difference(number, one, other, differing)
    return None
