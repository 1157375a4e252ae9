"""What is measured of a live desk: its jobs as they stand, and what became of what they were told.

In: every job that is written down, with what was written of it before; passes as they end. Out: the same in numbers
(`DeskMetrics`). A start, a broken promise or a limit is counted where it is first written down, so whoever takes over
counts none of them again. Kept by `batch_service`, as long as its desk.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

import numpy as np

from fairway.batch.job import BatchJob, JobRecord
from fairway.batch.limits import time_account
from fairway.batch.reasons import JobOutcome, JobState
from fairway.live.batch.live_desk import LiveDesk
from fairway.live.metrics.desk_metrics import DeskMetrics
from fairway.plan import PassOutcome, Promise

__all__ = ["DeskMeter"]

KEPT_WITHIN: Final = 60.0
"""A promise is kept if the job runs so many seconds after it, and what its queue gives those who have to leave."""
HAD_TO_WAIT: Final = 60.0
"""Of who started sooner than that, dates say little."""


class DeskMeter:
    """Counts, for one desk."""

    def __init__(self, live: LiveDesk, metrics: DeskMetrics) -> None:
        self._live = live
        self._metrics = metrics
        self._slipped: dict[str, str] = {}  # by key: why a promise could not be kept

    def measure(self) -> None:
        """Bring the gauges up to date."""
        counts = Counter((job.queue, str(job.state), str(job.standing.reason or "")) for job in self._live.desk.book)
        self._metrics.jobs(counts)
        self._metrics.accounts(self._live.books.used())

    def close(self) -> None:
        """There is no such desk any more, or another one counts."""
        self._metrics.jobs({})
        self._metrics.accounts({})

    def passed(self, seconds: float, outcome: PassOutcome | None) -> None:
        """A pass is over; None: it was given up."""
        report = self._live.last_pass
        if outcome is not None and report is not None:
            self._metrics.planned(seconds, report.num_jobs)
            for promise in outcome.slipped:
                self._slipped[promise.job.key] = self._cause(promise)

    def written(self, job: BatchJob, former: JobRecord | None) -> None:
        """A job is written down; `former`: as it was before."""
        if job.started is not None and former is not None and former.started is None:
            self._started(job, job.started)
        if job.state is JobState.ENDING and (former is None or former.standing.state is not JobState.ENDING):
            self._ending(job)
        if job.has_ended:
            self._slipped.pop(job.key, None)

    def _started(self, job: BatchJob, started: float) -> None:
        ends = [each.end for each in job.ledger.intervals if each.end < math.inf]
        waited = max(started - max([job.ledger.submitted, *ends]), 0.0)
        self._metrics.started(job.queue, waited)
        dates, why = job.ledger.dates, self._slipped.pop(job.key, "Other")
        if dates is None:
            return
        if waited >= HAD_TO_WAIT and math.isfinite(dates.first.likely):
            self._metrics.estimated(job.queue, abs(started - dates.first.likely))
        grace = float(self._live.desk.settings.spec_of(job.queue).limits.kill_grace)
        could_run = job.eligible_since is not None and job.eligible_since <= dates.promised
        if could_run and started > dates.promised + KEPT_WITHIN + grace:
            self._metrics.promise_broken(why)

    def _ending(self, job: BatchJob) -> None:
        ending = job.ledger.ending
        if ending is not None and ending.outcome is JobOutcome.TIMED_OUT:
            limits = self._live.desk.settings.spec_of(job.queue).limits
            now = self._live.now()
            self._metrics.limit_carried_out(max(now - time_account(job, limits, now).end_at, 0.0))

    def _cause(self, promise: Promise) -> str:
        """What is on the rows of a promise that slipped."""
        desk, slot = self._live.desk, promise.slot
        rows = np.concatenate([placement.rows for placement in slot.placements])
        if np.isin(rows, desk.machine.unusable_rows).any():
            return "NodesUnavailable"
        for closing in desk.upkeep.closings.values():
            if closing.start < slot.end and closing.end > slot.start and np.isin(rows, closing.rows).any():
                return "Maintenance" if closing.kind == "maintenance" else "Reserved"
        there = set(rows.tolist())
        others = desk.machine.outsiders(there, slot.start, lambda uid: desk.book.of(uid) is None)
        return "OutsideQueues" if others else "Other"
