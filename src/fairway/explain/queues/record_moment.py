"""The queues of a cluster now, from what is written down: records, books, statuses; as every answer takes them.

In: settings, records of jobs with what is said besides, books of accounts, statuses of windows and reservations, as an
API server has them (`cluster_moment` reads it) or a scheduler has in memory (`desk_moment`). Out: a `RecordMoment`.
Records go when their owners do, books stay: what a book has and no record does is told as of jobs that are gone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from fairway.batch.accounts import AccountBook, AccountTree, FairShares, OpenJobs, Payer
from fairway.batch.accounts.account_book import PERIODS_KEPT
from fairway.batch.accounts.charges import LineKind, charge_lines, total_charge
from fairway.batch.accounts.periods import CALENDAR, PeriodKind, period_at, read_period
from fairway.batch.dates.date_book import DateBook
from fairway.batch.job import JobRecord
from fairway.batch.reservations import NodeReservation, view_reservation
from fairway.batch.settings import BatchSettings
from fairway.batch.upkeep.closing_status import ClosingKind, ClosingStatus
from fairway.batch.windows import Window, view_window
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.queue_moment import GONE, BookLine, KeptReservation, KnownWindow, TimeWords, WallTimes
from fairway.explain.queues.record_jobs import newest_moment, record_job
from fairway.live.batch.record_terms import RecordTerms
from fairway.plan import EstimateBook, RunHistory

__all__ = ["RecordMoment"]

Written = tuple[JobRecord, RecordTerms]


class RecordMoment:
    """A `QueueMoment` of a cluster. Times are seconds since 1970."""

    begins = -math.inf

    def __init__(
        self,
        now: float,
        settings: BatchSettings,
        written: Sequence[Written] = (),
        books: Mapping[str, AccountBook] | None = None,
        statuses: Sequence[ClosingStatus] = (),
        times: TimeWords | None = None,
        epoch: float = 0.0,
    ) -> None:
        """`times`: how they are shown; None: by this machine's clock. `epoch`: what time it was when it showed 0."""
        # Whoever asks may have a clock that is behind the scheduler's.
        self.at = max([now, *(newest_moment(*each) for each in written)])
        self.settings = settings
        self.epoch = epoch
        self.times = times or WallTimes(self.at)
        self.written = sorted(written, key=lambda each: (each[0].ledger.submitted, each[0].number, each[0].uid))
        self._books = books or {}
        self._statuses = {(each.kind, each.name): each for each in statuses}

    @cached_property
    def jobs(self) -> Sequence[QueueJob]:
        """Those that have records."""
        return [record_job(*each, self.at, number) for number, each in enumerate(self.written)]

    @cached_property
    def resources(self) -> Sequence[str]:
        """That jobs ask for, or queues name."""
        found = {name for job in self.jobs for each in job.members for name in each.amounts}
        found |= {name for queue in self.settings.queues.values() for name in queue.quota}
        return ["cpu", "memory", *sorted(found - {"cpu", "memory"})]

    @cached_property
    def _date_book(self) -> DateBook:
        return DateBook(record for record, _ in self.written)

    @property
    def dates(self) -> EstimateBook:
        """What records tell of dates."""
        return self._date_book.estimates

    @property
    def history(self) -> RunHistory:
        """How long jobs ran that have records."""
        return self._date_book.history

    # -- books -------------------------------------------------------------------------------------------------------

    def lines(self, since: float, until: float) -> Iterator[BookLine]:
        """Of jobs that have records; and what books have besides, where that can be said for such a time."""
        yield from self._written_lines(since, until)
        yield from self._gone(since, until)

    def lines_by_day(self, since: float, until: float) -> Iterator[BookLine]:
        """The same; of jobs that are gone for those days that books still keep, and what is left over in one line."""
        for line in self._written_lines(since, until):
            yield from line.by_day(self.epoch)
        left = {(line.account, line.user): line for line in self._gone(since, until)}
        told: dict[str, int] = {}
        for name in sorted({name for book in self._books.values() for name in book.periods.get("day", ())}):
            day = read_period(name)
            start, end = day.start - self.epoch, min(day.end - self.epoch, self.at)
            for line in self._gone(start, end) if left and since <= start and end <= until else ():
                told[line.account] = told.get(line.account, 0) + line.charge
                yield line._replace(day=name)
        for line in left.values():
            by_day = min(told.get(line.account, 0), line.charge)
            told[line.account] = told.get(line.account, 0) - by_day
            if line.charge > by_day:
                yield line._replace(charge=line.charge - by_day, day=GONE)

    def keeps(self, since: float, until: float) -> bool:
        """Of a period that no book keeps any more only those jobs are known that have records."""
        kind = self._period_kind(since, until)
        if kind is None:
            return since == -math.inf and until >= self.at
        name = period_at(kind, since + self.epoch).name
        kept = [book.periods.get(kind, {}) for book in self._books.values()]
        return not any(len(names) >= PERIODS_KEPT and name < min(names) for names in kept)

    def _written_lines(self, since: float, until: float) -> Iterator[BookLine]:
        for number, (record, _) in enumerate(self.written):
            if (billed := record.ledger.billed) is None:
                continue
            for line in charge_lines(billed, record.ledger.intervals, self.at):
                if line.kind is LineKind.REFUND and line.end > until:
                    continue
                book_line = BookLine(number, record.key, billed.account, billed.user, billed.queue, line.start,
                                     line.end, line.rate, line.charge, line.kind, line.reason)  # fmt: skip
                if (part := book_line.within(since, until)) is not None:
                    yield part

    def _gone(self, since: float, until: float) -> Iterator[BookLine]:
        """What was settled of jobs whose records are gone: of all time by user, of a period of the calendar as one."""
        kind = self._period_kind(since, until)
        is_all = since == -math.inf and until >= self.at
        for account, book in self._books.items():
            known: dict[str, int] = {}
            for record in self._settled(account, book):
                assert record.ledger.billed is not None
                user = record.ledger.billed.user if is_all else GONE
                intervals = [each for each in record.ledger.intervals if not each.refund]
                lines = charge_lines(record.ledger.billed, intervals, self.at)
                cut = (BookLine(0, "", account, user, "", line.start, line.end, line.rate, line.charge, "", "")
                       .within(since, until) for line in lines)  # fmt: skip
                charge = total_charge(intervals, self.at) if is_all else sum(each.charge for each in cut if each)
                known[user] = known.get(user, 0) + charge
            settled: dict[str, int] = {}
            if is_all:
                settled = {user: each.settled for user, each in book.users.items()}
            elif kind is not None:
                settled = {GONE: book.in_period(kind, period_at(kind, since + self.epoch).name)}
            for user, charge in settled.items():
                if (rest := charge - known.get(user, 0)) > 0:
                    yield BookLine(-1, "", account, user, GONE, since, until, 0.0, rest, "settled", "", GONE)

    def _period_kind(self, since: float, until: float) -> PeriodKind | None:
        """Of which kind the period of the calendar is that is from then to then, or to now; None: there is none."""
        for kind in CALENDAR if since > -math.inf else ():
            period = period_at(kind, since + self.epoch)
            if (period.start - self.epoch, min(period.end - self.epoch, self.at)) == (since, until):
                return kind
        return None

    def _settled(self, account: str, book: AccountBook) -> Iterator[JobRecord]:
        """The records that are in the account's book."""
        for record, _ in self.written:
            billed = record.ledger.billed
            if billed is not None and billed.account == account and _is_in(record, book):
                yield record

    def _is_open(self, record: JobRecord) -> bool:
        """Is what it used in no book?"""
        book = None if record.ledger.billed is None else self._books.get(record.ledger.billed.account)
        return book is None or not _is_in(record, book)

    def charged(self, accounts: Collection[str], kind: PeriodKind, until: float) -> int:
        """What is settled in that period, and what is not settled yet."""
        period = period_at(kind, until + self.epoch)
        settled = sum(self._books[name].in_period(kind, period.name) for name in accounts if name in self._books)
        opened = {number for number, (record, _) in enumerate(self.written) if self._is_open(record)}
        lines = (line for line in self.lines(period.start - self.epoch, until) if line.job_id in opened)
        return settled + sum(line.charge for line in lines if line.account in accounts)

    def shares(self) -> FairShares:
        """From books, and from records of what is in none yet."""
        settings, opened = self.settings, OpenJobs()
        shares = FairShares(AccountTree(settings.accounts), opened, settings.half_life, settings.interval)
        for job in self.jobs:
            if job.account in shares.tree:
                shares.join(job.account, job.user)
        for name, book in self._books.items():
            if name in shares.tree:
                shares.load(name, book.usage())
        for record, _ in self.written:
            if (billed := record.ledger.billed) is not None and self._is_open(record):
                opened.put(record.uid, Payer(billed.account, billed.user), record.ledger.intervals)
        return shares

    # -- closings ----------------------------------------------------------------------------------------------------

    def _status(self, kind: ClosingKind, name: str) -> ClosingStatus:
        return self._statuses.get((kind, name)) or ClosingStatus(kind, name, name, 0.0)

    def windows(self) -> list[KnownWindow]:
        """With the nodes that are written down of them."""
        found = []
        for name, spec in self.settings.windows.items():
            status = self._status("maintenance", name)
            window = Window(name, status.uid, spec, status.created, status.is_cancelled, status.nodes)
            found.append(
                KnownWindow(view_window(window, (), self.at, self.epoch, may_be_span=self.epoch != 0.0), status.jobs)
            )
        return found

    def reservations(self) -> list[KeptReservation]:
        """With the nodes that are written down of them, or what is in the way."""
        found = []
        for name, spec in self.settings.reservations.items():
            status = self._status("reservation", name)
            kept = NodeReservation(
                name, status.uid, spec, status.created, status.nodes, status.is_freed, status.is_cancelled
            )
            found.append(
                KeptReservation(
                    view_reservation(kept, self.at, math.inf, self.epoch, may_be_span=self.epoch != 0.0), status.words
                )
            )
        return found


def _is_in(record: JobRecord, book: AccountBook) -> bool:
    """Has its account's book what it used?"""
    ledger = record.ledger
    is_settling = record.uid in book.settling or (ledger.billed is not None and ledger.billed.uid in book.settling)
    return ledger.is_final and (ledger.is_settled or is_settling)
