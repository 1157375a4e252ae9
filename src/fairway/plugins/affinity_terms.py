"""Which pods an affinity term means, seen from either side.

In: the interned `Term`s of pod classes. Out: for an incoming pod's own term, the namespaces and labels to count pods by
(`meant`); for terms that running pods carry, a list to look for those that mean the incoming pod (`Carried`).
Shared by the filter and the scores of InterPodAffinity; follows its plugin.go and AffinityTerm.Matches of
kube-scheduler 1.36.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from fairway.cluster import Counter, Kind, Term
from fairway.cluster.counters import LazyRequirements
from fairway.cluster.selector_index import SelectorIndex
from fairway.cluster.terms import ManyTerms, TermPlace, Terms

if TYPE_CHECKING:
    from fairway.cluster import Counters, Requirement
    from fairway.cluster.counters import FindRequirements, Requirements, TermHolder
    from fairway.cluster.workloads import Workloads


SLACK = 64
"""How many terms that nobody carries any more are passed over before they are forgotten."""


def meant(term: Term, workloads: Workloads) -> Requirement:
    """The pods that a term of an incoming pod means: in these namespaces (None: in all), with such labels.

    A namespace selector is resolved to the names of today's namespaces. kube-scheduler then still applies it, to no
    labels at all: one that a namespace without labels would satisfy means every namespace.
    """
    among = term.namespace_selector
    if among is None:
        return term.namespaces, term.selector
    if among.matches({}):
        return None, term.selector
    named = (name for name, found in workloads.namespaces.items() if among.matches(found.metadata.labels))
    return term.namespaces.union(named), term.selector


def meant_of_many(terms: ManyTerms, place: TermPlace, workloads: Workloads) -> FindRequirements:
    """The same for terms that are very many: what those that count there mean, as far as it may be such labels."""

    def find(labels: Mapping[str, str]) -> Iterator[Requirement]:
        for term in terms.that_may_mean(labels):
            if (term.topology_key, term.weight) == place:
                yield meant(term, workloads)

    return find


def meant_by_all(terms: Terms, workloads: Workloads) -> Requirements:
    """What each of the terms means; of very many, as far as somebody asks."""
    requirements = (meant(term, workloads) for term in terms)
    return LazyRequirements(requirements) if isinstance(terms, ManyTerms) else tuple(requirements)


def that_may_mean(terms: Terms, labels: Mapping[str, str]) -> Iterable[Term]:
    """Those of the terms that may mean such labels; few terms are not worth sifting."""
    return terms.that_may_mean(labels) if isinstance(terms, ManyTerms) else terms


def topology_keys(terms: Terms) -> Iterable[str]:
    """The keys of all terms, each once."""
    return dict.fromkeys(each.topology_key for each in (terms.places if isinstance(terms, ManyTerms) else terms))


def is_meant(requirement: Requirement, namespace: str, labels: Mapping[str, str]) -> bool:
    """Does it mean a pod with these labels, in this namespace?"""
    namespaces, selector = requirement
    return (namespaces is None or namespace in namespaces) and selector.matches(labels)


class Carried:
    """The terms of one kind that running or waiting pods carry, in the order in which they were first heard of."""

    __slots__ = ("_counters", "_entries", "_index", "_kind", "_known", "_many", "_version", "epoch")

    def __init__(self, counters: Counters, kind: Kind) -> None:
        self._counters = counters
        self._kind: Kind = kind
        self._version = -1
        self._entries: list[tuple[Term, weakref.ref[Counter]] | None] = []  # None: see `_many`
        self._many: list[tuple[int, weakref.ref[TermHolder]]] = []  # terms that are found by themselves, by entry
        self._known: weakref.WeakSet[TermHolder] = weakref.WeakSet()
        self._index: SelectorIndex[int] = SelectorIndex()  # the numbers of entries
        self.epoch = 0  # changes when entries are dropped: then everybody has to read from the start

    def refresh(self) -> int:
        """Hear of new terms, and forget those that nobody carries once they are many. Returns how many there are."""
        num_alive = self._counters.num_terms(self._kind)
        if self._version != self._counters.terms_version or len(self._entries) > 2 * num_alive + SLACK:
            self._version = self._counters.terms_version
            if len(self._entries) > 2 * num_alive + SLACK:
                self._entries.clear()
                self._many.clear()
                self._known.clear()
                self._index.clear()
                self.epoch += 1
            for holder in self._counters.holders(self._kind):
                if holder not in self._known:
                    self._append(holder)
        return len(self._entries)

    def since(self, position: int, labels: Mapping[str, str]) -> Iterator[tuple[Term, Counter]]:
        """The terms from that entry on that some pod still carries, but not those that can not mean such labels."""
        for numbers in self._index.lists(labels):
            for number in numbers[bisect_left(numbers, position) :]:
                entry = self._entries[number]
                assert entry is not None
                counter = entry[1]()
                if counter is not None and counter.is_carried:
                    yield entry[0], counter
        for number, holding in self._many:
            holder = holding() if number >= position else None
            if holder is not None:
                assert isinstance(holder.terms, ManyTerms)
                for term in holder.terms.that_may_mean(labels):
                    yield term, holder.counter

    def _append(self, holder: TermHolder) -> None:
        self._known.add(holder)
        if isinstance(holder.terms, ManyTerms):
            self._many.append((len(self._entries), weakref.ref(holder)))
            self._entries.append(None)
            return
        reference = weakref.ref(holder.counter)
        for term in holder.terms:
            self._index.add(term.selector.requirements, len(self._entries))
            self._entries.append((term, reference))
