"""Affinity terms of pods, compiled.

In: a pod's `spec.affinity`. Out: its `Term`s per kind, hashable, so that a counter can be kept per distinct term.
A term says which pods are meant (labels, namespaces, labels of namespaces) and within which topology.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from fairway.model import Affinity, Pod, PodAffinityTerm
from fairway.model.selector import Selector, compile_selector

Kind = Literal["affinity_required", "affinity_preferred", "anti_required", "anti_preferred"]
KINDS: tuple[Kind, ...] = ("affinity_required", "affinity_preferred", "anti_required", "anti_preferred")


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


def pod_terms(pod: Pod) -> dict[Kind, tuple[Term, ...]]:
    """The pod's terms by kind; kinds it has none of are left out."""
    return {} if pod.spec.affinity is None else affinity_terms(pod.spec.affinity, pod.metadata.namespace)


def affinity_terms(affinity: Affinity, own: str) -> dict[Kind, tuple[Term, ...]]:
    """The same for a pod of that namespace."""
    terms: dict[Kind, tuple[Term, ...]] = {}
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    if near is not None and near.required:
        terms["affinity_required"] = tuple(_term(term, own, 0) for term in near.required)
    if near is not None and near.preferred:
        terms["affinity_preferred"] = tuple(_term(each.pod_affinity_term, own, each.weight) for each in near.preferred)
    if far is not None and far.required:
        terms["anti_required"] = tuple(_term(term, own, 0) for term in far.required)
    if far is not None and far.preferred:
        terms["anti_preferred"] = tuple(_term(each.pod_affinity_term, own, each.weight) for each in far.preferred)
    return terms


def _term(term: PodAffinityTerm, own_namespace: str, weight: int) -> Term:
    namespaces = frozenset(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = frozenset((own_namespace,))
    among = None if term.namespace_selector is None else compile_selector(term.namespace_selector)
    return Term(term.topology_key, namespaces, among, compile_selector(term.label_selector), weight)
