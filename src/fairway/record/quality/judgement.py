"""A policy beside the optimum: goal by goal, what it reached, what was possible, and how far apart they are.

In: a `PlacementProblem` (an instance, where the policy put the pods, the devices if there are any) and how long the
solver may take for each goal. Out: a `Judgement` for each goal that the problem has. The packing and spreading goals
are about the pods that the policy placed; how many could have been placed is a goal of its own. Called by
`cli.optimum.options` for `try` and `compare`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.record.quality.gpu_optimum import GpuInstance, least_unallocated, unallocated
from fairway.record.quality.instance import (
    Instance,
    deviation,
    nodes_used,
    pods_placed,
    spread,
    utilisation_of_used,
)
from fairway.record.quality.optimum import (
    Optimum,
    best_utilisation,
    fewest_nodes,
    most_pods,
    smallest_deviation,
    smallest_spread,
)

__all__ = ["Judgement", "PlacementProblem", "judge"]


@dataclass(frozen=True, slots=True)
class PlacementProblem:
    """Pods that a policy placed, or could not, and all that is needed to place them better."""

    instance: Instance
    placement: NDArray[np.intp]  # (num_pods,): where the policy put them; -1: nowhere
    gpus: GpuInstance | None = None  # None: no pod needs a device
    not_looked_at: tuple[str, ...] = ()  # filters that depend on where other pods go
    domain_label: str = ""  # what makes domains of nodes; empty: each is its own
    num_staying: int = 0  # pods that are not moved


@dataclass(frozen=True, slots=True)
class Judgement:
    """One goal."""

    goal: str  # pods_placed, nodes_used, ...
    title: str  # in words
    is_share: bool  # of something, to be written in per cent
    value: float  # what the policy reached
    optimum: Optimum

    @property
    def distance(self) -> float:
        """How much worse the policy is: in points where it is a share, else in units."""
        return abs(self.value - self.optimum.value)

    @property
    def relative(self) -> float | None:
        """The same relative to the optimum, if that is not 0."""
        return self.distance / self.optimum.value if self.optimum.value > 0 else None

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "goal": self.goal,
            "value": self.value,
            "best": self.optimum.value,
            "bound": self.optimum.bound,
            "proven": self.optimum.is_proven,
            "gap": self.distance,
        }


def judge(problem: PlacementProblem, seconds: float, resource: str = "cpu") -> Iterator[Judgement]:
    """Goal by goal; each may take the solver so many seconds."""
    is_placed = problem.placement >= 0
    instance, placement = problem.instance.only(is_placed), problem.placement[is_placed]
    known, limit = placement, seconds
    where = f"{problem.domain_label} domains" if problem.domain_label else "nodes"

    def judged(goal: str, title: str, value: float, optimum: Optimum) -> Judgement:
        return Judgement(goal, title, goal not in ("pods_placed", "nodes_used"), value, optimum)

    best = most_pods(problem.instance, time_limit_seconds=limit, known=problem.placement)
    yield judged("pods_placed", "pods placed", pods_placed(problem.placement), best)
    best = fewest_nodes(instance, time_limit_seconds=limit, known=known)
    yield judged("nodes_used", "nodes used", nodes_used(instance, placement), best)
    value = utilisation_of_used(instance, placement, resource)
    if not _is_alike(instance, resource) or not best.is_proven:
        best = best_utilisation(instance, resource, time_limit_seconds=limit, known=best.placement)
    else:
        reached = utilisation_of_used(instance, best.placement, resource)
        best = replace(best, value=reached, bound=reached)
    yield judged("utilisation_of_used", f"{resource} used of used nodes", value, best)
    value = spread(instance, placement, resource)
    best = smallest_spread(instance, resource, time_limit_seconds=limit, known=known)
    yield judged("spread", f"{resource} difference between {where}", value, best)
    value = deviation(instance, placement, resource)
    best = smallest_deviation(instance, resource, time_limit_seconds=limit, known=known)
    yield judged("deviation", f"{resource} deviation of {where}", value, best)
    if problem.gpus is not None:
        best = least_unallocated(problem.gpus, problem.placement, time_limit_seconds=limit)
        yield judged("gpu_unallocated", "GPU unallocated", unallocated(problem.gpus, problem.placement), best)


def _is_alike(instance: Instance, resource: str) -> bool:
    """Has every node as much, and hold none that are not in use anything? Then fewest nodes are used best."""
    there = instance.allocatable[:, instance.resources.index(resource)]
    idle = np.ones(instance.num_nodes, np.bool_) if instance.in_use is None else ~instance.in_use
    return len(np.unique(there)) <= 1 and not instance.staying[idle].any()
