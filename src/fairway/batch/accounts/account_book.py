"""The book of an account: what is settled, what runs, by user and by period. And what is known of each job that ended.

In: records of jobs that are over, what runs by now. Out: the next state of the book; none is ever changed in place,
and each is one write of an Account's `status`. Amounts are whole thousandths of a unit, fading usage is in units.
Parents are sums (`AccountTree.sums`), computed and not stored. Called by `books`.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from fairway.batch.accounts.charges import ChargeLine, charge_between, charge_lines, total_charge
from fairway.batch.accounts.periods import CALENDAR, PeriodKind, cut, period_at
from fairway.batch.job import BilledJob, JobRecord, RunInterval
from fairway.batch.usage import DecayedUsage
from fairway.model.meta import Value

__all__ = ["PERIODS_KEPT", "AccountBook", "RecordBook", "UserBook", "period_charges", "record_book"]

PERIODS_KEPT: Final = 24
"""Of each kind: days, weeks, months, quarters, years."""


class RecordBook(msgspec.Struct, frozen=True, gc=False):
    """What a job's record says for the books."""

    job: BilledJob
    intervals: tuple[RunInterval, ...] = ()
    is_final: bool = False  # the intervals will not change any more
    is_settled: bool = False  # the account has the charge, the ledger has the lines
    charge: int = 0  # of a final one: thousandths of a unit
    ended: float = math.inf

    def lines(self) -> list[ChargeLine]:
        """Its lines; of a final one they are always the same."""
        return list(charge_lines(self.job, self.intervals, math.inf))

    def ended_at(self, now: float, intervals: tuple[RunInterval, ...]) -> RecordBook:
        """The final record of a job that is over, whose intervals are all closed."""
        return RecordBook(self.job, intervals, is_final=True, charge=total_charge(intervals, math.inf), ended=now)


def record_book(record: JobRecord) -> RecordBook:
    """A record as books see it; one that has no payer yet is nobody's."""
    ledger = record.ledger
    job = ledger.billed or BilledJob(record.uid, record.key, "", "")
    charge = total_charge(ledger.intervals, math.inf) if ledger.is_final else 0
    return RecordBook(job, ledger.intervals, ledger.is_final, ledger.is_settled, charge, ledger.ended)


class UserBook(Value, frozen=True, kw_only=True):
    """What one user of an account used."""

    settled: int = 0
    running: int = 0
    decayed: float = 0.0  # of what is settled: units, as of `as_of`
    as_of: float = 0.0

    @property
    def usage(self) -> DecayedUsage:
        """As `usage` takes it."""
        return DecayedUsage(self.decayed, self.as_of)


class AccountBook(Value, frozen=True, kw_only=True):
    """What an account used, without those below it."""

    settled: int = 0
    running: int = 0
    as_of: float = 0.0
    users: dict[str, UserBook] = {}
    periods: dict[str, dict[str, int]] = {}  # what is settled, by kind and name of the period in which it was used
    settling: tuple[str, ...] = ()  # uids of records that are in `settled` and do not say so yet
    told: dict[str, int] = {}  # percent of the budget that was told of, by name of the period

    def usage(self, before: AccountBook | None = None) -> dict[str, DecayedUsage]:
        """What is settled by user, for `FairShares.load`; only of those about whom a former book says otherwise."""
        former: Mapping[str, UserBook] = {} if before is None else before.users
        return {user: book.usage for user, book in self.users.items() if former.get(user) is not book}

    def in_period(self, kind: PeriodKind, name: str) -> int:
        """What is settled in a period; of one that is no longer kept, nothing is known."""
        return self.settled if kind == "ever" else self.periods.get(kind, {}).get(name, 0)

    def plus(self, records: Iterable[RecordBook], now: float, half_life: float, epoch: float) -> AccountBook:
        """With final records charged, whose uids are noted. `epoch`: what time it was when the clock showed 0."""
        users, periods = dict(self.users), {kind: dict(names) for kind, names in self.periods.items()}
        settled, settling = self.settled, list(self.settling)
        for record in records:
            settling.append(record.job.uid)
            settled += record.charge
            users[record.job.user] = _charged(users.get(record.job.user, UserBook()), record, now, half_life)
            for interval in record.intervals:
                if not interval.refund:
                    for kind in CALENDAR:
                        names = periods.setdefault(kind, {})
                        for name, charge in period_charges(kind, interval, epoch):
                            names[name] = names.get(name, 0) + charge
        kept = {kind: dict(sorted(names.items())[-PERIODS_KEPT:]) for kind, names in periods.items()}
        changed = {"settled": settled, "users": users, "periods": kept, "settling": tuple(settling)}
        return msgspec.structs.replace(self, **changed, as_of=now)

    def without(self, uids: Collection[str]) -> AccountBook:
        """With records forgotten that say themselves that they are settled, or are gone."""
        settling = tuple(uid for uid in self.settling if uid not in uids)
        return self if settling == self.settling else msgspec.structs.replace(self, settling=settling)

    def with_running(self, charges: Mapping[str, int], now: float) -> AccountBook:
        """With what is not settled yet, by user, up to now; the same book if nothing changed."""
        changed = [user for user, book in self.users.items() if book.running != charges.get(user, 0)]
        if not changed and charges.keys() <= self.users.keys():
            return self
        users = dict(self.users)
        for user in (*changed, *sorted(charges.keys() - users.keys())):
            book = users.get(user, UserBook())
            users[user] = msgspec.structs.replace(book, running=charges.get(user, 0))
        return msgspec.structs.replace(self, running=sum(charges.values()), users=users, as_of=now)


def _charged(user: UserBook, record: RecordBook, now: float, half_life: float) -> UserBook:
    usage = user.usage
    now = max(now, usage.as_of)  # a clock that was set back must not make the past heavier
    for interval in record.intervals:
        if not interval.refund:
            usage = usage.plus(interval.usage(), now, half_life)
    changed = {"settled": user.settled + record.charge, "decayed": usage.amount, "as_of": usage.as_of}
    return msgspec.structs.replace(user, **changed)


def period_charges(kind: PeriodKind, interval: RunInterval, epoch: float) -> Iterator[tuple[str, int]]:
    """A closed interval's charge by the periods in which it was used; together they are the whole of it."""
    first = period_at(kind, interval.start + epoch)
    if interval.end + epoch <= first.end:  # as mostly
        yield first.name, charge_between(interval, -math.inf, interval.end)
        return
    parts = list(cut(kind, interval.start + epoch, interval.end + epoch))
    since = -math.inf
    for part in parts:
        until = interval.end if part is parts[-1] else part.end - epoch
        yield part.name, charge_between(interval, since, until)
        since = until
