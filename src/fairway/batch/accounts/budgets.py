"""Budgets: how much of them is used in their period, who is told, and whether a job may still start.

In: the accounts, their books, and what runs. Out: a `AccountBudget` for each account that has a budget, those below it
included; events at 80 and at 100 percent, each told once a period; and for a job that would cost too much a `Standing`
that says what is left and until when. A job has to fit the budgets of its account and of all above it. Called by the
desk in each pass.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from fairway.batch.accounts.account_book import AccountBook
from fairway.batch.accounts.account_tree import AccountTree
from fairway.batch.accounts.charges import MILLI
from fairway.batch.accounts.open_jobs import OpenJobs
from fairway.batch.accounts.periods import Period, PeriodKind, period_at
from fairway.batch.reasons import JobStanding, JobState, Reason

__all__ = [
    "AccountBudget",
    "BudgetEvent",
    "BudgetGate",
    "budget_event",
    "budget_states",
    "note_told",
    "stopped_accounts",
]

THRESHOLDS: Final = (80, 100)
UNLIMITED_SECONDS: Final = 3600.0
"""A job without a limit has to find so much in the budget."""


class AccountBudget(NamedTuple):
    """A budget and what is used of it, in thousandths of a unit."""

    account: str
    amount: int
    used: int  # settled or running, here and below, in this period
    period: Period  # times are seconds since 1970
    on_exhausted: Literal["hold", "stop", "warn"]

    @property
    def left(self) -> int:
        """What may still be used; negative: so much was used too much."""
        return self.amount - self.used

    @property
    def percent(self) -> float:
        """How much of it is used."""
        return 100 * self.used / self.amount


class BudgetEvent(NamedTuple):
    """A threshold was reached."""

    state: AccountBudget
    percent: int

    @property
    def words(self) -> str:
        """For the account's users."""
        state = self.state
        return f"account {state.account} has used {state.percent:.0f} % of its budget{_of(state)}"


def budget_states(
    tree: AccountTree, books: Mapping[str, AccountBook], jobs: OpenJobs, now: float, epoch: float = 0.0
) -> dict[str, AccountBudget]:
    """The budgets by account, what runs counted up to now. `epoch`: what time it was when the clock showed 0."""
    budgets = {name: budget for name in tree.usable if (budget := tree.specs[name].budget) is not None}
    states = {}
    for kind in {budget.period for budget in budgets.values()}:
        period = period_at(kind, now + epoch)
        sums = tree.sums(_used(kind, period, books, jobs, now, epoch))
        for name, budget in budgets.items():
            if budget.period == kind:
                amount = max(round(budget.amount * MILLI), 1)
                states[name] = AccountBudget(name, amount, sums[name], period, budget.on_exhausted)
    return states


def _used(
    kind: PeriodKind, period: Period, books: Mapping[str, AccountBook], jobs: OpenJobs, now: float, epoch: float
) -> dict[str, int]:
    used = {name: book.in_period(kind, period.name) for name, book in books.items()}
    settling = [uid for book in books.values() for uid in book.settling]
    for name, users in jobs.charges_by_account(now, period.start - epoch, settling).items():
        used[name] = used.get(name, 0) + sum(users.values())
    return used


# -- events ----------------------------------------------------------------------------------------------------------


def _reached(state: AccountBudget) -> int:
    return max((percent for percent in THRESHOLDS if state.percent >= percent), default=0)


def budget_event(state: AccountBudget, book: AccountBook) -> BudgetEvent | None:
    """What is to be told: a threshold that was reached, and was not told of in this period."""
    reached = _reached(state)
    return BudgetEvent(state, reached) if reached > book.told.get(state.period.name, 0) else None


def note_told(book: AccountBook, state: AccountBudget) -> AccountBook:
    """The book of the account, in which is noted what was told of.

    A budget that is raised, so that less than a threshold is used of it, is told of again when that is reached.
    """
    told = {state.period.name: reached} if (reached := _reached(state)) else {}
    return book if told == book.told else msgspec.structs.replace(book, told=told)


def stopped_accounts(tree: AccountTree, states: Mapping[str, AccountBudget]) -> dict[str, AccountBudget]:
    """Accounts whose running jobs have to end, each with the budget that says so: its own, or one above it."""
    found = {}
    for name in tree.usable:
        above = (states[each] for each in tree.path(name) if each in states)
        stopped = next((state for state in above if state.on_exhausted == "stop" and state.left <= 0), None)
        if stopped is not None:
            found[name] = stopped
    return found


# -- may a job start? ------------------------------------------------------------------------------------------------


class BudgetGate:
    """Asked in one pass, job by job: what was let in is taken off what is left for the next."""

    def __init__(self, tree: AccountTree, states: Mapping[str, AccountBudget]) -> None:
        self._tree = tree
        self._states = states
        self._taken: dict[str, int] = {}  # by account, those above included

    def take(self, account: str, rate: float, seconds: float) -> None:
        """So much is spoken for: by a job that was let in or, if that is wanted, by what running ones may still use."""
        for name in self._tree.path(account):
            self._taken[name] = self._taken.get(name, 0) + _need(rate, seconds)

    def seconds(self, account: str, rate: float) -> float:
        """For how long what is left would pay for a job of this rate; infinite: nothing limits it."""
        lefts = [
            state.left - self._taken.get(name, 0)
            for name in self._tree.path(account)
            if (state := self._states.get(name)) is not None and state.on_exhausted != "warn"
        ]
        return max(min(lefts), 0) / MILLI / rate if lefts and rate > 0 else math.inf

    def stop(self, account: str, rate: float, limit: float) -> JobStanding | None:
        """Why a job may not start now; None: it may. `limit`: in seconds, infinite if it has none."""
        need = _need(rate, limit)
        for name in self._tree.path(account):
            state = self._states.get(name)
            if state is None or state.on_exhausted == "warn":
                continue
            left = state.left - self._taken.get(name, 0)
            if left <= 0 or need > left:
                return _stopped(state, need, left)
        return None


def _need(rate: float, seconds: float) -> int:
    return math.ceil(rate * (UNLIMITED_SECONDS if seconds == math.inf else seconds) * MILLI)


def _stopped(state: AccountBudget, need: int, left: int) -> JobStanding:
    detail = {
        "account": state.account,
        "budget": state.amount / MILLI,
        "used": state.used / MILLI,
        "left": left / MILLI,
        "needs": need / MILLI,
        "period": state.period.name,
    }
    words = f"account {state.account} has {_units(max(left, 0))} left of its budget{_of(state)}"
    words += f", this job may need {_units(need)}"
    if need > state.amount:
        words += ", more than all of it"
    elif state.period.end < math.inf:
        words += f"; the next period begins {dt.datetime.fromtimestamp(state.period.end, dt.UTC):%Y-%m-%d}"
    return JobStanding(JobState.QUEUED, Reason.ACCOUNT_STOPPED, detail, words)


def _of(state: AccountBudget) -> str:
    period = "" if state.period.name == "ever" else f" for {state.period.name}"
    return f"{period} ({_units(state.used)} of {_units(state.amount)})"


def _units(milli: int) -> str:
    return f"{milli / MILLI:,.0f}".replace(",", " ")
