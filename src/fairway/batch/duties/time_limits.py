"""Limits are carried out: a job hears that its time is nearly over, and at the end of it is told to end.

In: jobs that run, the limits of their queues, who should have left by now as the machine has it. Out: events
`TimeLimitNear` and deadlines on pods, in time; and decisions that jobs end as TimedOut, in the order in which they were
due. When what happens follows from what is written down of a job. Who does not leave, or has no limit that anybody
carries out, is taken to leave soon: the plan goes on.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Final

from fairway.batch.actions import Action, AnnotatePod, Tell
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.duties.ending_jobs import order_end
from fairway.batch.job import BatchJob, FailureDecision
from fairway.batch.limits import LimitedJob, limit_actions, time_account
from fairway.batch.reasons import JobOutcome
from fairway.cluster import Event
from fairway.model.batch import QueueLimits
from fairway.words import length_text

__all__ = ["TimeLimits"]

PATIENCE: Final = 60.0
"""Whoever should have left is taken to leave so many seconds from now."""


class TimeLimits:
    """Warns jobs of the end of their time, and ends them."""

    hears_members, keeps_times = True, True

    def __init__(self, desk: DutyDesk) -> None:
        self._desk = desk
        self._warnings: list[tuple[float, str]] = []  # a heap: when whom, those that are over among them
        self._known: dict[str, float] = {}  # by key: the deadline that a warning is set for

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """A job runs, or runs no more: its deadline is another one."""
        if job is not None:
            self.reconsider(job)

    def reconsider(self, job: BatchJob) -> None:
        """The job's deadline may be another one than before."""
        if not job.is_counting or job.has_ended or not self._desk.settings.binds(job):
            self._known.pop(job.key, None)
            return
        limits = self._limits(job)
        account = time_account(job, limits, self._desk.world.now())
        has_time = limits.warn_before < account.limit < math.inf  # else it would be near from the beginning
        if has_time and account.warn_at < account.end_at and self._known.get(job.key) != account.deadline:
            self._known[job.key] = account.deadline
            heapq.heappush(self._warnings, (account.warn_at, job.key))

    def next_time(self, now: float) -> float:
        """When the next one has to leave, or is warned."""
        while self._warnings and self._warnings[0][1] not in self._known:
            heapq.heappop(self._warnings)
        return min(self._desk.machine.first_end, self._warnings[0][0] if self._warnings else math.inf)

    def look(self, now: float) -> Sequence[Action]:
        """Whoever is over its time ends; whoever is close to it is told."""
        desk, machine = self._desk, self._desk.machine
        overdue: dict[str, BatchJob] = {}
        for uid in machine.overdue(now):
            job, occupant = desk.book.of(uid), machine.occupant(uid)
            assert occupant is not None
            if job is not None and desk.settings.binds(job):
                overdue[job.key] = job
            machine.occupy(uid, occupant.row, occupant.amounts, now + PATIENCE)
        late = sorted(
            ((self._end_of(job, now), job.number, job) for job in overdue.values()), key=lambda item: item[:2]
        )
        for end, _, job in late:
            if end <= now:
                self._end(job)
        return self._warn(now)

    def _end_of(self, job: BatchJob, now: float) -> float:
        return time_account(job, self._limits(job), now).end_at

    def _limits(self, job: BatchJob) -> QueueLimits:
        return self._desk.settings.spec_of(job.queue).limits

    def _end(self, job: BatchJob) -> None:
        limit = time_account(job, self._limits(job), self._desk.world.now()).limit
        why = f"its limit of {length_text(limit)} is reached"
        if not job.is_ending:
            self._desk.book.leave_no_time(job)
            order_end(self._desk, job, FailureDecision("FailJob", why, outcome=JobOutcome.TIMED_OUT))

    def _warn(self, now: float) -> list[Action]:
        actions: list[Action] = []
        while self._warnings and self._warnings[0][0] <= now:
            _, key = heapq.heappop(self._warnings)
            job = self._desk.book.find(key)
            if job is None or key not in self._known or job.is_ending:
                continue
            actions += self.warnings(job, now)
        return actions

    def warnings(self, job: BatchJob, now: float) -> list[Action]:
        """What its owner has to be told now: that its time is nearly over, and when that is, if it was told before."""
        limited = LimitedJob(job, self._limits(job), job.ledger.warned_for)
        due = [action for _, action in limit_actions([limited], now, self._desk.epoch)]
        due = [action for action in due if isinstance(action, Tell | AnnotatePod)]
        if job.key in self._known and any(isinstance(action, Tell) for action in due):
            job.ledger.warned_for = self._known[job.key]
            self._desk.world.write_record(job)
        return due
