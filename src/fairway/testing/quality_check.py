"""Does a plugin do what it is meant to? Its placements on small random clusters, beside the best possible ones.

In: a plugin (or a whole profile) and a goal: "pack", "spread", or a function that says what a placement costs. Out: a
`QualityReport`; an `AssertionError` if the plugin is further from the optimum than allowed, with the example that it
did worst. The optimum of "pack" and "spread" is the solver's (extra `quality`); for a function of one's own all
placements of tiny examples are tried. Same seed, same examples, same report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Cluster
from fairway.config import ProfileConfig
from fairway.config.config_file import Sampling
from fairway.config.plugin_entry import plugin_entry
from fairway.cycle import Profile
from fairway.cycle.placing import place
from fairway.plugin import Plugin
from fairway.plugins.node_resources_fit import NodeResourcesFit
from fairway.plugins.registry import REGISTRY
from fairway.record.quality.instance import Instance, nodes_used, spread
from fairway.record.quality.optimum import fewest_nodes, smallest_spread
from fairway.testing.builders import node, pod
from fairway.testing.plugin_check import decoded_args

__all__ = ["QualityReport", "check_quality"]

Placement: TypeAlias = NDArray[np.intp]
Cost: TypeAlias = Callable[[Instance, Placement], float]
"""What a placement costs; less is better."""
Goal: TypeAlias = Literal["pack", "spread"] | Cost

FIT = "NodeResourcesFit"
CORES = (4, 8, 12)
REQUESTS = (500, 1000, 2000, 3000, 4000)
MILLI, GIB = 1000, 2**30


class TriedExample(NamedTuple):
    """One cluster, and what became of its pods."""

    number: int
    instance: Instance
    placement: Placement
    best: Placement
    value: float
    best_value: float

    @property
    def excess(self) -> float:
        """What the policy's placement costs more."""
        return self.value - self.best_value


@dataclass(frozen=True, slots=True)
class QualityReport:
    """How far a plugin is from the optimum, over all examples. Prints as a sentence."""

    name: str
    goal: str
    num_examples: int
    value: float  # the sum over all examples
    best: float
    gap: float  # relative to the best; of "spread", and where the best is 0, the mean excess of an example

    def __str__(self) -> str:
        mean, best = self.value / self.num_examples, self.best / self.num_examples
        if self.goal == "pack":
            return f"{self.name} uses {self.value:.0f} nodes where {self.best:.0f} would do: {self.gap:.1%} more"
        if self.goal == "spread":
            return (
                f"{self.name} leaves {mean:.1%} between the fullest and the emptiest node where {best:.1%} would do: "
                f"{100 * self.gap:.1f} points more"
            )
        return f"{self.name} costs {mean:.4g} by {self.goal} where {best:.4g} would do: a gap of {self.gap:.1%}"


def check_quality(
    plugin: type[Plugin] | ProfileConfig,
    *,
    goal: Goal = "pack",
    within: float = 0.05,
    args: Mapping[str, Any] | None = None,
    sampling: Sampling = "all",
    examples: int = 40,
    seed: int = 0,
) -> QualityReport:
    """Compare a plugin's placements with the best possible ones; `AssertionError` if they are too far apart.

    The plugin, with `args` as its pluginConfig entry, is the only one that scores, and nodes have to have room for the
    pods; a profile of a configuration decides as it would. `within` is how much more its placements may cost than the
    best, all `examples` together: of the fewest nodes for "pack", points of utilisation between the fullest and the
    emptiest node for "spread" (0.05 is 5 % of a node), of what your function says of the best for your own.
    """
    if within < 0 or examples < 1:
        raise ValueError("within is 0 or more, examples 1 or more")
    config = plugin if isinstance(plugin, ProfileConfig) else _profile(plugin, args, sampling)
    name = config.scheduler_name if isinstance(plugin, ProfileConfig) else plugin.name
    tried = [_tried(config, goal, number, seed) for number in range(examples)]
    value, best = sum(one.value for one in tried), sum(one.best_value for one in tried)
    is_mean = goal == "spread" or best <= 0
    gap = (value - best) / (examples if is_mean else best)
    report = QualityReport(name, _goal_name(goal), examples, value, best, gap)
    if gap > within + 1e-6:
        raise AssertionError("\n".join(_complaint(report, within, max(tried, key=lambda one: one.excess), seed)))
    return report


def _goal_name(goal: Goal) -> str:
    return goal if isinstance(goal, str) else getattr(goal, "__name__", "the goal")


