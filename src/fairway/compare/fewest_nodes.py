"""The smallest cluster that keeps a condition: how many nodes of the scenario's own does a policy need?

In: a scenario whose nodes are generated, a policy, conditions on metrics in the words of `--fail-if` (here they have to
hold), and somebody who simulates. Out: a `FewestNodes`: every size that was tried, and the smallest that keeps all.

Sizes are found by halving, which is right if more nodes never hurt. They may (another node changes every choice that
follows), so the sizes next to the answer are tried as well, and where a larger cluster breaks a condition that a
smaller one keeps, that is said. A size is the number of all generated nodes; the groups keep their proportions
(`Scenario.with_overrides`).
Called by `fairway sim --fewest-nodes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairway.compare.gate import Gate, GateError, parse_gate, value_of
from fairway.compare.text import value_text
from fairway.record.metric_definitions import definition_of
from fairway.scenario.scenario import Scenario
from fairway.words import nodes_text

__all__ = ["FewestNodes", "SizeTried", "node_groups", "num_generated", "parse_conditions", "search"]

OPTION: Final = "--fewest-nodes"
HOW: Final = "such as wait_p95<60s or pods_waiting<=3"
ALL_PLACED: Final = "pods_waiting<=0"
LARGEST: Final = 16
"""So many times the scenario's own nodes are looked at; what does not work then is no question of nodes."""
BELOW, ABOVE = 3, 2
"""So many sizes next to the answer are tried, whatever halving says."""


@dataclass(frozen=True, slots=True)
class SizeTried:
    """One size of the cluster, simulated."""

    num_nodes: int
    values: Mapping[str, float | None]  # by metric of the conditions; None: the run has no such number
    is_kept: bool


@dataclass(frozen=True, slots=True)
class FewestNodes:
    """What the search found for one policy."""

    policy: str
    conditions: tuple[Gate, ...]
    tried: tuple[SizeTried, ...]  # smallest first

    @property
    def num_nodes(self) -> int | None:
        """The smallest size that keeps all conditions; None if none does."""
        return next((one.num_nodes for one in self.tried if one.is_kept), None)

    @property
    def exceptions(self) -> list[int]:
        """Larger sizes that break a condition all the same."""
        fewest = self.num_nodes
        return [
            one.num_nodes for one in self.tried if fewest is not None and not one.is_kept and one.num_nodes > fewest
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Every size that was tried, for a table."""
        return [
            {
                "policy": self.policy,
                "nodes": one.num_nodes,
                "kept": "yes" if one.is_kept else "no",
                **{name: _text(name, value) for name, value in one.values.items()},
            }
            for one in self.tried
        ]

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "policy": self.policy,
            "fewestNodes": self.num_nodes,
            "exceptions": self.exceptions,
            "tried": [{"nodes": one.num_nodes, "kept": one.is_kept, "metrics": dict(one.values)} for one in self.tried],
        }

    def lines(self, groups: str = "") -> list[str]:
        """The answer in words; `groups` are the nodes of that size, by group."""
        texts = " and ".join(gate.text for gate in self.conditions)
        fewest, largest = self.num_nodes, self.tried[-1].num_nodes
        if fewest is None:
            return [f"{self.policy}: no size up to {nodes_text(largest)} keeps {texts}"]
        made_of = f" ({groups})" if groups else ""
        below = [one.num_nodes for one in self.tried if one.num_nodes < fewest]
        lines = [f"{self.policy}: {nodes_text(fewest)}{made_of} keep{'s' if fewest == 1 else ''} {texts}"]
        if below:
            lines[0] += f"; {below[-1]} do{'es' if below[-1] == 1 else ''} not"
        if self.exceptions:
            sizes = ", ".join(map(str, self.exceptions))
            lines.append(f"more nodes are not always better here: {sizes} break it, so a smaller size may keep it, too")
        return lines


def parse_conditions(texts: Sequence[str]) -> tuple[Gate, ...]:
    """What has to hold. Unless one speaks of pods, all have to be placed: waits count placed pods alone."""
    gates = [parse_gate(text, OPTION, HOW) for text in texts]
    for gate in gates:
        if gate.is_change:
            raise GateError(f"{OPTION} {gate.text!r} asks for a change; say how much it may be, {HOW}")
    if not any(gate.metric.startswith("pods_") for gate in gates):
        gates.append(parse_gate(ALL_PLACED))
    return tuple(gates)


def judge(num_nodes: int, conditions: Sequence[Gate], flat: Mapping[str, float]) -> SizeTried:
    """Does a run of that size keep the conditions? A number that the run does not have keeps none."""
    values = {gate.metric: value_of(gate.metric, flat) for gate in conditions}
    is_kept = all((value := values[gate.metric]) is not None and gate.holds(value) for gate in conditions)
    return SizeTried(num_nodes, values, is_kept)


def search(keeps: Callable[[Sequence[int]], Sequence[bool]], start: int, largest: int) -> dict[int, bool]:
    """Which sizes keep it, of those that had to be asked about; the smallest that does is the answer.

    `keeps` answers for several sizes at once. No size is asked about twice.
    """
    known: dict[int, bool] = {}

    def ask(sizes: Sequence[int]) -> list[bool]:
        new = [size for size in sizes if size not in known]
        known.update(zip(new, keeps(new) if new else (), strict=True))
        return [known[size] for size in sizes]

    low, high = 0, start
    while not ask([high])[0]:
        if high == largest:
            return known
        low, high = high, min(2 * high, largest)
    while high - low > 1:
        middle = (low + high) // 2
        if ask([middle])[0]:
            high = middle
        else:
            low = middle
    while any(ask(range(max(1, high - BELOW), high))):
        high = min(size for size, is_kept in known.items() if is_kept)
    ask(range(high + 1, min(high + ABOVE, largest) + 1))
    return known


def num_generated(scenario: Scenario) -> int:
    """How many nodes the scenario generates."""
    return sum(group.count for group in scenario.spec.cluster.nodes)


def node_groups(scenario: Scenario) -> str:
    """The groups of generated nodes in words, where there are several."""
    groups = scenario.spec.cluster.nodes
    return ", ".join(f"{group.count} {group.name}" for group in groups) if len(groups) > 1 else ""


def _text(name: str, value: float | None) -> str | None:
    definition = definition_of(name)
    return None if value is None or definition is None else value_text(value, definition)
