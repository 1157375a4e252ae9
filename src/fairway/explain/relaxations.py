"""What a pod could ask for less of: each of its demands, relaxed.

In: a pod that fits nowhere, and the diagnosis of its attempt. Out: `Relaxation`s: words for what would change, and
the pod with that change. Whether it helps is not known here; `fixes` runs the cycle again with each of them. Only
what refused any node is relaxed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from fairway.cluster import Cluster, PodClass
from fairway.cycle import Diagnosis
from fairway.explain.funnel import SHORT, refused_rows
from fairway.explain.smaller_requests import with_less
from fairway.model import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    PodAffinity,
    PodSpec,
    Taint,
    Toleration,
    compile_node_selector,
    compile_selector,
    find_untolerated_taint,
)
from fairway.words import amount_text

__all__ = ["Relaxation", "relaxations"]

CORDON = Toleration(key="node.kubernetes.io/unschedulable", operator="Exists", effect="NoSchedule")
MAX_VALUES = 3
"""So many other values of a label are proposed, those that most nodes have."""


class Relaxation(NamedTuple):
    """A demand given up, in the user's words, and the pod without it."""

    words: str
    pod: Pod
    binds_siblings: bool = False  # a demand that pods of the same controller make of each other


def relaxations(pod: Pod, pod_class: PodClass, cluster: Cluster, diagnosis: Diagnosis) -> Iterator[Relaxation]:
    """Everything worth trying, given who refused which nodes."""
    refused = refused_rows(diagnosis)
    blamed = set(refused) | set(diagnosis.restricted_by)
    if diagnosis.pre_filter is not None:
        blamed.add(diagnosis.pre_filter[0])
    nodes = [node for node in cluster.nodes.objects if node is not None]
    if "NodeUnschedulable" in blamed:
        yield _uncordoned(pod, nodes)
    if "TaintToleration" in blamed:
        rows = [int(row) for _, some in refused["TaintToleration"] for row in some]
        yield from _tolerant(pod, [cluster.nodes.objects[row] or Node() for row in rows])
    if "NodeAffinity" in blamed:
        yield from _less_choosy(pod, nodes)
    if "NodeResourcesFit" in blamed:
        yield from _smaller(pod, pod_class, cluster, refused.get("NodeResourcesFit", []))
    if "PodTopologySpread" in blamed:
        yield from _less_even(pod)
    if "InterPodAffinity" in blamed:
        yield from _less_social(pod)
    if "NodePorts" in blamed:
        yield from _without_host_ports(pod)
    if blamed & {"VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"}:
        yield from _without_volumes(pod)


def _changed(pod: Pod, **changes: Any) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **changes))


def _uncordoned(pod: Pod, nodes: Sequence[Node]) -> Relaxation:
    """To tolerate the cordon is to the pod what uncordoning would be."""
    cordoned = [node.metadata.name for node in nodes if node.spec.unschedulable]
    words = f"uncordon {cordoned[0]}" if len(cordoned) == 1 else f"uncordon the {len(cordoned)} cordoned nodes"
    return Relaxation(words, _changed(pod, tolerations=(*pod.spec.tolerations, CORDON)))


def _tolerant(pod: Pod, nodes: Sequence[Node]) -> Iterator[Relaxation]:
    tolerations = pod.spec.tolerations
    taints: Counter[Taint] = Counter()
    for node in nodes:
        taint = find_untolerated_taint(tolerations, node.spec.taints, ("NoSchedule", "NoExecute"))
        if taint is not None:
            taints[Taint(key=taint.key, value=taint.value, effect=taint.effect)] += 1
    for taint, _ in taints.most_common():
        operator = "Equal" if taint.value else "Exists"
        bearing = Toleration(key=taint.key, operator=operator, value=taint.value, effect=taint.effect)
        text = f"{taint.key}={taint.value}" if taint.value else taint.key
        yield Relaxation(f"tolerate {text}:{taint.effect}", _changed(pod, tolerations=(*tolerations, bearing)))


def _less_choosy(pod: Pod, nodes: Sequence[Node]) -> Iterator[Relaxation]:
    """Other values of the labels asked for, or no such wish at all."""
    spec = pod.spec
    for key, value in spec.node_selector.items():
        others = {name: text for name, text in spec.node_selector.items() if name != key}
        free = _changed(pod, node_selector=others)
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
    return _changed(pod, affinity=msgspec.structs.replace(affinity, node_affinity=wishes))


