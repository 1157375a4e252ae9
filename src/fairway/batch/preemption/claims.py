"""Jobs that others have to leave for: the first of each tier that has no slot now, and lenders who need what is theirs.

In: the waiting jobs after a pass, in their order; who runs. Out: decisions that jobs end, written down and carried out
like all others: they wait again with their place, and what they lost is given back. The job they leave for stands as
`Preempting` until they are gone, and the room is kept for it. From what is seen: whoever is told to end already is
taken for gone, so a second look ends nobody else. Asked by the desk in each pass (`claim`), and a duty because of the
time at which a job has run for as long as it is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final

from fairway.batch.accounts.charges import RefundCause
from fairway.batch.actions import Action
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.duties.ending_jobs import order_end
from fairway.batch.failures import requeue_decision
from fairway.batch.job import BatchJob, FailureDecision
from fairway.batch.machine import occupant_key
from fairway.batch.preemption.trial import JobHolding, RoomTrial, holding_of
from fairway.batch.preemption.victims import RunningJob, can_wait_again, may_be_ended, victims
from fairway.batch.quotas.borrowing import BorrowedJob, QueueUse, is_within, taken_back
from fairway.batch.quotas.quotas import Quotas, use_key
from fairway.batch.reasons import JobOutcome, JobStanding, JobState, Reason
from fairway.cluster import Event
from fairway.plan import Steps

__all__ = ["RoomClaims"]

DEFAULT_GRACE: Final = 30.0  # of pods that say nothing, as in Kubernetes


class RoomClaims:
    """Makes room."""

    hears_members, keeps_times = False, True

    def __init__(self, desk: DutyDesk, quotas: Quotas) -> None:
        self._desk = desk
        self._quotas = quotas
        self._next = math.inf
        self._running: dict[str, RunningJob] = {}
        self._leaving: list[BatchJob] = []  # told to end, and still there

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """What happens is seen in the next pass."""

    def look(self, now: float) -> Sequence[Action]:
        """Nothing: it has to be known first who has a slot."""
        return ()

    def next_time(self, now: float) -> float:
        """When the first of those who are left alone has run for long enough, if anybody waits for that."""
        return self._next

    # -- promises ----------------------------------------------------------------------------------------------------

    def give_way(self, jobs: Sequence[BatchJob]) -> Steps[None]:
        """Promises bind whoever came later, but not those of a higher tier: for these, lower ones are made anew."""
        promises = self._desk.machine.calendar.promises
        if not self._desk.settings.has_tiers:
            return
        unpromised = [self._tier(job) for job in jobs if job.key not in promises]
        if promises and unpromised:
            for key in self._lower_promises(max(unpromised)):
                self._desk.machine.calendar.lacks_promises = True  # until the pass has gone through all
                self._desk.machine.calendar.remove(key)
                yield

    def _lower_promises(self, tier: int) -> list[str]:
        book = self._desk.book.jobs
        return [key for key in self._desk.machine.calendar.promises if self._tier(book[key]) < tier]

    def _tier(self, job: BatchJob) -> int:
        return self._desk.settings.spec_of(job.queue).tier or 0

    # -- claims ------------------------------------------------------------------------------------------------------

    def claim(self, waiting: Sequence[BatchJob], now: float) -> dict[str, JobStanding]:
        """Room is made for whoever may claim it; returns where those stand for whom others leave.

        `waiting`: those who wait for nothing but room and their turn, in their order.
        """
        self._next = math.inf
        settings = self._desk.settings
        has_quotas = settings.has_quotas
        if not waiting or (not has_quotas and self._tier(waiting[0]) <= settings.lowest_tier):
            return {}  # as mostly: nobody is below the first one
        self._see(now)
        standings = {}
        if self._running or self._leaving:
            for job in _first_of_each(waiting, self._tier):
                if standing := self._claim_by_tier(job, now):
                    standings[job.key] = standing
            if has_quotas:
                self._quotas.count()
                for job in _first_of_each(waiting, lambda job: job.queue):
                    if job.key not in standings and (standing := self._take_back(job, now)):
                        standings[job.key] = standing
        return standings

    def _see(self, now: float) -> None:
        """Who runs, and who leaves."""
        self._running, self._leaving = {}, []
        for job in self._desk.book:
            if job.is_ending:
                self._leaving.append(job)
            elif job.started is not None:
                spec = self._desk.settings.spec_of(job.queue)
                running = RunningJob(job.key, spec.tier or 0, now - job.started, spec.preemption, can_wait_again(job))
                self._running[job.key] = running

    def _claim_by_tier(self, job: BatchJob, now: float) -> JobStanding | None:
        tier = self._tier(job)
        able = [each for each in self._running.values() if may_be_ended(each, tier)]
        self._await(each for each in able if not each.is_old_enough)
        candidates = [each for each in able if each.is_old_enough]
        if not candidates and not any(self._tier(each) < tier for each in self._ended()):
            return None
        trial = self._trial(job, tier, [each.key for each in candidates])
        if not trial.fits_without(()):
            chosen = victims(tier, candidates, trial.fits_without)
            if not chosen:
                return None
            self._end(chosen, f"{job.key} of a higher tier needs its room")
        return self._keep_room(job, tier, [each for each in self._ended() if self._tier(each) < tier])

    def _take_back(self, job: BatchJob, now: float) -> JobStanding | None:
        """What a lender's job needs, from those who borrow it."""
        spec = self._desk.settings.queues[job.queue]
        need = self._quotas.needs(job)
        if not spec.quota or self._quotas.exceeded(job, but="quota") is not None:
            return None
        uses = self._uses_without_leaving()
        lender = uses[job.queue]
        if not is_within(lender.quota, lender.used, need):
            return None
        borrowed = []
        for each in self._running.values():
            if (use := self._quotas.uses.get(each.key)) is None:
                continue
            rules = each.rules
            may_be_taken = rules.borrowed and rules.by != "none" and (rules.mode == "cancel" or each.can_wait_again)
            borrowed.append(
                BorrowedJob(each.key, use.queue, use.amounts, each.ran, float(rules.min_runtime), may_be_taken)
            )
        self._await(self._running[each.key] for each in borrowed if each.may_be_taken and each.ran < each.min_runtime)
        if not borrowed and not self._ended():
            return None
        trial = self._trial(job, self._tier(job), [each.key for each in borrowed])
        if not trial.fits_without(()):
            chosen = taken_back(lender, need, uses, borrowed, trial.fits_without)
            if not chosen:
                return None
            self._end(chosen, f"{job.key} of queue {job.queue}, which lent it, needs its room")
        return self._keep_room(job, self._tier(job), [each for each in self._ended() if each.queue != job.queue])

    def _ended(self) -> list[BatchJob]:
        """Those who leave for the sake of others."""
        endings = ((job, job.ledger.ending) for job in self._leaving)
        return [job for job, ending in endings if ending is not None and ending.refund == RefundCause.PREEMPTED]

    def _await(self, jobs: Iterable[RunningJob]) -> None:
        now = self._desk.world.now()
        self._next = min((now + (each.rules.min_runtime - each.ran) for each in jobs), default=self._next)

    def _uses_without_leaving(self) -> dict[str, QueueUse]:
        uses = self._quotas.queue_uses({})
        for job in self._leaving:
            if (held := self._quotas.uses.get(job.key)) is not None and held.queue in uses:
                use = uses[held.queue]
                rest = {name: amount - held.amounts.get(name, 0) for name, amount in use.used.items()}
                uses[held.queue] = QueueUse(use.name, use.quota, rest, use.claims)
        return uses

    def _trial(self, job: BatchJob, tier: int, keys: Iterable[str]) -> RoomTrial:
        """The job, with everybody gone who leaves, and no promise of lower tiers."""
        assert job.plan is not None
        machine = self._desk.machine
        leaving = [key for each in self._leaving for key in (*map(occupant_key, each.members), use_key(each.key))]
        holdings: Mapping[str, JobHolding] = {
            key: holding_of(self._desk.book.jobs[key], machine, self._quotas) for key in keys
        }
        return RoomTrial(machine, job.plan, holdings, [*leaving, *self._lower_promises(tier)])

    # -- what follows ------------------------------------------------------------------------------------------------

    def _end(self, keys: Iterable[str], why: str) -> None:
        """They are told to end, wait again, and have the time back that they lost."""
        desk = self._desk
        for key in keys:
            job = desk.book.jobs[key]
            if self._running.pop(key).rules.mode == "cancel":
                decision = FailureDecision(
                    "FailJob", why, outcome=JobOutcome.CANCELLED, is_excused=True, refund=RefundCause.PREEMPTED
                )
            else:
                decision = requeue_decision(job, why, RefundCause.PREEMPTED)
            order_end(desk, job, decision)
            self._leaving.append(job)

    def _keep_room(self, job: BatchJob, tier: int, leaving: Sequence[BatchJob]) -> JobStanding | None:
        """The room of those who leave is the job's, as soon as they are gone. None: nobody leaves for its sake."""
        machine, now = self._desk.machine, self._desk.world.now()
        for each in leaving:
            for uid, pod in each.members.items():
                own = pod.spec.termination_grace_period_seconds
                end = now + (DEFAULT_GRACE if own is None else float(own))
                if (known := machine.occupant(uid)) is not None and known.end > end:
                    machine.occupy(uid, known.row, known.amounts, end)
        if not leaving:
            return None
        calendar, plan = machine.calendar, job.plan
        assert plan is not None
        for key in (job.key, *self._lower_promises(tier)):
            calendar.remove(key)
        self._quotas.look()
        if (slot := calendar.search(plan)) is not None:
            calendar.book(plan, slot)
        left = [each.key for each in leaving]
        words = f"{len(left)} {'job' if len(left) == 1 else 'jobs'} to leave for it: {', '.join(sorted(left)[:3])}"
        return JobStanding(JobState.QUEUED, Reason.PREEMPTING, {"victims": len(left)}, words)


def _first_of_each(waiting: Sequence[BatchJob], kind: Callable[[BatchJob], Hashable]) -> list[BatchJob]:
    found: dict[Hashable, BatchJob] = {}
    for job in waiting:
        found.setdefault(kind(job), job)
    return list(found.values())
