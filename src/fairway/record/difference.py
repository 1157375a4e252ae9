"""Where two runs part: the first decision, or the first row of any table, in which they differ.

In: two runs that kept the same. Out: a `Difference`, asked for by `compare`, which then asks why; or a `RowDifference`,
asked for by `sim --replay`, to which everything must be the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from fairway.record.errors import RecordError
from fairway.record.queues.queue_tables import QUEUE_COLUMNS
from fairway.record.run import Run
from fairway.record.schema import TABLES

__all__ = ["COMPARED", "Difference", "RowDifference", "first_difference", "first_unlike_row"]

COMPARED = ("time_seconds", "scheduler", "pod", "attempt", "outcome", "node", "nominated_node")
"""The columns of a decision that make it the same or another."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place in which two runs' decisions differ."""

    number: int  # decisions before it are the same
    first: dict[str, Any] | None  # the one run's decision, a row of `decisions`; None: it has no more
    second: dict[str, Any] | None
    columns: tuple[str, ...]  # what differs


MEASURED = {"decisions": ("cycle_seconds",), "job_decisions": ("cycle_seconds",), "plans": ("cpu_seconds",)}
"""Columns that differ from run to run, by table; of `plugin_times` and `meta` nothing is compared."""


JOB_TABLES = ("jobs", "job_decisions", "holds")
QUEUE_TABLES = ("job_states", "estimates", "plans", "closings", "charges")
"""Those that a run of an older version lacks: nothing in them is compared then."""


@dataclass(frozen=True, slots=True)
class RowDifference:
    """The first row in which two runs differ."""

    table: str
    number: int  # rows of this table before it are the same
    first: dict[str, Any] | None  # None: it has no more
    second: dict[str, Any] | None
    columns: tuple[str, ...]  # what differs


def first_unlike_row(first: Run, second: Run) -> RowDifference | None:
    """Compare all that happened, table by table, decisions first; None if everything is the same."""
    tables = sorted(
        TABLES.keys() - {"meta", "plugin_times"}, key=lambda name: (name != "decisions", list(TABLES).index(name))
    )
    unknown = () if first.knows_jobs else ("job_id", "job_decision_id")
    unqueued = () if first.knows_queues else tuple(column.name for column in QUEUE_COLUMNS)
    for table in tables:
        unlike = (*MEASURED.get(table, ()), *unknown, *(unqueued if table == "jobs" else ()))
        if (table in JOB_TABLES and not first.knows_jobs) or (table in QUEUE_TABLES and not first.knows_queues):
            continue
        pairs = zip_longest(first.tables[table].rows(), second.tables[table].rows())
        for number, (one, other) in enumerate(pairs):
            if one == other:
                continue
            if one is None or other is None:
                return RowDifference(table, number, one, other, ())
            columns = tuple(
                name for name in one.keys() | other.keys() if name not in unlike and one.get(name) != other.get(name)
            )
            if columns:
                return RowDifference(table, number, one, other, tuple(sorted(columns)))
    return None


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
