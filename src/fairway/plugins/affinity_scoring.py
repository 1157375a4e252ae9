"""Preferred affinity between pods as scores over nodes.

In: the preferred terms of a pod class, and the terms of running pods that mean it. Out: `PreferredAffinity`, from which
InterPodAffinity scores: per topology key, what the pods in each domain are worth to the incoming one, positive or
negative. A class keeps one and brings it up to date in each cycle. Follows plugins/interpodaffinity/scoring.go of
kube-scheduler 1.36.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Aspect
from fairway.cluster.terms import ManyTerms
from fairway.plugins.affinity_terms import Carried, meant, meant_of_many
from fairway.plugins.topology_domains import DomainScores, Topologies

if TYPE_CHECKING:
    from fairway.cluster import Cluster, Counter, PodClass, Requirement, Rows, Term

FULL = np.array(100.0)  # (): see fairway.cycle.answers on why it is an array


class CarriedTerms:
    """A kind of terms that running pods carry, and what such a term is worth to the pod it means."""

    __slots__ = ("_each", "_times", "carried")

    def __init__(self, carried: Carried, times: int, each: int | None = None) -> None:
        self.carried = carried
        self._times = times
        self._each = each  # None: the term's own weight

    def worth(self, term: Term) -> int:
        """Positive if the term attracts."""
        return self._times * (term.weight if self._each is None else self._each)


class PreferredAffinity:
    """What terms, its own and others', are worth to one pod class on all rows."""

    __slots__ = (
        "_cluster",
        "_labels",
        "_namespace",
        "_preferences",
        "_read",
        "_scores",
        "_terms",
        "_topologies",
        "_versions",
    )

    def __init__(
        self, cluster: Cluster, topologies: Topologies, preferences: tuple[CarriedTerms, ...], pod: PodClass
    ) -> None:
        self._cluster = cluster
        self._topologies = topologies
        self._preferences = preferences
        self._namespace = pod.namespace  # not the class itself: it keeps this state, and should end when unused
        self._labels = pod.labels
        self._terms = pod.terms
        self._versions: tuple[int, ...] = ()
        self._read: list[int] = []  # how many terms of each kind that others carry have been looked at
        self._scores: dict[str, DomainScores] = {}

    def refresh(self) -> bool:
        """Take in what changed since the last time. False when there is nothing to score by."""
        counts = [each.carried.refresh() for each in self._preferences]
        if self._versions != self._versions_now() and not self._still_stands():
            self._rebuild()
        if self._read != counts:
            self._read_carried(counts)
        has_any = False
        for scores in self._scores.values():
            scores.refresh()
            has_any = has_any or scores.total > 0
        return has_any

    def of_rows(self, rows: Rows) -> NDArray[np.int64]:
        """What each row is worth."""
        parts = [scores.of_rows(rows) for scores in self._scores.values() if scores.total]
        if len(parts) == 1:
            return parts[0].copy() if isinstance(rows, slice) else parts[0]
        worth: NDArray[np.int64] = np.add.reduce(parts)
        return worth

    def _rebuild(self) -> None:
        cluster, own = self._cluster, self._terms
        self._versions = self._versions_now()
        self._read = [0] * len(self._preferences)
        self._scores = {}
        by_worth: dict[tuple[str, int], list[Requirement]] = {}
        for terms, sign in ((own.get("affinity_preferred", ()), 1), (own.get("anti_preferred", ()), -1)):
            if isinstance(terms, ManyTerms):
                for place in terms.places:
                    if place.topology_key in cluster.nodes.labels:
                        found = meant_of_many(terms, place, cluster.workloads)
                        self._watch(place.topology_key, cluster.counters.of_found(found), sign * place.weight)
                continue
            for term in terms:
                if term.topology_key in cluster.nodes.labels:
                    requirement = meant(term, cluster.workloads)
                    by_worth.setdefault((term.topology_key, sign * term.weight), []).append(requirement)
        for (key, worth), requirements in by_worth.items():
            for counter in cluster.counters.of_each(tuple(requirements)):
                self._watch(key, counter, worth)

    def _read_carried(self, counts: list[int]) -> None:
        namespace_labels = self._cluster.workloads.namespace_labels(self._namespace)
        for preferences, position in zip(self._preferences, self._read, strict=True):
            for term, counter in preferences.carried.since(position, self._labels):
                if term.topology_key in self._cluster.nodes.labels and term.matches(
                    self._namespace, self._labels, namespace_labels
                ):
                    self._watch(term.topology_key, counter, preferences.worth(term))
        self._read = counts

    def _watch(self, key: str, counter: Counter, weight: int) -> None:
        """Count what a counter counts; the key is one that some node has, for others there are no domains."""
        if key not in self._scores:
            self._scores[key] = DomainScores(self._topologies.of(key, self._versions[0]))
        self._scores[key].watch(counter, weight)

    def _versions_now(self) -> tuple[int, ...]:
        cluster = self._cluster
        epochs = [each.carried.epoch for each in self._preferences]
        return (
            cluster.node_journal.end,
            cluster.versions.of(Aspect.NAMESPACES),
            cluster.nodes.labels.keys_version,
            *epochs,
        )

    def _still_stands(self) -> bool:
        now = self._versions_now()
        if now[1:] != self._versions[1:]:
            return False
        if any(self._topologies.of(key, now[0]) is not scores.topology for key, scores in self._scores.items()):
            return False
        self._versions = now
        return True


def normalized(scores: NDArray[np.int64]) -> NDArray[np.int64]:
    """Stretched to 0..100, cut to integers; all 0 if all are equal."""
    lowest = scores[scores.argmin(), ...]  # an array (), which is spared conversions
    spread = scores[scores.argmax(), ...] - lowest
    if spread == 0:
        return np.zeros(len(scores), np.int64)
    stretched = (scores - lowest) / spread
    stretched *= FULL
    return stretched.astype(np.int64)
