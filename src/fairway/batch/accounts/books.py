"""Settling: what a job that is over costs goes into its account's book once, whatever happens in between.

In: a `BookStore`, where books, records and ledger lines are kept. Out: five steps, each one write: (1) the record is
final; (2) the account has its charge, and its uid in `settling`; (3) the ledger has its lines; (4) the record says it
is settled; (5) the account forgets the uid. Nothing is remembered between them: what is to be done follows from what
is read, the account before the record. So one that was killed, or another leader, goes on where the last one was.
Called by the desk: `finish` when a job ends, `settle` every 30 s and first of all after a start.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from fairway.batch.accounts.account_book import AccountBook, RecordBook
from fairway.batch.accounts.budgets import AccountBudget, BudgetEvent, budget_event, note_told
from fairway.batch.accounts.charges import ChargeLine, close_interval
from fairway.batch.accounts.open_jobs import OpenJobs
from fairway.batch.job import RunInterval
from fairway.batch.reasons import JobStanding, JobState, Reason

__all__ = ["MOST_SETTLING", "BookStore", "Books", "Settlement", "StaleVersionError", "StoreAwayError", "behind"]

MOST_SETTLING: Final = 1000
"""With more records between (2) and (5) nothing is released: jobs would end faster than they are written down."""

MOST_TRIES: Final = 5


class StaleVersionError(Exception):
    """Somebody else wrote since this was read; nothing was written."""


class StoreAwayError(Exception):
    """The API server or the ledger does not answer; whether something was written is not known."""


class BookStore(Protocol):
    """Where the books are. A record that is read after an account must not be older than that account was."""

    def account(self, name: str) -> tuple[AccountBook, str] | None:
        """An account's book and its version; None: there is no such account."""

    def record(self, uid: str) -> tuple[RecordBook, str] | None:
        """A job's record and its version; None: it is gone."""

    def unsettled(self, account: str) -> Iterable[str]:
        """The uids of the account's records that are final and not settled."""

    def write_account(self, name: str, book: AccountBook, version: str) -> None:
        """Write a book, if its version is still this one; else StaleVersionError."""

    def write_record(self, record: RecordBook, version: str) -> None:
        """Write a record, if its version is still this one; else StaleVersionError. A settled one has no finalizer."""

    def append(self, lines: Sequence[ChargeLine]) -> None:
        """Add lines to the ledger; one that is there already is left as it is."""


class Settlement(NamedTuple):
    """What came of it."""

    book: AccountBook | None = None  # as it is written now; None: that is not known
    num_settled: int = 0  # records that reached (4)
    num_waiting: int = 0  # records that did not
    event: BudgetEvent | None = None  # to be told; it is noted already, and is not told again
    problem: str = ""  # what the others wait for


