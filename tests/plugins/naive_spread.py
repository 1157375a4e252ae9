"""PodTopologySpread as a loop over nodes and pods: slow, plain, and what the plugin has to agree with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairway.model import (
    Node,
    Pod,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    TopologySpreadConstraint,
)
from fairway.model.selector import (
    Requirement,
    Selector,
    compile_node_selector,
    compile_selector,
    selector_from_labels,
)
from fairway.model.toleration import find_untolerated_taint
from tests.plugins.topology_world import HOST, Verdicts, World

UNEVEN = ("node(s) didn't match pod topology spread constraints", "Unschedulable")
UNLABELLED = (
    "node(s) didn't match pod topology spread constraints (missing required label)",
    "UnschedulableAndUnresolvable",
)
Supposed = Sequence[tuple[Pod, str, int]]
"""Pods imagined on (1) or away from (-1) a node."""


class Rule(NamedTuple):
    """A constraint and the pods it means."""

    constraint: TopologySpreadConstraint
    selector: Selector

    @property
    def key(self) -> str:
        return self.constraint.topology_key


def rules(world: World, pod: Pod, when: str, defaults: Sequence[TopologySpreadConstraint]) -> list[Rule]:
    own = pod.spec.topology_spread_constraints
    if own:
        return [Rule(each, _selector(each, pod)) for each in own if each.when_unsatisfiable == when]
    selector = owners_selector(world, pod)
    if selector.is_everything:
        return []
    return [Rule(each, selector) for each in defaults if each.when_unsatisfiable == when]


def _selector(constraint: TopologySpreadConstraint, pod: Pod) -> Selector:
    selector = compile_selector(constraint.label_selector)
    if selector.is_nothing:
        return selector
    labels = pod.metadata.labels
    pinned = selector_from_labels({key: labels[key] for key in constraint.match_label_keys if key in labels})
    return Selector(pinned.requirements + selector.requirements)


def owners_selector(world: World, pod: Pod) -> Selector:
    """Services that match the pod, then its controller, each adding what it selects."""
    owner = pod.metadata.controller
    labels: dict[str, str] = {}
    further: list[Requirement] = []
    for item in sorted(world.workloads.values(), key=lambda each: each.kind != "Service"):
        if item.metadata.namespace != pod.metadata.namespace:
            continue
        owns = owner is not None and (owner.kind, owner.name, owner.api_version) == (
            item.kind,
            item.metadata.name,
            item.api_version,
        )
        match item:
            case Service():
                if item.spec.selector and selector_from_labels(item.spec.selector).matches(pod.metadata.labels):
                    labels.update(item.spec.selector)
            case ReplicationController() if owns:
                labels.update(item.spec.selector)
            case ReplicaSet() | StatefulSet() if owns:
                further += compile_selector(item.spec.selector).requirements
    return Selector((*selector_from_labels(labels).requirements, *further))


def _counts_there(rule: Rule, pod: Pod, node: Node) -> bool:
    """The node inclusion policies."""
    if rule.constraint.node_affinity_policy != "Ignore":
        if any(node.metadata.labels.get(key) != value for key, value in pod.spec.node_selector.items()):
            return False
        affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
        required = affinity.required if affinity else None
        if required is not None and not compile_node_selector(required).matches(node.metadata.labels, node.name):
            return False
    if rule.constraint.node_taints_policy == "Honor":
        effects = ("NoSchedule", "NoExecute")
        return find_untolerated_taint(pod.spec.tolerations, node.spec.taints, effects) is None
    return True


def _matching(world: World, rule: Rule, pod: Pod, node: Node) -> int:
    if rule.selector.is_everything:
        return 0
    return sum(
        other.metadata.namespace == pod.metadata.namespace
        and not other.is_terminating
        and rule.selector.matches(other.metadata.labels)
        for other in world.on(node.name)
    )


def naive_verdicts(
    world: World, pod: Pod, defaults: Sequence[TopologySpreadConstraint], supposed: Supposed = ()
) -> Verdicts | None:
    hard = rules(world, pod, "DoNotSchedule", defaults)
    if not hard:
        return None
    counted: list[dict[str, int]] = []
    for rule in hard:
        counts: dict[str, int] = {}
        for node in world.nodes.values():
            labels = node.metadata.labels
            if all(other.key in labels for other in hard) and _counts_there(rule, pod, node):
                counts[labels[rule.key]] = counts.get(labels[rule.key], 0) + _matching(world, rule, pod, node)
                for other, place, delta in supposed:
                    if place == node.name and other.metadata.namespace == pod.metadata.namespace:
                        counts[labels[rule.key]] += delta * rule.selector.matches(other.metadata.labels)
        counted.append(counts)
    return {name: _verdict(node, pod, hard, counted) for name, node in world.nodes.items()}


def _verdict(node: Node, pod: Pod, hard: list[Rule], counted: list[dict[str, int]]) -> tuple[str, str] | None:
    for rule, counts in zip(hard, counted, strict=True):
        if rule.key not in node.metadata.labels:
            return UNLABELLED
        fewest = min(counts.values(), default=2**31 - 1)
        if len(counts) < (1 if rule.constraint.min_domains is None else rule.constraint.min_domains):
            fewest = 0
        there = counts.get(node.metadata.labels[rule.key], 0) + rule.selector.matches(pod.metadata.labels)
        if there - fewest > rule.constraint.max_skew:
            return UNEVEN
    return None


def naive_scores(
    world: World, pod: Pod, defaults: Sequence[TopologySpreadConstraint], is_system: bool, feasible: Sequence[str]
) -> dict[str, int] | None:
    soft = rules(world, pod, "ScheduleAnyway", defaults)
    if not soft:
        return None
    needs_all = bool(pod.spec.topology_spread_constraints) or not is_system

    def has_all(node: Node) -> bool:
        return not needs_all or all(rule.key in node.metadata.labels for rule in soft)

    judged = [name for name in feasible if has_all(world.nodes[name])]
    raw = dict.fromkeys(judged, 0.0)
    for rule in soft:
        shown = {world.nodes[name].metadata.labels.get(rule.key, "") for name in judged}
        weight = math.log((len(judged) if rule.key == HOST else len(shown)) + 2)
        counts = dict.fromkeys(shown, 0)
        for node in world.nodes.values():
            value = node.metadata.labels.get(rule.key, "")
            if value in counts and has_all(node) and _counts_there(rule, pod, node):
                counts[value] += _matching(world, rule, pod, node)
        for name in judged:
            node = world.nodes[name]
            if rule.key in node.metadata.labels:
                count = (
                    _matching(world, rule, pod, node) if rule.key == HOST else counts[node.metadata.labels[rule.key]]
                )
                raw[name] += count * weight + float(rule.constraint.max_skew - 1)
    rounded = {name: math.floor(score + 0.5) for name, score in raw.items()}
    highest, lowest = max(rounded.values(), default=0), min(rounded.values(), default=0)
    return {
        name: 0 if name not in rounded else 100 * (highest + lowest - rounded[name]) // highest if highest else 100
        for name in feasible
    }
