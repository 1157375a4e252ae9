"""The plan at a moment of a run: what is free when, who is promised what, who waits in which order.

In: a moment of a run, and manifests of a job that nobody has submitted, if any. Out: a `PastPlan`, made of what the
run keeps: the cluster as it was, jobs with the ends of their limits, the order that was told, windows, reservations;
and the same disciplines and forecasts that the desk goes by. Promises are made again from the order, so dates of others
may differ a little from those that they were told. Nothing of the run changes. Called by `start_answer` and
`queue_table`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, cast

from fairway.batch.dates.overtaken import overtaken_queues
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.hindrances.feasibility import Feasibility
from fairway.batch.job import BatchJob
from fairway.batch.job_book import JobBook
from fairway.batch.machine import Machine
from fairway.batch.planned_jobs import PlannedJobs
from fairway.batch.quotas.quotas import Quotas
from fairway.batch.reasons import JobStanding, Reason
from fairway.explain.jobs.job_trial import know_members
from fairway.explain.manifest_files import load_manifests
from fairway.explain.manifests import Manifests
from fairway.explain.queues.date_record import run_history
from fairway.explain.queues.past_closings import PastClosings
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.run_moment import RunMoment
from fairway.explain.queues.start_plan import PlannedRoom, StartPlan, counted_amounts, job_place
from fairway.explain.run_moment import Moment, objects_seen
from fairway.explain.run_schedulers import merged_configuration, run_schedulers
from fairway.explain.trial import Trial
from fairway.explain.workloads.inputs import Inputs
from fairway.model import Loaded, Pod, Source
from fairway.model.tenant import is_aside
from fairway.plan import RunHistory, WaitingJob, run_pass
from fairway.plan.run_history import seconds_left
from fairway.record import Run

__all__ = ["PastPlan", "past_plan"]

STANDING_BY: Final = (
    Reason.RESOURCES, Reason.PRIORITY, Reason.PLANNING, Reason.MAINTENANCE, Reason.RESERVED, Reason.NODES_UNAVAILABLE,
    Reason.QUOTA_EXCEEDED, Reason.PREEMPTING,
)  # fmt: skip
"""Who waits for one of these has a place in the plan; others step aside."""


class PastMachine:
    """The calendar of a run's cluster at a moment, made anew."""

    def __init__(self, moment: RunMoment, trial: Trial) -> None:
        run, at, settings = moment.run, moment.at, moment.settings
        self.at = at
        self.trial = trial
        self.settings = settings
        self.jobs = moment.jobs
        self.history: RunHistory = run_history(moment.jobs)
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
        self.waiting = sorted(self._waiting(), key=lambda pair: job_place(pair[0], settings))
        self.quotas.lend(self.book.jobs[plan.key] for _, plan in self.waiting)
        plans = [plan for _, plan in self.waiting]
        run_pass(self.machine.calendar, plans, at, settings.rules)  # those at the head are promised their slots

    def refusal(self, job: BatchJob, plan: WaitingJob) -> JobStanding | None:
        """Why it could not run here if it were alone, as the desk would tell; None: it could."""
        return Feasibility(self.cluster, self.machine).refusal(job, plan) or self.quotas.refusal(job)

    @property
    def rooms(self) -> list[PlannedRoom]:
        """Who is where, and until when."""
        there = ((uid, self.machine.occupant(uid), job) for uid, job in self.holders.items())
        return [PlannedRoom(uid, found.row, found.end, job) for uid, found, job in there if found is not None]

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


@dataclass
class PastPlan(StartPlan):
    """The plan of a run, and the trial of its schedulers."""

    trial: Trial = field(kw_only=True)


def past_plan(moment: RunMoment, files: Inputs | None = None) -> PastPlan:
    """The plan then; with `files` its trial has their pods to place."""
    run, at = moment.run, moment.at
    source = Source(str(run.path))
    seen = [Loaded(thing, source) for thing in objects_seen(run, Moment(at))]
    manifests = Manifests(seen, [], []) if files is None else load_manifests(files, (), seen)
    trial = Trial(manifests, merged_configuration(run_schedulers(run)), 0, run.began + at)
    know_members(trial, (thing for thing in manifests.objects if isinstance(thing, Pod) and not thing.spec.node_name))
    past = PastMachine(moment, trial)
    nodes = trial.cluster.nodes
    return PastPlan(
        moment,
        past.machine.calendar,
        nodes.names,
        past.waiting,
        past.history,
        past.ends,
        past.rooms,
        overtaken_queues(moment.settings.queues, nodes.objects[: nodes.num_rows]),
        next(iter(trial.profiles)),
        counted_amounts(trial.cluster),
        past.plan_of,
        past.refusal,
        trial=trial,
    )
