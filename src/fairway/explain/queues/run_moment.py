"""The queues of a run at one of its moments, as every answer about queues takes them.

In: an open run and a time. Out: a `RunMoment`, read from the run's tables by the same code for any moment; what is not
asked for is not read. Called by the commands.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from fairway.batch.accounts import AccountTree, FairShares, OpenJobs, Payer
from fairway.batch.accounts.charges import LineKind
from fairway.batch.accounts.periods import PeriodKind, period_at
from fairway.batch.job import RunInterval
from fairway.batch.settings import BatchSettings
from fairway.batch.windows import NodeSight
from fairway.explain.queues.date_record import date_record
from fairway.explain.queues.past_closings import (
    WrittenClosing,
    reservation_views,
    window_views,
    written_closings,
)
from fairway.explain.queues.queue_jobs import QueueJob, queue_jobs
from fairway.explain.queues.queue_moment import BookLine, KeptReservation, KnownWindow, RunTimes
from fairway.explain.queues.run_queues import settings_at
from fairway.plan import EstimateBook
from fairway.record import Run
from fairway.record.snapshot import nodes_at

__all__ = ["RunMoment"]

NOT_WRITTEN = WrittenClosing("", (), (), "")


class RunMoment:
    """A `QueueMoment` of a run; `UserError` if that keeps no queues."""

    begins = 0.0
    times = RunTimes()

    def __init__(self, run: Run, at: float) -> None:
        self.run = run
        self.at = at
        self.settings: BatchSettings = settings_at(run, at)

    @property
    def epoch(self) -> float:
        """When it began, in seconds since 1970."""
        return self.run.began

    @property
    def resources(self) -> Sequence[str]:
        """That it has columns for."""
        return list(self.run.resources)

    @cached_property
    def jobs(self) -> Sequence[QueueJob]:
        """Those that had come by then, ended ones among them."""
        return queue_jobs(self.run, self.at)

    @cached_property
    def dates(self) -> EstimateBook:
        """As the desk had it then, fed again from the run's tables."""
        return date_record(self.run, self.at, self.jobs)

    def lines(self, since: float, until: float) -> Iterator[BookLine]:
        """Lines of the books between two times."""
        for row in self.run.charges.where("from_seconds < ?", until):
            line = BookLine(
                row["job_id"],
                row["job"],
                row["account"],
                row["user_name"],
                row["queue"],
                row["from_seconds"],
                row["to_seconds"],
                row["rate"],
                row["charge_milli"],
                row["kind"],
                row["reason"] or "",
            )
            if line.kind == LineKind.REFUND and line.end > until:
                continue
            part = line.within(since, until)
            if part is not None:
                yield part

    def lines_by_day(self, since: float, until: float) -> Iterator[BookLine]:
        """Cut at midnights."""
        for line in self.lines(since, until):
            yield from line.by_day(self.epoch)

    def keeps(self, since: float, until: float) -> bool:
        """A run forgets nothing."""
        return True

    def charged(self, accounts: Collection[str], kind: PeriodKind, until: float) -> int:
        """The sum of their lines in a period."""
        lines = self.lines(period_at(kind, self.epoch + until).start - self.epoch, until)
        return sum(line.charge for line in lines if line.account in accounts)

    def shares(self) -> FairShares:
        """From the books of the run: usage that fades, what runs included."""
        settings, jobs = self.settings, self.jobs
        running = {job.number for job in jobs if job.runs}
        opened = OpenJobs()
        shares = FairShares(AccountTree(settings.accounts), opened, settings.half_life, settings.interval)
        for job in jobs:
            if job.account in shares.tree:
                shares.join(job.account, job.user)
        lines = list(self.lines(-math.inf, self.at))
        given_back = {(line.job_id, line.start) for line in lines if line.kind == LineKind.REFUND}
        intervals: dict[tuple[int, Payer], list[RunInterval]] = {}
        for line in lines:
            if line.kind != LineKind.REFUND and (line.job_id, line.start) not in given_back:
                is_open = line.end >= self.at and line.job_id in running
                interval = RunInterval(line.start, math.inf if is_open else line.end, line.rate)
                intervals.setdefault((line.job_id, Payer(line.account, line.user)), []).append(interval)
        for (number, payer), runs in intervals.items():
            opened.put(str(number), payer, runs)
        return shares

    def windows(self) -> list[KnownWindow]:
        """As the desk's rules see them, with what was written down of them."""
        written = written_closings(self.run, self.at, "maintenance")
        sights = [
            NodeSight(node.metadata.name, row, node.metadata.labels, node.spec.unschedulable)
            for row, node in enumerate(nodes_at(self.run, self.at))
        ]
        return [
            KnownWindow(view, written.get(view.window.name, NOT_WRITTEN).jobs)
            for view in window_views(self.settings, written, sights, self.at, self.epoch)
        ]

    def reservations(self) -> list[KeptReservation]:
        """With what was in their way."""
        kept = written_closings(self.run, self.at, "reservation")
        return [
            KeptReservation(view, kept.get(view.reservation.name, NOT_WRITTEN).words)
            for view in reservation_views(self.settings, kept, self.at, self.epoch)
        ]
