"""Who used how much: the books, up to a moment.

In: queues at a moment, and by what sums are wanted. Out: a `UsageTable`: charges by account, user, queue or day, with
what was given back; and lines of the books, for export. Charges are cut at the moment and at the borders of a period by
the code that made them (`fairway.batch.accounts`). Called by `fairway usage` and by `job_sheet`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from fairway.batch.accounts import MILLI, AccountTree
from fairway.batch.accounts.account_book import PERIODS_KEPT
from fairway.batch.accounts.periods import read_period
from fairway.exit_codes import USAGE
from fairway.explain.queues.asked_budgets import accounts_below, budgets_then
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.queue_moment import GONE, BookLine, QueueMoment
from fairway.explain.queues.run_queues import check_name
from fairway.model import UserError
from fairway.tables import Column
from fairway.words import count_text, time_text

__all__ = [
    "USAGE_COLUMNS",
    "UsageBy",
    "UsageTable",
    "budget_words",
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


@dataclass(frozen=True, slots=True)
class UsageTable:
    """Sums of the books."""

    since: float
    until: float
    by: UsageBy
    lines: Sequence[BookLine]
    budgets: dict[str, float]  # by account: how much of it is used, as a share
    accounts: frozenset[str] | None = None  # whose lines these are; None: everybody's
    notes: tuple[str, ...] = ()  # what is not in it, or not as it was asked for

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
        row["jobs"] = len({line.job_id for line in lines if line.job})
        row["used"] = used / MILLI if exact else round(used / MILLI)
        row["givenBack"] = back / MILLI if exact else round(back / MILLI) or None
        row["share"] = share if exact else f"{share:.0%}"
        row["budget"] = budget if exact or budget is None else f"{budget:.0%}"
        return row

    def document(self) -> dict[str, Any]:
        """All of it, in plain values."""
        since, until = (time if math.isfinite(time) else None for time in (self.since, self.until))
        about = {"fromSeconds": since, "toSeconds": until, "total": self.total, "notes": list(self.notes)}
        return about | {"usage": [{key: row[key] for key in row if key != "units"} for row in self.rows(exact=True)]}

    @property
    def words(self) -> str:
        """The sum, and which time it is about."""
        since = "" if self.since == -math.inf else f"from {time_text(self.since)} "
        return f"{count_text(round(self.total))} units {since}to {time_text(self.until)}"

    @property
    def gone(self) -> float:
        """Units of jobs whose records are gone, of which there is no line."""
        return sum(line.charge for line in self.lines if not line.job) / MILLI

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
UNKNOWN: Final[dict[UsageBy, str]] = {
    "queue": "books know their accounts, not their queues",
    "user": "for a period books know accounts alone, and users for all time",
    "day": f"books know the last {PERIODS_KEPT} days on which anything was used",
}
LEDGER: Final = "a ledger has every line (fairway run --ledger, fairway usage --ledger)"


def usage_table(moment: QueueMoment, since: float, until: float, by: UsageBy, account: str | None) -> UsageTable:
    """The books between two times; with `account` only its lines and those of accounts below it."""
    accounts = moment.settings.accounts
    found = list(moment.lines_by_day(since, until) if by == "day" else moment.lines(since, until))
    check_name("account", account, {*accounts, *(line.account for line in found if line.account)}, "--account")
    tree = AccountTree(accounts)
    names = None if account is None else frozenset({account, *accounts_below(tree, account)})
    lines = [line for line in found if names is None or line.account in names]
    notes = tuple(_notes(moment, lines, by, since, until))
    return UsageTable(since, until, by, lines, _budgets(moment, until, tree), names, notes)


def _notes(moment: QueueMoment, lines: Sequence[BookLine], by: UsageBy, since: float, until: float) -> Iterator[str]:
    """What is not in it, or not as it was asked for."""
    unknown = sum(line.charge for line in lines if not line.job and by != "account" and KEYS[by](line).endswith(GONE))
    if unknown:
        yield f"{count_text(round(unknown / MILLI))} units are of jobs whose records are gone: {UNKNOWN[by]}; {LEDGER}"
    if not moment.keeps(since, until):
        kept = f"of each kind books keep the last {PERIODS_KEPT} periods, and this one is older"
        yield f"{kept}: only jobs that still have records are in it; {LEDGER}"


# -- budgets -----------------------------------------------------------------------------------------------------------


def _budgets(moment: QueueMoment, until: float, tree: AccountTree) -> dict[str, float]:
    """How much of each account's budget is used in the period in which the moment lies."""
    return {name: state.percent / 100 for name, state in budgets_then(moment, until, tree).items()}


def budget_words(moment: QueueMoment, job: QueueJob) -> str:
    """How much of its account's budget is used; "": there is none."""
    spec = moment.settings.accounts.get(job.account)
    if spec is None or spec.budget is None:
        return ""
    used = _budgets(moment, moment.at, AccountTree(moment.settings.accounts))[job.account]
    return (
        f"budget {used:.0%} used this {spec.budget.period}"
        if spec.budget.period != "ever"
        else f"budget {used:.0%} used"
    )


def job_charge(moment: QueueMoment, job: QueueJob) -> float:
    """What the job cost by then, in units."""
    return sum(line.charge for line in moment.lines(-math.inf, moment.at) if line.job_id == job.number) / MILLI


def period_times(name: str, moment: QueueMoment) -> tuple[float, float]:
    """When a period of the calendar begins and ends by the moment's clock, up to the moment."""
    try:
        period = read_period(name)
    except ValueError as error:
        raise UserError(f"--period {error}", "", USAGE) from error
    begin, end = max(period.start - moment.epoch, moment.begins), min(period.end - moment.epoch, moment.at)
    if end <= begin and moment.begins == -math.inf:
        raise UserError(f"{name} has not begun", "give a period that has", USAGE)
    if end <= begin:
        began = dt.datetime.fromtimestamp(moment.epoch + moment.begins, dt.UTC)
        hint = f"it began on {began:%Y-%m-%d}, and ends {time_text(moment.at)} later"
        raise UserError(f"the run has nothing of {name} by {time_text(moment.at)}", hint, USAGE)
    return begin, end
