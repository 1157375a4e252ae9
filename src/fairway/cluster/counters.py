"""Exact running counts of pods per node and per topology domain.

In: every pod that is placed on or removed from a row. Out: `Counter`s, for the plugins that look beyond one node: how
many pods that match these selectors (or carry that affinity term) are on each row, and on all rows with the same value
of a label. A counter costs one addition per pod that matches, however many classes share it, and lives as long as
somebody refers to it.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.journal import Journal
from fairway.cluster.labels import LabelColumns
from fairway.cluster.terms import KINDS, Kind, Term
from fairway.model.selector import Selector

if TYPE_CHECKING:
    from fairway.cluster.pod_class import LabelSet, PodClass
    from fairway.cluster.pods import PodTable

Requirement = tuple[frozenset[str] | None, Selector]
"""Pods in these namespaces (None: in any) whose labels match."""


class Counter:
    """How many pods of some kind are where."""

    __slots__ = ("__weakref__", "_domains", "_labels", "journal", "requirements", "rows", "skip_terminating", "total")

    def __init__(
        self,
        labels: LabelColumns,
        rows: NDArray[np.int32],
        requirements: tuple[Requirement, ...] = (),
        skip: bool = False,
    ) -> None:
        self._labels = labels
        self._domains: dict[str, NDArray[np.int64]] = {}
        self.requirements = requirements
        self.skip_terminating = skip
        self.rows = rows  # (capacity,)
        self.total = int(rows.sum())
        self.journal = Journal(4096)

    def matches(self, label_set: LabelSet) -> bool:
        """Does this counter count pods with these labels?"""
        return all(
            (namespaces is None or label_set.namespace in namespaces) and selector.matches(label_set.labels)
            for namespaces, selector in self.requirements
        )

    def add(self, row: int, amount: int) -> None:
        """So many more (or fewer) pods on that row."""
        self.rows[row] += amount
        self.total += amount
        self.journal.mark(row)
        for key, counts in self._domains.items():
            self._add_to_domain(key, counts, row, amount)

    def by_domain(self, key: str) -> NDArray[np.int64]:
        """Counts per value id of a label column; rows without the label are in none of them."""
        column = self._labels.column(key)
        counts = self._domains.get(key)
        if counts is None:
            labelled = column.ids >= 0
            counts = np.bincount(column.ids[labelled], self.rows[labelled], len(column.values)).astype(np.int64)
            self._domains[key] = counts
        elif len(counts) < len(column.values):
            counts = self._domains[key] = _padded(counts, len(column.values))
        return counts

    def lift(self, row: int, sign: int) -> None:
        """Take a row's pods out of their domains (sign -1) before its labels change, and put them back (1) after."""
        amount = sign * int(self.rows[row])
        if amount:
            for key, counts in self._domains.items():
                self._add_to_domain(key, counts, row, amount)

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        rows = np.zeros(capacity, np.int32)
        rows[: len(self.rows)] = self.rows
        self.rows = rows

    def _add_to_domain(self, key: str, counts: NDArray[np.int64], row: int, amount: int) -> None:
        column = self._labels.column(key)
        domain = column.ids[row]
        if domain >= len(counts):
            counts = self._domains[key] = _padded(counts, len(column.values))
        if domain >= 0:
            counts[domain] += amount


class Counters:
    """All counters in use."""

    def __init__(self, labels: LabelColumns, pods: PodTable, capacity: int) -> None:
        self._labels = labels
        self._pods = pods
        self._capacity = capacity
        self._by_labels: weakref.WeakValueDictionary[tuple[tuple[Requirement, ...], bool], Counter]
        self._by_labels = weakref.WeakValueDictionary()
        self._by_term: dict[Kind, weakref.WeakValueDictionary[Term, Counter]]
        self._by_term = {kind: weakref.WeakValueDictionary() for kind in KINDS}
        self._label_sets: dict[int, LabelSet] = {}
        self.terms_version = 0  # changes when a term is heard of for the first time

    def of_labels(self, requirements: tuple[Requirement, ...], skip_terminating: bool) -> Counter:
        """Counts pods that meet every requirement. Keep the result: it is dropped when nobody does."""
        key = (requirements, skip_terminating)
        counter = self._by_labels.get(key)
        if counter is None:
            counter = Counter(self._labels, np.zeros(self._capacity, np.int32), requirements, skip_terminating)
            matching = [label_set for label_set in self._label_sets.values() if counter.matches(label_set)]
            for label_set in matching:
                label_set.counters.append(weakref.ref(counter))
            counter.rows += self._pods.count_by_row(
                [label_set.id for label_set in matching], skip_terminating, self._capacity
            )
            counter.total = int(counter.rows.sum())
            self._by_labels[key] = counter
        return counter

    def of_term(self, kind: Kind, term: Term) -> Counter:
        """Counts pods that carry this term. Made before the first such pod is placed."""
        counter = self._by_term[kind].get(term)
        if counter is None:
            counter = Counter(self._labels, np.zeros(self._capacity, np.int32))
            self._by_term[kind][term] = counter
            self.terms_version += 1
        return counter

    def terms(self, kind: Kind) -> list[tuple[Term, Counter]]:
        """Every term of that kind that some class carries, with its counter."""
        return list(self._by_term[kind].items())

    def adopt(self, pod_class: PodClass) -> None:
        """A class was made: count pods of its label set and of its terms from now on."""
        label_set = pod_class.label_set
        if label_set.id not in self._label_sets:
            self._label_sets[label_set.id] = label_set
            label_set.counters = [weakref.ref(c) for c in list(self._by_labels.values()) if c.matches(label_set)]
        pod_class.term_counters = tuple(
            self.of_term(kind, term) for kind, terms in pod_class.terms.items() for term in terms
        )

    def count(self, pod_class: PodClass, row: int, amount: int, terminating: bool) -> None:
        """A pod of this class came to (1) or left (-1) that row."""
        for reference in pod_class.label_set.counters:
            counter = reference()
            if counter is not None and not (terminating and counter.skip_terminating):
                counter.add(row, amount)
        for counter in pod_class.term_counters:
            counter.add(row, amount)

    def lift(self, row: int, sign: int) -> None:
        """See `Counter.lift`."""
        for counter in self.in_use():
            counter.lift(row, sign)

    def grow(self, capacity: int) -> None:
        """Make room for more rows, and drop what nobody refers to any more."""
        self._capacity = capacity
        for counter in self.in_use():
            counter.grow(capacity)
        for label_set in self._label_sets.values():
            label_set.counters = [reference for reference in label_set.counters if reference() is not None]

    def in_use(self) -> list[Counter]:
        """Every counter somebody refers to."""
        return [*self._by_labels.values(), *(c for terms in self._by_term.values() for c in terms.values())]


def _padded(counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    padded = np.zeros(length, np.int64)
    padded[: len(counts)] = counts
    return padded
