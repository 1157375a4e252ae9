"""Recorded priorities, computed again by `batch.priority`.

In: lines of `priority*` files: a cluster's weights and divisors, and jobs with their factors and priorities as Slurm's
`sprio` showed them. Out: `PriorityFindings`. How long a job waited and what its user's fair share was is taken from
Slurm; all else is made from the job.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec

from fairway.batch.priority import PriorityFactors, PriorityWeights, job_priority, relative_factor, size_factor
from fairway.conformance.corpus import CaseLine
from fairway.conformance.slurm.cases import decode_line

__all__ = ["PriorityFindings", "check_priorities"]

PRINTED: Final = 1e-6
"""Factors are printed with seven digits."""

Amount = Annotated[float, msgspec.Meta(ge=0)]
Size = Annotated[int, msgspec.Meta(ge=1)]
Factor = Annotated[float, msgspec.Meta(ge=0, le=1)]


class SlurmWeights(msgspec.Struct, frozen=True):
    """What each factor counts."""

    age: Amount
    fairshare: Amount
    jobsize: Amount
    partition: Amount
    qos: Amount


class SlurmFactors(msgspec.Struct, frozen=True):
    """Slurm's factors of a job."""

    age: Factor
    fairshare: Factor
    jobsize: Factor
    partition: Factor
    qos: Factor


class RankedJob(msgspec.Struct, frozen=True):
    """A job and its priority."""

    id: int | str
    cpus: Size
    nodes: Size
    partition_job_factor: Amount
    qos_priority: Amount
    factors: SlurmFactors
    priority: int
    nice: int = 0


class ClusterSize(msgspec.Struct, frozen=True):
    """All nodes, all cores."""

    nodes: Size
    cpus: Size


class PriorityCase(msgspec.Struct, frozen=True):
    """The jobs of a cluster at one moment."""

    id: str
    weights: SlurmWeights
    cluster: ClusterSize
    max_partition_job_factor: Amount
    max_qos_priority: Amount
    jobs: list[RankedJob]
    favor_small: bool = False


@dataclass(slots=True)
class PriorityFindings:
    """What came out of one cluster."""

    case: str
    jobs: int = 0
    priorities_other: list[str] = field(default_factory=list)
    factors_other: list[str] = field(default_factory=list)


def check_priorities(line: CaseLine) -> PriorityFindings:
    """Compute the priority of each job again."""
    case = decode_line(line, PriorityCase, "a recorded list of priorities")
    findings = PriorityFindings(case.id, len(case.jobs))
    given = case.weights
    weights = PriorityWeights(given.age, given.jobsize, given.fairshare, given.partition, given.qos)
    for job in case.jobs:
        factors = _factors(case, job)
        theirs = (job.factors.jobsize, job.factors.partition, job.factors.qos)
        ours = (factors.size, factors.queue, factors.class_)
        if any(abs(one - other) > PRINTED for one, other in zip(ours, theirs, strict=True)):
            findings.factors_other.append(f"job {job.id}: size, queue and class {theirs}, here {ours}")
        priority = job_priority(weights, factors, job.nice)
        if priority != job.priority:
            findings.priorities_other.append(f"job {job.id}: priority {job.priority}, here {priority}")
    return findings


def _factors(case: PriorityCase, job: RankedJob) -> PriorityFactors:
    parts = (job.nodes / case.cluster.nodes, job.cpus / case.cluster.cpus)
    return PriorityFactors(
        age=job.factors.age,
        size=size_factor(*parts, favor_small=case.favor_small),
        fair_share=job.factors.fairshare,
        queue=relative_factor(job.partition_job_factor, case.max_partition_job_factor),
        class_=relative_factor(job.qos_priority, case.max_qos_priority),
    )
