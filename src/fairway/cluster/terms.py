"""Affinity terms of pods, compiled.

In: a pod's `spec.affinity`. Out: its `Term`s per kind, hashable, so that a counter can be kept per distinct term.
A term says which pods are meant (labels, namespaces, labels of namespaces) and within which topology. Any user may send
a pod with fifteen thousand terms, of which nobody ever meets more than a few, and to compile them all would take a
quarter of a second and tens of megabytes: of `HUGE` numbers each is compiled when somebody looks at it (`ManyTerms`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Literal, NamedTuple, overload

from fairway.cluster.selector_index import NEED_A_LABEL, Label, SelectorIndex
from fairway.model import Affinity, Pod, PodAffinityTerm, WeightedPodAffinityTerm
from fairway.model.meta import LabelSelector
from fairway.model.names import are_label_keys, are_label_values
from fairway.model.selector import LABEL_OPERATORS, Selector, check_requirement, compile_selector

Kind = Literal["affinity_required", "affinity_preferred", "anti_required", "anti_preferred"]
KINDS: tuple[Kind, ...] = ("affinity_required", "affinity_preferred", "anti_required", "anti_preferred")

HUGE = 256
"""From so many terms of a kind on they are compiled when they are looked at. Each such pod has an index of its own, in
which every new class of pods looks: they should be few, and to send many takes much."""


class Term(NamedTuple):
    """One (anti-)affinity term: the pods meant, and the topology."""

    topology_key: str
    namespaces: frozenset[str]
    namespace_selector: Selector | None  # None selects no namespaces beyond those named
    selector: Selector
    weight: int  # 0 for required terms

    def matches(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Is a pod with these labels, in this namespace with those labels, meant?"""
        if namespace not in self.namespaces and (
            self.namespace_selector is None or not self.namespace_selector.matches(namespace_labels)
        ):
            return False
        return self.selector.matches(labels)


class TermPlace(NamedTuple):
    """Where terms count, and how much."""

    topology_key: str
    weight: int


class ManyTerms(Sequence[Term]):
    """The terms of one kind that one pod has. `ValueError` if a selector is invalid, as when they are compiled."""

    __slots__ = ("_index", "_known", "_own", "_terms", "_weights", "places")

    def __init__(self, terms: Sequence[PodAffinityTerm], weights: Sequence[int], own_namespace: str) -> None:
        self._terms = terms
        self._weights = weights
        self._own = own_namespace
        self._known: list[Term] = []  # the first ones, as far as somebody went through them
        self._index: SelectorIndex[int] = SelectorIndex()  # numbers of terms
        if not (self._enter_plain() or self._enter()):
            for number in range(len(terms)):
                self[number]  # the first that is wrong says what is wrong
        self.places = tuple(map(TermPlace._make, dict.fromkeys(zip(map(_topology_key, terms), weights, strict=True))))

    def __len__(self) -> int:
        return len(self._terms)

    @overload
    def __getitem__(self, number: int) -> Term: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[Term, ...]: ...
    def __getitem__(self, number: int | slice) -> Term | tuple[Term, ...]:
        """Terms, compiled."""
        if isinstance(number, slice):
            return tuple(self[each] for each in range(len(self))[number])
        return _term(self._terms[number], self._own, self._weights[number])

    def __iter__(self) -> Iterator[Term]:
        known = self._known
        for number in range(len(self)):
            if number == len(known):
                known.append(self[number])
            yield known[number]

    def that_may_mean(self, labels: Mapping[str, str]) -> Iterator[Term]:
        """All that mean a pod with these labels, and perhaps some more, in no order."""
        return (self[number] for numbers in self._index.lists(labels) for number in numbers)

    def _enter_plain(self) -> bool:
        """Fill the index where each term says a single label; done step by step for all terms, as that is quick."""
        selectors = list(map(_label_selector, self._terms))
        if not all(selectors) or any(map(_expressions, selectors)) or any(map(_namespace_selector, self._terms)):
            return False
        wanted = list(map(_labels, selectors))
        labels = list(chain.from_iterable(map(dict.items, wanted)))
        if not all(wanted) or len(labels) != len(wanted):
            return False
        keys, values = zip(*labels, strict=True)
        if not (are_label_keys(keys) and are_label_values(values)):
            return False
        self._index.add_each(labels, range(len(labels)))
        return True

    def _enter(self) -> bool:
        """Fill the index; says whether all selectors are as they should be. One that selects nothing is left out."""
        for number, term in enumerate(self._terms):
            if term.namespace_selector is not None:
                compile_selector(term.namespace_selector)
            selector = term.label_selector
            if selector is None:
                continue
            labels, lines = selector.match_labels, selector.match_expressions
            if labels and not (are_label_keys(tuple(labels)) and are_label_values(tuple(labels.values()))):
                return False
            if any(check_requirement(line.key, line.operator, line.values, LABEL_OPERATORS) for line in lines):
                return False
            self._index.add_labels(_needed(selector), number)
        return True


_topology_key, _label_selector, _namespace_selector, _labels, _expressions = map(
    attrgetter, ("topology_key", "label_selector", "namespace_selector", "match_labels", "match_expressions")
)


def _needed(selector: LabelSelector) -> list[tuple[Label, ...]]:
    """For each condition that no pod meets without a label, the labels one of which it needs."""
    needed: list[tuple[Label, ...]] = [(label,) for label in selector.match_labels.items()]
    for line in selector.match_expressions:
        if line.operator == "In":
            needed.append(tuple((line.key, value) for value in dict.fromkeys(line.values)))
        elif line.operator in NEED_A_LABEL:
            needed.append((line.key,))
    return needed


Terms = tuple[Term, ...] | ManyTerms
"""All terms of a kind that a pod has."""


def pod_terms(pod: Pod) -> dict[Kind, Terms]:
    """The pod's terms by kind; kinds it has none of are left out."""
    return {} if pod.spec.affinity is None else affinity_terms(pod.spec.affinity, pod.metadata.namespace)


def affinity_terms(affinity: Affinity, own: str) -> dict[Kind, Terms]:
    """The same for a pod of that namespace."""
    terms: dict[Kind, Terms] = {}
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    if near is not None and near.required:
        terms["affinity_required"] = _required(near.required, own)
    if near is not None and near.preferred:
        terms["affinity_preferred"] = _preferred(near.preferred, own)
    if far is not None and far.required:
        terms["anti_required"] = _required(far.required, own)
    if far is not None and far.preferred:
        terms["anti_preferred"] = _preferred(far.preferred, own)
    return terms


def _required(terms: tuple[PodAffinityTerm, ...], own: str) -> Terms:
    if len(terms) >= HUGE:
        return ManyTerms(terms, [0] * len(terms), own)
    return tuple(_term(term, own, 0) for term in terms)


def _preferred(terms: tuple[WeightedPodAffinityTerm, ...], own: str) -> Terms:
    if len(terms) >= HUGE:
        return ManyTerms([each.pod_affinity_term for each in terms], [each.weight for each in terms], own)
    return tuple(_term(each.pod_affinity_term, own, each.weight) for each in terms)


def _term(term: PodAffinityTerm, own_namespace: str, weight: int) -> Term:
    namespaces = frozenset(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset((own_namespace,))
    among = None if term.namespace_selector is None else compile_selector(term.namespace_selector)
    return Term(term.topology_key, namespaces, among, compile_selector(term.label_selector), weight)