class Books:
    """Brings records through the five steps."""

    def __init__(self, store: BookStore, jobs: OpenJobs, half_life: float, epoch: float = 0.0) -> None:
        """`epoch`: what time it was when the clock showed 0, in seconds since 1970."""
        self._store = store
        self._jobs = jobs
        self._half_life = half_life
        self.epoch = epoch
        self._unwritten: dict[str, AccountBook] = {}  # of the root, and of accounts that were deleted

    def finish(self, uid: str, intervals: tuple[RunInterval, ...], now: float) -> RecordBook | None:
        """Step (1): the job is over, and these are its intervals; None: its record is gone.

        A record that is final stays as it is: whoever comes second knows no better.
        """
        for _ in range(MOST_TRIES):
            if (found := self._store.record(uid)) is None:
                return None
            record, version = found
            if record.is_final:
                return record
            record = record.ended_at(now, close_interval(intervals, now))
            try:
                self._store.write_record(record, version)
            except StaleVersionError:
                continue
            return record
        raise StaleVersionError(f"others keep writing to the record {uid}")

    def settle(self, account: str, now: float, budget: AccountBudget | None = None) -> Settlement:
        """Steps (2) to (5) for all records of an account, and what runs written down; as far as it goes now.

        `budget`: how much of it is used, which is to be told once. What does not go now is tried again the next time.
        """
        for _ in range(MOST_TRIES):
            try:
                return self._settle(account, now, budget)
            except StaleVersionError:
                continue
            except StoreAwayError as error:
                return Settlement(problem=str(error) or "the API server does not answer")
        return Settlement(problem=f"others keep writing to account {account}")

    def _settle(self, account: str, now: float, budget: AccountBudget | None) -> Settlement:
        # The account before its records: the other way round a record could be read before it was settled by another
        # leader, and the account after its uid was forgotten; the charge would be added again.
        found = self._store.account(account)
        before = self._unwritten.get(account, AccountBook()) if found is None else found[0]
        uids = dict.fromkeys((*before.settling, *self._store.unsettled(account)))
        seen = {uid: self._store.record(uid) for uid in uids}
        waiting = {uid: each for uid, each in seen.items() if each is not None and _waits(each[0])}
        book = self._charged(account, before, [record for record, _ in waiting.values()], now)
        event = None
        if budget is not None:
            event, book = budget_event(budget, book), note_told(book, budget)
        if found is None:
            self._unwritten[account] = book
        elif book != before:
            self._store.write_account(account, book, found[1])
        for uid in {*waiting, *before.settling}:  # counted by the book from now on
            self._jobs.drop(uid)
        num_settled, problem = self._confirm(waiting.values())
        return Settlement(book, num_settled, len(waiting) - num_settled, event, problem)

    def _charged(self, account: str, book: AccountBook, waiting: Sequence[RecordBook], now: float) -> AccountBook:
        """Steps (2) and (5), for all of them at once, and what runs besides."""
        uids = {record.job.uid for record in waiting}
        counted = {*book.settling, *uids}
        # A job that never ran has no line and costs nothing: it needs no place in the book.
        new = [record for record in waiting if record.job.uid not in book.settling and record.lines()]
        book = book.without({uid for uid in book.settling if uid not in uids})
        if new:
            book = book.plus(new, now, self._half_life, self.epoch)
        running = self._jobs.charges_by_account(now, without=counted)
        return book.with_running(running.get(account, {}), now)

    def _confirm(self, waiting: Iterable[tuple[RecordBook, str]]) -> tuple[int, str]:
        """Steps (3) and (4), record by record; how many came through, and what stopped the others."""
        num_settled, problem = 0, ""
        for record, version in waiting:
            try:
                self._store.append(record.lines())
                self._mark(record, version)
            except StaleVersionError as error:
                problem = str(error)
            except StoreAwayError as error:
                return num_settled, str(error) or "the ledger does not answer"
            else:
                num_settled += 1
        return num_settled, problem

    def _mark(self, record: RecordBook, version: str) -> None:
        """Step (4). Whoever wrote to it meanwhile, it is in the account's book and the ledger."""
        for _ in range(MOST_TRIES):
            try:
                self._store.write_record(replace(record, is_settled=True), version)
            except StaleVersionError:
                found = self._store.record(record.job.uid)
                if found is None or found[0].is_settled:
                    return
                record, version = found
            else:
                return
        raise StaleVersionError(f"others keep writing to the record of job {record.job.key}")


def _waits(record: RecordBook) -> bool:
    return record.is_final and not record.is_settled


def behind(account: str, book: AccountBook) -> JobStanding | None:
    """Why jobs of an account may not start while its books are behind; None: they are not."""
    if len(book.settling) <= MOST_SETTLING:
        return None
    words = f"books are behind: {len(book.settling)} jobs of account {account} are over and not written down yet"
    detail = {"account": account, "settling": len(book.settling)}
    return JobStanding(JobState.QUEUED, Reason.ACCOUNT_STOPPED, detail, words)
