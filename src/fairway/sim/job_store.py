"""What a simulated cluster keeps of jobs and accounts: records, books, and a ledger of lines.

In: jobs as the desk writes them down, and the writes of its books, each with a version check. Out: all of it again, for
the desk and for one that comes after it. It outlives schedulers: one that was killed and comes again finds everything
here. This is `fairway.batch.accounts.BookStore`; those who have no account have a book here as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from fairway.batch.accounts import ROOT, AccountBook, ChargeLine, RecordBook, StaleVersionError, record_book
from fairway.batch.job import BatchJob, JobOrders, JobRecord
from fairway.batch.upkeep.closing_status import ClosingStatus

__all__ = ["JobStore"]


def _nobody(line: ChargeLine) -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class Versioned:
    """Something that was written so many times."""

    value: Any  # of a record that nobody has read yet: the job itself
    version: int = 1


@dataclass(slots=True)
class JobStore:
    """Records by uid, books by account, lines by record and number."""

    account_names: Iterable[str] = ()
    tell: Callable[[ChargeLine], None] = _nobody  # of each line, once
    is_inherited: bool = False  # will other desks come after the first one?
    _records: dict[str, Versioned] = field(default_factory=dict)  # JobRecord, or BatchJob
    _accounts: dict[str, Versioned] = field(default_factory=dict)  # AccountBook
    _lines: dict[tuple[str, int], ChargeLine] = field(default_factory=dict)
    statuses: dict[tuple[str, str], ClosingStatus] = field(default_factory=dict)  # by kind and name
    _unsettled: dict[str, dict[str, None]] = field(default_factory=dict)  # uids by account

    def __post_init__(self) -> None:
        self._accounts = {name: Versioned(AccountBook()) for name in (ROOT, *self.account_names)}

    # -- records -----------------------------------------------------------------------------------------------------

    def put(self, job: BatchJob) -> None:
        """Write a job down as it is now; for nobody but the desk itself, which knows the job, when it is read."""
        self._put(job.record() if self.is_inherited else job)

    def _put(self, record: JobRecord | BatchJob) -> None:
        known = self._records.get(record.uid)
        if known is None:
            self._records[record.uid] = Versioned(record)
        else:
            known.value = record
            known.version += 1
        ledger = record.ledger
        if ledger.is_final and ledger.billed is not None:
            waiting = self._unsettled.setdefault(ledger.billed.account, {})
            if ledger.is_settled:
                waiting.pop(record.uid, None)
            else:
                waiting[record.uid] = None

    def order(self, uid: str, orders: JobOrders) -> None:
        """Operators want something else of a job: what that is does not hang on who hears of it."""
        if (known := self._records.get(uid)) is not None:
            known.value = replace(_read(known), orders=orders)
            known.version += 1

    def records(self) -> Iterator[JobRecord]:
        """All of them, in the order in which they were first written."""
        return map(_read, self._records.values())

    def record(self, uid: str) -> tuple[RecordBook, str] | None:
        """A job's record, as books see it, and its version; None: there is none."""
        found = self._records.get(uid)
        return None if found is None else (record_book(_read(found)), str(found.version))

    def records_of(self, account: str) -> Iterator[RecordBook]:
        """The records of an account's jobs that ever started."""
        for record in self.records():
            if record.ledger.billed is not None and record.ledger.billed.account == account:
                yield record_book(record)

    def unsettled(self, account: str) -> Iterable[str]:
        """The uids of the account's records that are final and not settled."""
        return tuple(self._unsettled.get(account, ()))

    def write_record(self, record: RecordBook, version: str) -> None:
        """Write what the books know of a record, if its version is still this one; else StaleVersionError."""
        known = self._records.get(record.job.uid)
        if known is None or str(known.version) != version:
            raise StaleVersionError(f"the record of job {record.job.key} is not of version {version}")
        former = _read(known)
        ledger = replace(
            former.ledger, intervals=record.intervals, is_final=record.is_final, is_settled=record.is_settled
        )
        self._put(replace(former, ledger=ledger))

    # -- accounts ----------------------------------------------------------------------------------------------------

    def account(self, name: str) -> tuple[AccountBook, str] | None:
        """An account's book and its version; None: there is no such account."""
        found = self._accounts.get(name)
        return None if found is None else (found.value, str(found.version))

    def write_account(self, name: str, book: AccountBook, version: str) -> None:
        """Write a book, if its version is still this one; else StaleVersionError."""
        known = self._accounts[name]
        if str(known.version) != version:
            raise StaleVersionError(f"the book of account {name} is not of version {version}")
        known.value = book
        known.version += 1

    # -- the ledger --------------------------------------------------------------------------------------------------

    def append(self, lines: Sequence[ChargeLine]) -> None:
        """Add lines; one that is there already is left as it is."""
        for line in lines:
            key = (line.job.uid, line.number)
            if key not in self._lines:
                self._lines[key] = line
                self.tell(line)

    def lines_of(self, account: str) -> Iterable[ChargeLine]:
        """All lines of an account."""
        return [line for line in self._lines.values() if line.job.account == account]


def _read(record: Versioned) -> JobRecord:
    """A record as somebody sees it: made now, if nobody has seen it since it was written."""
    if isinstance(record.value, BatchJob):
        record.value = record.value.record()
    value: JobRecord = record.value
    return value
