"""Who comes first: waiting jobs in the order in which they are planned.

In: jobs, their queues, what there is of nodes and CPUs, the standing of each user. Out: the jobs sorted by tier,
priority, submission and arrival, each with its priority and the factors it is made of. Interactive queues go by
submission alone. Called by the desk in each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Final

from fairway.batch.job import BatchJob
from fairway.batch.priority import (
    PriorityFactors,
    PriorityWeights,
    age_factor,
    job_priority,
    relative_factor,
    size_factor,
)
from fairway.model.batch import QueueSpec, WeightSpec

__all__ = ["JobOrder", "MachineSize"]

FairShare = Callable[[BatchJob], float]
"""The factor of the job's user, 0 to 1."""

MachineSize = tuple[int, int]
"""Nodes, and CPUs in thousandths."""


BY_SUBMISSION: Final = attrgetter("ledger.submitted", "number")


class JobOrder:
    """The order of all queues."""

    def __init__(self, queues: Mapping[str, QueueSpec]) -> None:
        self._queues = queues
        self._largest = max((queue.priority for queue in queues.values()), default=0.0)
        self._weights = {name: _weights(queue.weights) for name, queue in queues.items()}
        self._is_plain = {
            name: queue.is_interactive or not any(_parts(self._weights[name])) for name, queue in queues.items()
        }
        self._are_plain = all(self._is_plain.values())
        self._ranks = {name: (-_tier(queue), queue.is_interactive) for name, queue in queues.items()}
        self._is_level = len(set(self._ranks.values())) == 1
        self.changes_with_time = any(
            not queue.is_interactive and (queue.weights.age or queue.weights.fair_share) for queue in queues.values()
        )
        self.factors: dict[str, PriorityFactors] = {}  # by job's key, of the last pass

    def sort(self, jobs: Iterable[BatchJob], now: float, size: MachineSize, fair_share: FairShare) -> list[BatchJob]:
        """The jobs in their order."""
        known = list(jobs)
        self.factors = {}
        if self._are_plain:
            others = [job for job in known if job.wishes.nice or job.ledger.nice or job.priority]
            is_level = self._is_level and not others
            known.sort(key=BY_SUBMISSION if is_level else self._plain_rank)
            return known
        largest_class = max((job.priority_class for job in known), default=0)
        for job in known:
            nice = job.wishes.nice + job.ledger.nice
            if self._is_plain[job.queue]:
                job.priority = 0 if self._queues[job.queue].is_interactive else -nice
                continue
            factors = self._factors(job, now, size, fair_share, largest_class)
            self.factors[job.key] = factors
            job.priority = job_priority(self._weights[job.queue], factors, nice)
        known.sort(key=lambda job: (-_tier(self._queues[job.queue]), -job.priority, job.ledger.submitted, job.number))
        return known

    def _plain_rank(self, job: BatchJob) -> tuple[int, int, float, int]:
        """Where nothing weighs anything: noted, and what it is sorted by."""
        ledger = job.ledger
        tier, is_interactive = self._ranks[ledger.queue or job.wishes.queue]
        job.priority = 0 if is_interactive else -(job.wishes.nice + ledger.nice)
        return tier, -job.priority, ledger.submitted, job.number

    def _factors(
        self, job: BatchJob, now: float, size: MachineSize, fair_share: FairShare, largest_class: int
    ) -> PriorityFactors:
        queue = self._queues[job.queue]
        weights = queue.weights
        age = age_factor(0.0 if job.eligible_since is None else now - job.eligible_since, float(weights.max_age))
        part = 0.0
        if weights.size and job.plan is not None:
            num_members = sum(members.count for members in job.plan.classes)
            cpus = sum(int(members.need[0]) * members.count for members in job.plan.classes)
            part = size_factor(num_members / max(size[0], 1), cpus / max(size[1], 1), favor_small=weights.favor_small)
        return PriorityFactors(
            age=age,
            size=part,
            fair_share=fair_share(job) if weights.fair_share else 0.0,
            queue=relative_factor(queue.priority, self._largest),
            class_=relative_factor(job.priority_class, largest_class),
        )


def _tier(queue: QueueSpec) -> int:
    return queue.tier or 0


def _weights(spec: WeightSpec) -> PriorityWeights:
    return PriorityWeights(spec.age, spec.size, spec.fair_share, spec.queue, spec.class_)


def _parts(weights: PriorityWeights) -> tuple[float, ...]:
    return (weights.age, weights.size, weights.fair_share, weights.queue, weights.class_)
