"""What happens to nodes, and when: a scenario's faults, those by chance drawn from its seed.

In: `Fault`s and `RandomFault`s, the nodes, the seed and the end. Out: faults of single nodes in order of time, as
`simulation.Plan` has them. Each node has its own stream of chance, so a node more or less leaves the others' fate
alone. Called by `Scenario.faults`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from fairway.model import Node
from fairway.scenario.fields import Problem
from fairway.scenario.scenario_file import Fault, RandomFault, ScenarioSpec
from fairway.sim.simulation import Fault as PlannedFault

__all__ = ["draw_faults", "fault_problems"]

UNDONE = ("lose", "cordon", "drain", "remove")
SHORTEST = 1.0  # a mean time between failures below a second would fill the memory, not a cluster's day


def draw_faults(spec: ScenarioSpec, nodes: Sequence[Node], problems: list[Problem]) -> list[PlannedFault]:
    """All faults in order of time; a fault that concerns no node is a problem."""
    drawn: list[PlannedFault] = []
    for index, fault in enumerate(spec.faults):
        names = _matching(nodes, fault.node or "*", fault.labels)
        if not names:
            problems.append(_nobody(fault, nodes, f"spec.faults[{index}]"))
        drawn += [PlannedFault(float(fault.at), name, fault.action, _seconds(fault)) for name in names]
    for index, random in enumerate(spec.random_faults):
        names = _matching(nodes, random.node, random.labels)
        if not names:
            problems.append(_nobody(random, nodes, f"spec.randomFaults[{index}]"))
        until = spec.end if random.until is None else random.until
        for name in names:
            drawn += _draw(random, name, float(until or 0), (spec.seed, index, zlib.crc32(name.encode())))
    return sorted(drawn, key=lambda fault: fault.at)


def _draw(random: RandomFault, name: str, until: float, seed: tuple[int, ...]) -> Iterator[PlannedFault]:
    """Working and broken times in turn, exponential with the means given."""
    generator = np.random.default_rng((zlib.crc32(b"faults"), *seed))
    time = float(generator.exponential(random.mtbf))
    while time < until:
        broken = float(generator.exponential(random.mttr))
        yield PlannedFault(time, name, random.action, broken)
        time += broken + float(generator.exponential(random.mtbf))


def _seconds(fault: Fault) -> float | None:
    return None if fault.seconds is None else float(fault.seconds)


def _matching(nodes: Sequence[Node], pattern: str, labels: Mapping[str, str]) -> list[str]:
    return [
        node.metadata.name
        for node in nodes
        if fnmatchcase(node.metadata.name, pattern) and labels.items() <= node.metadata.labels.items()
    ]


def _nobody(fault: Fault | RandomFault, nodes: Sequence[Node], path: str) -> Problem:
    if fault.node and not _matching(nodes, fault.node, {}):
        known = ", ".join(node.metadata.name for node in nodes[:3])
        return Problem(f"{path}.node", f'no node is called "{fault.node}"; there are {len(nodes)}, such as {known}')
    words = ", ".join(f"{key}={value}" for key, value in fault.labels.items())
    return Problem(f"{path}.labels", f"no node{' of that name' if fault.node else ''} has the labels {words}")


def fault_problems(spec: ScenarioSpec) -> Iterator[Problem]:
    """What is wrong with faults that their types allow."""
    for index, fault in enumerate(spec.faults):
        path = f"spec.faults[{index}]"
        if not fault.node and not fault.labels:
            yield Problem(path, "says no node; give node (a name or pattern), labels, or both")
        if fault.seconds is not None and fault.action not in UNDONE:
            yield Problem(f"{path}.for", f"{fault.action} is not undone; allowed with: {', '.join(UNDONE)}")
    for index, random in enumerate(spec.random_faults):
        path = f"spec.randomFaults[{index}]"
        for name, mean in (("mtbf", random.mtbf), ("mttr", random.mttr)):
            if mean < SHORTEST:
                yield Problem(f"{path}.{name}", f"{mean:g}s is too short; allowed: {SHORTEST:g}s or more")
        if not random.node:
            yield Problem(f"{path}.node", 'empty; allowed: a name, or a pattern such as "*"')
        if random.until is None and spec.end is None:
            yield Problem(f"{path}.until", "missing; without spec.end, say when these failures stop")
