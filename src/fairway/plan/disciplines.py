"""Who starts now, who is promised a date, and who waits: the four disciplines, over jobs in their order.

In: a `Calendar`, the waiting jobs (first comes first), the rule of each queue, the time. Out: a `PassOutcome`; what
starts and what is promised is in the calendar afterwards. Called once a pass by the desk. A promise is kept: later
passes move it to an earlier slot where one came free, in the order of the jobs, and never to a later one
(`Replan.COMPRESS`), unless rows were lost or closed since. `Replan.ANEW` forgets all promises first, as Slurm's
backfill does in each of its passes. A job that may not start yet (`begin`, `after`) steps aside: it books nothing and
stops nobody. A pass can be made in steps (`pass_steps`), one search each; what happens to the calendar in between is
seen by all steps that follow.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fairway.plan.bookings import BookingMode, Calendar, Promise
from fairway.plan.slots import Slot
from fairway.plan.steps import Steps, finish
from fairway.plan.waiting_job import WaitingJob, only_at, ready_time

__all__ = ["Discipline", "PassOutcome", "QueueRule", "Replan", "dates", "dates_steps", "pass_steps", "run_pass"]


LITTLE: Final = 60.0
"""Seconds by which a promise may be missed and still counts as kept: pods take time to come and to go."""


MOST_SLIPS: Final = 16
"""Of one pass: each costs a search for everybody behind."""


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
        return promised < self.most_promises

    @property
    def most_promises(self) -> float:
        """To so many jobs a slot may be promised at a time."""
        if self.discipline is Discipline.CONSERVATIVE:
            return math.inf
        return self.depth if self.discipline is Discipline.EASY else 0


@dataclass(slots=True)
class PassOutcome:
    """What a pass decided."""

    started: list[Promise] = field(default_factory=list)  # in order; their slots begin now
    beyond: list[WaitingJob] = field(default_factory=list)  # were to be promised, but have no slot before the horizon
    slipped: list[Promise] = field(default_factory=list)  # promises as they were, that could not be kept

    def give_back(self, calendar: Calendar) -> None:
        """Nobody has started, after all."""
        for job, _ in self.started:
            calendar.remove(job.key)


def run_pass(
    calendar: Calendar,
    jobs: Sequence[WaitingJob],
    now: float,
    rules: Mapping[str, QueueRule],
    times: Mapping[str, tuple[float, float]] | None = None,
    replan: Replan = Replan.COMPRESS,
) -> PassOutcome:
    """Go through the jobs once. `times` tells when jobs that others wait for started, and ended, as far as they did."""
    return finish(pass_steps(calendar, jobs, now, rules, times, replan))


def pass_steps(
    calendar: Calendar,
    jobs: Sequence[WaitingJob],
    now: float,
    rules: Mapping[str, QueueRule],
    times: Mapping[str, tuple[float, float]] | None = None,
    replan: Replan = Replan.COMPRESS,
) -> Steps[PassOutcome]:
    """The same in steps; if they are closed before the last one, nobody has started."""
    calendar.advance(now)
    begun = _Pass(calendar, jobs, now, rules, times or {})
    try:
        return (yield from begun.steps(replan))
    except GeneratorExit:
        begun.outcome.give_back(calendar)
        calendar.lacks_promises = False
        raise


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
        self.num_slips = 0

    def steps(self, replan: Replan) -> Steps[PassOutcome]:
        promises = yield from self._kept_promises(replan)
        promised = dict.fromkeys(self.rules, 0)
        for kept in promises.values():
            promised[kept.job.queue] += 1
        most = {name: rule.most_promises for name, rule in self.rules.items()}
        refused, stopped = self.calendar.refused, self.stopped
        # Where others may pass those who wait, everybody is asked about now; elsewhere one is enough.
        passing = {name for name, rule in self.rules.items() if rule.discipline in (Discipline.EASY, Discipline.WALK)}
        if passing:
            self.calendar.sift(job for job in self.jobs if job.queue in passing)
        for job in self.jobs:
            queue = job.queue
            if promises and (promise := promises.get(job.key)) is not None:
                promised[queue] -= yield from self._keep(job, promise, promises)
                yield
            elif promised[queue] < most[queue]:
                promised[queue] += self._promise(job, looks_now=most[queue] < math.inf)
                yield
            elif queue not in stopped:
                slot = None if (is_known := job in refused) else self.calendar.search_now(job)
                if slot is not None:
                    self._start(job, slot)
                elif self.rules[queue].discipline is Discipline.FIFO:
                    stopped.add(queue)
                if not is_known:
                    yield
        self.calendar.has_changed = self.calendar.has_gained = self.calendar.lacks_promises = False
        return self.outcome

    def _kept_promises(self, replan: Replan) -> Steps[dict[str, Promise]]:
        """The promises that still bind."""
        calendar = self.calendar
        if not calendar.promises:
            return {}
        waiting = {job.key for job in self.jobs}
        for key, promise in list(calendar.promises.items()):
            is_anew = replan is Replan.ANEW and not self.rules[promise.job.queue].is_firm
            if is_anew or key not in waiting:
                calendar.lacks_promises |= is_anew
                calendar.remove(key)
                yield
        promises = dict(calendar.promises)
        overdue = any(promise.slot.start < self.now for promise in promises.values())
        if overdue:
            # Nobody looked when it was time. Everybody behind gives way by as much, in the order of their dates.
            lacks_promises, calendar.lacks_promises = calendar.lacks_promises, True
            for key in promises:
                calendar.remove(key)
                yield
            jobs = {job.key: job for job in self.jobs}  # rows may be others than when it was promised
            for key, promise in sorted(promises.items(), key=lambda item: item[1].slot.start):
                slot = calendar.search(jobs[key])
                if slot is not None:
                    calendar.book(jobs[key], slot)
                    promises[key] = Promise(jobs[key], slot)
                    if slot.start > max(self.now, promise.slot.start):
                        self.outcome.slipped.append(promise)
                yield
            calendar.lacks_promises = lacks_promises
        return promises

    def _keep(self, job: WaitingJob, promise: Promise, promises: dict[str, Promise]) -> Steps[bool]:
        """Move a promise to the earliest slot there is now; has it started?"""
        calendar, slot = self.calendar, promise.slot
        stays = job.key in calendar.promises and not calendar.has_changed
        if slot.start > self.now and (stays or (job.key in calendar.promises and calendar.is_earliest(job))):
            return False
        calendar.remove(job.key)
        found = slot if stays else self._search(job)
        if found is None or found.start > slot.start:
            self.outcome.slipped.append(promise)
            found = (yield from self._slip(job, promise, promises)) or found
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

    def _slip(self, job: WaitingJob, promise: Promise, promises: dict[str, Promise]) -> Steps[Slot | None]:
        """Somebody begins or ends a little late: whoever was promised his room, and all behind, give way by as much.

        Else nobody would but the first, who would have to wait for all of them. None: it is not just a little, nobody
        is behind, or this was done often enough in this pass.
        """
        calendar, jobs = self.calendar, {each.key: each for each in self.jobs}
        behind = [each for each in calendar.promises.values() if each.slot.start >= promise.slot.start]
        if not behind or self.num_slips >= MOST_SLIPS:
            return None
        self.num_slips += 1
        lacks_promises, calendar.lacks_promises = calendar.lacks_promises, True
        for each in behind:
            calendar.remove(each.job.key)
            yield
        slot = self._a_little_later(job, promise.slot)
        if slot is None:
            for each in behind:
                calendar.book(*each)
                yield
            calendar.lacks_promises = lacks_promises
            return None
        calendar.book(job, slot)
        for each in sorted(behind, key=lambda each: each.slot.start):
            key = each.job.key
            later = self._a_little_later(jobs[key], each.slot) or calendar.search(jobs[key])
            if later is None:
                self.outcome.beyond.append(jobs[key])
                continue
            calendar.book(jobs[key], later)
            promises[key] = Promise(jobs[key], later)
            if later.start > each.slot.start:
                self.outcome.slipped.append(each)
            yield
        calendar.remove(job.key)
        calendar.lacks_promises = lacks_promises
        return slot

    def _a_little_later(self, job: WaitingJob, slot: Slot) -> Slot | None:
        """The first slot from the beginning of this one on, on the same rows if that may be; None: not before long."""
        latest = slot.start + LITTLE
        there = only_at(job, slot, self.calendar.timeline.num_rows)
        if there is not None and (found := self.calendar.search(there, slot.start, latest)) is not None:
            return Slot(found.start, found.end, slot.placements)
        return self.calendar.search(job, slot.start, latest)

    def _promise(self, job: WaitingJob, *, looks_now: bool) -> bool:
        """Start the job, or promise it its earliest slot; has it a promise?

        Whether it may start now is found out sooner than when it may: `looks_now` where few are promised anything.
        """
        looks_now = looks_now and job.is_simple and job not in self.calendar.refused
        slot = self.calendar.search_now(job) if looks_now else None
        if slot is None:
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
    return finish(dates_steps(calendar, jobs, times))


def dates_steps(
    calendar: Calendar, jobs: Iterable[WaitingJob], times: Mapping[str, tuple[float, float]] | None = None
) -> Steps[dict[str, Slot]]:
    """The same in steps; the calendar is as it was at the first."""
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
            yield
        progress = len(left) < len(waiting)
        waiting = left
    return slots
