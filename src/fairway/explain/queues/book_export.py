"""Lines of the books in a file, for those who reckon further.

In: a `UsageTable`, and the run that it is of, if it is one. Out: a file, .csv or .parquet as its name ends, with a row
a line, whole, of those that begin in the time that the table is about. Called by `fairway usage --export`.
"""

from __future__ import annotations

from collections import Counter

from fairway.explain.queues.queue_moment import GONE
from fairway.explain.queues.usage_table import UsageTable
from fairway.record import Run, export_rows, export_table

__all__ = ["export_book", "export_lines"]


def export_lines(run: Run, table: UsageTable, path: str) -> int:
    """Write the lines that begin in the time that the table is about, whole, into a file; returns how many."""
    rows = run.charges.where("from_seconds >= ? AND from_seconds < ?", table.since, table.until)
    if table.accounts is not None:
        marks = ", ".join("?" * len(table.accounts))
        rows = rows.where(f"account IN ({marks})", *sorted(table.accounts))
    export_table(run, path, "charges", rows)
    return len(rows)


def export_book(table: UsageTable, path: str) -> int:
    """The lines of a cluster's table; what is known of jobs whose records are gone is no line. Returns how many."""
    lines = [line for line in table.lines if line.queue != GONE]
    numbers: Counter[int] = Counter()
    rows = []
    for line in lines:
        rows.append(
            {
                "job_id": line.job_id,
                "number": numbers[line.job_id],
                "job": line.job,
                "account": line.account,
                "user_name": line.user,
                "queue": line.queue,
                "from_seconds": line.start,
                "to_seconds": line.end,
                "rate": line.rate,
                "charge_milli": line.charge,
                "kind": str(line.kind),
                "reason": line.reason or None,
            }
        )
        numbers[line.job_id] += 1
    export_rows(path, "charges", rows)
    return len(rows)
