"""What a pod could ask of nodes instead: other values of the labels it asks for, or no such wish at all.

In: a pod with a nodeSelector or node affinity, and the nodes there are. Out: `Relaxation`s. Called by NodeAffinity.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from fairway.model import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodSpec,
    compile_node_selector,
)
from fairway.plugin import Relaxation, with_spec

__all__ = ["first_unmet", "wider_choices"]

MAX_VALUES = 3
"""So many other values of a label are proposed, those that most nodes have."""


def wider_choices(pod: Pod, nodes: Sequence[Node]) -> Iterator[Relaxation]:
    """Other values of the labels asked for, or no such wish at all."""
    spec = pod.spec
    for key, value in spec.node_selector.items():
        others = {name: text for name, text in spec.node_selector.items() if name != key}
        free = with_spec(pod, node_selector=others)
        for other in _other_values(nodes, key, (value,)):
            wish = NodeSelectorRequirement(key=key, operator="In", values=(value, other))
            yield Relaxation(f"{key}={other} as well", _with_wish(free, wish))
        yield Relaxation(f"without nodeSelector {key}={value}", free)
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if required is None:
        return
    terms = required.node_selector_terms
    for number, term in enumerate(terms):
        for place, wish in enumerate(term.match_expressions):
            before, after = term.match_expressions[:place], term.match_expressions[place + 1 :]
            others_values = _other_values(nodes, wish.key, wish.values) if wish.operator == "In" else []
            for other in others_values:
                wider = msgspec.structs.replace(wish, values=(*wish.values, other))
                changed = msgspec.structs.replace(term, match_expressions=(*before, wider, *after))
                yield Relaxation(f"{wish.key}={other} as well", _with_terms(pod, terms, number, changed))
            if before or after or term.match_fields:
                changed = msgspec.structs.replace(term, match_expressions=(*before, *after))
                yield Relaxation(f"without affinity to {_text(wish)}", _with_terms(pod, terms, number, changed))
    words = " or ".join(_term_text(term) for term in terms)
    yield Relaxation(f"without node affinity ({words})", _with_required(pod, None))


def _other_values(nodes: Sequence[Node], key: str, values: Sequence[str]) -> list[str]:
    counts = Counter(node.metadata.labels[key] for node in nodes if key in node.metadata.labels)
    return [value for value, _ in counts.most_common() if value not in values][:MAX_VALUES]


def _with_wish(pod: Pod, wish: NodeSelectorRequirement) -> Pod:
    """One requirement more, in each of the terms there are."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else (NodeSelectorTerm(),)
    more = tuple(msgspec.structs.replace(term, match_expressions=(*term.match_expressions, wish)) for term in terms)
    return _with_required(pod, NodeSelector(node_selector_terms=more))


def _with_terms(pod: Pod, terms: Sequence[NodeSelectorTerm], number: int, changed: NodeSelectorTerm) -> Pod:
    return _with_required(pod, NodeSelector(node_selector_terms=(*terms[:number], changed, *terms[number + 1 :])))


def _with_required(pod: Pod, required: NodeSelector | None) -> Pod:
    affinity = pod.spec.affinity or Affinity()
    wishes = msgspec.structs.replace(
        affinity.node_affinity or NodeAffinity(), required_during_scheduling_ignored_during_execution=required
    )
    return with_spec(pod, affinity=msgspec.structs.replace(affinity, node_affinity=wishes))


def _text(wish: NodeSelectorRequirement) -> str:
    term = NodeSelectorTerm(match_expressions=(wish,))
    return _term_text(term)


def _term_text(term: NodeSelectorTerm) -> str:
    compiled = compile_node_selector(NodeSelector(node_selector_terms=(term,))).terms
    return " and ".join(str(wish) for one in compiled for wish in (*one.requirements, *one.fields))


def first_unmet(spec: PodSpec, node: Node) -> str:
    """The first wish of the pod about nodes that this node does not meet."""
    labels = node.metadata.labels
    for key, value in spec.node_selector.items():
        if labels.get(key) != value:
            return f"not {key}={value}"
    affinity = spec.affinity.node_affinity if spec.affinity else None
    terms = compile_node_selector(affinity.required).terms if affinity and affinity.required else ()
    if len(terms) == 1:
        for wish in (*terms[0].requirements, *terms[0].fields):
            if not wish.matches(labels | {"metadata.name": node.metadata.name}):
                return f"not {wish}"
    if terms:
        return f"in none of the {len(terms)} node affinity terms"
    return "not as the profile's added affinity wants"
