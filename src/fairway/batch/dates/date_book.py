"""What jobs were told of their starts, how that held, and how long jobs like them ran.

In: dates as they are given (`give`), jobs as they start, end or wait again (`observe`), and records of whoever was here
before (`read`). Out: an `EstimateBook` that judges every date at the start of its job, and a `RunHistory` from which
run times are predicted. All of it is in the ledgers of jobs as well, so that one who comes later knows the same. Kept
by `forecasts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from fairway.batch.job import BatchJob, GivenDates, JobRecord, RunInterval
from fairway.plan import EstimateBook, RunHistory, StartEstimate

__all__ = ["DateBook", "last_start"]


class DateBook:
    """Dates and run times of one desk's jobs."""

    def __init__(self, records: Iterable[JobRecord] = ()) -> None:
        self.estimates = EstimateBook()
        self.history = RunHistory()
        self._open: dict[str, float] = {}  # by key of jobs that run: since when, by what was judged
        self._read(list(records))

    def give(self, job: BatchJob, estimate: StartEstimate) -> None:
        """A waiting job is told a date."""
        before = job.ledger.dates
        promised = estimate.by_limits if estimate.is_promised else math.inf
        if before is None:
            job.ledger.dates = GivenDates(estimate, estimate, promised)
        else:
            job.ledger.dates = GivenDates(before.first, estimate, min(before.promised, promised))
        self.estimates.give(job.key, estimate)

    def observe(self, job: BatchJob) -> None:
        """Something of the job is another than before: does it run, has it ended?"""
        if job.started is not None and job.key not in self._open:
            self._open[job.key] = job.started
            self.estimates.started(job.key, job.queue, job.started)
        if job.has_ended:
            self._ended(job.record())
        elif job.started is None and self._open.pop(job.key, None) is not None:
            job.ledger.dates = None  # it waits again, and is told anew

    def _ended(self, record: JobRecord) -> None:
        self._open.pop(record.key, None)
        self.estimates.forget(record.key)
        ledger = record.ledger
        limit = ledger.granted_limit
        if ledger.billed is not None and limit is not None:
            used = math.fsum(each.end - each.start for each in ledger.intervals)
            self.history.add(ledger.billed.user, ledger.billed.queue, limit, used)

    # -- what was written down ---------------------------------------------------------------------------------------

    def _read(self, records: list[JobRecord]) -> None:
        """In the order of what happened: starts, and ends."""
        starts = [(start, record) for record in records if (start := self._judged_start(record)) is not None]
        for start, record in sorted(starts, key=lambda item: item[0]):
            self._give_all(record)
            billed = record.ledger.billed
            queue = billed.queue if billed is not None else ""
            self.estimates.started(record.key, queue, start)
            if not record.ledger.is_final:
                self._open[record.key] = start
        for record in sorted(records, key=lambda record: record.ledger.ended):
            if record.ledger.is_final:
                self._ended(record)
            elif record.key not in self._open:
                self._give_all(record)

    def _give_all(self, record: JobRecord) -> None:
        """What is written down of a job's dates says as much as all of them did."""
        if (dates := record.ledger.dates) is None:
            return
        told = [dates.first, dates.last] if dates.last != dates.first else [dates.first]
        if dates.promised < math.inf:
            told.append(replace(dates.last, by_limits=dates.promised, is_promised=True))
        for estimate in told:
            self.estimates.give(record.key, estimate)

    def _judged_start(self, record: JobRecord) -> float | None:
        """When the run began that the job's dates were about; None: it waits, or never ran."""
        if not record.ledger.is_final and record.started is None:
            return None
        start = record.started if record.started is not None else last_start(record.ledger.intervals)
        dates = record.ledger.dates
        return None if start is None or (dates is not None and dates.first.as_of > start) else start


def last_start(intervals: tuple[RunInterval, ...]) -> float | None:
    """When the last run began: intervals that touch are one; None: there was none."""
    start: float | None = None
    for each in reversed(intervals):
        if start is not None and each.end < start:
            break
        start = each.start
    return start
