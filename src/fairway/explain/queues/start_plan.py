"""The plan at a moment, as questions about it are asked: who would start when, where, and who has to go before.

In: a calendar of what is free when, with everybody who is there and who waits, and what is known of run times: of a run
(`past_plan`) or of a scheduler, of which it is a copy (`desk_plan`). Out: a `StartPlan`, whose answers change nothing
and look at nothing else, so that they can be worked out beside a scheduler that goes on. Called by `start_answer` and
`queue_why`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobStanding
from fairway.batch.settings import BatchSettings
from fairway.cluster import Cluster
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.queue_moment import QueueMoment
from fairway.plan import (
    Calendar,
    EstimateBook,
    Present,
    RunHistory,
    Slot,
    StartEstimate,
    WaitingJob,
    forecast,
    run_pass,
)
from fairway.plan.forecast import Amounts
from fairway.plan.forward import USUAL, Effort

__all__ = ["PlannedRoom", "RoomHolder", "StartPlan", "counted_amounts", "job_place", "slot_rows"]


class RoomHolder(NamedTuple):
    """Somebody who is on a node."""

    end: float  # by its limit
    job: QueueJob | None  # None: it is of no queue
    node: str


class PlannedRoom(NamedTuple):
    """Who takes room on a row, and until when."""

    uid: str
    row: int
    end: float
    job: QueueJob | None


@dataclass
class StartPlan:
    """The calendar at a moment, with all that is known of jobs then."""

    moment: QueueMoment
    calendar: Calendar  # with the promises of those at the head
    names: Sequence[str]  # of nodes, by row
    waiting: Sequence[tuple[QueueJob, WaitingJob]]  # with a place in the plan, in their order
    history: RunHistory
    ends: Mapping[str, float]  # predicted ends of occupants, by their keys in the calendar
    rooms: Sequence[PlannedRoom]
    overtaken: frozenset[str]  # queues whose promises do not bind, as others are planned before them
    profile: str  # a scheduler that serves the queues
    amounts: Amounts
    plan_job: Callable[[BatchJob, float | None], WaitingJob]  # as the plan sees a job; looks at the cluster itself
    refusal: Callable[[BatchJob, WaitingJob], JobStanding | None]  # why it could not run if it were alone; likewise
    effort: Effort = USUAL
    priorities: Mapping[str, float] = field(default_factory=dict)  # by job, where they are known better than told

    @property
    def at(self) -> float:
        """When."""
        return self.moment.at

    @property
    def settings(self) -> BatchSettings:
        """What operators say then."""
        return self.moment.settings

    @property
    def jobs(self) -> Sequence[QueueJob]:
        """All that had come."""
        return self.moment.jobs

    @property
    def dates(self) -> EstimateBook:
        """How dates held."""
        return self.moment.dates

    def place(self, job: QueueJob) -> tuple[float, ...]:
        """Where a job is in the order of all queues; the least is first."""
        priority = self.priorities.get(job.job)
        if priority is None:
            return job_place(job, self.settings)
        return order_place(self.settings, job.queue, priority, job.submitted, job.number)

    def place_of(self, queue: str, priority: float, submitted: float, number: float) -> tuple[float, ...]:
        """The same of a job that may not be there."""
        return order_place(self.settings, queue, priority, submitted, number)

    # -- questions ---------------------------------------------------------------------------------------------------

    def starts_now(self, plan: WaitingJob, place: tuple[float, ...], copies: int = 1) -> list[tuple[str, ...]]:
        """Nodes on which such jobs would start at once, for each of so many that would."""
        calendar = self._open_to(plan)
        asked = [replace(plan, key=f"{plan.key} {number}") for number in range(copies)]
        outcome = run_pass(calendar, self._with(asked, place, plan.key), self.at, self.settings.rules)
        keys = {job.key for job in asked}
        return [self.node_names(slot_rows(each.slot)) for each in outcome.started if each.job.key in keys]

    def estimate(self, plan: WaitingJob, place: tuple[float, ...], predicted: float) -> StartEstimate:
        """When such a job would start."""
        jobs = self._with([plan], place, plan.key)
        runs = self.predicted | {plan.key: predicted}
        present = Present(self._open_to(plan), jobs, self.settings.rules, runs, self.ends)
        promised = dict[str, bool]()
        if plan.queue in self.overtaken:
            promised[plan.key] = False
        elif self.settings.queues[plan.queue].is_interactive:
            promised[plan.key] = True
        wanted, amounts, effort = [plan.key], self.amounts, self.effort
        found = forecast(present, self.dates, promised=promised, wanted=wanted, amounts=amounts, effort=effort)
        return found[plan.key]

    def slot_of(self, plan: WaitingJob) -> Slot | None:
        """Where and when it would start by the limits of those who are there, promises of others aside."""
        promise = self.calendar.promises.get(plan.key)
        return self.calendar.search(plan) if promise is None else promise.slot

    def in_the_way(self, slot: Slot) -> list[RoomHolder]:
        """Who has to go from the slot's rows before it begins, the last one first."""
        rows = set(slot_rows(slot))
        found: dict[tuple[str, str], RoomHolder] = {}
        for room in self.rooms:
            if room.row in rows and room.end <= slot.start:
                node = self.names[room.row]
                found[room.uid if room.job is None else room.job.job, node] = RoomHolder(room.end, room.job, node)
        return sorted(found.values(), key=lambda holder: (-holder.end, holder.node))

    def node_names(self, rows: Iterator[int]) -> tuple[str, ...]:
        """The nodes of rows of the plan, each once."""
        return tuple(sorted({self.names[row] for row in rows}))

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


def job_place(job: QueueJob, settings: BatchSettings) -> tuple[float, ...]:
    """Where a job is in the order of all queues; the least is first."""
    return order_place(settings, job.queue, 0 if job.dates is None else job.dates.priority, job.submitted, job.number)


def order_place(
    settings: BatchSettings, queue: str, priority: float, submitted: float, number: float
) -> tuple[float, ...]:
    """The same of a job that may not be there."""
    spec = settings.queues[queue]
    return (-(spec.tier or 0), 0 if spec.is_interactive else -priority, submitted, number)


def counted_amounts(cluster: Cluster) -> Amounts:
    """Which columns of the calendar are counted for those ahead."""
    resources = cluster.nodes.resources
    names = [resources[column] for column in range(len(resources))]
    gpu = next((column for column, name in enumerate(names) if name.endswith("/gpu")), None)
    return Amounts(names.index("cpu") if "cpu" in names else None, gpu)


def slot_rows(slot: Slot) -> Iterator[int]:
    """The rows that a slot takes."""
    return (int(row) for placement in slot.placements for row in placement.rows)
