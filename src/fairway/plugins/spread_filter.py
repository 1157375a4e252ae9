"""Hard topology spread constraints as masks over nodes.

In: the hard `Constraint`s of a pod class. Out: `HardSpread`, the state that PodTopologySpread filters with: per
constraint the matching pods in each domain, the fewest in any of them, and the rows where one pod more would not
exceed the allowed skew. A class keeps one and brings it up to date in each cycle. Follows
plugins/podtopologyspread/filtering.go of kube-scheduler 1.36.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.plugins.spread_constraints import Constraint, Ground, matching_pods
from fairway.plugins.topology_domains import DomainMask, Topologies, Topology

if TYPE_CHECKING:
    from fairway.cluster import Cluster, Counter, Counters, PodClass, Rows
    from fairway.model import Toleration

NO_MINIMUM = 2**31 - 1
"""The fewest pods in any domain when there is no domain at all."""


class SpreadMask(DomainMask):
    """Rows where one more pod keeps within the skew that one constraint allows."""

    __slots__ = ("_at_minimum", "_eligible", "_follows_minimum", "_slack", "minimum")

    def __init__(
        self, topology: Topology, domains: NDArray[np.intp], constraint: Constraint, matches_itself: bool
    ) -> None:
        super().__init__(topology, domains)
        sizes = np.bincount(self.domains, minlength=len(self.counts))[:-1]
        self._eligible = np.flatnonzero(sizes)  # (num_eligible,): domains with a row that counts
        self._follows_minimum = len(self._eligible) >= constraint.min_domains  # otherwise it reads as 0
        self._slack = constraint.max_skew - matches_itself  # how far above the minimum a domain may be
        self.minimum = 0
        self._at_minimum = 0  # how many domains have the fewest pods
        self.find_minimum()

    def passes(self, count: int) -> bool:
        return count - self.minimum <= self._slack

    def judge(self, counts: NDArray[np.int64], table: NDArray[np.bool_]) -> None:
        np.less_equal(counts, self._slack + self.minimum, out=table)

    def find_minimum(self) -> None:
        """Look for the domains with the fewest pods."""
        if not self._follows_minimum:
            return
        minimum = NO_MINIMUM
        if len(self._eligible):
            eligible = self.counts[self._eligible]
            minimum = int(eligible.min())
            self._at_minimum = int(np.count_nonzero(eligible == minimum))
        if minimum != self.minimum:
            self.minimum = minimum
            self.doubt()

    def note(self, domain: int, before: int, after: int) -> None:
        if self._follows_minimum:
            if after < self.minimum:
                self.minimum = after
                self._at_minimum = 1
                self.doubt()
            else:
                self._at_minimum += (after == self.minimum) - (before == self.minimum)
                if not self._at_minimum:
                    self.find_minimum()
        super().note(domain, before, after)

    def watch(self, counter: Counter, weight: int = 1) -> None:
        super().watch(counter, weight)
        self.find_minimum()

    def recount(self) -> None:
        super().recount()
        self.find_minimum()


class HardSpread:
    """What one pod class's hard constraints mean for all rows."""

    __slots__ = ("constraints", "ground", "masks", "namespace", "version")

    def __init__(self, pod: PodClass, constraints: tuple[Constraint, ...], ground: Ground, counters: Counters) -> None:
        self.namespace = pod.namespace
        self.constraints = constraints
        self.ground = ground
        self.version = -1  # of the nodes it was last compared with; see `hard_spread`
        self.masks: list[SpreadMask] = []
        for constraint, topology, domains in zip(constraints, ground.topologies, ground.domains, strict=True):
            mask = SpreadMask(topology, domains, constraint, constraint.selector.matches(pod.labels))
            counter = matching_pods(counters, pod.namespace, constraint.selector)
            if counter is not None:
                mask.watch(counter)
            self.masks.append(mask)

    @property
    def is_nowhere(self) -> bool:
        """Is there a constraint that no row can meet, as none has its label?"""
        return self.ground.topologies[-1].is_nowhere

    def refresh(self) -> None:
        """Take in what has been placed and removed since the last time."""
        for mask in self.masks:
            mask.refresh()

    def of_rows(self, rows: Rows) -> NDArray[np.bool_]:
        """The rows among these where the pod may go."""
        found = self.masks[0].of_rows(rows)
        if len(self.masks) == 1:
            return found.copy() if isinstance(rows, slice) else found
        found = found & self.masks[1].of_rows(rows)
        for mask in self.masks[2:]:
            found &= mask.of_rows(rows)
        return found

    def lacks_label(self, rows: Rows) -> NDArray[np.bool_]:
        """Of rows that do not pass: those where a missing label comes before a skew that is too large."""
        lacking = np.zeros(len(self.ground.topologies[0].ids[rows]), bool)
        undecided = ~lacking
        for mask in self.masks:
            topology = mask.topology
            unlabelled = topology.ids[rows] < 0
            lacking |= undecided & unlabelled
            undecided &= mask.of_rows(rows)
        return lacking

    def suppose(self, other: PodClass, row: int, delta: int) -> None:
        """What if there were one pod more (1) or less (-1) on a row?

        Unlike the counters this heeds neither that a selector is empty nor that a pod is terminating, as in
        kube-scheduler; a count may even turn negative.
        """
        if other.namespace != self.namespace:
            return
        for constraint, mask in zip(self.constraints, self.masks, strict=False):
            domain = mask.domains.item(row)
            if domain != mask.topology.absent and constraint.selector.matches(other.labels):
                mask.shift(domain, delta)


def hard_spread(
    cluster: Cluster,
    topologies: Topologies,
    pod: PodClass,
    constraints: tuple[Constraint, ...],
    before: HardSpread | None,
    borne: tuple[Toleration, ...] = (),
) -> HardSpread:
    """The state to filter with, up to date: the one from before if no node changed in a way that matters."""
    version = cluster.node_journal.end
    if before is None or before.version != version:
        divided: list[Topology] = []
        for each in constraints:
            divided.append(topologies.of(each.key, version))
            if divided[-1].is_nowhere:
                break  # no row passes this one, so nobody asks the constraints after it
        constraints = constraints[: len(divided)]
        ground = Ground(cluster, pod.spec, constraints, divided, True, borne)
        if before is None or not before.ground.is_like(ground):
            before = HardSpread(pod, constraints, ground, cluster.counters)
        before.version = version
    before.refresh()
    return before
