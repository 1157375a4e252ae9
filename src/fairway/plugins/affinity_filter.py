"""Required affinity between pods as masks over nodes.

In: the required terms of a pod class, and those anti-affinity terms of running pods that mean it. Out:
`RequiredAffinity`, the state that InterPodAffinity filters with: per topology key, the pods counted in each domain that
attract or repel the incoming one. A class keeps one and brings it up to date in each cycle. Follows
plugins/interpodaffinity/filtering.go of kube-scheduler 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Aspect
from fairway.cluster.terms import ManyTerms
from fairway.plugins.affinity_terms import (
    Carried,
    is_meant,
    meant,
    meant_by_all,
    meant_of_many,
    that_may_mean,
    topology_keys,
)
from fairway.plugins.topology_domains import DomainMask, Topologies

if TYPE_CHECKING:
    from fairway.cluster import Cluster, PodClass, Requirement, Rows


class Near(DomainMask):
    """Rows whose domain has a pod that counts."""

    __slots__ = ()

    def passes(self, count: int) -> bool:
        return count > 0

    def judge(self, counts: NDArray[np.int64], table: NDArray[np.bool_]) -> None:
        np.greater(counts, 0, out=table)


class Apart(DomainMask):
    """Rows whose domain has no pod that counts; rows in no domain have none either."""

    __slots__ = ()
    passes_without_label = True

    def passes(self, count: int) -> bool:
        return count <= 0

    def judge(self, counts: NDArray[np.int64], table: NDArray[np.bool_]) -> None:
        np.less_equal(counts, 0, out=table)


class RequiredAffinity:
    """What required terms, its own and others', mean for one pod class on all rows."""

    __slots__ = (
        "_apart",
        "_apart_terms",
        "_carried",
        "_cluster",
        "_labels",
        "_matches_itself",
        "_namespace",
        "_near",
        "_near_terms",
        "_read",
        "_shunned",
        "_terms",
        "_topologies",
        "_versions",
    )

    def __init__(self, cluster: Cluster, topologies: Topologies, carried: Carried, pod: PodClass) -> None:
        self._cluster = cluster
        self._topologies = topologies
        self._carried = carried
        self._namespace = pod.namespace  # not the class itself: it keeps this state, and should end when unused
        self._labels = pod.labels
        self._terms = pod.terms
        self._versions: tuple[int, ...] = ()
        self._rebuild()

    # -- bringing up to date ---------------------------------------------------------------------------------------

    def _rebuild(self) -> None:
        cluster = self._cluster
        self._versions = self._versions_now()
        self._read = 0  # how many of the terms that others carry have been looked at
        self._near: dict[str, Near] = {}
        near = self._terms.get("affinity_required", ())
        self._near_terms = meant_by_all(near, cluster.workloads)
        if near:
            # Only pods that all terms mean count, and they count for every term.
            counter = cluster.counters.of_labels(self._near_terms, skip_terminating=False)
            keys = topology_keys(near)
            nowhere = next((key for key in keys if key not in cluster.nodes.labels), None)
            for key in keys if nowhere is None else (nowhere,):  # then no node will do, whatever the others say
                self._near[key] = Near(self._topologies.of(key, self._versions[0]))
                self._near[key].watch(counter)
        self._matches_itself = all(is_meant(term, self._namespace, self._labels) for term in self._near_terms)
        self._apart: dict[str, Apart] = {}
        self._apart_terms: tuple[tuple[str, Requirement], ...] = ()  # unless they are very many
        apart_terms = self._terms.get("anti_required", ())
        if isinstance(apart_terms, ManyTerms):
            for place in apart_terms.places:
                if place.topology_key in cluster.nodes.labels:
                    found = meant_of_many(apart_terms, place, cluster.workloads)
                    self._mask(self._apart, place.topology_key).watch(cluster.counters.of_found(found))
        else:
            self._apart_terms = tuple(  # without those whose key no node has: such a domain has no pods
                (term.topology_key, meant(term, cluster.workloads))
                for term in apart_terms
                if term.topology_key in cluster.nodes.labels
            )
        by_key: dict[str, list[Requirement]] = {}
        for key, requirement in self._apart_terms:
            by_key.setdefault(key, []).append(requirement)
        for key, requirements in by_key.items():
            apart = self._mask(self._apart, key)
            for counter in cluster.counters.of_each(tuple(requirements)):
                apart.watch(counter)
        self._shunned: dict[str, Apart] = {}

    def refresh(self) -> bool:
        """Take in what changed since the last time. False when there is nothing to filter by."""
        count = self._carried.refresh()
        if self._versions != self._versions_now() and not self._still_stands():
            self._rebuild()
        if self._read != count:
            self._read_carried(count)
        has_repelling = False
        for mask in self._shunned.values():
            mask.refresh()
            has_repelling = has_repelling or mask.total > 0
        for mask in self._apart.values():
            mask.refresh()
        for near in self._near.values():
            near.refresh()
        return has_repelling or "affinity_required" in self._terms or "anti_required" in self._terms

    def _versions_now(self) -> tuple[int, ...]:
        cluster = self._cluster
        epochs = cluster.versions.of(Aspect.NAMESPACES), self._carried.epoch, cluster.nodes.labels.keys_version
        return cluster.node_journal.end, *epochs

    def _still_stands(self) -> bool:
        now = self._versions_now()
        if now[1:] != self._versions[1:]:
            return False
        for masks in (self._near, self._apart, self._shunned):
            if any(self._topologies.of(key, now[0]) is not mask.topology for key, mask in masks.items()):
                return False
        self._versions = now
        return True

    def _read_carried(self, count: int) -> None:
        namespace_labels = self._cluster.workloads.namespace_labels(self._namespace)
        for term, counter in self._carried.since(self._read, self._labels):
            if term.topology_key in self._cluster.nodes.labels and term.matches(
                self._namespace, self._labels, namespace_labels
            ):
                self._mask(self._shunned, term.topology_key).watch(counter)
        self._read = count

    def _mask(self, masks: dict[str, Apart], key: str) -> Apart:
        mask = masks.get(key)
        if mask is None:
            mask = masks[key] = Apart(self._topologies.of(key, self._versions[0]))
        return mask

    # -- judging ---------------------------------------------------------------------------------------------------

    def of_rows(self, rows: Rows) -> NDArray[np.bool_]:
        """The rows among these where the pod may go."""
        masks = self._near_masks(rows)
        masks += [mask.of_rows(rows) for mask in self._apart.values()]
        masks += [mask.of_rows(rows) for mask in self._shunned.values()]
        return _all_of(masks) if masks else np.ones(len(self._cluster.nodes.alive[rows]), bool)

    def is_near(self, rows: Rows) -> NDArray[np.bool_]:
        """Rows where all pods that have to be near are; to be asked only if there are rows that do not pass."""
        return _all_of([*self._near_masks(rows), np.ones(len(self._cluster.nodes.alive[rows]), bool)])

    def is_apart(self, rows: Rows) -> NDArray[np.bool_]:
        """Rows where the pod's own anti-affinity is respected."""
        masks = [mask.of_rows(rows) for mask in self._apart.values()]
        return _all_of([*masks, np.ones(len(self._cluster.nodes.alive[rows]), bool)])

    def _near_masks(self, rows: Rows) -> list[NDArray[np.bool_]]:
        near = self._near.values()
        if self._matches_itself and not any(mask.total for mask in near):
            # The first of pods that want to be together, anywhere in the right topologies.
            return [mask.topology.labelled()[rows] for mask in near]
        return [mask.of_rows(rows) for mask in near]

    # -- supposing -------------------------------------------------------------------------------------------------

    def suppose(self, other: PodClass, row: int, delta: int) -> None:
        """What if there were one pod more (1) or less (-1) on a row?"""
        if "anti_required" in other.terms:
            namespace_labels = self._cluster.workloads.namespace_labels(self._namespace)
            for term in that_may_mean(other.terms["anti_required"], self._labels):
                if term.topology_key in self._cluster.nodes.labels and term.matches(
                    self._namespace, self._labels, namespace_labels
                ):
                    _shift(self._mask(self._shunned, term.topology_key), row, delta)
        if self._near and all(is_meant(term, other.namespace, other.labels) for term in self._near_terms):
            for mask in self._near.values():
                _shift(mask, row, delta)
        for key, requirement in self._apart_terms or self._apart_of_many(other):
            if is_meant(requirement, other.namespace, other.labels):
                _shift(self._apart[key], row, delta)

    def _apart_of_many(self, other: PodClass) -> Iterator[tuple[str, Requirement]]:
        """The same as `_apart_terms` where they are very many, but those that may mean that class only."""
        terms = self._terms.get("anti_required", ())
        if isinstance(terms, ManyTerms):
            for term in terms.that_may_mean(other.labels):
                if term.topology_key in self._apart:
                    yield term.topology_key, meant(term, self._cluster.workloads)


def _shift(mask: DomainMask, row: int, delta: int) -> None:
    domain = mask.domains.item(row)
    if domain != mask.topology.absent:
        mask.shift(domain, delta)


def _all_of(masks: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    if len(masks) == 1:
        return masks[0].copy()
    found = masks[0] & masks[1]
    for mask in masks[2:]:
        found &= mask
    return found
