"""NodeResourcesFit: a node must have room for what the pod requests; more (or less) room makes it better.

Filtering counts real requests. Scoring counts at least 100m CPU and 200 MiB for every container that requests
nothing, by one of three strategies: LeastAllocated (spread out), MostAllocated (pack), RequestedToCapacityRatio (a
curve).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import CPU, MEMORY, PODS, NodeTable
from fairway.cluster.groups import GroupBook
from fairway.model import Node, Pod
from fairway.model.requests import pod_requests
from fairway.plugin import (
    MAX_SCORE,
    Action,
    Change,
    Cluster,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PodClass,
    Refusal,
    Resource,
    Shortage,
)
from fairway.plugins.allocation import Shares, shares_of, taken_together
from fairway.plugins.node_resources_fit_args import NodeResourcesFitArgs, ScoringStrategy
from fairway.plugins.unprepared import Unprepared

TOO_MUCH = 2**63  # for 64 bits
FULL, NONE, ONE = np.array(MAX_SCORE), np.array(0), np.array(1)  # (): see fairway.cycle.answers on why they are arrays


class Demand(NamedTuple):
    """What is checked: resource columns and how much of each."""

    columns: NDArray[np.intp]  # (num_checked,)
    amounts: NDArray[np.int64]  # (num_checked,)
    shortages: tuple[Shortage, ...]  # (num_checked,)
    pairs: tuple[tuple[int, int], ...]  # (num_checked,): column and amount again
    arrays: tuple[tuple[int, NDArray[np.int64]], ...]  # (num_checked,): the same, each amount an array ()
    missing: tuple[Shortage, ...]  # of resources that no node has


class NodeResourcesFit(Plugin):
    """Requests against allocatable."""

    annotations = ()
    Args = NodeResourcesFitArgs
    args: NodeResourcesFitArgs

    def __init__(self, cluster: Cluster, args: NodeResourcesFitArgs | None = None) -> None:
        super().__init__(cluster, args)
        self._ignored = frozenset(self.args.ignored_resources)
        self._ignored_groups = frozenset(self.args.ignored_resource_groups)
        self._strategy: ScoringStrategy = self.args.scoring_strategy
        self._weights = np.array([resource.weight for resource in self._strategy.resources], np.int64)  # (num_scored,)
        self._total_weight = int(self._weights.sum())
        self._is_even_pair = len(self._weights) == 2 and self._weights[0] == self._weights[1]

    # -- filter ------------------------------------------------------------------------------------------------------

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Demand:
        """Leave out the resources that are ignored; they are somebody else's to check."""
        names = nodes.table.resources
        kept = [index for index, column in enumerate(pod.columns) if not self._is_ignored(names[column])]
        columns, amounts = pod.columns[kept], pod.amounts[kept]
        pairs = tuple(zip(columns.tolist(), amounts.tolist(), strict=True))
        arrays = tuple((column, np.array(amount, np.int64)) for column, amount in pairs)
        shortages = tuple(Shortage(names[column], amount) for column, amount in pairs)
        missing = tuple(Shortage(name, pod.requests[name]) for name in pod.missing if not self._is_ignored(name))
        return Demand(columns, amounts, shortages, pairs, arrays, missing)

    def filter(self, pod: PodClass, nodes: Nodes, state: Demand) -> NDArray[np.bool_]:
        """Nodes with enough of everything left."""
        if state.missing:
            return np.zeros(len(nodes), bool)
        rows = nodes.rows
        if not isinstance(rows, slice) and len(rows) == 1:  # as after every placement of pods of one class
            row, table = rows.item(), nodes.table
            have, used = table.allocatable[row].tolist(), table.requested[row].tolist()
            return np.array([all(have[column] - used[column] >= amount for column, amount in state.pairs)])
        has, taken = nodes.amounts
        free = has - taken
        enough: NDArray[np.bool_] | None = None
        for column, amount in state.arrays:  # one after the other is cheaper than all and then a reduction
            if enough is None:
                enough = free[column] >= amount
            else:
                enough &= free[column] >= amount
        return np.ones(len(nodes), bool) if enough is None else enough

    def explain(self, pod: PodClass, nodes: Nodes, state: Demand) -> Sequence[Refusal]:
        """Every resource that is short; hopeless where the node would be too small even if it were empty."""
        wanted = state.amounts[:, None]
        has, taken = nodes.amounts
        short = (has - taken).take(state.columns, 0) < wanted  # (num_checked, num_rows)
        too_small = has.take(state.columns, 0) < wanted
        hopeless = (short & too_small & (state.columns != PODS)[:, None]).any(axis=0)  # (num_rows,)
        # Few different combinations, told apart by a bit for each shortage: word each once.
        known: dict[bytes, Refusal] = {}
        refusals = []
        for row, bits in enumerate(np.packbits(np.vstack((short, hopeless)), axis=0).T):
            combination = bits.tobytes()
            if combination not in known:
                known[combination] = _refusal(state, short[:, row], bool(hopeless[row]))
            refusals.append(known[combination])
        return refusals

    def _is_ignored(self, name: str) -> bool:
        if "/" not in name or "kubernetes.io/" in name:  # only extended resources can be left to others
            return False
        return name in self._ignored or name.split("/", 1)[0] in self._ignored_groups

    # -- score -------------------------------------------------------------------------------------------------------

    def pre_score(self, pod: PodClass, nodes: Nodes) -> Shares:
        """What the pod adds to each scored resource."""
        return shares_of(nodes.table, self._strategy.resources, pod.scoring)

    def score(self, pod: PodClass, nodes: Nodes, state: Shares) -> NDArray[np.int64]:
        """The weighted mean over the resources a node has."""
        table, rows = nodes.table, nodes.rows
        is_least = self._strategy.type == "LeastAllocated"
        if is_least and state.is_cpu_and_memory and not (table.bare or isinstance(rows, slice)) and len(rows) == 1:
            return self._score_one(table, rows.item(), state)
        capacity, requested = self._requested_with(nodes, state)
        has: NDArray[np.bool_] | None = None
        if table.bare or not (state.is_cpu_and_memory or (state.all_counted and capacity.all())):
            has = (capacity != 0) & state.counted[:, None]
            capacity = np.where(has, capacity, 1)
        if is_least:
            rated = capacity - requested
            rated *= FULL
            rated //= capacity
            np.maximum(rated, NONE, out=rated)
        elif self._strategy.type == "MostAllocated":
            rated = np.minimum(requested, capacity) * FULL // capacity
        else:
            return self._ratio(requested, capacity, has)
        mean: NDArray[np.int64]
        if has is None and self._is_even_pair:
            mean = rated[0] + rated[1]
            mean >>= ONE
        elif has is None:
            mean = (self._weights @ rated) // self._total_weight
        else:
            weights = has * self._weights[:, None]
            mean = (rated * weights).sum(axis=0) // np.maximum(weights.sum(axis=0), 1)
        return mean

    def _score_one(self, table: NodeTable, row: int, state: Shares) -> NDArray[np.int64]:
        """One row, as after every placement of pods of one class: the same steps without arrays."""
        capacity, used = table.allocatable[row, :2].tolist(), table.nonzero[row].tolist()
        amounts, weights = state.amounts.tolist(), self._weights.tolist()
        total = 0
        for have, taken, more, weight in zip(capacity, used, amounts, weights, strict=True):
            rated = (have - taken - more) * MAX_SCORE
            if rated >= TOO_MUCH:  # wraps around, as it does in arrays and in Go
                rated = (rated + TOO_MUCH) % (2 * TOO_MUCH) - TOO_MUCH
            total += max(rated // have, 0) * weight
        return np.array([total // self._total_weight], np.int64)

    def _requested_with(self, nodes: Nodes, state: Shares) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """What the nodes have, and what would be requested with the pod there, as scoring counts it.

        Each (num_scored, num_rows).
        """
        has, taken = nodes.amounts
        rows, by_resource = nodes.rows, nodes.table.nonzero.T
        nonzero = by_resource[:, rows] if isinstance(rows, slice) else by_resource.take(rows, 1)
        if state.is_cpu_and_memory:
            return has[:2], nonzero + state.added
        requested = taken.take(state.columns, 0) + state.added
        for position, column in ((state.cpu, CPU), (state.memory, MEMORY)):
            if position >= 0:
                requested[position] = nonzero[column] + state.amounts[position]
        return has.take(state.columns, 0), requested

    def _ratio(
        self, requested: NDArray[np.int64], capacity: NDArray[np.int64], has: NDArray[np.bool_] | None
    ) -> NDArray[np.int64]:
        """Resources that score 0 drop out of the mean, which is rounded half away from zero."""
        utilisation = np.where(requested > capacity, 100, requested * 100 // capacity)
        rated = self._curve(utilisation)
        counts = rated > 0 if has is None else has & (rated > 0)
        weights = counts * self._weights[:, None]
        total = weights.sum(axis=0)
        mean = (rated * weights).sum(axis=0) / np.maximum(total, 1)
        rounded: NDArray[np.int64] = np.floor(mean + 0.5).astype(np.int64)
        return rounded

    def _curve(self, utilisation: NDArray[np.int64]) -> NDArray[np.int64]:
        """Piecewise linear between the points of the shape, in integers."""
        ratio = self._strategy.requested_to_capacity_ratio
        assert ratio is not None
        points = [(point.utilization, point.score * 10) for point in ratio.shape]
        scores = np.full(utilisation.shape, points[-1][1], np.int64)
        for (x0, y0), (x1, y1) in reversed(list(itertools.pairwise(points))):
            rise = (y1 - y0) * (utilisation - x0)
            along = y0 + np.sign(rise) * (np.abs(rise) // (x1 - x0))  # truncates toward zero
            scores = np.where(utilisation <= x1, along, scores)
        return np.where(utilisation <= points[0][0], points[0][1], scores)

    def placement_score(self, group: GroupBook, nodes: Nodes, pods: Sequence[PodClass]) -> int:
        """How full the nodes would be as one big node: MostAllocated, whatever the strategy for single nodes is."""
        return taken_together(self._strategy.resources, nodes, pods)

    # -- events ------------------------------------------------------------------------------------------------------

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its preparation it fails, as in kube-scheduler."""
        if point == "filter" and missing == "preFilter":
            return Unprepared(self, 'error reading "PreFilterNodeResourcesFit" from cycleState: not found')
        return self

    def events(self) -> Sequence[Hint]:
        """A pod that left or shrank, a node that came or grew."""
        return (
            Hint(ClusterEvent(Resource.POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN), _frees_something),
            Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE), _fits_the_node),
        )


def _refusal(state: Demand, lacking: NDArray[np.bool_], never: bool) -> Refusal:
    """The words for one combination of shortages, the number of pods first."""
    order = sorted(np.flatnonzero(lacking), key=lambda index: (state.columns[index] != PODS, index))
    code = Code.UNRESOLVABLE if never or state.missing else Code.UNSCHEDULABLE
    shortages = (*(state.shortages[index] for index in order), *state.missing)
    reasons = ("Too many pods" if each.resource == "pods" else f"Insufficient {each.resource}" for each in shortages)
    return Refusal(tuple(reasons), code, shortages)


def _frees_something(pod: Pod, change: Change) -> bool:
    old, new = change.old, change.new
    if not isinstance(new, Pod):
        return isinstance(old, Pod) and bool(old.spec.node_name or old.status.nominated_node_name)
    if new.metadata.uid == pod.metadata.uid:
        return True
    if not isinstance(old, Pod) or not new.spec.node_name:
        return False
    before, after = pod_requests(old), pod_requests(new)
    return any(amount and before.get(name, 0) > after.get(name, 0) for name, amount in pod_requests(pod).items())


def _fits_the_node(pod: Pod, change: Change) -> bool:
    """Would an empty node of that size do, and does it have more than before of something the pod wants?"""
    new, old = change.new, change.old
    if not isinstance(new, Node):
        return False
    wants = {name: amount for name, amount in pod_requests(pod, use_status=False).items() if amount}
    if _room(new, "pods") < 1 or any(_room(new, name) < amount for name, amount in wants.items()):
        return False
    if not isinstance(old, Node):
        return True
    return any(_room(new, name) > _room(old, name) for name in ("pods", *wants))


def _room(node: Node, name: str) -> int:
    quantity = node.status.allocatable.get(name)
    if quantity is None:
        return 0
    return quantity.milli if name == "cpu" else quantity.value
