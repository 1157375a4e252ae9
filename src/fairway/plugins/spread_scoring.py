"""Soft topology spread constraints as scores over nodes.

In: the soft `Constraint`s of a pod class and, in each cycle, the feasible nodes. Out: `SoftSpread`, from which
PodTopologySpread scores: a node's score is how crowded with matching pods its domains are, each constraint weighted by
the logarithm of how many domains the feasible nodes lie in; fewer is better. Follows
plugins/podtopologyspread/scoring.go of kube-scheduler 1.36, its order of floating-point operations included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairway.plugins.spread_constraints import HOSTNAME, Constraint, Ground, labelled_by_all, matching_pods
from fairway.plugins.topology_domains import FEW_ROWS, DomainCounts, ReadCounter, Topologies

if TYPE_CHECKING:
    from fairway.cluster import Cluster, Counters, PodClass, Rows
    from fairway.model import Toleration

ENOUGH_ROWS = 96
"""So many feasible nodes often show every domain there is; only if they do not are the others looked at."""

HALF, FULL = np.array(0.5), np.array(100)  # (): see fairway.cycle.answers on why they are arrays


class SoftConstraint:
    """One constraint and the pods it counts: in domains or, for host names, on each row by itself."""

    __slots__ = ("_lies_in", "_num_possible", "constraint", "counts", "host", "is_host", "topology")

    def __init__(
        self,
        pod: PodClass,
        constraint: Constraint,
        ground: Ground,
        number: int,
        needs_all_keys: bool,
        counters: Counters,
    ) -> None:
        self.constraint = constraint
        self.topology = ground.topologies[number]
        self.is_host = constraint.key == HOSTNAME
        self.counts = DomainCounts(self.topology, ground.domains[number])
        self.host: ReadCounter | None = None
        counter = matching_pods(counters, pod.namespace, constraint.selector)
        if counter is not None and self.is_host:
            self.host = ReadCounter(counter)
        elif counter is not None:
            self.counts.watch(counter)
        # The domain a feasible node shows; nodes without the label show one of their own, or were left out before.
        self._lies_in = self.topology.domains if needs_all_keys else self.topology.domains_with_blank()  # (num_rows,)
        shown = np.bincount(self._lies_in, minlength=self.topology.absent + 1)
        self._num_possible = int(np.count_nonzero(shown[:-1] if needs_all_keys else shown))

    def weight(self, rows: NDArray[np.intp]) -> float:
        """The more domains the feasible nodes lie in, the more each pod counts."""
        num_domains = len(rows)
        if not self.is_host:
            num_domains = int(np.count_nonzero(np.bincount(self._lies_in.take(rows[:ENOUGH_ROWS]))))
            if num_domains < self._num_possible and len(rows) > ENOUGH_ROWS:
                num_domains = int(np.count_nonzero(np.bincount(self._lies_in.take(rows))))
        return math.log(num_domains + 2)

    def crowding(self, counts: NDArray[np.signedinteger[Any]], weight: float) -> NDArray[np.float64]:
        """What so many pods add to a node's score."""
        crowding = counts.astype(np.float64)
        crowding *= np.array(weight)
        if self.constraint.max_skew != 1:
            crowding += float(self.constraint.max_skew - 1)
        return crowding

    def of_domains(self, weight: float) -> NDArray[np.float64]:
        """The same for every domain; nothing for rows without the label."""
        table = self.crowding(self.counts.counts, weight)
        table[-1] = 0.0
        return table

    def of_rows(self, rows: Rows, weight: float) -> NDArray[np.float64]:
        """The same for some rows."""
        if not self.is_host:
            return self.of_domains(weight)[self.topology.domains[rows]]
        labelled = self.topology.labelled()[rows]
        counts = np.zeros(len(labelled), np.int32)
        if self.host is not None:
            counts = self.host.counter.rows[: len(self.topology.ids)][rows]
        return np.where(labelled, self.crowding(counts, weight), 0.0)


