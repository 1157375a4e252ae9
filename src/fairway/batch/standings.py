"""Every waiting job has one reason: which, and what it is about.

In: the waiting jobs, what a pass came to, the calendar. Out: which jobs may be planned at all (`able`), and afterwards
a `Standing` for each that still waits (`judge`): the first reason of the closed list that holds. Called by the desk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fairway.batch.duties import Accounting
from fairway.batch.hindrances.admission import Admission
from fairway.batch.hindrances.dependencies import Dependencies
from fairway.batch.hindrances.feasibility import Feasibility
from fairway.batch.hindrances.lateness import too_late
from fairway.batch.job import BatchJob
from fairway.batch.job_book import JobBook
from fairway.batch.limits import limit_standing
from fairway.batch.quotas.quotas import Quotas
from fairway.batch.reasons import JobStanding, JobState, Reason
from fairway.batch.settings import BatchSettings
from fairway.plan import Calendar, Steps
from fairway.words import length_text

__all__ = ["Standings"]


TURN: Final = (Reason.RESOURCES, Reason.PRIORITY)


class Standings:
    """Says why."""

    def __init__(
        self,
        settings: BatchSettings,
        book: JobBook,
        accounting: Accounting,
        quotas: Quotas,
        feasibility: Feasibility,
        tells_turns: bool,
    ) -> None:
        """`tells_turns`: is it told how many come before a job, or just that somebody does?"""
        self._settings = settings
        self._admission = Admission(settings, book.cluster)
        self._book = book
        self._accounting = accounting
        self._quotas = quotas
        self._feasibility = feasibility
        self._tells_turns = tells_turns
        self._dependencies = Dependencies(book)
        self._hindered: dict[str, JobStanding] = {}
        self._num_hindered = 0  # so often
        self._known_left: tuple[Sequence[BatchJob], list[BatchJob], object] = ((), [], None)  # see `still_waiting`
        self.preempting: Mapping[str, JobStanding] = {}  # by key: those for whom others leave
        self.unclear: list[BatchJob] = []  # those of the last pass whom more than room and their turn may keep

    def change(self, settings: BatchSettings) -> None:
        """Operators say otherwise now."""
        self._settings = self._admission.settings = settings

    def able(self, waiting: Sequence[BatchJob], now: float) -> Steps[list[BatchJob]]:
        """Those that nothing but room and their turn keeps from starting, and no plugin refused in vain; in steps."""
        self._hindered = {}
        self._dependencies.begin()
        found = []
        self.unclear = unclear = []
        has_budgets = self._accounting.has_budgets
        for job in waiting:
            spec = None if job.group is None else self._book.spec_of(job.group)
            if job.is_clear and spec is job.clear_spec and not job.is_vain:
                if has_budgets and (standing := self._accounting.stop(job)) is not None:
                    self.hinder(job, standing)
                else:
                    found.append(job)
                continue
            unclear.append(job)
            if job.is_vain:
                continue
            self._admission.take(job)
            standing = self._hindrance(job, now)
            if standing is None:
                found.append(job)
                job.clear_spec = spec
                job.is_clear = not self._book.after_of(job) and job.wishes.start_by == math.inf
            else:
                self.hinder(job, standing)
            yield
        return found

    def hinder(self, job: BatchJob, standing: JobStanding) -> None:
        """Something keeps it besides room and its turn."""
        self._hindered[job.key] = standing
        self._num_hindered += 1
        job.eligible_since = None

    def still_waiting(self, jobs: Sequence[BatchJob], state: object) -> list[BatchJob]:
        """Those of them that wait, and for nothing but room and their turn; the same list while `state` is the same."""
        before, found, then = self._known_left
        state = state, self._num_hindered
        if state != then or (jobs is not before and jobs is not found):
            found = self._unhindered(jobs)
            self._known_left = jobs, found, state
        return found

    def _unhindered(self, jobs: Sequence[BatchJob]) -> list[BatchJob]:
        # As `is_waiting`, which is asked of everybody several times in each pass.
        over, hindered = JobState.FINISHED, self._hindered
        found = [job for job in jobs if job.started is None and not job.is_released and job.standing.state is not over]
        return [job for job in found if job.key not in hindered] if hindered else found

    def possible(self, able: Sequence[BatchJob], now: float) -> Steps[list[BatchJob]]:
        """Those of them, planned by now, that could run here if they were alone, are not too late and not too many."""
        found = []
        crowded = self._quotas.crowded(able)
        for job in able:
            if job.plan is None:
                continue  # it has changed since
            if is_new := job.judged is not job.plan:
                refusal = self._feasibility.refusal(job, job.plan) or self._quotas.refusal(job)
                job.judged, job.refusal = job.plan, refusal
            if job.refusal is not None:
                self.hinder(job, job.refusal)
            elif crowded and job.key in crowded:
                self._hindered[job.key] = crowded[job.key]
                self._num_hindered += 1
            else:
                found.append(job)
            if is_new:
                yield
        found = self._unhindered(found)
        for job in found:
            if job.ledger.eligible_since is None:
                job.eligible_since = now
        return found

    def refuse_late(self, calendar: Calendar, left: Sequence[BatchJob], now: float) -> Steps[list[BatchJob]]:
        """Those who would start later than they say; not to be planned until something of theirs changes."""
        late = yield from too_late(calendar, left, now)
        if not late:
            return []
        found = [job for job in left if job.key in late]
        for job in found:
            job.refusal = late[job.key]
            self.hinder(job, late[job.key])
        return found

    def judge(
        self,
        waiting: Sequence[BatchJob],
        left: Sequence[BatchJob],
        obstructed: Mapping[str, JobStanding],
    ) -> Iterator[tuple[BatchJob, JobStanding]]:
        """The standing of every job that still waits; `left` are those that were planned, in their order.

        `obstructed`: by key, those that something closed keeps from starting now.
        """
        for job in waiting if self._hindered else ():
            if (standing := self._hindered.get(job.key)) is not None:
                yield job, standing
        ahead: dict[str, int] = {}
        self._quotas.count()
        limits_anybody, preempting = self._quotas.limits_anybody, self.preempting
        tells_turns = self._tells_turns
        for job in left:
            if limits_anybody and (exceeded := self._quotas.exceeded(job)) is not None:
                yield job, exceeded
                continue
            queue = job.ledger.queue or job.wishes.queue
            position = ahead.get(queue, 0)
            ahead[queue] = position + 1 if tells_turns else 1
            if obstructed and job.key in obstructed and job.key not in preempting:
                yield job, obstructed[job.key]
                continue
            if job.is_vain or (position == job.num_ahead and job.standing.reason in TURN and job.key not in preempting):
                continue
            job.num_ahead = position
            if job.key in preempting:
                job.num_ahead = -1  # to be looked at again
                yield job, preempting[job.key]
            elif not position:
                yield job, JobStanding(JobState.QUEUED, Reason.RESOURCES, {}, "first of its queue; not enough is free")
            elif tells_turns:
                words = f"{position} before it"
                yield job, JobStanding(JobState.QUEUED, Reason.PRIORITY, {"jobs": position}, words)
            else:
                yield job, JobStanding(JobState.QUEUED, Reason.PRIORITY, {}, "others are before it")

    # -- before it is planned ----------------------------------------------------------------------------------------

    def _hindrance(self, job: BatchJob, now: float) -> JobStanding | None:
        """What keeps a job out of the plan; None: nothing."""
        if job.wishes.problem:
            return _queued(Reason.MISCONFIGURED, job.wishes.problem)
        standing = self._refusal(job, now) or self._own_hindrance(job)
        if standing is not None:
            return standing
        if (standing := self._dependencies.standing(job)) is not None:
            return standing
        if job.wishes.begin > now:
            return _queued(Reason.BEGIN_TIME, f"in {length_text(job.wishes.begin - now)}", time=job.wishes.begin)
        queue = self._settings.queues[job.queue]
        if not queue.starts_jobs:
            until = f" until {queue.state_until}" if queue.state_until else "; not before it opens"
            detail = {"until": queue.state_until} if queue.state_until else {}
            return _queued(Reason.QUEUE_STOPPED, f"the queue is {queue.state}{until}", state=queue.state, **detail)
        if (standing := self._accounting.stop(job)) is not None:
            return standing
        if job.ledger.back_off_until > now:
            why = job.ledger.back_off_why
            words = f"for {length_text(job.ledger.back_off_until - now)} more" + (f": {why}" if why else "")
            return _queued(Reason.BACK_OFF, words, until=job.ledger.back_off_until, why=why)
        return None

    def _own_hindrance(self, job: BatchJob) -> JobStanding | None:
        """What is the matter with the job itself."""
        if problem := self._book.learn_group(job):
            return _queued(Reason.MISCONFIGURED, problem)
        if job.wishes.is_held or job.ledger.hold:
            by = job.ledger.hold or "its owner"
            return _queued(Reason.HELD, f"held by {by}", by=by)
        gated = [pod for pod in job.waiting if pod.spec.scheduling_gates]
        if gated:
            gates = sorted({gate.name for pod in gated for gate in pod.spec.scheduling_gates})
            return _queued(Reason.GATED, f"scheduling gates: {', '.join(gates)}", gates=gates)
        have = job.num_done + len([pod for pod in job.pods if not pod.is_terminating])
        if have < job.min_count:
            words = f"{have} of {job.min_count} members exist"
            return _queued(Reason.GANG_INCOMPLETE, words, have=have, need=job.min_count)
        return None

    def _refusal(self, job: BatchJob, now: float) -> JobStanding | None:
        if (refusal := self._admission.refusal(job)) is not None:
            return refusal
        account = self._accounting.account_of(job)
        if isinstance(account, JobStanding):
            return account
        return limit_standing(job, self._settings.queues[job.queue].limits, now)


def _queued(reason: Reason, words: str, **detail: object) -> JobStanding:
    return JobStanding(JobState.QUEUED, reason, detail, words)
