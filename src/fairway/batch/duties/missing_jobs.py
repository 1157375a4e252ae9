"""Jobs that wait for others which never come: after a day they are told so, once.

In: jobs as they come. Out: a warning for each that still waits for a job nobody knows, a day after it was submitted.
Whether it was told is in its ledger, so one who comes later does not say it again. Whatever it waits for may come yet.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from fairway.batch.actions import Action, Tell
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.cluster import Event

__all__ = ["MissingJobs"]

PATIENCE: Final = 86_400.0
"""Seconds."""


class MissingJobs:
    """Warns whoever waits for nobody."""

    hears_members, keeps_times = True, True

    def __init__(self, desk: DutyDesk) -> None:
        self._desk = desk
        self._waiting: dict[str, BatchJob] = {}  # by key: those that may come after others, the oldest first
        for job in sorted(desk.book, key=lambda job: job.ledger.submitted):
            self.observe(None, job)

    def observe(self, event: Event | None, job: BatchJob | None) -> None:
        """A job is here that may say after which others it comes."""
        if job is not None and (job.wishes.after or job.group is not None) and self._may_be_told(job):
            self._waiting.setdefault(job.key, job)

    def next_time(self, now: float) -> float:
        """When the one that has waited for longest has waited for a day."""
        while self._waiting:
            key, job = next(iter(self._waiting.items()))
            if self._may_be_told(job) and self._desk.book.after_of(job):
                return job.ledger.submitted + PATIENCE
            del self._waiting[key]
        return math.inf

    def look(self, now: float) -> Sequence[Action]:
        """Warn those whose day is over."""
        book, actions = self._desk.book, list[Action]()
        while self.next_time(now) <= now:
            job = self._waiting.pop(next(iter(self._waiting)))
            missing = [
                each.job for each in book.after_of(job) if each.job not in book.jobs and each.job not in book.ended
            ]
            if missing:
                job.ledger.is_wait_told = True
                self._desk.world.write_record(job)
                words = f"it has waited for a day for {missing[0]}, and no job of that name has come"
                actions.append(Tell(job.key, "DependencyMissing", words, is_warning=True))
        return actions

    def _may_be_told(self, job: BatchJob) -> bool:
        is_there = self._desk.book.find(job.key) is job
        return is_there and job.started is None and not job.ledger.is_wait_told
