"""Accounts are kept: what jobs cost and who pays, who comes first by what was used, and books that balance.

In: jobs as they are released, run and end; the accounts; the world's books. Out: a rate for every interval, another one
from the instant at which it changes (`observe`); the account of a job or why it has none, the factor of its user, and
whether a budget stops it, which the desk asks in each pass; and books in which every job that ended is settled once
(`look`). What is known here comes from records and books, so that one who comes later knows the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from fairway.batch.accounts import (
    ROOT,
    AccountBook,
    AccountBudget,
    Books,
    FairShares,
    JobAccounts,
    OpenJobs,
    Payer,
    RecordBook,
    Settlement,
    behind,
    book_differences,
    change_rate,
    record_book,
)
from fairway.batch.accounts.unwatched import time_of
from fairway.batch.actions import Action, Tell
from fairway.batch.duties.budgeting import Budgeting
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobStanding
from fairway.cluster import Event
from fairway.model import Node

__all__ = ["Accounting"]

SETTLED_EVERY: Final = 30.0
SETTLED_SOONER: Final = 3.0
"""Where many have ended: what waits for that is not to pile up."""
MANY: Final = 200
UNASKED_EVERY: Final = 3600.0
"""Where there are no accounts, only fair share reads the books, and that counts what is not settled yet as well."""
CHECKED_EVERY: Final = 86_400.0


class Accounting:
    """The accounts of everybody who has jobs here."""

    hears_members, keeps_times = True, True

    def __init__(self, desk: DutyDesk) -> None:
        settings = desk.settings
        self._desk = desk
        self.accounts = JobAccounts(settings, desk.cluster)
        self.open_jobs = OpenJobs()
        self._shares = FairShares(self.accounts.tree, self.open_jobs, settings.half_life, settings.interval)
        self._books = Books(desk.world.books, self.open_jobs, settings.half_life, desk.epoch)
        self._factors: Mapping[Payer, float] = {}
        self.books: dict[str, AccountBook] = {}  # as they were last written
        self._unsettled: dict[str, None] = {}  # accounts in which something has ended
        self._num_written = 0  # ends that were written down since then
        self._settled_at = self._checked_at = -math.inf
        self._num_billed: dict[str, int] = {}  # by uid of jobs that run: members that are paid for
        self._alone: dict[str, BatchJob] = {}  # by uid: jobs that run on nodes of their own
        self._budgets = Budgeting(desk, self)
        self._just_billed: dict[str, int] = {}  # by uid: jobs that start to run, and so many members were paid for
        desk.book.bill = self._bill
        desk.world.when_ended(self.written)
        self._read_books()

    def _read_books(self) -> None:
        """What was written down by whoever was here before."""
        for record in self._desk.world.records():
            billed = record.ledger.billed
            if billed is not None and not record.ledger.is_settled:
                self.open_jobs.put(record.uid, Payer(billed.account, billed.user), record.ledger.intervals)
                if record.ledger.is_final:
                    self._unsettled[billed.account] = None
        for name in (ROOT, *self.accounts.tree.usable):
            if (found := self._desk.world.books.account(name)) is not None:
                self._note(name, found[0])

    @property
    def _is_weighed(self) -> bool:
        """Does anybody's place depend on what was used? Queues come and go."""
        return self._desk.settings.weighs_shares

    # -- what the desk asks ------------------------------------------------------------------------------------------

    @property
    def has_budgets(self) -> bool:
        """May a job have to wait for a budget?"""
        return self._budgets.are_there

    def account_of(self, job: BatchJob) -> str | JobStanding:
        """The account that the job is charged to, or why there is none."""
        return self.accounts.account_of(job)

    def stop(self, job: BatchJob, rows: Iterable[int] = ()) -> JobStanding | None:
        """Why its account does not let the job start now; None: it does. `rows`: where it would run."""
        payer = self.accounts.payer(job)
        if payer is None:
            return None
        book = self.books.get(payer.account)
        late = None if book is None else behind(payer.account, book)
        return late or self._budgets.stop(job, payer.account, self._names(rows))

    def affordable(self, job: BatchJob, now: float) -> float:
        """For how many seconds from now the job's account can pay for it; infinite: for ever."""
        payer = self.accounts.payer(job)
        return math.inf if payer is None else self._budgets.seconds(job, payer.account, now)

    def _names(self, rows: Iterable[int]) -> list[str]:
        return [self._desk.cluster.nodes.names[row] for row in rows]

    def released(self, job: BatchJob, rows: Iterable[int] = ()) -> None:
        """It may start: from now on it counts."""
        payer = self.accounts.payer(job) if self._is_weighed or self._budgets.are_there else None
        if payer is not None:
            rate = self.accounts.rate(job, self._names(rows))
            self._budgets.take(job, payer.account, rate)
            self.open_jobs.put(job.uid, payer, job.ledger.intervals, rate)

    def rank(self, jobs: Iterable[BatchJob], now: float) -> None:
        """A pass goes over these jobs: whoever has one is ranked."""
        if not self._is_weighed:
            return
        for job in jobs:
            if (payer := self.accounts.payer(job)) is not None:
                self._shares.join(*payer)
        self._factors = self._shares.factors(now)

    def factor(self, job: BatchJob) -> float:
        """That of the job's user, 0 to 1."""
        payer = self.accounts.payer(job)
        return 0.0 if payer is None else self._factors[payer]

    # -- what happens ------------------------------------------------------------------------------------------------

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """Members come and go, and with them what a job costs."""
        now = self._desk.world.now()
        if job is None:
            if self._alone and isinstance(event.object, Node):
                for each in list(self._alone.values()):
                    self._rate_anew(each, now)
        elif job.ledger.intervals and not job.has_ended:  # of who is over the desk has said so
            counted = self._num_billed.get(job.uid)
            if counted is None and self._just_billed and self._just_billed.pop(job.uid, -1) == _num_placed(job):
                self._note_billed(job)
                self._count(job)
            elif counted != (_num_placed(job) if job.ledger.intervals[-1].end == math.inf else None):
                self._rate_anew(job, time_of(event, self._desk.book.unwatched, now))

    def _bill(self, job: BatchJob) -> float:
        """It starts to run."""
        self._just_billed[job.uid] = _num_placed(job)
        return self.accounts.bill(job)

    def _rate_anew(self, job: BatchJob, now: float) -> None:
        """Other members, nodes or weights: another rate from now on."""
        before = job.ledger.intervals
        if before[-1].end < math.inf:  # it does not run any more
            self._num_billed.pop(job.uid, None)
            self._alone.pop(job.uid, None)
        else:
            self._note_billed(job)
            nodes = tuple(sorted({pod.spec.node_name for pod in job.members.values() if pod.spec.node_name}))
            is_uncertain = self._desk.book.unwatched is not None
            job.ledger.intervals = change_rate(before, now, self.accounts.rate(job), nodes, is_uncertain=is_uncertain)
        if job.ledger.intervals != before:
            self._desk.world.write_record(job)
        self._count(job)

    def _note_billed(self, job: BatchJob) -> None:
        """All members that are there are paid for."""
        self._num_billed[job.uid] = _num_placed(job)
        if job.wishes.is_exclusive:
            self._alone[job.uid] = job

    def stopped(self, job: BatchJob) -> None:
        """It is over, or waits again."""
        self._num_billed.pop(job.uid, None)
        self._alone.pop(job.uid, None)
        if job.ledger.billed is None:
            self.open_jobs.drop(job.uid)
            return
        self._count(job)
        if job.has_ended:
            self._unsettled[job.ledger.billed.account] = None

    def written(self, account: str) -> None:
        """The end of one of the account's jobs is written down: it can be settled."""
        self._unsettled[account] = None
        self._num_written += 1

    def _count(self, job: BatchJob) -> None:
        """What it used is in what is not settled."""
        billed = job.ledger.billed
        if billed is not None:
            self.open_jobs.put(job.uid, Payer(billed.account, billed.user), job.ledger.intervals)
            self._budgets.changed()

    # -- books -------------------------------------------------------------------------------------------------------

    def look(self, now: float) -> Sequence[Action]:
        """Write down what ended, tell of budgets, and end what they no longer allow."""
        actions: list[Action] = []
        if self.accounts.change(self._desk.settings):
            self._shares.tree = self.accounts.tree
            for job in self._desk.book:
                if job.uid in self._num_billed:
                    self._rate_anew(job, now)
        if self.accounts.tree.specs and now >= self._checked_at + CHECKED_EVERY:
            self._checked_at = now
            actions += self._check(now)
        elif self._unsettled and now >= self._settled_at + self._patience:
            self.close(now)
        return [*actions, *self._budgets.look(now)]

    def next_time(self, now: float) -> float:
        """When something has to be settled, or a budget is used up."""
        settles = self._settled_at + self._patience if self._unsettled else math.inf
        return min(max(settles, now), self._budgets.next_time(now))

    @property
    def _patience(self) -> float:
        if self.accounts.tree.specs:
            return SETTLED_SOONER if self._num_written >= MANY else SETTLED_EVERY
        return UNASKED_EVERY if self._desk.world.awaits_settling or self._is_weighed else math.inf

    def close(self, now: float) -> None:
        """Write down what ended, as far as that goes now."""
        self._num_written = 0
        for account in list(self._unsettled) if self._patience < math.inf else ():
            self.settle(account, now)

    def settle(self, account: str, now: float, budget: AccountBudget | None = None) -> Settlement:
        """Bring the account's book up to now, and note what was told of its budget."""
        self._books.epoch = self._desk.epoch
        settlement = self._books.settle(account, now, budget)
        self._settled_at = now
        if settlement.book is not None:
            self._note(account, settlement.book)
            if not settlement.num_waiting and not settlement.book.settling:
                self._unsettled.pop(account, None)
        return settlement

    def _note(self, account: str, book: AccountBook) -> None:
        self._shares.load(account, book.usage(self.books.get(account)))
        self.books[account] = book
        if book.settling:
            self._unsettled[account] = None

    def _check(self, now: float) -> Iterator[Tell]:
        """Do all books balance? After a start, and then once a day."""
        world = self._desk.world
        records: dict[str, list[RecordBook]] = {}
        for record in world.records():
            if record.ledger.billed is not None:
                records.setdefault(record.ledger.billed.account, []).append(record_book(record))
        for account in self.accounts.tree.usable:
            if (book := self.settle(account, now).book) is not None:
                known, lines = records.get(account, ()), world.lines(account)
                for difference in book_differences(account, book, known, lines, now):
                    yield Tell(account, "BooksDiffer", difference.words, is_warning=True)


def _num_placed(job: BatchJob) -> int:
    return sum(bool(pod.spec.node_name) for pod in job.members.values())
