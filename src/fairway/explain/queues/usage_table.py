"""Who used how much: the books of a run, up to a moment.

In: an open run, a time, and by what sums are wanted. Out: a `UsageTable`: charges by account, user, queue or day, with
what was given back; and lines of the books, for export. Charges are cut at the moment and at the borders of a period by
the code that made them (`fairway.batch.accounts`). Called by `fairway usage` and by `job_sheet`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from fairway.batch.accounts import MILLI, AccountTree
from fairway.batch.accounts.charges import LineKind, charge_between
from fairway.batch.accounts.periods import cut, period_at, read_period
from fairway.batch.job import RunInterval
from fairway.batch.settings import BatchSettings
from fairway.exit_codes import USAGE
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.run_queues import check_name, run_settings
from fairway.model import UserError
from fairway.record import Run, export_table
from fairway.tables import Column
from fairway.words import count_text, time_text

__all__ = [
    "USAGE_COLUMNS",
    "BookLine",
    "UsageBy",
    "UsageTable",
    "book_lines",
    "budget_words",
    "export_lines",
    "job_charge",
    "period_times",
    "usage_table",
]

UsageBy = Literal["account", "user", "queue", "day"]

USAGE_COLUMNS: Final = (
    Column("name", "NAME"),
    Column("jobs", "JOBS", right=True),
    Column("used", "USED", right=True),
    Column("givenBack", "GIVEN BACK", right=True),
    Column("share", "SHARE", right=True),
    Column("budget", "OF BUDGET", right=True),
)


class BookLine(NamedTuple):
    """A line of the books, cut to what is asked about."""

    job_id: int
    job: str
    account: str
    user: str
    queue: str
    start: float
    end: float
    rate: float
    charge: int  # thousandths of a unit; negative: given back
    kind: str
    reason: str
    day: str = ""  # where sums by day are wanted

    def within(self, since: float, until: float) -> BookLine | None:
        """The part of it between two times; None: there is none."""
        start, end = max(self.start, since), min(self.end, until)
        if end <= start:
            return None
        charge = charge_between(RunInterval(self.start, self.end, self.rate), since, until)
        return self._replace(start=start, end=end, charge=-charge if self.charge < 0 else charge)


@dataclass(frozen=True, slots=True)
class UsageTable:
    """Sums of the books."""

    since: float
    until: float
    by: UsageBy
    lines: Sequence[BookLine]
    budgets: dict[str, float]  # by account: how much of it is used, as a share
    accounts: frozenset[str] | None = None  # whose lines these are; None: everybody's

    def rows(self, *, exact: bool = False) -> list[dict[str, Any]]:
        """A row for each account, user, queue or day; the largest first, days in their order."""
        key = KEYS[self.by]
        groups: dict[str, list[BookLine]] = {}
        for line in self.lines:
            groups.setdefault(key(line), []).append(line)
        whole = sum(line.charge for line in self.lines)
        rows = [self._row(name, lines, whole, exact) for name, lines in groups.items()]
        return sorted(rows, key=lambda row: row["name"] if self.by == "day" else (-row["units"], row["name"]))

    def _row(self, name: str, lines: Sequence[BookLine], whole: int, exact: bool) -> dict[str, Any]:
        used = sum(line.charge for line in lines)
        back = -sum(line.charge for line in lines if line.charge < 0)
        share = used / whole if whole else 0.0
        budget = self.budgets.get(name) if self.by == "account" else None
        row: dict[str, Any] = {"name": name or ("" if exact else "(none)"), "units": used / MILLI}
        row["jobs"] = len({line.job_id for line in lines})
        row["used"] = used / MILLI if exact else round(used / MILLI)
        row["givenBack"] = back / MILLI if exact else round(back / MILLI) or None
        row["share"] = share if exact else f"{share:.0%}"
        row["budget"] = budget if exact or budget is None else f"{budget:.0%}"
        return row

    def document(self) -> dict[str, Any]:
        """All of it, in plain values."""
        about = {"fromSeconds": self.since, "toSeconds": self.until, "total": self.total}
        return about | {"usage": [{key: row[key] for key in row if key != "units"} for row in self.rows(exact=True)]}

    @property
    def words(self) -> str:
        """The sum, and which time it is about."""
        return f"{count_text(round(self.total))} units from {time_text(self.since)} to {time_text(self.until)}"

    @property
    def total(self) -> float:
        """Units in all."""
        return sum(line.charge for line in self.lines) / MILLI


KEYS: Final[dict[UsageBy, Callable[[BookLine], str]]] = {
    "account": lambda line: line.account,
    "user": lambda line: f"{line.account}/{line.user}" if line.account else line.user,
    "queue": lambda line: line.queue,
    "day": lambda line: line.day,
}


def usage_table(run: Run, since: float, until: float, by: UsageBy, account: str | None) -> UsageTable:
    """The books between two times; with `account` only its lines and those of accounts below it."""
    settings = run_settings(run)
    check_name("account", account, settings.accounts, "--account")
    tree = AccountTree(settings.accounts)
    names = None if account is None else frozenset({account, *_below(tree, account)})
    lines = [line for line in book_lines(run, since, until) if names is None or line.account in names]
    if by == "day":
        lines = [day for line in lines for day in _days(line, run.began)]
    return UsageTable(since, until, by, lines, _budgets(run, until, settings, tree), names)


def book_lines(run: Run, since: float, until: float) -> Iterator[BookLine]:
    """The lines of the books between two times. What was given back counts from when the job had lost it."""
    for row in run.charges.where("from_seconds < ?", until):
        line = BookLine(
            row["job_id"],
            row["job"],
            row["account"],
            row["user_name"],
            row["queue"],
            row["from_seconds"],
            row["to_seconds"],
            row["rate"],
            row["charge_milli"],
            row["kind"],
            row["reason"] or "",
        )
        if line.kind == LineKind.REFUND and line.end > until:
            continue
        part = line.within(since, until)
        if part is not None:
            yield part


def _days(line: BookLine, began: float) -> Iterator[BookLine]:
    """The line, cut at midnights."""
    for day in cut("day", began + line.start, began + line.end):
        part = line.within(day.start - began, day.end - began)
        if part is not None:
            yield part._replace(day=day.name)


def _below(tree: AccountTree, account: str) -> Iterator[str]:
    for child in tree.children(account):
        yield child
        yield from _below(tree, child)


# -- budgets -----------------------------------------------------------------------------------------------------------


def _budgets(run: Run, at: float, settings: BatchSettings, tree: AccountTree) -> dict[str, float]:
    """How much of each account's budget is used in the period in which the moment lies."""
    found = {}
    for name, spec in settings.accounts.items():
        if spec.budget is not None:
            period = period_at(spec.budget.period, run.began + at)
            names = {name, *_below(tree, name)}
            used = sum(line.charge for line in book_lines(run, period.start - run.began, at) if line.account in names)
            found[name] = used / MILLI / spec.budget.amount
    return found


