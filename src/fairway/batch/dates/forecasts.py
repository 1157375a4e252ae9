"""Forecasts: when every waiting job will start, worked out beside the passes and told when it moves.

In: the jobs that a pass left waiting, in their order (`look`), what becomes of jobs (`observe`), and time. Out: dates,
given to each job whose former ones are no longer true by more than a minute and a tenth of the lead, written down
through the world. A forecast is made at the end of a pass or by itself (`run`): a minute after the last one if somebody
waits who was told nothing yet, or a date has passed that somebody was told; else ten minutes after it if anything has
happened. It looks at the first `max_jobs`, and changes nothing but what jobs are told. A world that keeps no dates is
asked for none, and pays for none. A forecast can be made in steps; what happens in between is for the next one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from time import process_time
from typing import Final

from fairway.batch.batch_world import PassReport
from fairway.batch.dates.date_book import DateBook
from fairway.batch.dates.overtaken import overtaken_queues
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.batch.limits import granted_limit
from fairway.batch.machine import occupant_key
from fairway.batch.settings import BatchSettings
from fairway.plan import (
    Amounts,
    Effort,
    Present,
    StartEstimate,
    Steps,
    finish,
    forecast_steps,
    has_moved,
    seconds_left,
)

__all__ = ["ANEW", "SOONEST", "Forecasts"]

SOONEST: Final = 60.0
"""Seconds between two forecasts, at least."""

ANEW: Final = 600.0
"""Seconds after which dates are looked at again if anything has happened."""

EFFORT: Final = Effort(resolution=0.05, work=5_000_000)
"""Less than what one may cost who asks once: beyond that jobs are planned, no longer played."""


class Forecasts:
    """Dates of one desk's jobs."""

    def __init__(self, desk: DutyDesk) -> None:
        self._desk = desk
        self._is_wanted = desk.world.keeps_dates
        self.book = DateBook(desk.world.records() if self._is_wanted else ())
        self._jobs: Sequence[BatchJob] = ()  # that wait, in their order
        self._looked = -math.inf  # when the last forecast was made
        self._is_stale = False  # has anything happened since?
        self._is_missed = False  # does anybody wait who was told nothing yet?
        self._order_then: tuple[str, ...] = ()
        self._num_node_changes = -1
        self._overtaken: tuple[BatchSettings, int, frozenset[str]] | None = None
        self._next_date = math.inf  # the first date that somebody was told then

    def observe(self, job: BatchJob | None) -> None:
        """Something happened, to a job if it is given: its dates are judged when it starts, its run is learnt from."""
        if self._is_wanted and job is not None:
            self._is_stale = True
            self.book.observe(job)

    def look(self, jobs: Sequence[BatchJob]) -> None:
        """A pass is over and left these waiting for nothing but room and their turn."""
        if not self._is_wanted:
            return
        self._jobs = jobs
        order, num_changes = tuple(job.key for job in jobs), self._desk.machine.num_changes
        self._is_stale |= order != self._order_then or num_changes != self._num_node_changes
        self._order_then, self._num_node_changes = order, num_changes
        self._is_missed = any(job.ledger.dates is None for job in jobs)

    @property
    def is_due(self) -> bool:
        """Is it time for a forecast?"""
        time = self.next_time()
        return time is not None and time <= self._desk.world.now()

    @property
    def waiting(self) -> Sequence[BatchJob]:
        """Those whom the last pass left waiting for nothing but room and their turn, in their order."""
        return self._jobs

    def next_time(self) -> float | None:
        """When a forecast is wanted if no pass comes before; None: never."""
        if not self._jobs:
            return None
        soonest = self._looked + SOONEST
        if self._is_missed:
            return soonest
        time = max(self._next_date + 1.0, soonest)
        if self._is_stale:
            time = min(time, self._looked + ANEW)
        return time if time < math.inf else None

    def run(self) -> None:
        """Make a forecast, and tell whose dates have moved."""
        finish(self.steps())

    def steps(self) -> Steps[None]:
        """The same in steps."""
        begun = process_time()
        desk = self._desk
        now = desk.world.now()
        self._looked, self._is_stale, self._is_missed = now, False, False
        self._jobs = waiting = [job for job in self._jobs if job.plan is not None and not job.is_released]
        if not waiting:
            return
        desk.machine.refresh(now)
        estimates = yield from self._estimates(waiting, now)
        self._next_date = min((each.likely for each in estimates.values() if each.likely > now), default=math.inf)
        num_told = 0
        for job in waiting:
            if not job.is_waiting:
                continue
            before, estimate = job.ledger.dates, estimates[job.key]
            if before is None or has_moved(before.last, estimate):
                self._tell(job, estimate)
                num_told += 1
                yield
        desk.world.foretold(PassReport(len(waiting), 0, num_told, process_time() - begun))

    def _estimates(self, waiting: Sequence[BatchJob], now: float) -> Steps[dict[str, StartEstimate]]:
        settings, history = self._desk.settings, self.book.history
        runs = {
            job.key: history.predict(job.wishes.user, job.queue, job.plan.duration, job.wishes.expected)
            for job in waiting
            if job.plan is not None
        }
        plans = [job.plan for job in waiting if job.plan is not None]
        present = Present(self._desk.machine.calendar, plans, settings.rules, runs, dict(self.ends(now)))
        overtaken = self._overtaken_queues()
        promised = {job.key: True for job in waiting if settings.queues[job.queue].is_interactive}
        promised |= {job.key: False for job in waiting if job.queue in overtaken}
        return (
            yield from forecast_steps(
                present,
                self.book.estimates,
                promised=promised,
                amounts=self._amounts(),
                max_jobs=settings.max_jobs,
                effort=EFFORT,
            )
        )

    def _overtaken_queues(self) -> frozenset[str]:
        key = (self._desk.settings, self._desk.machine.num_changes)
        if self._overtaken is None or self._overtaken[0] is not key[0] or self._overtaken[1] != key[1]:
            nodes = self._desk.cluster.nodes
            found = overtaken_queues(self._desk.settings.queues, nodes.objects[: nodes.num_rows])
            self._overtaken = (*key, found)
        return self._overtaken[2]

    def ends(self, now: float) -> Iterator[tuple[str, float]]:
        """When those who are on nodes will end, as jobs like them did; by their keys in the calendar."""
        desk, history = self._desk, self.book.history
        for job in desk.book:
            queue = desk.settings.queues.get(job.queue)
            if queue is None or (job.started is None and not job.is_released):
                continue
            limit = granted_limit(job, queue.limits)
            prediction = history.predict(job.wishes.user, job.queue, limit, job.wishes.expected)
            end = now + seconds_left(job.consumed(now), prediction, limit)
            for uid in job.members:
                occupant = desk.machine.occupant(uid)
                if occupant is not None and end < occupant.end:
                    yield occupant_key(uid), end

    def _amounts(self) -> Amounts:
        resources = self._desk.cluster.nodes.resources
        names = [resources[column] for column in range(len(resources))]
        gpu = next((column for column, name in enumerate(names) if name.endswith("/gpu")), None)
        return Amounts(names.index("cpu") if "cpu" in names else None, gpu)

    def _tell(self, job: BatchJob, estimate: StartEstimate) -> None:
        self.book.give(job, estimate)
        names = self._desk.cluster.nodes.names
        factors = self._desk.order.factors.get(job.key)
        nodes = sorted({names[row] for row in estimate.nodes})
        self._desk.world.write_dates(job, estimate, nodes, None if factors is None else factors._asdict())
