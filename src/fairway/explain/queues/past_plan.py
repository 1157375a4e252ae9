"""The plan at a moment of a run: what is free when, who is promised what, who waits in which order.

In: an open run, a time, and manifests of a job that nobody has submitted, if any. Out: a `PastPlan`, made of what the
run keeps: the cluster as it was, jobs with the ends of their limits, the order that was told, windows, reservations;
and the same disciplines and forecasts that the desk goes by. Promises are made again from the order, so dates of others
may differ a little from those that they were told. Nothing of the run changes. Called by `start_answer` and
`queue_table`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple, cast

from fairway.batch.dates.overtaken import overtaken_queues
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob
from fairway.batch.job_book import JobBook
from fairway.batch.machine import Machine
from fairway.batch.planned_jobs import PlannedJobs
from fairway.batch.quotas.quotas import Quotas
from fairway.batch.reasons import Reason
from fairway.batch.settings import BatchSettings
from fairway.explain.jobs.job_trial import know_members
from fairway.explain.manifest_files import load_manifests
from fairway.explain.manifests import Manifests
from fairway.explain.queues.date_record import date_record, run_history
from fairway.explain.queues.past_closings import PastClosings
from fairway.explain.queues.queue_jobs import QueueJob, queue_jobs
from fairway.explain.queues.run_queues import settings_at
from fairway.explain.run_moment import Moment, objects_seen
from fairway.explain.run_schedulers import merged_configuration, run_schedulers
from fairway.explain.trial import Trial
from fairway.explain.workloads.inputs import Inputs
from fairway.model import Loaded, Pod, Source
from fairway.model.tenant import is_aside
from fairway.plan import Calendar, Present, RunHistory, Slot, StartEstimate, WaitingJob, forecast, run_pass
from fairway.plan.calibration import EstimateBook
from fairway.plan.forecast import Amounts
from fairway.plan.run_history import seconds_left
from fairway.record import Run

__all__ = ["PastPlan", "RoomHolder", "past_plan"]

STANDING_BY: Final = (
    Reason.RESOURCES, Reason.PRIORITY, Reason.PLANNING, Reason.MAINTENANCE, Reason.RESERVED, Reason.NODES_UNAVAILABLE,
    Reason.QUOTA_EXCEEDED, Reason.PREEMPTING,
)  # fmt: skip
"""Who waits for one of these has a place in the plan; others step aside."""


class RoomHolder(NamedTuple):
    """Somebody who is on a node."""

    end: float  # by its limit
    job: QueueJob | None  # None: it is of no queue
    node: str


class PastPlan:
    """The calendar of a run's cluster at a moment, with all that is known of jobs then."""

    def __init__(self, run: Run, at: float, trial: Trial, settings: BatchSettings, jobs: Sequence[QueueJob]) -> None:
        self.at = at
        self.trial = trial
        self.settings = settings
        self.jobs = jobs
        self.history: RunHistory = run_history(jobs)
        self.dates: EstimateBook = date_record(run, at, jobs)
        self.book = JobBook(trial.cluster, settings.aliases, run.began)
        self.machine = Machine(trial.cluster, at, settings.booking, settings.horizon)
        self.machine.refresh(at)
        self.cluster = trial.cluster
        self.quotas = Quotas(cast(DutyDesk, self))  # of a desk it sees settings, book, machine and cluster
        self.closings = PastClosings(run, at, trial.cluster, settings)
        self.closings.close(self.machine)
        queues = settings.queues
        self.planned = PlannedJobs(trial.cluster, self.machine, queues, self.quotas, self.closings.entrances)
        self.ends: dict[str, float] = {}  # predicted ends of occupants, by their keys in the calendar
        self.holders: dict[str, QueueJob | None] = {}  # whose pods are on nodes, by uid
        self._occupy(run)
        self.quotas.look()
        self.waiting = sorted(self._waiting(), key=lambda pair: self.place(pair[0]))
        self.quotas.lend(self.book.jobs[plan.key] for _, plan in self.waiting)
        plans = [plan for _, plan in self.waiting]
        run_pass(self.calendar, plans, at, settings.rules)  # those at the head are promised their slots

    @property
    def calendar(self) -> Calendar:
        """What is free when."""
        return self.machine.calendar

    def place(self, job: QueueJob) -> tuple[float, ...]:
        """Where a job is in the order of all queues; the least is first."""
        return self.place_of(job.queue, 0 if job.dates is None else job.dates.priority, job.submitted, job.number)

    def place_of(self, queue: str, priority: float, submitted: float, number: float) -> tuple[float, ...]:
        """The same of a job that may not be there."""
        spec = self.settings.queues[queue]
        return (-(spec.tier or 0), 0 if spec.is_interactive else -priority, submitted, number)

    # -- questions ---------------------------------------------------------------------------------------------------

    def starts_now(self, plan: WaitingJob, place: tuple[float, ...], copies: int = 1) -> list[tuple[str, ...]]:
        """Nodes on which such jobs would start at once, for each of so many that would."""
        calendar = self._open_to(plan)
        asked = [replace(plan, key=f"{plan.key} {number}") for number in range(copies)]
        outcome = run_pass(calendar, self._with(asked, place, plan.key), self.at, self.settings.rules)
        keys = {job.key for job in asked}
        return [self.node_names(_rows(each.slot)) for each in outcome.started if each.job.key in keys]

    def estimate(self, plan: WaitingJob, place: tuple[float, ...], predicted: float) -> StartEstimate:
        """When such a job would start."""
        jobs = self._with([plan], place, plan.key)
        runs = self.predicted | {plan.key: predicted}
        present = Present(self._open_to(plan), jobs, self.settings.rules, runs, self.ends)
        promised, nodes = dict[str, bool](), self.cluster.nodes
        if plan.queue in overtaken_queues(self.settings.queues, nodes.objects[: nodes.num_rows]):
            promised[plan.key] = False
        elif self.settings.queues[plan.queue].is_interactive:
            promised[plan.key] = True
        found = forecast(present, self.dates, promised=promised, wanted=[plan.key], amounts=self._amounts)
        return found[plan.key]

    def slot_of(self, plan: WaitingJob) -> Slot | None:
        """Where and when it would start by the limits of those who are there, promises of others aside."""
        promise = self.calendar.promises.get(plan.key)
        return self.calendar.search(plan) if promise is None else promise.slot

    def in_the_way(self, slot: Slot) -> list[RoomHolder]:
        """Who has to go from the slot's rows before it begins, the last one first."""
        rows = set(_rows(slot))
        names = self.trial.cluster.nodes.names
        found: dict[tuple[str, str], RoomHolder] = {}
        for uid, job in self.holders.items():
            occupant = self.machine.occupant(uid)
            if occupant is not None and occupant.row in rows and occupant.end <= slot.start:
                node = names[occupant.row]
                found[uid if job is None else job.job, node] = RoomHolder(occupant.end, job, node)
        return sorted(found.values(), key=lambda holder: (-holder.end, holder.node))

    def node_names(self, rows: Iterator[int]) -> tuple[str, ...]:
        """The nodes of rows of the plan, each once."""
        names = self.trial.cluster.nodes.names
        return tuple(sorted({names[row] for row in rows}))

    @cached_property
    def predicted(self) -> dict[str, float]:
        """How long everybody who waits will run, as far as one knows."""
        return {plan.key: self.history.predict(job.user, job.queue, job.limit) for job, plan in self.waiting}

    def _open_to(self, plan: WaitingJob) -> Calendar:
        """The calendar as a job of that queue finds it: what is booked for lower tiers is planned after it."""
        queues = self.settings.queues
        tier = queues[plan.queue].tier or 0
        lower = [key for key, each in self.calendar.promises.items() if (queues[each.job.queue].tier or 0) < tier]
        return self.calendar.without([plan.key, *lower])

    def _with(self, asked: Sequence[WaitingJob], place: tuple[float, ...], key: str) -> list[WaitingJob]:
        """Everybody who waits with these at their place, and without the one that they stand for."""
        others = [(job, plan) for job, plan in self.waiting if plan.key != key]
        before = [plan for job, plan in others if self.place(job) <= place]
        return [*before, *asked, *(plan for job, plan in others if self.place(job) > place)]

    @property
    def _amounts(self) -> Amounts:
        resources = self.cluster.nodes.resources
        names = [resources[column] for column in range(len(resources))]
        gpu = next((column for column, name in enumerate(names) if name.endswith("/gpu")), None)
        return Amounts(names.index("cpu") if "cpu" in names else None, gpu)

    # -- what was there ----------------------------------------------------------------------------------------------

    def _occupy(self, run: Run) -> None:
        """Everybody on a node, until the end of the job's limit; pods of no queue until their own, if they have one."""
        jobs = {job.number: job for job in self.jobs}
        rows = run.sql(
            "SELECT p.uid, p.created_seconds, p.bound_seconds, coalesce(p.job_id, j.job_id) AS job_id"
            " FROM pods p LEFT JOIN jobs j ON j.pod_id = p.pod_id WHERE p.created_seconds <= $1"
            " AND (p.ended_seconds IS NULL OR p.ended_seconds > $1) ORDER BY p.pod_id",
            self.at,
        )
        known = {row["uid"]: row for row in rows}
        for thing in self.trial.manifests.objects:
            if not isinstance(thing, Pod) or (row := known.get(thing.metadata.uid)) is None:
                continue
            batch_job = self.book.observe(thing, False, row["created_seconds"])
            job = jobs.get(row["job_id"])
            if thing.spec.node_name:
                self._put(thing, job if batch_job is not None else None, batch_job, row["bound_seconds"])

    def _put(self, pod: Pod, job: QueueJob | None, batch_job: BatchJob | None, bound: float) -> None:
        cluster = self.trial.cluster
        row = cluster.nodes.row_of.get(pod.spec.node_name)
        if row is None:
            return
        if batch_job is not None:
            is_alone = batch_job.wishes.is_exclusive
        else:
            is_alone = cluster.wishes.is_followed and cluster.wishes.is_exclusive(pod)
        need = self.machine.need(cluster.classify(pod, bound=True), is_alone)
        deadline = pod.spec.active_deadline_seconds
        end = math.inf if deadline is None else bound + float(deadline)
        if job is not None and job.queue in self.settings.queues:
            end = self.at + job.left + float(self.settings.queues[job.queue].limits.over_time)
            prediction = self.history.predict(job.user, job.queue, job.limit)
            left = seconds_left(job.story.consumed, prediction, job.limit)
            self.ends[f"pod {pod.metadata.uid}"] = self.at + left
        elif is_aside(pod):
            need[-1] = 0  # it is nobody's company
        self.holders[pod.metadata.uid] = job
        self.machine.occupy(pod.metadata.uid, row, need, max(end, self.at + 1.0))

    def _waiting(self) -> Iterator[tuple[QueueJob, WaitingJob]]:
        for job in self.jobs:
            batch_job = self.book.find(job.job)
            if job.waits and job.reason in STANDING_BY and batch_job is not None and job.queue in self.settings.queues:
                yield job, self.plan_of(batch_job, job.limit)

    def plan_of(self, job: BatchJob, limit: float | None = None) -> WaitingJob:
        """The job as the plan sees it."""
        if limit is not None:
            job.ledger.granted_limit = limit
        self.book.learn_group(job)
        return self.planned.plan_of(job, self.trial.profiles)


def past_plan(run: Run, at: float, files: Inputs | None = None) -> PastPlan:
    """The plan at that time; with `files` its trial has their pods to place."""
    settings = settings_at(run, at)
    source = Source(str(run.path))
    seen = [Loaded(thing, source) for thing in objects_seen(run, Moment(at))]
    manifests = Manifests(seen, [], []) if files is None else load_manifests(files, (), seen)
    trial = Trial(manifests, merged_configuration(run_schedulers(run)), 0, run.began + at)
    know_members(trial, (thing for thing in manifests.objects if isinstance(thing, Pod) and not thing.spec.node_name))
    return PastPlan(run, at, trial, settings, queue_jobs(run, at))


def _rows(slot: Slot) -> Iterator[int]:
    return (int(row) for placement in slot.placements for row in placement.rows)
