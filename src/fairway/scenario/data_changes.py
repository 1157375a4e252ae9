"""What happens to copies of datasets, and when: a scenario's `dataChanges`, checked and put in order.

In: the scenario, its nodes and the datasets there are. Out: changes in order of time, as `simulation.Plan` has them;
one that concerns no dataset or no node is a problem. Called by `Scenario.plan` and the checks of scenarios.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from fairway.model import Dataset, DatasetInternal, Node, label_key_problem
from fairway.scenario.fields import Problem
from fairway.scenario.scenario_file import ScenarioSpec
from fairway.sim.data_changes import DataChange
from fairway.sim.data_reads import Distance

__all__ = ["data_problems", "plan_data_changes", "read_ladder"]


def plan_data_changes(
    spec: ScenarioSpec, nodes: Sequence[Node], objects: Sequence[Any], problems: list[Problem]
) -> list[DataChange]:
    """All changes in order of time; `objects` are all that there are at the start, or come."""
    names = sorted(
        {
            f"{thing.metadata.namespace}/{thing.metadata.name}"
            for thing in objects
            if isinstance(thing, Dataset | DatasetInternal)
        }
    )
    planned: list[DataChange] = []
    for number, change in enumerate(spec.data_changes):
        path = f"spec.dataChanges[{number}]"
        found = DataChange(
            at=float(change.at),
            action=change.action,
            dataset=change.dataset,
            node=change.node,
            labels=change.labels,
            origin=change.origin,
            copies=change.copies,
            number=number,
        )
        if not any(fnmatchcase(name, change.dataset) for name in names):
            known = f"there are {len(names)}, such as {', '.join(names[:3])}" if names else "there is none"
            problems.append(Problem(f"{path}.dataset", f'no dataset is called "{change.dataset}"; {known}'))
        if not any(map(found.concerns, nodes)):
            words = ", ".join(f"{key}={value}" for key, value in change.labels.items())
            such = f"the labels {words}" if words else f'the name "{change.node}"'
            known = ", ".join(node.metadata.name for node in nodes[:3])
            problems.append(Problem(path, f"no node has {such}; there are {len(nodes)}, such as {known}"))
        planned.append(found)
    return sorted(planned, key=lambda change: change.at)


def read_ladder(spec: ScenarioSpec) -> tuple[Distance, ...]:
    """The distances at which data is read, from near to far, the last one beyond all."""
    reads = spec.data_reads
    rungs = [Distance(rung.key, rung.factor) for rung in reads.ladder]
    last = rungs[-1].factor if rungs else 1.0
    return (*rungs, Distance("", last if reads.elsewhere is None else reads.elsewhere))


def data_problems(spec: ScenarioSpec) -> Iterator[Problem]:
    """What is wrong with changes and reads that their types allow."""
    for index, change in enumerate(spec.data_changes):
        path = f"spec.dataChanges[{index}]"
        if not change.dataset:
            yield Problem(f"{path}.dataset", "empty; allowed: NAMESPACE/NAME, or a pattern such as */*")
        elif "/" not in change.dataset and "*" not in change.dataset:
            yield Problem(f"{path}.dataset", f"{change.dataset} has no namespace; write NAMESPACE/{change.dataset}")
        if not change.node:
            yield Problem(f"{path}.node", 'empty; allowed: a name, or a pattern such as "*"')
        if change.origin != "*" and change.action != "dataMoved":
            yield Problem(f"{path}.from", f"{change.action} moves nothing; allowed with: dataMoved")
        if change.copies != 1 and change.action != "dataCopied":
            yield Problem(f"{path}.copies", f"{change.action} adds no copies; allowed with: dataCopied")
    yield from _ladder_problems(spec)


def _ladder_problems(spec: ScenarioSpec) -> Iterator[Problem]:
    before, seen = 1.0, set()
    rungs = [(f"spec.dataReads.ladder[{index}]", rung) for index, rung in enumerate(spec.data_reads.ladder)]
    for path, rung in rungs:
        if wrong := label_key_problem(rung.key):
            yield Problem(f"{path}.key", wrong)
        elif rung.key in seen:
            yield Problem(f"{path}.key", f"{rung.key} is a rung already; allowed: once")
        seen.add(rung.key)
        if rung.factor < before:
            problem = f"{rung.factor:g} is less than nearer rungs have; allowed: {before:g} or more"
            yield Problem(f"{path}.factor", problem)
        before = max(before, rung.factor)
    elsewhere = spec.data_reads.elsewhere
    if elsewhere is not None and elsewhere < before:
        problem = f"{elsewhere:g} is less than nearer rungs have; allowed: {before:g} or more"
        yield Problem("spec.dataReads.elsewhere", problem)
