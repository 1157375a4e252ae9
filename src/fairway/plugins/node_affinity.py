"""NodeAffinity: nodeSelector and node affinity, and the affinity an administrator adds to every pod of a profile.

Required terms refuse nodes; terms that name nodes by metadata.name confine the pod to them before anything is filtered.
Preferred terms add their weights as the score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.node_selection import (
    has_required_node_affinity,
    matcher_mask,
    required_node_affinity_mask,
    term_mask,
)
from fairway.cluster.selector_index import SelectorIndex
from fairway.model import Node, NodeSelector, Pod, PreferredSchedulingTerm
from fairway.model.selector import NodeMatcher, NodeTermMatcher, compile_node_selector, compile_node_term
from fairway.model.term_problems import preferred_terms_problem
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    Change,
    Cluster,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PodClass,
    Refusal,
    Refused,
    Relaxation,
    Resource,
    Restriction,
    Skip,
)
from fairway.plugins.compiled_parts import CompiledParts
from fairway.plugins.node_affinity_args import NodeAffinityArgs
from fairway.plugins.node_choices import first_unmet, wider_choices

NOT_MATCHED = Refusal(("node(s) didn't match Pod's node affinity/selector",), Code.UNRESOLVABLE)
NOT_ENFORCED = Refusal(("node(s) didn't match scheduler-enforced node affinity",), Code.UNRESOLVABLE)
CONFLICT = Refusal(("pod affinity terms conflict",), Code.UNRESOLVABLE)


class Preferences(NamedTuple):
    """Preferred terms: the profile's, then the pod's."""

    terms: tuple[PreferredSchedulingTerm, ...]


class NodeAffinity(Plugin):
    """Matches nodes by label and name."""

    annotations = ()
    Args = NodeAffinityArgs
    args: NodeAffinityArgs
    reads = Aspect.NODE
    normalize = "default"

    def __init__(self, cluster: Cluster, args: NodeAffinityArgs | None = None) -> None:
        super().__init__(cluster, args)
        added = self.args.added_affinity
        required = added.required if added is not None else None
        self._enforced: NodeMatcher | None = None if required is None else compile_node_selector(required)
        self._preferred = added.preferred if added is not None else ()
        self._terms = CompiledParts(_terms_by_label)  # of pods that wait

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Refusal | Restriction | Skip | None:
        """Skip pods that do not care; confine those whose every term names nodes."""
        if not has_required_node_affinity(pod.spec) and self._enforced is None:
            return SKIP
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
        if affinity is None or affinity.required is None:
            return None
        names = _named_nodes(affinity.required)
        if names is None:
            return None
        return Restriction(names) if names else CONFLICT

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """Nodes that match what the pod requires and what the profile enforces."""
        mask = required_node_affinity_mask(nodes.cluster, pod.spec, nodes.rows)
        if self._enforced is not None:
            mask &= matcher_mask(nodes.cluster, self._enforced, nodes.rows)
        return mask

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal | Sequence[Refusal]:
        """What the profile enforces is looked at first."""
        if self._enforced is None:
            return NOT_MATCHED
        enforced = matcher_mask(nodes.cluster, self._enforced, nodes.rows)
        return [NOT_MATCHED if met else NOT_ENFORCED for met in enforced.tolist()]

    def funnel_words(self, pod: PodClass, nodes: Nodes, state: Any) -> Sequence[str]:
        """The first wish that a node does not meet."""
        return [first_unmet(pod.spec, node) for node in nodes.objects]

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Other values of the labels asked for, or no such wish at all."""
        return wider_choices(pod, [node for node in self.cluster.nodes.objects if node is not None])

    def pre_score(self, pod: PodClass, nodes: Nodes) -> Preferences | Refusal | Skip:
        """The weighted terms, if there are any. Those of a pod may be such that nobody can read them."""
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
        own = affinity.preferred if affinity is not None else ()
        if problem := preferred_terms_problem(own):
            return Refusal((problem,), Code.ERROR)
        terms = (*self._preferred, *own)
        return Preferences(terms) if terms else SKIP

    def score(self, pod: PodClass, nodes: Nodes, state: Preferences) -> NDArray[np.int64]:
        """The sum of the weights of the terms that match."""
        total = np.zeros(len(nodes), np.int64)
        for each in state.terms:
            if each.weight:
                total += each.weight * term_mask(nodes.cluster, compile_node_term(each.preference), nodes.rows)
        return total

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its pre-filter it confines no pod, but reads what each pod wants all the same."""
        return Unconfined(self.cluster, self.args) if point == "filter" else self

    def events(self) -> Sequence[Hint]:
        """A node that matches now and did not before."""
        return (Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL), self._matches_now),)

    def _matches_now(self, pod: Pod, change: Change) -> bool:
        new = change.new
        if not isinstance(new, Node):
            return True
        if self._enforced is not None and not self._enforced.matches(new.metadata.labels, new.metadata.name):
            return False
        return self._matches(pod, new) and not (isinstance(change.old, Node) and self._matches(pod, change.old))

    def _matches(self, pod: Pod, node: Node) -> bool:
        """Does one node meet the pod's own requirements?"""
        labels = node.metadata.labels
        if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
            return False
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
        if affinity is None or affinity.required is None:
            return True
        terms = self._terms(affinity.required, None)
        return any(term.matches(labels, node.metadata.name) for found in terms.lists(labels) for term in found)


class Unconfined(NodeAffinity):
    """Takes part in filter alone, not in preFilter."""

    name = NodeAffinity.name

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> None:
        """Every node is looked at."""


def _terms_by_label(selector: NodeSelector, _: None) -> SelectorIndex[NodeTermMatcher]:
    """The terms one of which has to hold, by the labels that they need."""
    terms: SelectorIndex[NodeTermMatcher] = SelectorIndex()
    for term in compile_node_selector(selector).terms:
        terms.add(term.requirements, term)
    return terms


def _named_nodes(selector: NodeSelector) -> frozenset[str] | None:
    """The nodes named by the terms, if every term names some; None if any term does not."""
    found: frozenset[str] = frozenset()
    if not selector.node_selector_terms:
        return None
    for term in selector.node_selector_terms:
        named: frozenset[str] | None = None
        for field in term.match_fields:
            if field.key == "metadata.name" and field.operator == "In":
                values = frozenset(field.values)
                named = values if named is None else named & values
        if named is None:
            return None
        found |= named
    return found
