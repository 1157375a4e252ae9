"""A `BookStore` in memory that can be cut between any two writes, and that lets others write in between."""

from collections.abc import Callable, Iterable, Sequence

from fairway.batch.accounts import (
    AccountBook,
    ChargeLine,
    RecordBook,
    StaleVersionError,
    StoreAwayError,
)
from fairway.batch.job import BilledJob, RunInterval

__all__ = ["KilledError", "MemoryBooks", "StoreView", "billed", "ran"]


class KilledError(Exception):
    """The process died: nothing that it knows is left."""


class MemoryBooks:
    """What is durable: accounts and records with versions, and lines."""

    def __init__(self, accounts: Iterable[str] = ("physics",)) -> None:
        self.accounts = {name: (AccountBook(), 1) for name in accounts}
        self.records: dict[str, tuple[RecordBook, int]] = {}
        self.lines: dict[tuple[str, int], ChargeLine] = {}
        self.is_ledger_away = False
        self.num_account_writes = 0

    def add(self, record: RecordBook) -> RecordBook:
        self.records[record.job.uid] = (record, 1)
        return record

    def book(self, account: str = "physics") -> AccountBook:
        return self.accounts[account][0]

    def record_of(self, uid: str) -> RecordBook:
        return self.records[uid][0]


class StoreView:
    """What one process sees of it. `before` is asked before each call, with its name: it may raise, or write itself."""

    def __init__(self, books: MemoryBooks, before: Callable[[str], None] = lambda call: None) -> None:
        self._books = books
        self._before = before

    def account(self, name: str) -> tuple[AccountBook, str] | None:
        self._before("account")
        found = self._books.accounts.get(name)
        return None if found is None else (found[0], str(found[1]))

    def record(self, uid: str) -> tuple[RecordBook, str] | None:
        self._before("record")
        found = self._books.records.get(uid)
        return None if found is None else (found[0], str(found[1]))

    def unsettled(self, account: str) -> list[str]:
        self._before("unsettled")
        records = (record for record, _ in self._books.records.values())
        return [
            record.job.uid
            for record in records
            if record.is_final and not record.is_settled and record.job.account == account
        ]

    def write_account(self, name: str, book: AccountBook, version: str) -> None:
        self._before("write_account")
        _, at = self._books.accounts[name]
        if str(at) != version:
            raise StaleVersionError
        self._books.accounts[name] = (book, at + 1)
        self._books.num_account_writes += 1

    def write_record(self, record: RecordBook, version: str) -> None:
        self._before("write_record")
        found = self._books.records.get(record.job.uid)
        if found is None or str(found[1]) != version:
            raise StaleVersionError
        self._books.records[record.job.uid] = (record, found[1] + 1)

    def append(self, lines: Sequence[ChargeLine]) -> None:
        for line in lines:
            self._before("append")
            if self._books.is_ledger_away:
                raise StoreAwayError("the ledger does not answer")
            self._books.lines.setdefault((line.job.uid, line.number), line)


def billed(uid: str, user: str = "ada", account: str = "physics", queue: str = "batch") -> BilledJob:
    return BilledJob(uid, f"ns/{uid}", account, user, queue, {"cpu": 1000})


def ran(*spans: tuple[float, float], rate: float = 1.0, refund: str = "") -> tuple[RunInterval, ...]:
    return tuple(RunInterval(start, end, rate, refund=refund) for start, end in spans)
