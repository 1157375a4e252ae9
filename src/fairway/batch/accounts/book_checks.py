"""Do the books balance? What differs is told with both numbers, and never mended silently.

In: an account's book, the records of its jobs, its lines where a ledger is kept. Out: `BooksDiffer`s; none, if users
add up to the account, what is settled and runs is the sum of all lines, nothing is negative, and every job that ended
is settled in time. Called after a start and daily, each time when the account has just been settled: what runs is
compared as it was then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from fairway.batch.accounts.account_book import AccountBook, RecordBook
from fairway.batch.accounts.charges import MILLI, ChargeLine, total_charge

__all__ = ["BooksDiffer", "book_differences"]

SETTLED_WITHIN: Final = 600.0


class BooksDiffer(NamedTuple):
    """Two numbers that should be the same, or one that should not be so."""

    account: str
    what: str
    is_: float
    should_be: float

    @property
    def words(self) -> str:
        """For the event and the log."""
        return f"account {self.account}: {self.what}: {self.is_:g}, should be {self.should_be:g}"


def book_differences(
    account: str, book: AccountBook, records: Sequence[RecordBook], lines: Iterable[ChargeLine] | None, now: float
) -> Iterator[BooksDiffer]:
    """What does not balance. `records`: all there are of the account's jobs; `lines`: None where none are kept."""
    users = book.users.values()
    for what, whole, parts in (
        ("settled is not the sum of its users", book.settled, sum(user.settled for user in users)),
        ("running is not the sum of its users", book.running, sum(user.running for user in users)),
    ):
        if whole != parts:
            yield BooksDiffer(account, what, whole / MILLI, parts / MILLI)
    yield from _negatives(account, book)
    settling = set(book.settling)
    if lines is not None:
        known = {(line.job.uid, line.number): line for line in lines if line.job.account == account}
        yield from _line_differences(account, book, known, [each for each in records if each.job.uid in settling])
    yield from _running_differences(account, book, [each for each in records if each.job.uid not in settling])
    for record in records:
        if record.is_final and not record.is_settled and now - record.ended > SETTLED_WITHIN:
            what = f"job {record.job.key} ended and is not settled, for seconds"
            yield BooksDiffer(account, what, now - record.ended, SETTLED_WITHIN)


def _negatives(account: str, book: AccountBook) -> Iterator[BooksDiffer]:
    numbers = {"settled": float(book.settled), "running": float(book.running)}
    for name, user in book.users.items():
        numbers |= {f"settled of {name}": user.settled, f"running of {name}": user.running}
        numbers[f"fading usage of {name}"] = user.decayed * MILLI
    for kind, names in book.periods.items():
        numbers |= {f"used in {kind} {name}": used for name, used in names.items()}
    for what, number in numbers.items():
        if not number >= 0:
            yield BooksDiffer(account, f"{what} is negative", number / MILLI, 0.0)


def _line_differences(
    account: str, book: AccountBook, lines: Mapping[tuple[str, int], ChargeLine], settling: Sequence[RecordBook]
) -> Iterator[BooksDiffer]:
    """Lines of records that are on their way count as if they were in the ledger."""
    known = {(record.job.uid, line.number): line for record in settling for line in record.lines()}
    sum_of_lines = sum(line.charge for line in {**lines, **known}.values())
    if book.settled != sum_of_lines:
        yield BooksDiffer(account, "settled is not the sum of its lines", book.settled / MILLI, sum_of_lines / MILLI)


def _running_differences(account: str, book: AccountBook, records: Sequence[RecordBook]) -> Iterator[BooksDiffer]:
    used = sum(total_charge(each.intervals, book.as_of) for each in records if not each.is_settled)
    if book.running != used:
        what = "running is not what its jobs have used by then"
        yield BooksDiffer(account, what, book.running / MILLI, used / MILLI)