class ScoreTable:
    """Scores for every pair of pods on the row and domain of the row, where there are no other constraints.

    Far fewer than rows as a rule. `spots` says where in the table a row finds its score.
    """

    __slots__ = ("_domain", "_host", "_labelled", "_levels", "_most", "_spots", "_stride")

    def __init__(self, host: SoftConstraint | None, domain: SoftConstraint | None, num_rows: int) -> None:
        self._host = host
        self._domain = domain
        self._stride = 1 if domain is None else domain.topology.absent + 1
        self._most = 0  # no row has more pods; perhaps none has so many any more
        self._levels: tuple[int, float, NDArray[np.float64]] = (-1, 0.0, np.zeros((0, 1)))  # see `_level_scores`
        self._spots = np.zeros(num_rows, np.intp) if domain is None else domain.topology.domains.copy()  # (num_rows,)
        if host is not None:
            self._labelled = host.topology.labelled()  # (num_rows,)
            self._spots += self._labelled * self._stride  # level 0: no host name; level 1: no pods; ...
            if host.host is not None:
                seen = host.host.seen.array()[:num_rows]
                self._spots += self._labelled * seen * self._stride
                self._most = int(seen.max(initial=0))

    def refresh(self) -> None:
        """Follow the pods on the rows."""
        source = self._host.host if self._host is not None else None
        if source is None or source.position == source.counter.journal.end:
            return
        rows = source.counter.journal.since(source.position)
        source.position = source.counter.journal.end
        if rows is not None and len(rows) <= FEW_ROWS:
            self._follow(source, rows.tolist())
            return
        num_rows = len(self._spots)
        now, seen = source.counter.rows[:num_rows], source.seen.array()[:num_rows]
        if rows is None:
            rows = np.flatnonzero(now != seen)
        changed = now.take(rows) - seen.take(rows)
        self._spots[rows] += changed * self._labelled.take(rows) * self._stride
        source.seen = source.counter.counts.copy()
        self._most = int(now.max(initial=0))

    def _follow(self, source: ReadCounter, rows: list[int]) -> None:
        now, seen, spots, labelled = source.counter.counts, source.seen, self._spots, self._labelled
        for row in rows:
            count = now[row]
            if labelled.item(row):
                spots[row] += (count - seen[row]) * self._stride
            seen[row] = count
            self._most = max(self._most, count)

    def scores(self, rows: Rows, host_weight: float, domain_weight: float) -> NDArray[np.int64] | None:
        """The scores of some rows, or None if there are too many pairs to be worth it."""
        table = np.zeros(1)
        if self._domain is not None:
            table = self._domain.of_domains(domain_weight)
        if self._host is not None:
            most = self._most
            if (most + 2) * self._stride > max(len(self._spots), 64):
                return None
            table = (self._level_scores(self._host, most, host_weight) + table).ravel()
        spots = self._spots if isinstance(rows, slice) else self._spots.take(rows)
        return rounded(table).take(spots)

    def _level_scores(self, host: SoftConstraint, most: int, weight: float) -> NDArray[np.float64]:
        """What no host name, no pods, one pod, ... `most` pods on a row add: (most + 2, 1). Kept: it seldom changes."""
        if self._levels[:2] != (most, weight):
            levels = np.zeros((most + 2, 1))
            levels[1:, 0] = host.crowding(np.arange(most + 1), weight)
            self._levels = most, weight, levels
        return self._levels[2]


@dataclass(slots=True)
class Crowd:
    """What one cycle scores with."""

    spread: SoftSpread
    weights: list[float]  # per constraint
    ignored: NDArray[np.bool_] | None  # (num_feasible,): nodes that lack a key; None if there are none


