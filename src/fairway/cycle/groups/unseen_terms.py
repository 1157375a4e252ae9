"""What kube-scheduler overlooks while it tries a group: affinity terms of members that were just placed.

Its snapshot has a list of the nodes with pods that carry affinity terms, and one of those with required anti-affinity;
a member that is assumed in the snapshot is added to its node, but the node not to the lists. So members that come later
do not see the terms it carries, unless the node was listed before: a pod there carried such terms or, for the first
list, spoke of affinity at all, be it of none (`podAffinity: {}`). (Terms of their own count it all the same.)
kube-scheduler 1.36, `AssumePod` in backend/cache/snapshot.go, and who reads the lists: PreFilter and PreScore of
InterPodAffinity, the latter only for pods without preferred terms of their own.

In: members, as they are assumed and taken back. Out: the cluster's counters of terms as those who come next see them.
"""

from __future__ import annotations

import numpy as np

from fairway.cluster import Cluster, Counter, Kind, PodClass
from fairway.cluster.tallies.affinity_sayers import AffinitySayers

__all__ = ["UnseenTerms"]

SHUNNING: tuple[Kind, ...] = ("anti_required",)
SCORED: tuple[Kind, ...] = ("affinity_required", "affinity_preferred", "anti_preferred")
PREFERENCES: tuple[Kind, ...] = ("affinity_preferred", "anti_preferred")


class UnseenTerms:
    """The terms that are not seen, of members that are assumed."""

    def __init__(self, cluster: Cluster) -> None:
        """As of now, before any member is assumed, and before any victim is imagined gone."""
        self._cluster = cluster
        self._repelling = self._repelling_rows()
        self._carrying = frozenset(cluster.tally(AffinitySayers).rows)
        self._scored: list[tuple[Counter, int]] = []  # with the row: hidden from those without preferences
        self._is_hidden = True

    def _repelling_rows(self) -> frozenset[int]:
        rows = np.zeros(self._cluster.nodes.capacity, bool)
        for kind in SHUNNING:
            for holder in self._cluster.counters.holders(kind):
                rows |= holder.counter.rows > 0
        return frozenset(np.flatnonzero(rows).tolist())

    def hide(self, pod_class: PodClass, row: int) -> None:
        """A member of that class was assumed there."""
        for counter in self._unseen(pod_class, row, SHUNNING, self._repelling):
            counter.add(row, -1)
        for counter in self._unseen(pod_class, row, SCORED, self._carrying):
            self._scored.append((counter, row))
            if self._is_hidden:
                counter.add(row, -1)

    def show(self, pod_class: PodClass, row: int) -> None:
        """The member is about to be taken back."""
        for counter in self._unseen(pod_class, row, SHUNNING, self._repelling):
            counter.add(row, 1)
        for counter in self._unseen(pod_class, row, SCORED, self._carrying):
            self._scored.remove((counter, row))
            if self._is_hidden:
                counter.add(row, 1)

    def look_with(self, pod_class: PodClass) -> None:
        """A pod of this class is decided about next."""
        is_hidden = not any(kind in pod_class.terms for kind in PREFERENCES)
        if is_hidden is not self._is_hidden:
            self._is_hidden = is_hidden
            for counter, row in self._scored:
                counter.add(row, -1 if is_hidden else 1)

    def _unseen(self, pod_class: PodClass, row: int, kinds: tuple[Kind, ...], listed: frozenset[int]) -> list[Counter]:
        if row in listed:
            return []
        return [
            counter
            for holder, counter in zip(pod_class.term_holders, pod_class.term_counters, strict=True)
            if holder.kind in kinds
        ]
