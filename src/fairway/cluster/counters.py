"""Exact running counts of pods per node and per topology domain.

In: every pod that is placed on or removed from a row. Out: `Counter`s, for the plugins that look beyond one node: how
many pods that match these selectors (or carry that affinity term) are on each row, and on all rows with the same value
of a label. A counter costs one addition per pod that matches, however many classes share it, and lives as long as
somebody refers to it. One that counts pods on a few rows has no array of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.journal import Journal
from fairway.cluster.labels import LabelColumns
from fairway.cluster.row_counts import RowCounts
from fairway.cluster.terms import KINDS, Kind, Term
from fairway.model.selector import Selector

if TYPE_CHECKING:
    from fairway.cluster.pod_class import LabelSet, PodClass
    from fairway.cluster.pods import PodTable

Requirement = tuple[frozenset[str] | None, Selector]
"""Pods in these namespaces (None: in any) whose labels match."""


class Counter:
    """How many pods of some kind are where."""

    __slots__ = (
        "__weakref__",
        "_domains",
        "_labels",
        "counts",
        "is_carried",
        "journal",
        "requirements",
        "skip_terminating",
        "total",
    )

    def __init__(
        self,
        labels: LabelColumns,
        counts: RowCounts,
        requirements: tuple[Requirement, ...] = (),
        skip: bool = False,
    ) -> None:
        self._labels = labels
        self._domains: dict[str, NDArray[np.int64]] = {}
        self.requirements = requirements
        self.skip_terminating = skip
        self.counts = counts  # of pods by row
        self.total = 0
        self.journal = Journal(4096)
        self.is_carried = True  # False for that of a term which no class has any more: it stays empty

    @property
    def rows(self) -> NDArray[np.int32]:
        """How many pods are on each row: (capacity,). Never write to it."""
        return self.counts.array()

    def matches(self, label_set: LabelSet) -> bool:
        """Does this counter count pods with these labels?"""
        return all(
            (namespaces is None or label_set.namespace in namespaces) and selector.matches(label_set.labels)
            for namespaces, selector in self.requirements
        )

    def add(self, row: int, amount: int) -> None:
        """So many more (or fewer) pods on that row."""
        self.counts[row] += amount
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
            rows = self.rows[labelled]
            counts = np.bincount(column.ids[labelled], rows, len(column.values)).astype(np.int64)
            self._domains[key] = counts
        elif len(counts) < len(column.values):
            counts = self._domains[key] = _padded(counts, len(column.values))
        elif len(counts) > len(column.values):  # the last node with the label is gone: there is nothing to count
            counts = self._domains[key] = np.zeros(len(column.values), np.int64)
        return counts

    def lift(self, row: int, sign: int) -> None:
        """Take a row's pods out of their domains (sign -1) before its labels change, and put them back (1) after."""
        amount = sign * self.counts[row]
        if amount:
            for key, counts in self._domains.items():
                self._add_to_domain(key, counts, row, amount)

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        self.counts.grow(capacity)

    def retire(self) -> None:
        """No class has the term any more: whoever reads on finds that it may stop."""
        self.is_carried = False
        self.journal.forget()

    def _add_to_domain(self, key: str, counts: NDArray[np.int64], row: int, amount: int) -> None:
        column = self._labels.column(key)
        domain = column.ids[row]
        if domain >= len(counts):
            counts = self._domains[key] = _padded(counts, len(column.values))
        if domain >= 0:
            counts[domain] += amount


class TermHolder:
    """What the classes with a term share. It ends with the last of them, readers of the counter notwithstanding."""

    __slots__ = ("__weakref__", "counter")

    def __init__(self, counter: Counter) -> None:
        self.counter = counter

    def __del__(self) -> None:
        self.counter.retire()


class Counters:
    """All counters in use."""

    def __init__(
        self, labels: LabelColumns, pods: PodTable, label_sets: Mapping[bytes, LabelSet], capacity: int
    ) -> None:
        self._labels = labels
        self._pods = pods
        self._label_sets = label_sets  # those of all classes, held weakly
        self._capacity = capacity
        self._by_labels: weakref.WeakValueDictionary[tuple[tuple[Requirement, ...], bool], Counter]
        self._by_labels = weakref.WeakValueDictionary()
        self._by_term: dict[Kind, weakref.WeakValueDictionary[Term, TermHolder]]
        self._by_term = {kind: weakref.WeakValueDictionary() for kind in KINDS}
        self.terms_version = 0  # changes when a term is heard of for the first time

    def of_labels(self, requirements: tuple[Requirement, ...], skip_terminating: bool) -> Counter:
        """Counts pods that meet every requirement. Keep the result: it is dropped when nobody does."""
        key = (requirements, skip_terminating)
        counter = self._by_labels.get(key)
        if counter is None:
            counter = Counter(self._labels, RowCounts(self._capacity), requirements, skip_terminating)
            known = [label_set for label_set in list(self._label_sets.values()) if label_set.is_counted]
            matching = [label_set for label_set in known if counter.matches(label_set)]
            for label_set in matching:
                label_set.add_counter(weakref.ref(counter))
            if matching:
                rows = self._pods.count_by_row([each.id for each in matching], skip_terminating, self._capacity)
                counter.total = int(rows.sum())
                counter.counts = RowCounts(self._capacity, rows)
            self._by_labels[key] = counter
        return counter

    def of_term(self, kind: Kind, term: Term) -> TermHolder:
        """Holds the counter of pods that carry this term. Made before the first such pod is placed."""
        holder = self._by_term[kind].get(term)
        if holder is None:
            holder = self._by_term[kind][term] = TermHolder(Counter(self._labels, RowCounts(self._capacity)))
            self.terms_version += 1
        return holder

    def terms(self, kind: Kind) -> list[tuple[Term, Counter]]:
        """Every term of that kind that some class carries, with its counter."""
        return [(term, holder.counter) for term, holder in list(self._by_term[kind].items())]

    def num_terms(self, kind: Kind) -> int:
        """How many there are."""
        return len(self._by_term[kind])

    def adopt(self, pod_class: PodClass) -> None:
        """A class was made: count pods of its label set and of its terms from now on."""
        label_set = pod_class.label_set
        if not label_set.is_counted:
            label_set.is_counted = True
            for counter in list(self._by_labels.values()):
                if counter.matches(label_set):
                    label_set.add_counter(weakref.ref(counter))
        pod_class.term_holders = tuple(
            self.of_term(kind, term) for kind, terms in pod_class.terms.items() for term in terms
        )
        pod_class.term_counters = tuple(holder.counter for holder in pod_class.term_holders)

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
        """Make room for more rows."""
        self._capacity = capacity
        for counter in self.in_use():
            counter.grow(capacity)

    def in_use(self) -> list[Counter]:
        """Every counter that counts: those somebody refers to, and those of terms that some class has."""
        held = (holder.counter for terms in self._by_term.values() for holder in list(terms.values()))
        return [*self._by_labels.values(), *held]


def _padded(counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    padded = np.zeros(length, np.int64)
    padded[: len(counts)] = counts
    return padded