class SoftSpread:
    """What one pod class's soft constraints mean for all rows."""

    __slots__ = ("_nodes", "_parts", "_table", "_unkeyed", "constraints", "ground", "version")

    def __init__(
        self, pod: PodClass, constraints: tuple[Constraint, ...], ground: Ground, needs_all_keys: bool, cluster: Cluster
    ) -> None:
        self.constraints = constraints
        self.ground = ground
        self.version = -1  # of the nodes it was last compared with; see `soft_spread`
        self._nodes = cluster.nodes
        # Where no node has one of the keys, all are ignored, and nothing has to be counted.
        is_idle = needs_all_keys and any(topology.is_nowhere for topology in ground.topologies)
        self._parts = [
            SoftConstraint(pod, constraint, ground, number, needs_all_keys, cluster.counters)
            for number, constraint in enumerate(() if is_idle else constraints)
        ]
        hosts = [part for part in self._parts if part.is_host]
        others = [part for part in self._parts if not part.is_host]
        self._table: ScoreTable | None = None
        if self._parts and len(hosts) <= 1 and len(others) <= 1:
            self._table = ScoreTable(next(iter(hosts), None), next(iter(others), None), cluster.nodes.num_rows)
        self._unkeyed: NDArray[np.bool_] | None = None  # (num_rows,): rows that lack a key, if that matters
        if needs_all_keys:
            unkeyed = ~labelled_by_all(ground.topologies)
            self._unkeyed = unkeyed if unkeyed.any() else None

    def weigh(self, rows: Rows) -> Crowd:
        """Take in what was placed and removed, and what these feasible nodes mean for the weights."""
        for part in self._parts:
            part.counts.refresh()
        if self._table is not None:
            self._table.refresh()
        if isinstance(rows, slice):
            ignored = ~self._nodes.alive[rows]
            ignored = ignored if self._unkeyed is None else ignored | self._unkeyed
            scored = np.flatnonzero(~ignored)
            return Crowd(self, [part.weight(scored) for part in self._parts], ignored)
        if self._unkeyed is not None:
            ignored = self._unkeyed[rows]
            if ignored.any():
                scored = rows[~ignored]
                return Crowd(self, [part.weight(scored) for part in self._parts], ignored)
        return Crowd(self, [part.weight(rows) for part in self._parts], None)

    def scores(self, rows: Rows, crowd: Crowd) -> NDArray[np.int64]:
        """How crowded the rows are; 0 for ignored ones."""
        if not self._parts:
            return np.zeros(len(self._nodes.alive[rows]), np.int64)
        scores = None
        if self._table is not None:
            host_weight = other_weight = 0.0
            for constraint, weight in zip(self._parts, crowd.weights, strict=True):
                if constraint.is_host:
                    host_weight = weight
                else:
                    other_weight = weight
            scores = self._table.scores(rows, host_weight, other_weight)
        if scores is None:
            parts = [part.of_rows(rows, weight) for part, weight in zip(self._parts, crowd.weights, strict=True)]
            sums = parts[0]
            for part in parts[1:]:
                sums = sums + part
            scores = rounded(sums)
        if crowd.ignored is not None:
            scores[crowd.ignored] = 0
        return scores


def rounded(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Halves away from zero, for numbers that are not negative."""
    whole = np.floor(scores)
    whole += scores - whole >= HALF
    return whole.astype(np.int64)


def normalized(scores: NDArray[np.int64], ignored: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """The least crowded of the feasible nodes gets the most, the ignored ones nothing."""
    judged = scores if ignored is None else scores[~ignored]
    highest = int(judged[judged.argmax()]) if len(judged) else 0
    if highest <= 0:
        result = np.full(len(scores), 100, np.int64)
    else:
        lowest = int(judged[judged.argmin()])
        is_few = highest < len(scores)  # few different scores: divide each once
        left = np.array(highest + lowest) - (np.arange(highest + 1) if is_few else scores)
        left *= FULL
        left //= np.array(highest)
        result = left.take(scores) if is_few else left
    if ignored is not None:
        result[ignored] = 0
    return result


def soft_spread(
    cluster: Cluster,
    topologies: Topologies,
    pod: PodClass,
    constraints: tuple[Constraint, ...],
    needs_all_keys: bool,
    before: SoftSpread | None,
    borne: tuple[Toleration, ...] = (),
) -> SoftSpread:
    """The counts to score with: those from before if no node changed in a way that matters."""
    version = cluster.node_journal.end
    if before is None or before.version != version:
        divided = [topologies.of(each.key, version) for each in constraints]
        ground = Ground(cluster, pod.spec, constraints, divided, needs_all_keys, borne)
        if before is None or not before.ground.is_like(ground):
            before = SoftSpread(pod, constraints, ground, needs_all_keys, cluster)
        before.version = version
    return before
