"""Is a plan possible at all? Looked at from outside, node by node and second by second, without the planner's arrays.

In: a recorded case and a plan as plain values (job → start, node names). Out: what is wrong with it, in words; nothing
if all is well. Called by `plan_check`, for plans that Fairway made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from fairway.conformance.slurm.cases import PlanCase, SlurmJob, SlurmRunning

__all__ = ["PlannedStart", "violations"]


class PlannedStart(NamedTuple):
    """When and where a job is to run."""

    start: float
    nodes: Sequence[str]


class _Stay(NamedTuple):
    key: str
    amounts: tuple[int, int, int]
    exclusive: bool
    start: float
    end: float


def violations(case: PlanCase, plan: Mapping[str, PlannedStart]) -> Iterator[str]:
    """Everything that could not be carried out, or must not be."""
    jobs = {job.id: job for job in case.pending}
    stays: dict[str, list[_Stay]] = {node.name: [] for node in case.nodes}
    for running in case.running:
        _stay(stays, running, running.start, running.end, running.on)
    for key, (start, nodes) in plan.items():
        job = jobs[key]
        _stay(stays, job, start, start + job.limit_s, nodes)
        if len(set(nodes)) != job.nodes:
            yield f"{key} has {len(set(nodes))} nodes and wants {job.nodes}"
        if start < max(0, job.begin or 0):
            yield f"{key} starts at {start:g}, before it may"
        yield from _order(case, job, plan)
    yield from _closed(case, jobs, plan)
    for node in case.nodes:
        yield from _overlaps(node.name, (node.cpus, node.mem_mb, node.gpus), stays[node.name])


def _stay(
    stays: Mapping[str, list[_Stay]], job: SlurmJob | SlurmRunning, start: float, end: float, nodes: Sequence[str]
) -> None:
    for name in nodes:
        stays[name].append(_Stay(job.id, job.amounts, job.exclusive, start, end))


def _order(case: PlanCase, job: SlurmJob, plan: Mapping[str, PlannedStart]) -> Iterator[str]:
    if job.after is None:
        return
    other = job.after.id
    times = {running.id: (running.start, running.end) for running in case.running}
    for one in case.pending:
        if one.id == other and other in plan:
            times[other] = (int(plan[other].start), int(plan[other].start) + one.limit_s)
    if other not in times:
        yield f"{job.id} has a date, but {other}, which it waits for, has none"
    elif plan[job.id].start < times[other][job.after.kind != "after"]:
        yield f"{job.id} starts before {other}, which it waits for, lets it"


def _closed(case: PlanCase, jobs: Mapping[str, SlurmJob], plan: Mapping[str, PlannedStart]) -> Iterator[str]:
    down = {node.name for node in case.nodes if node.state != "up"}
    for key, (start, nodes) in plan.items():
        for name in down.intersection(nodes):
            yield f"{key} is planned on {name}, which takes no jobs"
        for window in case.windows:
            if start < window.end and window.start < start + jobs[key].limit_s:
                for name in set(window.on).intersection(nodes):
                    yield f"{key} runs into a window on {name}"


def _overlaps(name: str, capacity: tuple[int, int, int], stays: Sequence[_Stay]) -> Iterator[str]:
    for time in sorted({stay.start for stay in stays}):
        present = [stay for stay in stays if stay.start <= time < stay.end]
        keys = ", ".join(stay.key for stay in present)
        if len(present) > 1 and any(stay.exclusive for stay in present):
            yield f"{keys} share {name} at {time:g}, and one of them must not"
        for have, *wants in zip(capacity, *(stay.amounts for stay in present), strict=True):
            if sum(wants) > have:
                yield f"{keys} want {sum(wants)} of {have} on {name} at {time:g}"
