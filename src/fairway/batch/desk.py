"""The desk: who of the waiting jobs may start now.

In: everything that happens in the cluster (`observe`), attempts of the scheduler (`attempting`, `attempted`), and time.
Out: a pass (`run_pass`) goes through all waiting jobs in their order and releases those whose slot is now: their pods
enter the scheduler's active queue, and the ordinary cycle places them, with every plugin of their profile. What it
promises to others stays in the calendar, which the plugin ReservedTime holds every pod of a queue against. A job that
the cycle could not place after all goes back, and is not released again before something has changed. All else that
has to be looked after, such as limits, is done by `duties`, which are asked at the head of every pass.

The desk is synchronous, and the clock is its world's. All that it keeps can be made again from pods and from records.
A pass may be made in steps (`pass_steps`): what happens in between changes what is free, and is for the next to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time

from fairway.batch.actions import ResumeJob
from fairway.batch.batch_world import BatchWorld, PassReport
from fairway.batch.dates import Forecasts
from fairway.batch.duties import Accounting, OpeningQueues, Ordering, duties_of
from fairway.batch.duties.pass_steps import beside_others
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
from fairway.batch.upkeep.attempts import Attempts, VainJobs
from fairway.batch.upkeep.promise_keeping import PromiseKeeping
from fairway.batch.upkeep.upkeep import Upkeep
from fairway.cluster import Event, Verb
from fairway.cycle import Decision
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.model import Job as JobController
from fairway.model import Node, Pod
from fairway.model.job_set import JobSet
from fairway.plan import PassOutcome, Promise, Steps, finish, pass_steps
from fairway.queue import QueuedPod
from fairway.scheduler import Scheduler

__all__ = ["Desk"]


class Desk(PassDemand):
    """The queues of one scheduler."""

    def __init__(self, settings: BatchSettings, world: BatchWorld, epoch: float = 0.0) -> None:
        """`epoch` is what the time of day was when the world's clock showed 0, in seconds since 1970."""
        self.settings = settings = settings.as_of(world.now(), epoch)
        self.world = world
        self.epoch, self.wall_offset = epoch, 0.0  # see `upkeep.wall_time`
        self._rules, self._replan, self.order = settings.rules, settings.replan, JobOrder(settings.queues)
        self._starting: dict[str, BatchJob] = {}  # released or placed, and not running yet
        self._vain = VainJobs()
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
        self.quotas, self._accounting = Quotas(self), Accounting(self)
        self.upkeep = Upkeep(self, self._accounting.accounts)
        self._obstructions = Obstructions(self.machine, self.upkeep)
        self.planned = PlannedJobs(cluster, self.machine, self.settings.queues, self.quotas, self.upkeep.entrances)
        known = (self.settings, self.book, self._accounting, self.quotas)
        self._standings = Standings(*known, Feasibility(cluster, self.machine), self.world.tells_turns)
        self._lodgers = Lodgers(self)
        self._rooms = AttemptRooms(self, self._lodgers, self.planned, self.upkeep)
        self._attempts = Attempts(self, self._rooms, self._lodgers, self._take_back)
        self._promises = PromiseKeeping(self, self.planned, self.quotas)
        self._preemption = RoomClaims(self, self.quotas)
        self.ordering = Ordering(self, self._accounting, self.quotas, self.upkeep.closed)
        self.opening = OpeningQueues(self)
        self._duties = duties_of(self, self.opening, self._accounting, self.ordering, self.upkeep, self._preemption)
        self._member_duties = [duty for duty in self._duties if duty.hears_members]
        self._times = PassTimes(self, self._duties, (self._accounting, self.ordering.limits))
        self.forecasts = Forecasts(self)
        cluster.promises.planner = self._attempts

    def resume(self) -> None:
        """All that is there was heard of: go on with whoever was let go."""
        self._starting = resume(self)
        self.ordering.resume()
        self._promises.resume()
        self.is_due = self._vain.has_news = True

    def change(self, settings: BatchSettings) -> None:
        """Operators say otherwise now: everybody who waits is judged anew in the next pass."""
        self.settings = settings = settings.as_of(self.world.now(), self.epoch)
        self._rules, self._replan, self.order = settings.rules, settings.replan, JobOrder(settings.queues)
        self.book.sayings.learn(settings)
        self._standings.change(settings)
        self.planned.forget(settings.queues)
        self.machine.calendar.has_changed = self.is_due = self._vain.has_news = True
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
                self._vain.has_news |= gone or item.is_finished
            if job is None:
                return
        elif isinstance(item, Node):
            self.is_due = self._vain.has_news = True
        else:
            if isinstance(item, JobController | JobSet):
                self.book.sayings.observe(item, gone)
            for job in self.book.observe_maker(item, gone, self.world.now()):
                self.settle(job)
                self._told(job)
            job = None
            self.is_due |= bool(self.book.decided)
        self.num_heard += 1
        for duty in self._duties if job is None else self._member_duties:
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
            self.is_due = self._vain.has_news = True
            self.settle(job)
        elif not pod.spec.node_name:
            self.is_due = True
        elif job.standing.state is not JobState.RUNNING or job.key not in self._starting:
            self._lodgers.occupy(job, pod, pod.spec.node_name)
        if job.standing.state is JobState.RUNNING and job.key in self._starting:
            del self._starting[job.key]
            self._promises.has_nodes(job)
            self.is_due |= job.key in self.book.awaited
            for member in job.members.values():
                if member.spec.node_name:
                    self._lodgers.occupy(job, member, member.spec.node_name)
        if was != (job.standing, job.ledger.intervals):
            self._told(job)
        return job

    # -- attempts ----------------------------------------------------------------------------------------------------

    def attempting(self, queued: QueuedPod) -> None:
        """A pod or job is tried next: this is its room in time."""
        self._attempts.begin(queued)

    def attempted(self, decision: Decision | GroupDecision) -> None:
        """Whoever was placed takes the place of what was booked; whoever was not goes back."""
        self._attempts.end(decision)

    def _take_back(self, job: BatchJob) -> None:
        """Plugins that the plan does not see refused it: its booking stays for now, and nobody else is held up."""
        self._vain.add(job)
        self._starting.pop(job.key, None)
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
        outcome = finish(self._steps())
        if self.forecasts.is_due:
            self.forecasts.run()
        return outcome

    def pass_steps(self) -> Steps[PassOutcome | None]:
        """The same in steps, without a forecast. Settings may not change; nor anybody be tried while promises lack."""
        return beside_others(self.machine, self._steps(), self._give_up)

    def _give_up(self) -> None:
        """A pass was given up: whoever was let go by then may be tried all the same."""
        self.is_due = True
        self.scheduler.queue.activate(pod for job in self._starting.values() for pod in job.waiting)

    def _steps(self) -> Steps[PassOutcome]:
        begun, now = process_time(), self.world.now()
        is_wanted = self.has_happened or not self.is_time or bool(self._vain) or self._times.is_awaited(now)
        self.is_due = False
        self.machine.refresh(now)
        yield from self._promises.restore()  # before anybody's wishes are judged
        self.look_after(now)
        self.machine.refresh(now)  # nodes may have been opened or closed just now
        if not (is_wanted or self.is_due or self.machine.has_moved or self._accounting.has_budgets):
            return (yield from self._end_pass(self._left, PassOutcome(), begun))
        self._lodgers.vacate_unplaced(self._starting.values())
        self.quotas.look()
        self.planned.refresh(self.book.jobs)
        self._vain.try_again(now, self.settings.interval)
        waiting = [job for job in self.book.jobs.values() if job.started is None and not job.is_released]
        self._accounting.rank(able := (yield from self._able(waiting, now)), now)
        jobs = self.order.sort(able, now, self.machine.size, self._accounting.factor)
        yield
        yield from self._preemption.give_way(jobs)
        outcome = yield from self._plan(jobs, now)
        left = self._still(jobs)
        if late := (yield from self._standings.refuse_late(self.machine.calendar, left, now)):
            for job in late:
                self.machine.calendar.remove(job.key)  # its promise is for others
            outcome.started += (yield from self._plan(self._still(left), now)).started
        yield
        left = self._still(left)
        self._standings.preempting = self._preemption.claim([job for job in left if job.plan is not None], now)
        yield
        obstructed = yield from self._obstructions.standings(left, now, self._rules, self._replan)
        for job, standing in self._standings.judge(waiting, left, obstructed):
            if job.is_waiting and standing != job.standing:
                self.stand(job, standing)
                yield
        left = self._still(left)
        plans = [job.plan for job in left if job.plan is not None] if obstructed or self.upkeep.windows.views else []
        if actions := self.upkeep.judge(plans, obstructed, now):
            self.world.carry_out(actions)
        for job in [job for job in jobs if job.is_released]:
            self.scheduler.queue.activate(job.waiting)
            yield
        self.scheduler.queue.activate(self._rooms.take_refused())
        self._times.note(len(waiting), self._standings.unclear, now, has_vain=bool(self._vain))
        self.is_due |= bool(outcome.started) and len(jobs) > self.settings.max_jobs  # others were not looked at
        return (yield from self._end_pass(left, outcome, begun))

    def _still(self, jobs: list[BatchJob]) -> list[BatchJob]:
        """Those who wait for nothing but room and their turn, also by now."""
        return self._standings.still_waiting(jobs, (self.num_heard, len(self._starting)))

    def look_after(self, now: float) -> None:
        """Do what duties want done; also while a pass is under way."""
        for duty in self._duties:
            if actions := duty.look(now):
                self.world.carry_out(actions)

    def _able(self, waiting: Sequence[BatchJob], now: float) -> Steps[list[BatchJob]]:
        """Those who can be planned, with their plans."""
        able = yield from self._standings.able(waiting, now)
        for job in able:
            if job.plan is None and job.waiting and job.is_waiting:  # others bind pods, too
                self.planned.plan_of(job, self.scheduler.profiles)
                yield
        return (yield from self._standings.possible(able, now))

    def _end_pass(self, left: Sequence[BatchJob], outcome: PassOutcome, begun: float) -> Steps[PassOutcome]:
        """Tell of it; `left`: those who wait for nothing but room and their turn."""
        self._left = left
        yield from self._promises.note(outcome)
        counts = self._times.num_waiting, len(outcome.started), len(self.machine.calendar.promises)
        self.world.passed(PassReport(*counts, process_time() - begun))
        if self._standings.preempting:
            self.world.carry_out(self._duties[-1].look(self.world.now()))  # they leave at once
        self.forecasts.look(left)
        return outcome

    def _plan(self, jobs: list[BatchJob], now: float) -> Steps[PassOutcome]:
        """Give everybody in order what its queue's discipline allows; whose slot is now is released."""
        calendar, first = self.machine.calendar, self.settings.max_jobs
        plans = [job.plan for job in jobs[:first] if job.plan is not None]
        plans += [job.plan for job in jobs[first:] if job.plan is not None and job.key in calendar.promises]
        self.quotas.lend(jobs)
        outcome = yield from pass_steps(calendar, plans, now, self._rules, replan=self._replan)
        for key in [key for key in calendar.promises if key not in self.book.jobs]:
            calendar.remove(key)  # they are over by now
        try:
            yield from self._promises.note(outcome)
        except GeneratorExit:
            outcome.give_back(calendar)
            raise
        stopped = [each for each in outcome.started if not self._release(each)]
        for each in stopped:
            calendar.remove(each.job.key)
            outcome.started.remove(each)
        left = self._still(jobs)
        if stopped or (outcome.started and self.quotas.lend(left)):
            more = yield from self._plan(left, now)
            outcome.started += more.started  # others have their slots; lenders what they waited for
        return outcome

    def _release(self, started: Promise) -> bool:
        """It may start; False: its account does not let it, or it has changed since it was planned."""
        job = self.book.jobs.get(started.job.key)
        if job is None or job.plan is not started.job or not job.is_waiting:
            return False
        rows = [int(row) for placement in started.slot.placements for row in placement.rows]
        if self._accounting.has_budgets and (standing := self._accounting.stop(job, rows)) is not None:
            self._standings.hinder(job, standing)
            return False
        job.is_released, job.ledger.released = True, self.world.now()
        job.ledger.granted_limit = job.ledger.first_limit = granted_limit(job, self.settings.queues[job.queue].limits)
        self._starting[job.key] = job
        self._accounting.released(job, rows)
        self.stand(job, JobStanding(JobState.STARTING))
        if job.imagined:
            self.world.carry_out([ResumeJob(job.ledger.owner)])
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
            self._vain.drop(job.key)
            self._accounting.stopped(job)
