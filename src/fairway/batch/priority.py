"""The priority of a job: a sum of weighted factors, each of which is told.

In: what the factors are made of (how long it waited, how large it is, its user's fair share, its queue, its class).
Out: factors between 0 and 1 (`PriorityFactors`), and the priority as a whole number. The rule is Slurm's multifactor
priority, on whose jobs it is tested. Called for every waiting job in each pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["PriorityFactors", "PriorityWeights", "age_factor", "job_priority", "relative_factor", "size_factor"]


class PriorityFactors(NamedTuple):
    """How good each reason is to come first, 0 to 1."""

    age: float = 0.0
    size: float = 0.0
    fair_share: float = 0.0
    queue: float = 0.0
    class_: float = 0.0


@dataclass(frozen=True, slots=True)
class PriorityWeights:
    """What each reason counts."""

    age: float = 1000
    size: float = 0
    fair_share: float = 10000
    queue: float = 1000
    class_: float = 10000


def age_factor(wait_seconds: float, max_age_seconds: float) -> float:
    """Grows from 0 to 1 until a job has waited for so long as counts."""
    return min(max(wait_seconds, 0.0) / max_age_seconds, 1.0)


def size_factor(part_of_nodes: float, part_of_cpus: float, *, favor_small: bool = False) -> float:
    """How large a job is, by its parts of all nodes and of all CPUs; or how small."""
    parts = (part_of_nodes, part_of_cpus)
    if favor_small:
        parts = (1 - part_of_nodes, 1 - part_of_cpus)
    return (min(max(parts[0], 0.0), 1.0) + min(max(parts[1], 0.0), 1.0)) / 2


def relative_factor(value: float, largest: float) -> float:
    """A value beside the largest there is, of queues or of classes; negative ones count nothing."""
    return min(max(value, 0.0) / largest, 1.0) if largest > 0 else 0.0


def job_priority(weights: PriorityWeights, factors: PriorityFactors, nice: int = 0) -> int:
    """The priority; a nice job steps back by as much as it says."""
    terms = (
        weights.age * factors.age,
        weights.size * factors.size,
        weights.fair_share * factors.fair_share,
        weights.queue * factors.queue,
        weights.class_ * factors.class_,
    )
    return math.floor(math.fsum(terms) - nice)
