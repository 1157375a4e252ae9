"""NodeResourcesBalancedAllocation: better where the pod evens out how full a node's resources are.

The score compares the spread of used fractions with and without the pod: 50 + (50 + after - before) / 2, about 75
when the pod changes nothing. Real requests count; pods that request none of the resources are not scored.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster import NodeTable
from fairway.model.field_problem import shown
from fairway.plugin import MAX_SCORE, SKIP, Nodes, Plugin, PluginArgs, PodClass, Problem, Skip
from fairway.plugins.allocation import CPU_AND_MEMORY, ResourceSpec, Shares, shares_of

HALF = MAX_SCORE // 2
ONE, TWO, HALVES = np.array(1.0), np.array(2.0), np.array(50.0)  # (): see fairway.cycle.answers on why arrays
SCORES = np.array(
    [HALF + int((HALF + gain) / 2) for gain in (*range(MAX_SCORE + 1), *range(-MAX_SCORE, 0))], np.int64
)  # (201,)
"""The score for each difference that the pod makes, from -100 to 100; negative ones count from the end.

Where what is asked for and what is taken are together more than 64 bits hold, the difference may be any number. No such
node passes the filters: what it gets does not matter, as long as it is something.
"""


class NodeResourcesBalancedAllocationArgs(PluginArgs, frozen=True, kw_only=True):
    """The resources whose utilisation should be even; none named means CPU and memory."""

    resources: tuple[ResourceSpec, ...] = ()

    def __post_init__(self) -> None:
        if not self.resources:
            msgspec.structs.force_setattr(self, "resources", CPU_AND_MEMORY)

    def problems(self) -> Iterator[Problem]:
        """What kube-scheduler would refuse (apis/config/validation/validation_pluginargs.go 1.36)."""
        names: set[str] = set()
        for index, resource in enumerate(self.resources):
            if resource.name in names:
                yield Problem(f"resources[{index}].name", f"{shown(resource.name)} is listed twice")
            names.add(resource.name)
            if resource.weight != 1:
                yield Problem(f"resources[{index}].weight", f"{resource.weight} is not allowed; every weight here is 1")


class NodeResourcesBalancedAllocation(Plugin):
    """Prefers nodes whose resources fill up evenly."""

    annotations = ()
    Args = NodeResourcesBalancedAllocationArgs
    args: NodeResourcesBalancedAllocationArgs

    def pre_score(self, pod: PodClass, nodes: Nodes) -> Shares | Skip:
        """What the pod adds to each resource, if anything."""
        shares = shares_of(nodes.table, self.args.resources, pod.requests)
        return shares if shares.amounts.any() else SKIP

    def score(self, pod: PodClass, nodes: Nodes, state: Shares) -> NDArray[np.int64]:
        """0 to 100; truncated toward zero as Go does."""
        table, rows = nodes.table, nodes.rows
        if state.is_cpu_and_memory and not table.bare and not isinstance(rows, slice) and len(rows) == 1:
            return self._score_one(table, rows.item(), state)
        columns = slice(0, 2) if state.is_cpu_and_memory else state.columns
        has_all, taken = nodes.amounts
        capacity, requested = has_all[columns], taken[columns]  # each (num_scored, num_rows)
        complete = state.is_cpu_and_memory or (state.all_counted and capacity.all())
        has = None if complete and not table.bare else (capacity != 0) & state.counted[:, None]
        with_pod, without = balance(requested + state.both, capacity, has)
        gains = with_pod - without
        try:
            scores: NDArray[np.int64] = SCORES.take(gains)
        except IndexError:
            scores = SCORES.take(np.clip(gains, -MAX_SCORE, MAX_SCORE))
        return scores

    def _score_one(self, table: NodeTable, row: int, state: Shares) -> NDArray[np.int64]:
        """One row, as after every placement of pods of one class: the same steps without arrays."""
        cpu, memory = table.allocatable[row, :2].tolist()
        used_cpu, used_memory = table.requested[row, :2].tolist()
        more_cpu, more_memory = state.amounts.tolist()

        def balance_of(of_cpu: int, of_memory: int) -> int:
            apart = min(float(of_cpu) / float(cpu), 1.0) - min(float(of_memory) / float(memory), 1.0)
            return int((1.0 - abs(apart) * 0.5) * 100.0)

        gain = balance_of(used_cpu + more_cpu, used_memory + more_memory) - balance_of(used_cpu, used_memory)
        return np.array([SCORES.item(min(max(gain, -MAX_SCORE), MAX_SCORE))], np.int64)


def balance(used: NDArray[np.int64], capacity: NDArray[np.int64], has: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """(1 - standard deviation of the used fractions) × 100, cut; `used` is (num_cases, num_scored, num_rows)."""
    if has is None and used.shape[1] == 2:
        fractions = used / capacity
        np.minimum(fractions, ONE, out=fractions)
        doubled = fractions[:, 0] - fractions[:, 1]
        np.abs(doubled, doubled)
    else:
        has = np.ones(capacity.shape, bool) if has is None else has
        fractions = np.minimum(used / np.where(has, capacity, 1), 1.0)
        doubled = np.stack([_deviation(np.where(has, case, 0.0), has) for case in fractions])
        doubled *= TWO
    # (2 - 2 × deviation) × 50 is (1 - deviation) × 100 to the last bit: twice and half are exact.
    np.subtract(TWO, doubled, doubled)
    doubled *= HALVES
    return doubled.astype(np.int64)


def _deviation(fractions: NDArray[np.float64], has: NDArray[np.bool_]) -> NDArray[np.float64]:
    """In the order of operations of kube-scheduler: half the difference of two, or the root of the mean square."""
    count = has.sum(axis=0)
    present = np.maximum(count, 1)
    total = np.zeros(fractions.shape[1])
    for column in fractions:
        total = total + column
    mean = total / present
    squares = np.zeros(fractions.shape[1])
    for column, counts in zip(fractions, has, strict=True):
        off = (column - mean) * counts
        squares = squares + off * off
    deviation = np.sqrt(squares / present)
    first_two = np.take_along_axis(fractions, np.argsort(~has, axis=0, kind="stable")[:2], axis=0)
    if len(first_two) == 2:
        deviation = np.where(count == 2, np.abs((first_two[0] - first_two[1]) / 2), deviation)
    return np.where(count < 2, 0.0, deviation)