def _profile(plugin: type[Plugin], args: Mapping[str, Any] | None, sampling: Sampling) -> ProfileConfig:
    """Resources filter, the plugin does all that it can."""
    entries = {FIT: REGISTRY[FIT], plugin.name: plugin_entry(plugin)}
    points: dict[str, tuple[str, ...]] = {"preFilter": (FIT,), "filter": (FIT,)}
    for point in sorted(entries[plugin.name].points):
        points[point] = tuple(dict.fromkeys((*points.get(point, ()), plugin.name)))
    decoded = {FIT: decoded_args(NodeResourcesFit, None)} if plugin.name != FIT else {}
    decoded[plugin.name] = decoded_args(plugin, args)
    weights = dict.fromkeys(points.get("score", ()), 1)
    placement_weights = dict.fromkeys(points.get("placementScore", ()), 1)
    return ProfileConfig(
        "default-scheduler", 0, sampling, 0, points, weights, decoded, entries, placement_weights=placement_weights
    )


def _tried(config: ProfileConfig, goal: Goal, number: int, seed: int) -> TriedExample:
    """One example, from nothing but its number and the seed."""
    generator = np.random.default_rng((seed, number))
    is_tiny = not isinstance(goal, str)
    cluster, instance = Cluster(), _instance(generator, is_tiny)
    cluster.load(
        [
            node(name, cpu=f"{there[0]}m", memory=there[1], pods=there[2])
            for name, there in zip(instance.nodes, instance.allocatable.tolist(), strict=True)
        ]
    )
    profile = Profile(config, cluster, seed=number)
    placement = np.full(instance.num_pods, -1, np.intp)
    for row, (name, wanted) in enumerate(zip(instance.pods, instance.requests.tolist(), strict=True)):
        placed = place(profile, pod(name, cpu=f"{wanted[0]}m", memory=wanted[1]))
        if placed.decision.error:
            raise AssertionError(f"{config.scheduler_name}: {placed.decision.error}")
        if placed.is_placed:
            placement[row] = instance.nodes.index(placed.decision.node)
    is_placed = placement >= 0  # whoever the policy left no room for is left out of the comparison
    instance, placement = instance.only(is_placed), placement[is_placed]
    if callable(goal):
        best = min(_placements(instance), key=lambda one: goal(instance, one))
        return TriedExample(number, instance, placement, best, goal(instance, placement), goal(instance, best))
    if goal == "pack":
        optimum = fewest_nodes(instance, known=placement)
        value = float(nodes_used(instance, placement))
    elif goal == "spread":
        optimum = smallest_spread(instance, "cpu", known=placement)
        value = spread(instance, placement, "cpu")
    else:
        raise ValueError(f"there is no goal {goal!r}; there are pack, spread, and functions")
    return TriedExample(number, instance, placement, optimum.placement, value, optimum.value)


def _instance(generator: np.random.Generator, is_tiny: bool) -> Instance:
    """Nodes alike or not, and pods that come to a third to three quarters of their cpu."""
    num_nodes = int(generator.integers(2, 4 if is_tiny else 5))
    cores = generator.choice(CORES, num_nodes if generator.random() < 0.5 else 1)
    cores = np.resize(cores, num_nodes)
    target = generator.uniform(0.33, 0.75) * cores.sum() * MILLI
    requests: list[list[int]] = []
    while len(requests) < (6 if is_tiny else 12) and sum(one[0] for one in requests) < target:
        milli = int(generator.choice(REQUESTS))
        requests.append([milli, milli * 2 * GIB // MILLI, 1])
    return Instance(
        ("cpu", "memory", "pods"),
        np.array(requests, np.int64),
        np.array([[each * MILLI, each * 4 * GIB, 110] for each in cores.tolist()], np.int64),
        pods=tuple(f"pod-{number}" for number in range(len(requests))),
        nodes=tuple(f"node-{number}" for number in range(num_nodes)),
    )


def _placements(instance: Instance) -> Iterator[Placement]:
    """All that fit."""
    for rows in product(range(instance.num_nodes), repeat=instance.num_pods):
        placement = np.array(rows, np.intp)
        if instance.fits(placement):
            yield placement


def _complaint(report: QualityReport, within: float, worst: TriedExample, seed: int) -> Iterator[str]:
    points = report.goal == "spread"
    allowed = f"{100 * within:g} points" if points else f"{within:.1%}"
    yield f"{report}; allowed: {allowed} (goal {report.goal}, {report.num_examples} examples, seed {seed})."
    here, best = (f"{value:.1%}" if points else f"{value:.4g}" for value in (worst.value, worst.best_value))
    yield f"The worst is example {worst.number}: {here} where {best} would do."
    instance = worst.instance
    for row, name in enumerate(instance.nodes):
        cpu = instance.allocatable[row, 0] / MILLI
        here, best = (_pods_on(instance, placement, row) for placement in (worst.placement, worst.best))
        yield f"  {name} ({cpu:g} cpu): {here}; best: {best}"


def _pods_on(instance: Instance, placement: Placement, row: int) -> str:
    amounts = (instance.requests[placement == row, 0] / MILLI).tolist()
    return f"{sum(amounts):g} cpu of {' + '.join(f'{one:g}' for one in amounts)}" if amounts else "nothing"
