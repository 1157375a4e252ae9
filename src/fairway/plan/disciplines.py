"""Who starts now, who is promised a date, and who waits: the four disciplines, over jobs in their order.

In: a `Calendar`, the waiting jobs (first comes first), the rule of each queue, the time. Out: a `PassOutcome`; what
starts and what is promised is in the calendar afterwards. Called once a pass by the desk. A promise is kept: later
passes move it to an earlier slot where one came free, in the order of the jobs, and never to a later one
(`Replan.COMPRESS`), unless rows were lost or closed since. `Replan.ANEW` forgets all promises first, as Slurm's
backfill does in each of its passes. A job that may not start yet (`begin`, `after`) steps aside: it books nothing and
stops nobody.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fairway.plan.bookings import BookingMode, Calendar, Promise
from fairway.plan.slots import Slot
from fairway.plan.waiting_job import WaitingJob, ready_time

__all__ = ["Discipline", "PassOutcome", "QueueRule", "Replan", "dates", "run_pass"]


class Discipline(enum.Enum):
    """How a queue lets jobs pass each other."""

    EASY = "easy"  # the first `depth` jobs that can not start now are promised a slot; others may not delay these
    CONSERVATIVE = "conservative"  # as easy, and everybody is promised a slot
    WALK = "walk"  # whoever fits now starts, and nobody has a promise
    FIFO = "fifo"  # nobody passes the first one that has to wait


class Replan(enum.Enum):
    """What becomes of promises in the next pass."""

    COMPRESS = "compress"
    ANEW = "anew"


@dataclass(frozen=True, slots=True)
class QueueRule:
    """What a queue says about its order."""

    discipline: Discipline = Discipline.EASY
    depth: int = 1  # promises at a time, for `easy`
    is_firm: bool = False  # its promises stand, also where others are made anew

    def may_promise(self, promised: int) -> bool:
        """May one more job be promised its slot?"""
        if self.discipline is Discipline.CONSERVATIVE:
            return True
        return self.discipline is Discipline.EASY and promised < self.depth


@dataclass(slots=True)
class PassOutcome:
    """What a pass decided."""

    started: list[Promise] = field(default_factory=list)  # in order; their slots begin now
    beyond: list[WaitingJob] = field(default_factory=list)  # were to be promised, but have no slot before the horizon
    slipped: list[Promise] = field(default_factory=list)  # promises as they were, that could not be kept


def run_pass(
    calendar: Calendar,
    jobs: Sequence[WaitingJob],
    now: float,
    rules: Mapping[str, QueueRule],
    times: Mapping[str, tuple[float, float]] | None = None,
    replan: Replan = Replan.COMPRESS,
) -> PassOutcome:
    """Go through the jobs once. `times` tells when jobs that others wait for started, and ended, as far as they did."""
    calendar.advance(now)
    return _Pass(calendar, jobs, now, rules, times or {}).run(replan)


class _Pass:
    def __init__(
        self,
        calendar: Calendar,
        jobs: Sequence[WaitingJob],
        now: float,
        rules: Mapping[str, QueueRule],
        times: Mapping[str, tuple[float, float]],
    ) -> None:
        self.calendar, self.now, self.rules = calendar, now, rules
        self.jobs = [job for job in jobs if (job.begin <= now if not job.after else _is_ready(job, times, now))]
        self.outcome = PassOutcome()
        self.stopped: set[str] = set()  # queues that nobody may pass in any more

    def run(self, replan: Replan) -> PassOutcome:
        promises = self._kept_promises(replan)
        promised = dict.fromkeys(self.rules, 0)
        for kept in promises.values():
            promised[kept.job.queue] += 1
        refused = self.calendar.refused
        for job in self.jobs:
            rule = self.rules[job.queue]
            if (promise := promises.get(job.key)) is not None:
                promised[job.queue] -= self._keep(job, promise)
            elif rule.may_promise(promised[job.queue]):
                promised[job.queue] += self._promise(job)
            elif job.queue not in self.stopped:
                slot = None if job in refused else self.calendar.search_now(job)
                if slot is not None:
                    self._start(job, slot)
                elif rule.discipline is Discipline.FIFO:
                    self.stopped.add(job.queue)
        self.calendar.has_changed = self.calendar.has_gained = False
        return self.outcome

    def _kept_promises(self, replan: Replan) -> dict[str, Promise]:
        """The promises that still bind."""
        calendar = self.calendar
        waiting = {job.key for job in self.jobs}
        for key, promise in list(calendar.promises.items()):
            is_anew = replan is Replan.ANEW and not self.rules[promise.job.queue].is_firm
            if is_anew or key not in waiting:
                calendar.remove(key)
        promises = dict(calendar.promises)
        overdue = any(promise.slot.start < self.now for promise in promises.values())
        if overdue:
            # Nobody looked when it was time. Everybody behind gives way by as much, in the order of their dates.
            for key in promises:
                calendar.remove(key)
            jobs = {job.key: job for job in self.jobs}  # rows may be others than when it was promised
            for key, promise in sorted(promises.items(), key=lambda item: item[1].slot.start):
                slot = calendar.search(jobs[key])
                if slot is not None:
                    calendar.book(jobs[key], slot)
                    promises[key] = Promise(jobs[key], slot)
                    if slot.start > max(self.now, promise.slot.start):
                        self.outcome.slipped.append(promise)
        return promises

    def _keep(self, job: WaitingJob, promise: Promise) -> bool:
        """Move a promise to the earliest slot there is now; has it started?"""
        calendar, slot = self.calendar, promise.slot
        stays = job.key in calendar.promises and not calendar.has_changed
        if slot.start > self.now and (stays or (job.key in calendar.promises and calendar.is_earliest(job))):
            return False
        calendar.remove(job.key)
        found = slot if stays else self._search(job)
        if found is None or found.start > slot.start:
            self.outcome.slipped.append(promise)
        if found is None:
            self.outcome.beyond.append(job)
            return True
        if stays:
            # Whoever starts where it was promised leaves nothing to others, but for the rest of whole nodes.
            calendar.has_changed = calendar.mode is BookingMode.NODES
        if found.start > self.now:
            calendar.book(job, found)
            return False
        self._start(job, found)
        return True

    def _promise(self, job: WaitingJob) -> bool:
        """Start the job, or promise it its earliest slot; has it a promise?"""
        slot = self._search(job)
        if slot is None:
            self.outcome.beyond.append(job)
        elif slot.start <= self.now:
            self._start(job, slot)
        else:
            self.calendar.book(job, slot)
            return True
        return False

    def _search(self, job: WaitingJob) -> Slot | None:
        """Its earliest slot: now, on loan if need be; or later, within what it may always use."""
        if job.shares and job.queue in self.calendar.borrowers and (slot := self.calendar.search_now(job)) is not None:
            return slot
        return self.calendar.search(job)

    def _start(self, job: WaitingJob, slot: Slot) -> None:
        self.calendar.start(job, slot)
        self.outcome.started.append(Promise(job, slot))


def _is_ready(job: WaitingJob, times: Mapping[str, tuple[float, float]], now: float) -> bool:
    ready = ready_time(job, times)
    return ready is not None and ready <= now


def dates(
    calendar: Calendar, jobs: Iterable[WaitingJob], times: Mapping[str, tuple[float, float]] | None = None
) -> dict[str, Slot]:
    """When each of the jobs would start if the plan were carried out as it stands and nobody came: on a copy.

    Promised jobs first, at their promises; then those that could run now, in order, then those that wait for a time or
    for others, as soon as these have dates. A job without a slot before the horizon has none here either.
    """
    trial = calendar.copy()
    slots = {key: promise.slot for key, promise in trial.promises.items()}
    known = dict(times or {}) | {key: (slot.start, slot.end) for key, slot in slots.items()}
    waiting = [job for job in jobs if job.key not in slots]
    waiting.sort(key=lambda job: bool(job.after) or job.begin > calendar.now)  # stable: else as they stand
    progress = True
    while waiting and progress:
        left = []
        for job in waiting:
            ready = ready_time(job, known)
            if ready is None:
                left.append(job)
            elif (slot := trial.search(job, ready)) is not None:
                trial.book(job, slot)
                slots[job.key] = slot
                known[job.key] = (slot.start, slot.end)
        progress = len(left) < len(waiting)
        waiting = left
    return slots
