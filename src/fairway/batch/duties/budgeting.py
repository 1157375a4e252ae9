"""Budgets are carried out: who is told, who may not start, and who has to end.

In: the accounts, their books and what runs. Out: at 80 and 100 percent of a budget an event, once a period; why a job
may not start (`stop`); and, where a budget says so, the end of what runs when all of it is used (`look`), which is
awaited to the second (`next_time`). Called by the desk's accounting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from fairway.batch.accounts import AccountBudget, BudgetGate, budget_event, budget_states, stopped_accounts
from fairway.batch.actions import Action, DeletePod, Tell
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.batch.limits import granted_limit
from fairway.batch.reasons import JobOutcome, JobStanding, JobState

if TYPE_CHECKING:
    from fairway.batch.duties.accounting import Accounting

__all__ = ["Budgeting"]

THRESHOLDS: Final = (80, 100)
DEFAULT_GRACE: Final = 30.0  # of pods that say nothing, as in Kubernetes


class Budgeting:
    """Looks after all budgets."""

    def __init__(self, desk: DutyDesk, accounting: Accounting) -> None:
        self._desk = desk
        self._accounting = accounting
        self._states: dict[str, AccountBudget] = {}
        self._gate: BudgetGate | None = None
        self._next: float | None = math.inf  # None: has to be worked out anew
        self._keeps_waiting = False  # has anybody been stopped in this pass?

    @property
    def are_there(self) -> bool:
        """Has any account one?"""
        return self._accounting.accounts.tree.has_budgets

    def changed(self) -> None:
        """Something runs or ended that may be paid from a budget."""
        self._next = None

    def look(self, now: float) -> Sequence[Action]:
        """A pass begins: how much is left of each, and what follows from that."""
        if not self.are_there:
            self._gate, self._next = None, math.inf
            return ()
        self._read(now)
        actions: list[Action] = list(self._told(now))
        for account, state in stopped_accounts(self._accounting.accounts.tree, self._states).items():
            for job in list(self._desk.book):
                if _is_paid_by(job, account):
                    actions += self._end(job, state)
        self._gate = BudgetGate(self._accounting.accounts.tree, self._states)
        for job in self._desk.book:
            if job.is_released and job.started is None and (payer := self._accounting.accounts.payer(job)) is not None:
                self.take(job, payer.account, self._accounting.accounts.rate(job))
        self._next, self._keeps_waiting = None, False
        return actions

    def _read(self, now: float) -> None:
        accounting = self._accounting
        self._states = budget_states(
            accounting.accounts.tree, accounting.books, accounting.open_jobs, now, self._desk.epoch
        )

    def _told(self, now: float) -> Iterator[Tell]:
        for account, state in self._states.items():
            book = self._accounting.books.get(account)
            if book is not None and budget_event(state, book) is not None:
                event = self._accounting.settle(account, now, state).event
                if event is not None:
                    yield Tell(account, "BudgetUsed", event.words, is_warning=event.percent >= THRESHOLDS[-1])

    def _end(self, job: BatchJob, state: AccountBudget) -> Iterator[Action]:
        """What runs is told and ends, with grace."""
        why = f"account {state.account} has used all of its budget"
        if job.state is not JobState.ENDING:
            yield Tell(job.key, "BudgetUsedUp", why, is_warning=True)
            self._desk.stand(job, JobStanding(JobState.ENDING, JobOutcome.CANCELLED, {"account": state.account}, why))
        longest = float(self._desk.settings.spec_of(job.queue).limits.kill_grace)
        for uid, pod in job.members.items():
            if pod.spec.node_name and not pod.is_terminating:
                own = pod.spec.termination_grace_period_seconds
                yield DeletePod(uid, min(DEFAULT_GRACE if own is None else float(own), longest), why)

    # -- may a job start? --------------------------------------------------------------------------------------------

    def stop(self, job: BatchJob, account: str, nodes: Sequence[str]) -> JobStanding | None:
        """Why a job may not start now; None: it may."""
        if self._gate is None:
            return None
        standing = self._gate.stop(account, self._accounting.accounts.rate(job, nodes), self._limit(job))
        self._keeps_waiting |= standing is not None
        return standing

    def take(self, job: BatchJob, account: str, rate: float) -> None:
        """It was let in: so much is spoken for until it runs."""
        if self._gate is not None:
            self._gate.take(account, rate, self._limit(job))

    def seconds(self, job: BatchJob, account: str, now: float) -> float:
        """For how long the job may go on from now until its account has nothing left; infinite: for ever."""
        if self._gate is None:
            return math.inf
        self._read(now)
        return BudgetGate(self._accounting.accounts.tree, self._states).seconds(
            account, self._accounting.accounts.rate(job)
        )

    def _limit(self, job: BatchJob) -> float:
        return granted_limit(job, self._desk.settings.spec_of(job.queue).limits)

    # -- when ---------------------------------------------------------------------------------------------------------

    def next_time(self, now: float) -> float:
        """When a budget reaches a threshold if all goes on so, or somebody who waits has a new one."""
        if self._next is None and not self.are_there:
            self._next = math.inf
        if self._next is None:
            self._read(now)
            self._next = min(self._times(now), default=math.inf)
        return self._next

    def _times(self, now: float) -> Iterator[float]:
        rates = self._accounting.open_jobs.rates_by_account()
        tree = self._accounting.accounts.tree
        for account, state in self._states.items():
            if self._keeps_waiting and state.period.end < math.inf:
                yield state.period.end - self._desk.epoch
            rate = math.fsum(rate for name, rate in rates.items() if account in tree.path(name))
            for percent in THRESHOLDS if rate else ():
                missing = state.amount * percent / 100 - state.used
                if missing > 0:
                    yield now + missing / 1000 / rate


def _is_paid_by(job: BatchJob, account: str) -> bool:
    billed = job.ledger.billed
    return billed is not None and billed.account == account and job.started is not None