def budget_words(run: Run, at: float, settings: BatchSettings, job: QueueJob) -> str:
    """How much of its account's budget is used; "": there is none."""
    spec = settings.accounts.get(job.account)
    if spec is None or spec.budget is None:
        return ""
    used = _budgets(run, at, settings, AccountTree(settings.accounts))[job.account]
    return (
        f"budget {used:.0%} used this {spec.budget.period}"
        if spec.budget.period != "ever"
        else f"budget {used:.0%} used"
    )


def job_charge(run: Run, at: float, job: QueueJob) -> float:
    """What the job cost by then, in units."""
    return sum(line.charge for line in book_lines(run, -math.inf, at) if line.job_id == job.number) / MILLI


def export_lines(run: Run, table: UsageTable, path: str) -> int:
    """Write the lines that begin in the time that the table is about, whole, into a file; returns how many."""
    rows = run.charges.where("from_seconds >= ? AND from_seconds < ?", table.since, table.until)
    if table.accounts is not None:
        marks = ", ".join("?" * len(table.accounts))
        rows = rows.where(f"account IN ({marks})", *sorted(table.accounts))
    export_table(run, path, "charges", rows)
    return len(rows)


def period_times(name: str, run: Run, at: float) -> tuple[float, float]:
    """When a period of the calendar begins and ends in the run's time, up to the moment."""
    try:
        period = read_period(name)
    except ValueError as error:
        raise UserError(f"--period {error}", "", USAGE) from error
    begin, end = period.start - run.began, min(period.end - run.began, at)
    if end <= max(begin, 0.0):
        began = dt.datetime.fromtimestamp(run.began, dt.UTC)
        hint = f"it began on {began:%Y-%m-%d}, and ends {time_text(at)} later"
        raise UserError(f"the run has nothing of {name} by {time_text(at)}", hint, USAGE)
    return max(begin, 0.0), end
