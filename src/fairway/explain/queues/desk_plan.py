"""The queues and the plan of a scheduler that runs, as questions are put to them: a copy, so that it may go on.

In: a `LiveDesk`. Out: `copied_moment`, what it has in memory of jobs and books, and `copied_plan`, what is free when,
with who waits in which order. Both are taken between two decisions, in a few milliseconds, and give something to be
called elsewhere that makes the rest of it: that looks at nothing which the scheduler has (but for `plan_job` and
`refusal` of a plan, which see the cluster itself). Called by `queue_answers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from fairway.batch.dates.overtaken import overtaken_queues
from fairway.batch.hindrances.feasibility import Feasibility
from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobStanding
from fairway.explain.queues.queue_moment import TimeWords
from fairway.explain.queues.record_moment import RecordMoment
from fairway.explain.queues.start_plan import PlannedRoom, StartPlan, counted_amounts
from fairway.live.batch.live_desk import LiveDesk
from fairway.plan import EstimateBook, WaitingJob
from fairway.plan.forward import Effort

__all__ = ["DeskMoment", "copied_moment", "copied_plan"]

EFFORT = Effort(resolution=0.05, work=2_500_000)
"""Half of what the desk's own forecasts may cost: beyond that jobs are planned, no longer played."""


class DeskMoment(RecordMoment):
    """A `RecordMoment` whose dates are judged by all that the desk remembers."""

    known_dates: EstimateBook

    @property
    def dates(self) -> EstimateBook:
        """How dates held since it began, and those that were written down before."""
        return self.known_dates

    def key_of_pod(self) -> dict[str, str]:
        """By uid of a member, its job."""
        return {pod.metadata.uid: record.key for record, _ in self.written for pod in record.members}


def copied_moment(live: LiveDesk, times: TimeWords | None = None) -> Callable[[], DeskMoment]:
    """What it knows of jobs now."""
    now, settings, statuses = live.now(), live.desk.settings, list(live.statuses())
    written = [(record, live.books.terms(record.uid)) for record in live.books.records()]
    books = {name: found[0] for name in settings.accounts if (found := live.books.account(name)) is not None}
    dates = live.desk.forecasts.book.estimates.copy()

    def moment() -> DeskMoment:
        made = DeskMoment(now, settings, written, books, statuses, times)
        made.known_dates = dates
        return made

    return moment


def copied_plan(live: LiveDesk, times: TimeWords | None = None) -> Callable[[], StartPlan]:
    """Its plan as the last pass left it; none of its promises may be missing now."""
    desk = live.desk
    nodes, profiles = desk.cluster.nodes, desk.scheduler.profiles
    feasibility = Feasibility(desk.cluster, desk.machine)

    def plan_job(job: BatchJob, limit: float | None) -> WaitingJob:
        if limit is not None:
            job.ledger.granted_limit = limit
        return desk.planned.plan_of(job, profiles)

    def refusal(job: BatchJob, plan: WaitingJob) -> JobStanding | None:
        return feasibility.refusal(job, plan) or desk.quotas.refusal(job)

    desk.machine.refresh(live.now())
    desk.planned.refresh(desk.book.jobs)
    moment_then, waiting, occupants = copied_moment(live, times), list(_waiting(live)), dict(desk.machine.occupants())
    calendar, history, ends = desk.machine.calendar.copy(), desk.forecasts.book.history.copy(), desk.forecasts.ends
    begin = partial(
        StartPlan,
        calendar=calendar,
        names=nodes.names[: nodes.num_rows],
        history=history,
        ends=dict(ends(live.now())),
        overtaken=overtaken_queues(desk.settings.queues, nodes.objects[: nodes.num_rows]),
        profile=next(iter(profiles)),
        amounts=counted_amounts(desk.cluster),
        plan_job=plan_job,
        refusal=refusal,
        effort=EFFORT,
        priorities={job.key: job.priority for job in desk.book},
    )

    def plan() -> StartPlan:
        moment = moment_then()
        jobs, keys = {job.job: job for job in moment.jobs}, moment.key_of_pod()
        rooms = [
            PlannedRoom(uid, occupant.row, occupant.end, jobs.get(keys.get(uid, "")))
            for uid, occupant in occupants.items()
        ]
        return begin(moment, waiting=[(jobs[key], each) for key, each in waiting if key in jobs], rooms=rooms)

    return plan


def _waiting(live: LiveDesk) -> Iterator[tuple[str, WaitingJob]]:
    """Those that wait for room and their turn alone, in their order."""
    desk = live.desk
    for job in desk.forecasts.waiting:
        is_there = not job.is_released and job.started is None and job.queue in desk.settings.queues
        if is_there and (job.plan is not None or job.waiting):
            yield job.key, desk.planned.plan_of(job, desk.scheduler.profiles)
