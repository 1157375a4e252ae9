"""Exact running counts of pods per node.

In: every pod that is placed on or removed from a row. Out: `Counter`s, for the plugins that look beyond one node: how
many pods that match these selectors (or carry that affinity term) are on each row. A counter costs one addition per pod
that matches, however many classes share it, and lives as long as somebody refers to it. One that counts pods on a few
rows has no array of its own. Selectors and label sets find each other by the labels they have in common, and what a
class has very many of is counted together. `plugins.topology_domains` sums rows that share the value of a label.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.journal import Journal
from fairway.cluster.label_set_index import LabelSetIndex
from fairway.cluster.row_counts import RowCounts
from fairway.cluster.selector_index import SelectorIndex
from fairway.cluster.terms import KINDS, Kind, ManyTerms, Term, Terms
from fairway.model.selector import Requirement as Condition
from fairway.model.selector import Selector

if TYPE_CHECKING:
    from fairway.cluster.pod_class import LabelSet, PodClass
    from fairway.cluster.pods import PodTable

Requirement = tuple[frozenset[str] | None, Selector]
"""Pods in these namespaces (None: in any) whose labels match."""


class LazyRequirements:
    """Very many requirements, each worked out when one gets so far; two of these are never equal."""

    __slots__ = ("_known", "_rest")

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        self._known: list[Requirement] = []
        self._rest = iter(requirements)

    def __iter__(self) -> Iterator[Requirement]:
        yield from self._known
        for requirement in self._rest:
            self._known.append(requirement)
            yield requirement


Requirements = tuple[Requirement, ...] | LazyRequirements
"""All of which are to be met."""

FindRequirements = Callable[[Mapping[str, str]], "Iterable[Requirement]"]
"""For labels, all requirements that such labels may meet."""

MANY_TERMS = 16
"""Classes share the counters of their terms; one that has more of a kind has a single counter for all of these."""

SLACK = 64
"""How many counters that are no more are passed over before they are forgotten."""


class Counter:
    """How many pods of some kind are where."""

    __slots__ = (
        "__weakref__",
        "counts",
        "is_carried",
        "journal",
        "requirements",
        "skip_terminating",
        "total",
    )

    def __init__(
        self,
        counts: RowCounts,
        requirements: Requirements = (),
        skip: bool = False,
    ) -> None:
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

    def times(self, label_set: LabelSet) -> int:
        """How often does this counter count a pod with these labels?"""
        for requirement in self.requirements:
            if not _is_met(requirement, label_set):
                return 0
        return 1

    def add(self, row: int, amount: int) -> None:
        """So many more (or fewer) pods on that row."""
        self.counts.add(row, amount)
        self.total += amount
        self.journal.mark(row)

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        self.counts.grow(capacity)

    def retire(self) -> None:
        """No class has the term any more: whoever reads on finds that it may stop."""
        self.is_carried = False
        self.journal.forget()


class SumCounter(Counter):
    """Counts a pod as often as there are requirements that it meets, where they are very many."""

    __slots__ = ("_find",)

    def __init__(self, counts: RowCounts, find: FindRequirements) -> None:
        super().__init__(counts)
        self._find = find

    def times(self, label_set: LabelSet) -> int:
        """See `Counter.times`; only requirements that have a label in common with it are looked at."""
        return sum(_is_met(requirement, label_set) for requirement in self._find(label_set.labels))


class TermHolder:
    """What the classes with a term share. It ends with the last of them, readers of the counter notwithstanding."""

    __slots__ = ("__weakref__", "_num_terms", "counter", "kind", "terms")

    def __init__(self, kind: Kind, terms: Terms, counter: Counter, num_terms: dict[Kind, int]) -> None:
        self.terms = terms  # one, or all that a class has very many of
        self.counter = counter
        self.kind: Kind = kind
        self._num_terms = num_terms  # of each kind, in all holders
        num_terms[kind] += self._weight

    def __del__(self) -> None:
        self._num_terms[self.kind] -= self._weight
        self.counter.retire()

    @property
    def _weight(self) -> int:
        return 1 if isinstance(self.terms, ManyTerms) else len(self.terms)


class Counters:
    """All counters in use."""

    def __init__(self, pods: PodTable, label_sets: Mapping[bytes, LabelSet], capacity: int) -> None:
        self._pods = pods
        self._label_sets = label_sets  # those of all classes, held weakly
        self._capacity = capacity
        self._by_labels: weakref.WeakValueDictionary[tuple[Requirements, bool], Counter]
        self._by_labels = weakref.WeakValueDictionary()
        self._index: SelectorIndex[weakref.ref[Counter]] = SelectorIndex()  # of the same
        self._sums: weakref.WeakSet[SumCounter] = weakref.WeakSet()
        self._known_sets = LabelSetIndex()  # those that counters know of
        self._by_term: dict[Kind, weakref.WeakValueDictionary[Hashable, TermHolder]]
        self._by_term = {kind: weakref.WeakValueDictionary() for kind in KINDS}
        self._num_terms: dict[Kind, int] = dict.fromkeys(KINDS, 0)
        self.terms_version = 0  # changes when a term is heard of for the first time

    def of_labels(self, requirements: Requirements, skip_terminating: bool) -> Counter:
        """Counts pods that meet every requirement. Keep the result: it is dropped when nobody does."""
        key = (requirements, skip_terminating)
        counter = self._by_labels.get(key)
        if counter is None:
            counter = Counter(RowCounts(self._capacity), requirements, skip_terminating)
            self._begin(counter, self._known_sets.find(_wanted(counter)))
            if self._index.num_things > 2 * len(self._by_labels) + SLACK:
                self._index.clear()
                for other in list(self._by_labels.values()):
                    self._enter(other)
            self._by_labels[key] = counter
            self._enter(counter)
        return counter

    def of_each(self, requirements: tuple[Requirement, ...]) -> list[Counter]:
        """Counters whose sum counts a pod once for each requirement that it meets. Keep them, as with `of_labels`."""
        if len(requirements) <= MANY_TERMS:
            return [self.of_labels((each,), skip_terminating=False) for each in requirements]
        index: SelectorIndex[Requirement] = SelectorIndex()
        for requirement in requirements:
            index.add(requirement[1].requirements, requirement)
        return [self.of_found(index.find)]

    def of_found(self, find: FindRequirements) -> Counter:
        """Counts a pod once for each requirement that is found for its labels and met. Keep it, as with `of_labels`."""
        counter = SumCounter(RowCounts(self._capacity), find)
        self._begin(counter, self._known_sets.find(()))
        self._sums.add(counter)
        return counter

    def _begin(self, counter: Counter, label_sets: list[LabelSet]) -> None:
        """Count the pods that are there; all that the counter counts have one of these label sets."""
        by_times: dict[int, list[int]] = {}
        for label_set in label_sets:
            times = counter.times(label_set)
            if times:
                by_times.setdefault(times, []).append(label_set.id)
                label_set.add_counter(weakref.ref(counter), times)
        if by_times:
            rows = np.zeros(self._capacity, np.int32)
            for times, numbers in by_times.items():
                rows += times * self._pods.count_by_row(numbers, counter.skip_terminating, self._capacity)
            counter.total = int(rows.sum())
            counter.counts = RowCounts(self._capacity, rows)

    def _enter(self, counter: Counter) -> None:
        self._index.add(_wanted(counter), weakref.ref(counter))

    def _hold(self, kind: Kind, key: Hashable, terms: Terms) -> TermHolder:
        """Holds the counter of pods that carry these terms. Made before the first such pod is placed."""
        holder = self._by_term[kind].get(key)
        if holder is None:
            counter = Counter(RowCounts(self._capacity))
            holder = self._by_term[kind][key] = TermHolder(kind, terms, counter, self._num_terms)
            self.terms_version += 1
        return holder

    def holders(self, kind: Kind) -> list[TermHolder]:
        """All terms of that kind that some class carries, with their counters."""
        return list(self._by_term[kind].values())

    def terms(self, kind: Kind) -> list[tuple[Term, Counter]]:
        """The same, term by term; one of which a class has very many may be there several times."""
        return [(term, holder.counter) for holder in self.holders(kind) for term in holder.terms]

    def num_terms(self, kind: Kind) -> int:
        """How many there are; those that a class has `terms.HUGE` numbers of count as one."""
        return self._num_terms[kind]

    def adopt(self, pod_class: PodClass) -> None:
        """A class was made: count pods of its label set and of its terms from now on."""
        label_set = pod_class.label_set
        if not label_set.is_counted:
            label_set.is_counted = True
            self._known_sets.add(label_set, len(self._label_sets))
            for reference in self._index.find(label_set.labels):
                counter = reference()
                if counter is not None and counter.times(label_set):
                    label_set.add_counter(reference, 1)
            for each in list(self._sums):
                label_set.add_counter(weakref.ref(each), each.times(label_set))
        holders: list[TermHolder] = []
        for kind, terms in pod_class.terms.items():
            if len(terms) > MANY_TERMS:
                holders.append(self._hold(kind, pod_class.key.digest, terms))
            else:
                holders += [self._hold(kind, term, (term,)) for term in terms]
        pod_class.term_holders = tuple(holders)
        pod_class.term_counters = tuple(holder.counter for holder in pod_class.term_holders)

    def count(self, pod_class: PodClass, row: int, amount: int, terminating: bool) -> None:
        """A pod of this class came to (1) or left (-1) that row."""
        for reference in pod_class.label_set.counters:
            counter = reference()
            if counter is not None and not (terminating and counter.skip_terminating):
                counter.add(row, amount)
        for counter in pod_class.term_counters:
            counter.add(row, amount)

    def grow(self, capacity: int) -> None:
        """Make room for more rows."""
        self._capacity = capacity
        for counter in self.in_use():
            counter.grow(capacity)

    def in_use(self) -> list[Counter]:
        """Every counter that counts: those somebody refers to, and those of terms that some class has."""
        held = (holder.counter for terms in self._by_term.values() for holder in list(terms.values()))
        return [*self._by_labels.values(), *list(self._sums), *held]


def _wanted(counter: Counter) -> tuple[Condition, ...]:
    """By what conditions to look for labels that the counter counts; a few are enough."""
    some = islice(counter.requirements, MANY_TERMS)
    return tuple(chain.from_iterable(selector.requirements for _, selector in some))


def _is_met(requirement: Requirement, label_set: LabelSet) -> bool:
    namespaces, selector = requirement
    return (namespaces is None or label_set.namespace in namespaces) and selector.matches(label_set.labels)


def _padded(counts: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    padded = np.zeros(length, np.int64)
    padded[: len(counts)] = counts
    return padded
