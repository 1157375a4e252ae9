"""When a scenario wants its cluster defragmented.

In: `spec.defragment` and `spec.end`. Out: the steps in order of time, as `simulation.Plan` has them, and what is wrong
with them that their types allow. Called by `Scenario.plan` and the checks of scenarios.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairway.scenario.fields import Problem
from fairway.scenario.scenario_file import ScenarioSpec
from fairway.sim.timed_defragmentation import DefragmentationStep

__all__ = ["defragment_problems", "defragmentations"]

SHORTEST = 1.0  # more often than every second is no step but a way of life
MOST = 1_000_000  # steps; each is kept from the start


def defragmentations(spec: ScenarioSpec) -> list[DefragmentationStep]:
    """All steps in order of time; those after the end never come."""
    wanted = spec.defragment
    if wanted is None:
        return []
    times = sorted(map(float, wanted.at))
    if wanted.every is not None and spec.end is not None:
        every, end = float(wanted.every), float(spec.end)
        times = [every * number for number in range(1, int(end / every) + 1) if every * number < end]
    return [DefragmentationStep(time, wanted.share, wanted.per_node) for time in times]


def defragment_problems(spec: ScenarioSpec) -> Iterator[Problem]:
    """What is wrong with the times."""
    wanted, path = spec.defragment, "spec.defragment"
    if wanted is None:
        return
    if wanted.every is None:
        if not wanted.at:
            yield Problem(path, "says no time; give at (a list of times) or every")
        return
    if wanted.at:
        yield Problem(path, "has at and every; give one of them")
    if wanted.every < SHORTEST:
        yield Problem(f"{path}.every", f"{wanted.every:g}s is too short; allowed: {SHORTEST:g}s or more")
    elif spec.end is None:
        yield Problem(f"{path}.every", "it would never stop; give spec.end, or at in its place")
    elif spec.end / wanted.every > MOST:
        yield Problem(f"{path}.every", f"more than {MOST} times until spec.end; allowed: fewer")