def _text(wish: NodeSelectorRequirement) -> str:
    term = NodeSelectorTerm(match_expressions=(wish,))
    return _term_text(term)


def _term_text(term: NodeSelectorTerm) -> str:
    compiled = compile_node_selector(NodeSelector(node_selector_terms=(term,))).terms
    return " and ".join(str(wish) for one in compiled for wish in (*one.requirements, *one.fields))


def _smaller(
    pod: Pod, pod_class: PodClass, cluster: Cluster, refusals: Sequence[tuple[Any, Any]]
) -> Iterator[Relaxation]:
    """As much as the node with the most left has, of what is short; nodes short of the same things together."""
    nodes = cluster.nodes
    best: dict[tuple[str, ...], dict[str, int]] = {}
    for refusal, rows in refusals:
        short = tuple(sorted(reason.removeprefix(SHORT) for reason in refusal.reasons if reason.startswith(SHORT)))
        if len(short) != len(refusal.reasons):
            continue  # too many pods: a smaller one is still one too many
        columns = [nodes.resource_column(name) for name in short]
        free = nodes.allocatable[rows][:, columns] - nodes.requested[rows][:, columns]
        free = free[(free > 0).all(axis=1)]
        if len(free):
            needed = [pod_class.requests[name] for name in short]
            most = free[(free / needed).min(axis=1).argmax()]
            best[short] = dict(zip(short, map(int, most), strict=True))
    for amounts in best.values():
        smaller = with_less(pod, amounts)
        if smaller is not None:
            changed, actual = smaller
            words = " and ".join(
                f"{amount_text(name, actual[name])} {name} instead of {amount_text(name, pod_class.requests[name])}"
                for name in amounts
            )
            yield Relaxation(f"ask for {words}", changed)


def _less_even(pod: Pod) -> Iterator[Relaxation]:
    constraints = pod.spec.topology_spread_constraints
    for place, one in enumerate(constraints):
        if one.when_unsatisfiable != "DoNotSchedule":
            continue
        for words, changes in (
            (f"maxSkew {one.max_skew} → {one.max_skew + 1} over {one.topology_key}", {"max_skew": one.max_skew + 1}),
            (
                f"spread over {one.topology_key} as a wish (ScheduleAnyway)",
                {"when_unsatisfiable": "ScheduleAnyway", "min_domains": None},
            ),
        ):
            changed = msgspec.structs.replace(one, **changes)
            yield Relaxation(
                words,
                _changed(pod, topology_spread_constraints=(*constraints[:place], changed, *constraints[place + 1 :])),
            )


def _less_social(pod: Pod) -> Iterator[Relaxation]:
    affinity = pod.spec.affinity
    if affinity is None:
        return
    for field, word in (("pod_affinity", "affinity"), ("pod_anti_affinity", "anti-affinity")):
        terms: PodAffinity | None = getattr(affinity, field)
        if terms is None:
            continue
        for place, term in enumerate(terms.required):
            rest = (*terms.required[:place], *terms.required[place + 1 :])
            fewer = msgspec.structs.replace(terms, required_during_scheduling_ignored_during_execution=rest)
            words = f"without {word} to {compile_selector(term.label_selector)} over {term.topology_key}"
            changed = _changed(pod, affinity=msgspec.structs.replace(affinity, **{field: fewer}))
            yield Relaxation(words, changed, binds_siblings=True)


def _without_host_ports(pod: Pod) -> Iterator[Relaxation]:
    def freed(spec: PodSpec, wanted: int) -> dict[str, Any]:
        return {
            part: tuple(
                msgspec.structs.replace(one, ports=tuple(port for port in one.ports if port.host_port != wanted))
                for one in getattr(spec, part)
            )
            for part in ("containers", "init_containers")
        }

    spec = pod.spec
    used = {port.host_port for one in (*spec.containers, *spec.init_containers) for port in one.ports}
    for number in sorted(used - {0}):
        yield Relaxation(f"without host port {number}", _changed(pod, **freed(spec, number)))


def _without_volumes(pod: Pod) -> Iterator[Relaxation]:
    volumes = pod.spec.volumes
    for place, volume in enumerate(volumes):
        rest = (*volumes[:place], *volumes[place + 1 :])
        yield Relaxation(f"without volume {volume.name}", _changed(pod, volumes=rest))
