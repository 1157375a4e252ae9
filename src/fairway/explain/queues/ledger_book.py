"""The books of a cluster as its ledger has them: lines of years, of jobs whose records are long gone.

In: lines of a ledger that begin within a time. Out: a `UsageTable` of them, and the same lines as rows of a file. Every
line is whole, and counts when it begins; accounts are those of the lines. Called by `fairway usage --ledger`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fairway.batch.accounts import ChargeLine
from fairway.explain.queues.queue_moment import BookLine
from fairway.explain.queues.run_queues import check_name
from fairway.explain.queues.usage_table import UsageBy, UsageTable
from fairway.record import export_rows

__all__ = ["export_ledger", "ledger_table"]


def ledger_table(
    lines: Iterable[ChargeLine], since: float, until: float, by: UsageBy, account: str | None = None
) -> UsageTable:
    """Sums of lines that begin within [since, until)."""
    found = list(lines)
    check_name("account", account, {line.job.account for line in found}, "--account")
    numbers: dict[str, int] = {}
    told: list[BookLine] = []
    for line in found:
        if account is None or line.job.account == account:
            job = line.job
            number = numbers.setdefault(job.uid, len(numbers))
            charge = line.start, line.end, line.rate, line.charge, str(line.kind), line.reason
            one = BookLine(number, job.key, job.account, job.user, job.queue, *charge)
            told += one.by_day(0.0) if by == "day" else [one]
    return UsageTable(since, until, by, told, {}, None if account is None else frozenset({account}))


def export_ledger(lines: Sequence[ChargeLine], path: str, account: str | None = None) -> int:
    """Write lines into a file, .csv or .parquet; returns how many. Times are seconds since 1970."""
    numbers: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    for line in lines:
        job = line.job
        if account is None or job.account == account:
            rows.append(
                {
                    "job_id": numbers.setdefault(job.uid, len(numbers)),
                    "number": line.number,
                    "job": job.key,
                    "account": job.account,
                    "user_name": job.user,
                    "queue": job.queue,
                    "from_seconds": line.start,
                    "to_seconds": line.end,
                    "rate": line.rate,
                    "charge_milli": line.charge,
                    "kind": str(line.kind),
                    "reason": line.reason or None,
                    "is_uncertain": line.is_uncertain,
                }
            )
    export_rows(path, "charges", rows)
    return len(rows)
