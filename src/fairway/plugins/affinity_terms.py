"""Which pods an affinity term means, seen from either side.

In: the interned `Term`s of pod classes. Out: for an incoming pod's own term, the namespaces and labels to count pods by
(`meant`); for terms that running pods carry, a list to look for those that mean the incoming pod (`Carried`).
Shared by the filter and the scores of InterPodAffinity; follows its plugin.go and AffinityTerm.Matches of
kube-scheduler 1.36.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fairway.cluster import Counter, Kind, Term

if TYPE_CHECKING:
    from fairway.cluster import Counters, Requirement
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


def is_meant(requirement: Requirement, namespace: str, labels: Mapping[str, str]) -> bool:
    """Does it mean a pod with these labels, in this namespace?"""
    namespaces, selector = requirement
    return (namespaces is None or namespace in namespaces) and selector.matches(labels)


class Carried:
    """The terms of one kind that running or waiting pods carry, in the order in which they were first heard of."""

    __slots__ = ("_by_label", "_counters", "_entries", "_kind", "_known", "_version", "epoch")

    def __init__(self, counters: Counters, kind: Kind) -> None:
        self._counters = counters
        self._kind: Kind = kind
        self._version = -1
        self._entries: list[tuple[Term, weakref.ref[Counter]]] = []
        self._known: dict[Term, weakref.ref[Counter]] = {}
        self._by_label: dict[tuple[str, str] | None, list[int]] = {}  # entries that want such a label; None: any
        self.epoch = 0  # changes when entries are dropped: then everybody has to read from the start

    def refresh(self) -> int:
        """Hear of new terms, and forget those that nobody carries once they are many. Returns how many there are."""
        num_alive = self._counters.num_terms(self._kind)
        if self._version != self._counters.terms_version or len(self._entries) > 2 * num_alive + SLACK:
            self._version = self._counters.terms_version
            alive = self._counters.terms(self._kind)
            if len(self._entries) > 2 * len(alive) + SLACK:
                self._entries.clear()
                self._known.clear()
                self._by_label.clear()
                self.epoch += 1
            for term, counter in alive:
                known = self._known.get(term)
                if known is None or known() is not counter:
                    self._append(term, counter)
        return len(self._entries)

    def since(self, position: int, labels: Mapping[str, str]) -> Iterator[tuple[Term, Counter]]:
        """The terms from that entry on that some pod still carries, but not those that can not mean such labels."""
        for label in (None, *labels.items()):
            numbers = self._by_label.get(label, ())
            for number in numbers[bisect_left(numbers, position) :]:
                term, reference = self._entries[number]
                counter = reference()
                if counter is not None and counter.is_carried:
                    yield term, counter

    def _append(self, term: Term, counter: Counter) -> None:
        self._known[term] = reference = weakref.ref(counter)
        wanted: tuple[tuple[str, str] | None, ...] = (None,)
        for requirement in term.selector.requirements:
            if requirement.operator == "In":  # a pod has at most one of these labels, so it finds the term once
                wanted = tuple((requirement.key, value) for value in requirement.values)
                break
        for label in wanted:
            self._by_label.setdefault(label, []).append(len(self._entries))
        self._entries.append((term, reference))
