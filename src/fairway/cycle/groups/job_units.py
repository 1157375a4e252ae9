"""Those who may have to go for a more important job: pods, or jobs as a whole.

In: a cluster and a job. Out: `units_below`, all less important pods, put together where one is of no use without the
others: a job that is disrupted as a whole, and one that would have fewer members left than it takes. Of a job with
members to spare, these may go alone; if the rest goes, they go too. Jobs of queues whose rules protect them are none of
them. `cost` compares what it takes to make room.
Called by `job_preemption`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from fairway.cluster import Placed
from fairway.cluster.groups import GroupBook
from fairway.cycle.budgets import violates_budget
from fairway.cycle.preemption import PRIORITY_SHIFT
from fairway.model import Pod
from fairway.model.group import GroupSpec

if TYPE_CHECKING:
    from fairway.cycle.profile import Profile

__all__ = ["Unit", "cost", "in_order_of_return", "job_priority", "units_below"]


class Unit:
    """Pods that go together."""

    __slots__ = ("core", "is_job", "placed", "priority", "rank", "rows", "started", "uid", "violations")

    def __init__(self, placed: list[Placed], priority: int, started: float, is_job: bool = False) -> None:
        self.placed = placed
        self.priority = priority
        self.started = started
        self.is_job = is_job
        self.core: Unit | None = None  # of the same job: if that goes, this goes too
        self.violations = 0  # pods whose leaving exceeds a disruption budget
        self.rows = {each.row for each in placed}
        self.uid = min([each.pod.metadata.uid for each in placed])
        self.rank = (-priority, not is_job, -len(placed), started, self.uid)  # less is more important


def job_priority(group: GroupBook, spec: GroupSpec) -> int:
    """The job's own, else that of its most important member."""
    return group.highest_priority if spec.priority is None else spec.priority


def units_below(profile: Profile, priority: int, own: Collection[GroupBook]) -> tuple[list[Unit], list[Placed]]:
    """Units of less than that priority, members of the jobs themselves aside; and less important pods that leave."""
    cluster = profile.cluster
    if not cluster.pods.has_below(priority):
        return [], []
    lone: list[Placed] = []
    jobs: dict[GroupBook, list[Placed]] = {}
    leaving: list[Placed] = []
    planner = cluster.promises.planner
    for placed in cluster.pods.by_uid.values():
        if planner is not None and planner.protects(placed.pod):
            continue
        group = cluster.groups.of(placed.pod.metadata.uid)
        if group is not None and group in own:
            continue
        if placed.terminating:
            if placed.pod.priority < priority:
                leaving.append(placed)
        elif group is None:
            lone.append(placed)
        else:
            jobs.setdefault(group, []).append(placed)
    units = [_alone(profile, placed) for placed in lone if placed.pod.priority < priority]
    for group, members in jobs.items():
        units += [unit for unit in _of_job(profile, group, members) if unit.priority < priority]
    return units, leaving


def _alone(profile: Profile, placed: Placed) -> Unit:
    return Unit([placed], placed.pod.priority, _started(profile, placed.pod))


def _of_job(profile: Profile, group: GroupBook, members: list[Placed]) -> list[Unit]:
    """The job as one, and those of its members that it can do without; or each of its members."""
    spec = profile.cluster.groups.spec_of(group)
    if not isinstance(spec, GroupSpec) or (spec.disruption != "PodGroup" and spec.min_count < 2):
        return [_alone(profile, placed) for placed in members]
    least = len(members) if spec.disruption == "PodGroup" else spec.min_count
    by_importance = sorted(members, key=lambda each: _alone(profile, each).rank)
    kept, spare = by_importance[:least], by_importance[least:]
    started = min(_started(profile, placed.pod) for placed in members)
    highest = max(placed.pod.priority for placed in members)
    core = Unit(kept, max(job_priority(group, spec), highest), started, is_job=True)
    units = [core]
    for placed in spare:
        unit = _alone(profile, placed)
        unit.core = core
        units.append(unit)
    return units


def _started(profile: Profile, pod: Pod) -> float:
    start = pod.status.start_time
    return profile.now() if start is None else start.timestamp()


def in_order_of_return(profile: Profile, units: Sequence[Unit]) -> list[Unit]:
    """Who is let back first: those whose leaving would exceed a disruption budget, then the most important.

    A job comes before its members to spare, which are of no use without it.
    """
    ranked = sorted(units, key=lambda unit: unit.rank)
    if not profile.cluster.workloads.disruption_budgets:
        return ranked
    used: dict[tuple[str, str], int] = {}
    for unit in ranked:
        unit.violations = sum(violates_budget(profile.cluster, placed.pod, used) for placed in unit.placed)
    return sorted(ranked, key=lambda unit: not (unit.core or unit).violations)


def cost(units: Sequence[Unit]) -> tuple[int, int, int, int, float, str]:
    """Less is better: budgets, the most important one, all together, how many, who had started last."""
    victims = [(unit, placed.pod) for unit in units for placed in unit.placed]
    highest = max(unit.priority for unit in units)
    return (
        sum(unit.violations for unit in units),
        highest,
        sum(pod.priority + PRIORITY_SHIFT for _, pod in victims),
        len(victims),
        -min(unit.started for unit in units if unit.priority == highest),
        min(unit.uid for unit in units),
    )
