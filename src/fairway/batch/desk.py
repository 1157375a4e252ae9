"""The desk: who of the waiting jobs may start now.

In: everything that happens in the cluster (`observe`), attempts of the scheduler (`attempting`, `attempted`), and time.
Out: a pass (`run_pass`) goes through all waiting jobs in their order and releases those whose slot is now: their pods
enter the scheduler's active queue, and the ordinary cycle places them, with every plugin of their profile. What it
promises to others stays in the calendar, which the plugin ReservedTime holds every pod of a queue against. A job that
the cycle could not place after all goes back, and is not released again before something has changed. All else that
has to be looked after, such as limits, is done by `duties`, which are asked at the head of every pass.

The desk is synchronous and knows no clock but its world's. It keeps nothing that could not be made again from pods and
from what was written of jobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from time import process_time

from fairway.batch.batch_world import BatchWorld, PassReport
from fairway.batch.dates import Forecasts
from fairway.batch.duties import Accounting, Ordering, duties_of
from fairway.batch.duties.pass_times import PassDemand, PassTimes
from fairway.batch.hindrances.feasibility import Feasibility
from fairway.batch.hindrances.obstructions import Obstructions
from fairway.batch.job import BatchJob
from fairway.batch.job_book import JobBook
from fairway.batch.job_order import JobOrder
from fairway.batch.limits import granted_limit
from fairway.batch.lodgers import Lodgers
from fairway.batch.machine import Machine
from fairway.batch.planned_jobs import PlannedJobs
from fairway.batch.preemption import RoomClaims
from fairway.batch.quotas.quotas import Quotas
from fairway.batch.reasons import JobStanding, JobState, Reason
from fairway.batch.restoration import restore, resume
from fairway.batch.settings import BatchSettings
from fairway.batch.standings import Standings
from fairway.batch.upkeep.attempt_rooms import AttemptRooms
from fairway.batch.upkeep.upkeep import Upkeep
from fairway.cluster import Event, Verb
from fairway.cycle import Decision, Outcome
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.model import Job as JobController
from fairway.model import Node, Pod
from fairway.model.job_set import JobSet
from fairway.plan import PassOutcome, Promise, run_pass
from fairway.queue import QueuedGroup, QueuedPod
from fairway.scheduler import Scheduler

__all__ = ["Desk"]


class Desk(PassDemand):
    """The queues of one scheduler."""

    def __init__(self, settings: BatchSettings, world: BatchWorld, epoch: float = 0.0) -> None:
        """`epoch` is what the time of day was when the world's clock showed 0, in seconds since 1970."""
        self.settings = settings
        self.world = world
        self.epoch = epoch
        self._rules, self._replan = settings.rules, settings.replan
        self.order = JobOrder(settings.queues)
        self._starting: dict[str, BatchJob] = {}  # released or placed, and not running yet
        self._vain: dict[str, BatchJob] = {}  # refused by plugins that the plan does not see
        self._has_news = False  # has anything happened that may help these?
        self._looked = -math.inf  # when they were last given another try
        self._left: Sequence[BatchJob] = ()  # those whom the last pass left waiting for room and their turn
        self._told: Callable[[BatchJob], None] = world.write_record

    def attend(self, scheduler: Scheduler) -> None:
        """From now on, decide who of this scheduler's pods may be tried."""
        self.scheduler = scheduler
        self.cluster = cluster = scheduler.cluster
        self.book = JobBook(cluster, self.settings.aliases, self.epoch)
        restore(self.book, self.world.records())
        self.book.sayings.learn(self.settings)
        self.machine = Machine(cluster, self.world.now(), self.settings.booking, self.settings.horizon)
        self._quotas = Quotas(self)
        self._accounting = Accounting(self)
        self.upkeep = Upkeep(self, self._accounting.accounts)
        self._obstructions = Obstructions(self.machine, self.upkeep)
        queues = self.settings.queues
        self._planned = PlannedJobs(cluster, self.machine, queues, self._quotas, self.upkeep.entrances)
        feasibility = Feasibility(cluster, self.machine)
        self._standings = Standings(self.settings, self.book, self._accounting, self._quotas, feasibility)
        self._lodgers = Lodgers(self)
        self._rooms = AttemptRooms(self, self._lodgers, self._planned, self.upkeep)
        self._preemption = RoomClaims(self, self._quotas)
        self.ordering = Ordering(self, self._accounting, self._quotas, self.upkeep.closed)
        self._duties = duties_of(self, self._accounting, self.ordering, self.upkeep, self._preemption)
        self._times = PassTimes(self, self._duties, (self._accounting, self.ordering.limits))
        self.forecasts = Forecasts(self)
        cluster.promises.planner = self

    def resume(self) -> None:
        """All that is there was heard of: go on with whoever was let go."""
        self._starting = resume(self)
        self.ordering.resume()
        self.is_due = self._has_news = True

    def change(self, settings: BatchSettings) -> None:
        """Operators say otherwise now: everybody who waits is judged anew in the next pass."""
        self.settings = settings
        self._rules, self._replan, self.order = settings.rules, settings.replan, JobOrder(settings.queues)
        self.book.sayings.learn(settings)
        self._standings.change(settings)
        self._planned.forget(settings.queues)
        self.machine.calendar.has_changed = self.is_due = self._has_news = True
        for job in self.book:
            job.is_clear = False
            if job.queue not in settings.queues:
                self.machine.calendar.remove(job.key)

    def close(self) -> None:
        """Nothing more happens: what ended is written down."""
        self._accounting.close(self.world.now())

    # -- what happens ------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        """Something happened; to be told before the scheduler hears of it."""
        item = event.object
        gone = event.verb is Verb.DELETED
        job = None
        if isinstance(item, Pod):
            if self.scheduler.queue.serves(item):
                job = self._observe_pod(item, gone)
            if job is None and item.spec.node_name and self._lodgers.observe_other(item, gone or item.is_finished):
                self.is_due = True
                self._has_news |= gone or item.is_finished
        elif isinstance(item, Node):
            self.is_due = self._has_news = True
        else:
            if isinstance(item, JobController | JobSet):
                self.book.sayings.observe(item, gone)
            for job in self.book.observe_maker(item, gone, self.world.now()):
                self.settle(job)
                self._told(job)
            job = None
            self.is_due |= bool(self.book.decided)
        for duty in self._duties:
            duty.observe(event, job)
        self.forecasts.observe(job)

    def _observe_pod(self, pod: Pod, gone: bool) -> BatchJob | None:
        """A pod that may be of a queue came, changed or went; returns its job."""
        now = self.world.now()
        before = self.book.of(pod.metadata.uid)
        was = None if before is None else (before.standing, before.ledger.intervals)
        job = self.book.observe(pod, gone, now)
        if job is None:
            return None
        if gone or pod.is_finished:
            self.machine.vacate(pod.metadata.uid)
            self.is_due = self._has_news = True
            self.settle(job)
        elif pod.spec.node_name:
            self._lodgers.occupy(job, pod, pod.spec.node_name)
        else:
            self.is_due = True
        if job.state is JobState.RUNNING and job.key in self._starting:
            del self._starting[job.key]
            self.is_due |= job.key in self.book.awaited
            for member in job.members.values():
                if member.spec.node_name:
                    self._lodgers.occupy(job, member, member.spec.node_name)
        if was != (job.standing, job.ledger.intervals):
            self._told(job)
        return job

    # -- attempts ----------------------------------------------------------------------------------------------------

    def gate(self, pod: Pod) -> str:
        """Why the pod may not be tried yet; "": it may."""
        job = self.book.of(pod.metadata.uid)
        return "" if job is None else job.gate

    def plans(self, pod: Pod) -> bool:
        """Is the pod of a queue, or bound by what queues were promised?"""
        return self.is_queued(pod) or self._rooms.bind_all

    def is_queued(self, pod: Pod) -> bool:
        """Is the pod of a queue?"""
        return self.book.of(pod.metadata.uid) is not None

    def attempting(self, queued: QueuedPod) -> None:
        """A pod or job is tried next: this is its room in time."""
        pod = next(iter(queued.members.values())).pod if isinstance(queued, QueuedGroup) else queued.pod
        job = self.book.of(pod.metadata.uid)
        self.cluster.promises.begin(self._rooms.room(pod, job))

    def attempted(self, decision: Decision | GroupDecision) -> None:
        """Whoever was placed takes the place of what was booked; whoever was not goes back."""
        self.cluster.promises.begin(None)
        members = decision.members if isinstance(decision, GroupDecision) else [decision]
        if isinstance(decision, GroupDecision):
            members = [*members, *(each for other in decision.companions for each in other.members)]
        self._rooms.attempted(members)
        placed: dict[str, list[Decision]] = {}
        for each in members:
            job = self.book.of(each.pod.metadata.uid)
            if job is not None:
                placed.setdefault(job.key, [])
                if each.outcome is Outcome.SCHEDULED:
                    placed[job.key].append(each)
        for key, decisions in placed.items():
            job = self.book.jobs[key]
            if decisions:
                self._place(job, decisions)
                job.num_vain = 0
            elif job.started is None:
                self._take_back(job)

    def _place(self, job: BatchJob, decisions: Sequence[Decision]) -> None:
        """Those who have nodes now take the place of the job's booking."""
        for each in decisions:
            self._lodgers.occupy(job, each.pod, each.node)
        self.machine.calendar.remove(job.key)

    def _take_back(self, job: BatchJob) -> None:
        """Plugins that the plan does not see refused it: its booking stays for now, and nobody else is held up."""
        job.is_released = False
        job.is_vain = True
        job.num_vain += 1
        self._starting.pop(job.key, None)
        self._vain[job.key] = job
        self.machine.calendar.remove(job.key)
        words = "there is room by amounts, but plugins of its profile refuse every node"
        self.stand(job, JobStanding(JobState.QUEUED, Reason.PLACEMENT, {}, words))
        self.is_due = True  # for the others, who may have its room

    # -- the pass ----------------------------------------------------------------------------------------------------

    def next_time(self) -> float | None:
        """When a pass has to be run without anything happening; None: never."""
        return self._times.next_time()

    def run_pass(self) -> PassOutcome:
        """Release everybody whose slot is now."""
        begun, now = process_time(), self.world.now()
        is_wanted = self.has_happened or not self.is_time or bool(self._vain) or self._times.is_awaited(now)
        self.is_due = False
        self.machine.refresh(now)
        for duty in self._duties:
            if actions := duty.look(now):
                self.world.carry_out(actions)
        self.machine.refresh(now)  # nodes may have been opened or closed just now
        if not (is_wanted or self.is_due or self.machine.has_moved or self._accounting.has_budgets):
            return self._end_pass(self._left, PassOutcome(), begun)
        self._lodgers.vacate_unplaced(self._starting.values())
        self._quotas.look()
        self._planned.refresh(self.book.jobs)
        if self._vain:
            self._try_again(now)
        waiting = [job for job in self.book if job.started is None and not job.is_released]
        able = self._standings.able([job for job in waiting if not job.is_vain], now)
        able = [job for job in able if job.plan is not None or job.waiting]  # others bind pods, too
        for job in able:
            if job.plan is None:
                self._planned.plan_of(job, self.scheduler.profiles)
        able = self._standings.possible(able)
        for job in able:
            if job.ledger.eligible_since is None:
                job.eligible_since = now
        self._accounting.rank(able, now)
        jobs = self.order.sort(able, now, self.machine.size, self._accounting.factor)
        self._preemption.give_way(jobs)
        outcome = self._plan(jobs, now)
        left = self._standings.unhindered(jobs)
        if late := self._standings.refuse_late(self.machine.calendar, left, now):
            for job in late:
                self.machine.calendar.remove(job.key)  # its promise is for others
            outcome.started += self._plan(self._standings.unhindered(left), now).started
            left = self._standings.unhindered(left)
        self._standings.preempting = self._preemption.claim(left, now)
        obstructed = self._obstructions.standings(left, now, self._rules, self._replan)
        for job, standing in self._standings.judge(waiting, left, obstructed):
            self.stand(job, standing)
        plans = [job.plan for job in left if job.plan is not None]
        if actions := self.upkeep.judge(plans, obstructed, now):
            self.world.carry_out(actions)
        self.scheduler.queue.activate(pod for job in jobs if job.is_released for pod in job.waiting)
        self.scheduler.queue.activate(self._rooms.take_refused())
        self._times.note(waiting, now, has_vain=bool(self._vain))
        return self._end_pass(left, outcome, begun)

    def _end_pass(self, left: Sequence[BatchJob], outcome: PassOutcome, begun: float) -> PassOutcome:
        """Tell of it; `left`: those who wait for nothing but room and their turn."""
        self._left = left
        counts = self._times.num_waiting, len(outcome.started), len(self.machine.calendar.promises)
        self.world.passed(PassReport(*counts, process_time() - begun))
        if self._standings.preempting:
            self.world.carry_out(self._duties[-1].look(self.world.now()))  # they leave at once
        self.forecasts.look(left)
        return outcome

    def _plan(self, jobs: Sequence[BatchJob], now: float) -> PassOutcome:
        """Give everybody in order what its queue's discipline allows; whose slot is now is released."""
        calendar, first = self.machine.calendar, self.settings.max_jobs
        plans = [job.plan for job in jobs[:first] if job.plan is not None]
        plans += [job.plan for job in jobs[first:] if job.plan is not None and job.key in calendar.promises]
        self._quotas.lend(jobs)
        outcome = run_pass(calendar, plans, now, self._rules, replan=self._replan)
        stopped = [each for each in outcome.started if not self._release(each)]
        for each in stopped:
            calendar.remove(each.job.key)
            outcome.started.remove(each)
        left = self._standings.unhindered(jobs)
        if stopped or (outcome.started and self._quotas.lend(left)):
            outcome.started += self._plan(left, now).started  # others have their slots; lenders what they waited for
        return outcome

    def _try_again(self, now: float) -> None:
        """Those that plugins refused, if something happened since, or for a long time nothing did."""
        if self._has_news or now >= self._looked + self.settings.interval:
            self._has_news, self._looked = False, now
            for job in self._vain.values():
                job.is_vain = False
            self._vain.clear()

    def _release(self, started: Promise) -> bool:
        """It may start; False: its account does not let it."""
        job = self.book.jobs[started.job.key]
        rows = [int(row) for placement in started.slot.placements for row in placement.rows]
        if self._accounting.has_budgets and (standing := self._accounting.stop(job, rows)) is not None:
            self._standings.hinder(job, standing)
            return False
        job.is_released, job.ledger.released = True, self.world.now()
        job.ledger.granted_limit = job.ledger.first_limit = granted_limit(job, self.settings.queues[job.queue].limits)
        self._starting[job.key] = job
        self._accounting.released(job, rows)
        self.stand(job, JobStanding(JobState.STARTING))
        return True

    def stand(self, job: BatchJob, standing: JobStanding) -> None:
        """This is where the job is from now on."""
        if standing != job.standing:
            job.standing = standing
            self._told(job)

    def settle(self, job: BatchJob) -> None:
        """A member is gone: nothing is kept any more for a job that is over or waits again."""
        if job.has_ended or (job.started is None and not job.is_released):
            self.machine.calendar.remove(job.key)
            self._starting.pop(job.key, None)
            self._vain.pop(job.key, None)
            self._accounting.stopped(job)
