"""InterPodAffinity as a loop over nodes and pods: slow, plain, and what the plugin has to agree with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fairway.model import Node, Pod, PodAffinityTerm
from fairway.model.selector import compile_selector
from tests.plugins.topology_world import Verdicts, World

NOT_NEAR = ("node(s) didn't match pod affinity rules", "UnschedulableAndUnresolvable")
NOT_APART = ("node(s) didn't match pod anti-affinity rules", "Unschedulable")
SHUNNED = ("node(s) didn't satisfy existing pods anti-affinity rules", "Unschedulable")
Placement = list[tuple[Pod, Node]]


def means(term: PodAffinityTerm, owner: Pod, other: Pod, namespace_labels: Mapping[str, str]) -> bool:
    """Does a term of `owner` mean `other`, whose namespace has these labels?"""
    namespaces = set(term.namespaces)
    if not namespaces and term.namespace_selector is None:
        namespaces = {owner.metadata.namespace}
    among = compile_selector(term.namespace_selector)
    if other.metadata.namespace not in namespaces and not among.matches(namespace_labels):
        return False
    return compile_selector(term.label_selector).matches(other.metadata.labels)


def incoming_means(world: World, term: PodAffinityTerm, incoming: Pod, other: Pod) -> bool:
    """The incoming pod's selector of namespaces is looked up first, then also applied to no labels at all."""
    found = world.namespaces.get(other.metadata.namespace)
    return (found is not None and means(term, incoming, other, found.metadata.labels)) or means(
        term, incoming, other, {}
    )


def existing_means(world: World, term: PodAffinityTerm, existing: Pod, incoming: Pod) -> bool:
    found = world.namespaces.get(incoming.metadata.namespace)
    return means(term, existing, incoming, found.metadata.labels if found else {})


def required(pod: Pod, side: str) -> tuple[PodAffinityTerm, ...]:
    found = getattr(pod.spec.affinity, side) if pod.spec.affinity else None
    return found.required if found else ()


def preferred(pod: Pod, side: str) -> list[tuple[PodAffinityTerm, int]]:
    found = getattr(pod.spec.affinity, side) if pod.spec.affinity else None
    return [(each.pod_affinity_term, each.weight) for each in found.preferred] if found else []


def placement(world: World, gone: Sequence[Pod] = (), come: Sequence[tuple[Pod, str]] = ()) -> Placement:
    stay = [
        (each, world.nodes[each.spec.node_name])
        for each in world.pods.values()
        if each.spec.node_name in world.nodes and each not in gone
    ]
    return [*stay, *((each, world.nodes[name]) for each, name in come)]


def naive_verdicts(world: World, incoming: Pod, placed: Placement | None = None) -> Verdicts | None:
    """None where the plugin skips, which is decided by what runs now, whatever `placed` supposes."""
    near, apart = required(incoming, "pod_affinity"), required(incoming, "pod_anti_affinity")
    if not near and not apart and not _shunning(world, incoming, placement(world)):
        return None
    placed = placement(world) if placed is None else placed
    attracting: Counter[tuple[str, str]] = Counter()
    repelling: Counter[tuple[str, str]] = Counter()
    for other, node in placed:
        labels = node.metadata.labels
        if near and all(incoming_means(world, term, incoming, other) for term in near):
            attracting.update((t.topology_key, labels[t.topology_key]) for t in near if t.topology_key in labels)
        for term in apart:
            if incoming_means(world, term, incoming, other) and term.topology_key in labels:
                repelling[term.topology_key, labels[term.topology_key]] += 1
    shunning = _shunning(world, incoming, placed)
    is_first = not attracting and all(incoming_means(world, term, incoming, incoming) for term in near)
    result: Verdicts = {}
    for name, node in world.nodes.items():
        labels = node.metadata.labels
        pairs = [(term.topology_key, labels.get(term.topology_key)) for term in near]
        if any(value is None for _, value in pairs) or not (is_first or all(attracting[pair] for pair in pairs)):  # type: ignore[index]
            result[name] = NOT_NEAR
        elif any(repelling[pair] for pair in labels.items()):
            result[name] = NOT_APART
        else:
            result[name] = SHUNNED if any(shunning[pair] for pair in labels.items()) else None
    return result


def _shunning(world: World, incoming: Pod, placed: Placement) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for other, node in placed:
        for term in required(other, "pod_anti_affinity"):
            if term.topology_key in node.metadata.labels and existing_means(world, term, other, incoming):
                found[term.topology_key, node.metadata.labels[term.topology_key]] += 1
    return found


def naive_scores(
    world: World, incoming: Pod, feasible: Sequence[str], hard_weight: int, ignores_others: bool
) -> dict[str, int] | None:
    own = [(term, weight) for term, weight in preferred(incoming, "pod_affinity")]
    own += [(term, -weight) for term, weight in preferred(incoming, "pod_anti_affinity")]
    if ignores_others and not own:
        return None
    worth: dict[tuple[str, str], int] = {}

    def add(term: PodAffinityTerm, node: Node, weight: int) -> None:
        if term.topology_key in node.metadata.labels:
            pair = (term.topology_key, node.metadata.labels[term.topology_key])
            worth[pair] = worth.get(pair, 0) + weight

    for other, node in placement(world):
        theirs = [(term, weight) for term, weight in preferred(other, "pod_affinity")]
        theirs += [(term, -weight) for term, weight in preferred(other, "pod_anti_affinity")]
        theirs += [(term, hard_weight) for term in required(other, "pod_affinity") if hard_weight]
        for term, weight in own:
            if incoming_means(world, term, incoming, other):
                add(term, node, weight)
        for term, weight in theirs:
            if existing_means(world, term, other, incoming):
                add(term, node, weight)
    if not worth:
        return None
    raw = {name: sum(worth.get(pair, 0) for pair in world.nodes[name].metadata.labels.items()) for name in feasible}
    lowest, highest = min(raw.values()), max(raw.values())
    return {
        name: int(100.0 * ((score - lowest) / (highest - lowest))) if highest > lowest else 0
        for name, score in raw.items()
    }
