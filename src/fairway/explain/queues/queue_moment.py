"""Queues at a moment, wherever that is known from: what every answer of this room is made of.

In: nothing. Out: `QueueMoment`, which a run (`run_moment`), a cluster that is read and a scheduler that is asked
(`record_moment`) all are, so that one answer serves them; `TimeWords`, how a moment's times are shown: those of a run
by its own clock, those of a cluster by the clock of whoever asks; and `BookLine`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from fairway.batch.accounts import FairShares
from fairway.batch.accounts.charges import charge_between
from fairway.batch.accounts.periods import PeriodKind, cut
from fairway.batch.job import RunInterval
from fairway.batch.reservations import ReservationView
from fairway.batch.settings import BatchSettings
from fairway.batch.windows import WindowView
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.plan import EstimateBook
from fairway.words import clock_text

__all__ = ["GONE", "BookLine", "KeptReservation", "KnownWindow", "QueueMoment", "RunTimes", "TimeWords", "WallTimes"]

GONE: Final = "(records are gone)"
"""In place of what is not known of jobs that are gone: books have what they used."""


class TimeWords(Protocol):
    """How times are shown."""

    def clock(self, seconds: float) -> str:
        """A moment, as a clock shows it; begins with a digit."""


class RunTimes:
    """By a run's clock, which began with it."""

    def clock(self, seconds: float) -> str:
        """00:14:09, or 2d 03:00:00."""
        return clock_text(seconds)


class WallTimes:
    """By the clock on the wall: seconds since 1970."""

    def __init__(self, now: float, zone: dt.tzinfo | None = None) -> None:
        """`zone` None: that of this machine."""
        self._zone = zone
        self._today = self._local(now)

    def _local(self, seconds: float) -> dt.datetime:
        return dt.datetime.fromtimestamp(math.floor(seconds), dt.UTC).astimezone(self._zone)

    def clock(self, seconds: float) -> str:
        """14:40:00 today, 11-19 14:40 on another day, with the year if it is another one."""
        shown = self._local(seconds)
        if shown.date() == self._today.date():
            return f"{shown:%H:%M:%S}"
        return f"{shown:%m-%d %H:%M}" if shown.year == self._today.year else f"{shown:%Y-%m-%d %H:%M}"


class BookLine(NamedTuple):
    """A line of the books, cut to what is asked about."""

    job_id: int
    job: str  # "": of jobs whose records are gone
    account: str
    user: str
    queue: str
    start: float
    end: float
    rate: float
    charge: int  # thousandths of a unit; negative: given back
    kind: str
    reason: str
    day: str = ""  # where sums by day are wanted

    def within(self, since: float, until: float) -> BookLine | None:
        """The part of it between two times; None: there is none."""
        start, end = max(self.start, since), min(self.end, until)
        if end <= start:
            return None
        charge = charge_between(RunInterval(self.start, self.end, self.rate), since, until)
        return self._replace(start=start, end=end, charge=-charge if self.charge < 0 else charge)

    def by_day(self, epoch: float) -> Iterator[BookLine]:
        """The line, cut at midnights; `epoch`: what time it was when the clock showed 0."""
        for day in cut("day", epoch + self.start, epoch + self.end):
            part = self.within(day.start - epoch, day.end - epoch)
            if part is not None:
                yield part._replace(day=day.name)


class KnownWindow(NamedTuple):
    """A maintenance window, as it is then."""

    view: WindowView
    told: Sequence[str] = ()  # jobs that heard of it


class KeptReservation(NamedTuple):
    """A reservation, as it is then."""

    view: ReservationView
    words: str = ""  # what is in its way


class QueueMoment(Protocol):
    """What is known of queues then. Times are seconds of the moment's own clock."""

    @property
    def at(self) -> float:
        """When."""

    @property
    def begins(self) -> float:
        """Before that nothing is known."""

    @property
    def epoch(self) -> float:
        """What time it was when the clock showed 0, in seconds since 1970."""

    @property
    def times(self) -> TimeWords:
        """How times are shown."""

    @property
    def settings(self) -> BatchSettings:
        """What operators say then."""

    @property
    def resources(self) -> Sequence[str]:
        """That nodes have or jobs ask for, in the order in which they are shown."""

    @property
    def jobs(self) -> Sequence[QueueJob]:
        """Those that had come by then, in the order in which they came."""

    @property
    def dates(self) -> EstimateBook:
        """The dates of jobs that wait, and how those of jobs that started held."""

    def lines(self, since: float, until: float) -> Iterable[BookLine]:
        """The lines of the books between two times. What was given back counts from when the job had lost it."""

    def lines_by_day(self, since: float, until: float) -> Iterable[BookLine]:
        """The same, each with the day in which it was used."""

    def keeps(self, since: float, until: float) -> bool:
        """Is all known that was used between two times, also by jobs that are gone?"""

    def charged(self, accounts: Collection[str], kind: PeriodKind, until: float) -> int:
        """What these accounts were charged by `until` in the period in which that lies, in thousandths of a unit."""

    def shares(self) -> FairShares:
        """What everybody used by then, and who is there: those with shares of their own, and whoever had a job."""

    def windows(self) -> Sequence[KnownWindow]:
        """Every maintenance window as it is then."""

    def reservations(self) -> Sequence[KeptReservation]:
        """Every reservation as it is then."""
