"""The array filters against plain loops over nodes and pods, written here from kube-scheduler's documentation.

Nothing below uses Fairway's own code for selectors, tolerations, ports or requests.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Nodes
from fairway.model import Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, Taint
from fairway.plugin import SKIP, Code, Plugin, Refusal, Restriction
from fairway.plugins.registry import REGISTRY
from fairway.testing.population import random_pod
from fairway.testing.situations import Dice
from fairway.testing.world import World

seeds = st.integers(0, 2**32 - 1)
Verdict = tuple[set[str], Code] | None
"""Why not, and whether preemption can help; None: the node fits."""


# -- one pod, one node, no arrays --------------------------------------------------------------------------------------


def tolerated(pod: Pod, taint: Taint) -> bool:
    for toleration in pod.spec.tolerations:
        keys = toleration.key in ("", taint.key)
        effects = toleration.effect in ("", taint.effect)
        values = toleration.operator == "Exists" or (
            toleration.operator in ("", "Equal") and toleration.value == taint.value
        )
        if keys and effects and values:
            return True
    return False


def unschedulable(pod: Pod, node: Node, others: list[Pod]) -> Verdict:
    cordon = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    if node.spec.unschedulable and not tolerated(pod, cordon):
        return {"node(s) were unschedulable"}, Code.UNRESOLVABLE
    return None


def node_name(pod: Pod, node: Node, others: list[Pod]) -> Verdict:
    if pod.spec.node_name and pod.spec.node_name != node.metadata.name:
        return {"node(s) didn't match the requested node name"}, Code.UNRESOLVABLE
    return None


def taints(pod: Pod, node: Node, others: list[Pod]) -> Verdict:
    for taint in node.spec.taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not tolerated(pod, taint):
            return {"node(s) had untolerated taint(s)"}, Code.UNRESOLVABLE
    return None


def meets(line: NodeSelectorRequirement, labels: dict[str, str]) -> bool:
    present = line.key in labels
    match line.operator:
        case "In":
            return present and labels[line.key] in line.values
        case "NotIn":
            return not present or labels[line.key] not in line.values
        case "Exists":
            return present
        case "DoesNotExist":
            return not present
    if not present or not labels[line.key].isdigit():
        return False
    number, bound = int(labels[line.key]), int(line.values[0])
    return number > bound if line.operator == "Gt" else number < bound


def matches(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(meets(line, node.metadata.labels) for line in term.match_expressions) and all(
        meets(line, {"metadata.name": node.metadata.name}) for line in term.match_fields
    )


def affinity(pod: Pod, node: Node, others: list[Pod]) -> Verdict:
    refused = {"node(s) didn't match Pod's node affinity/selector"}, Code.UNRESOLVABLE
    if any(node.metadata.labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return refused
    if pod.spec.affinity is None or pod.spec.affinity.node_affinity is None:
        return None
    required = pod.spec.affinity.node_affinity.required_during_scheduling_ignored_during_execution
    if required is not None and not any(matches(term, node) for term in required.node_selector_terms):
        return refused
    return None


def listening(pod: Pod) -> list[tuple[str, str, int]]:
    return [
        (port.host_ip or "0.0.0.0", port.protocol, port.host_port)
        for container in pod.spec.containers
        for port in container.ports
        if port.host_port
    ]


def ports(pod: Pod, node: Node, others: list[Pod]) -> Verdict:
    for ip, protocol, number in listening(pod):
        for other in others:
            for other_ip, other_protocol, other_number in listening(other):
                same = (protocol, number) == (other_protocol, other_number)
                if same and (ip == other_ip or "0.0.0.0" in (ip, other_ip)):
                    return {"node(s) didn't have free ports for the requested pod ports"}, Code.UNSCHEDULABLE
    return None


def asked(pod: Pod) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in pod.spec.containers:
        for name, quantity in container.resources.requests.items():
            total[name] = total.get(name, 0) + (quantity.milli if name == "cpu" else quantity.value)
    return total


def resources(pod: Pod, node: Node, others: list[Pod]) -> Verdict:
    has = {
        name: quantity.milli if name == "cpu" else quantity.value for name, quantity in node.status.allocatable.items()
    }
    reasons, hopeless = set(), False
    if len(others) + 1 > has.get("pods", 0):
        reasons.add("Too many pods")
    for name, amount in asked(pod).items():
        taken = sum(asked(other).get(name, 0) for other in others)
        if amount and amount > has.get(name, 0) - taken:
            reasons.add(f"Insufficient {name}")
            hopeless |= amount > has.get(name, 0)
    if not reasons:
        return None
    return reasons, Code.UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE


NAIVE = {
    "NodeUnschedulable": unschedulable,
    "NodeName": node_name,
    "TaintToleration": taints,
    "NodeAffinity": affinity,
    "NodePorts": ports,
    "NodeResourcesFit": resources,
}


# -- the same, asked of the plugins ------------------------------------------------------------------------------------


def changed_world(seed: int) -> tuple[World, Dice, list[Pod]]:
    dice = Dice(np.random.default_rng(seed))
    world = World(dice)
    world.populate(num_nodes=dice.pick((1, 4, 7)), num_pods=dice.pick((2, 8, 14)))
    return world, dice, [random_pod(dice, f"judged-{number}") for number in range(4)]


def verdicts(plugin: Plugin, pod: Pod, alone: bool) -> dict[str, Verdict]:
    """What the plugin says of each node, asked about all of them at once or about each alone."""
    cluster = plugin.cluster
    pod_class = cluster.classify(pod)
    names = sorted(cluster.nodes.row_of)
    state = plugin.pre_filter(pod_class, Nodes(cluster))
    if state is SKIP:
        return dict.fromkeys(names)
    if isinstance(state, Refusal):
        return dict.fromkeys(names, (set(state.reasons), state.code))
    confined = state.names if isinstance(state, Restriction) else None
    state = state.state if isinstance(state, Restriction) else state
    everywhere = plugin.filter(pod_class, Nodes(cluster), state)
    found: dict[str, Verdict] = {}
    for name in names:
        row = cluster.nodes.row_of[name]
        here = Nodes(cluster, np.array([row], np.intp))
        fits = bool(plugin.filter(pod_class, here, state)[0]) if alone else bool(everywhere[row])
        found[name] = None
        if not fits or (confined is not None and name not in confined):
            words = plugin.explain(pod_class, here, state)
            refusal = words if isinstance(words, Refusal) else words[0]
            found[name] = set(refusal.reasons), refusal.code
    return found


@pytest.mark.parametrize("name", NAIVE)
@settings(max_examples=60)
@given(seeds)
def test_array_filter_equals_the_naive_loop(name: str, seed: int) -> None:
    world, dice, pods = changed_world(seed)
    cluster = world.load()
    plugin = REGISTRY[name].factory(cluster, None)
    for _ in range(3):
        for pod in pods:
            expected = {
                node.metadata.name: NAIVE[name](
                    pod, node, [other for other in world.pods() if other.spec.node_name == node.metadata.name]
                )
                for node in world.nodes()
            }
            assert verdicts(plugin, pod, alone=False) == expected
        for _ in range(dice.pick((1, 4))):
            cluster.apply(world.event())


FILTERS = sorted(name for name, entry in REGISTRY.items() if "filter" in entry.points)


@pytest.mark.parametrize("name", FILTERS)
@settings(max_examples=25)
@given(seeds)
def test_asking_about_all_nodes_is_asking_about_each(name: str, seed: int) -> None:
    world, dice, pods = changed_world(seed)
    cluster = world.load()
    plugin = REGISTRY[name].factory(cluster, None)
    for _ in range(2):
        for pod in pods:
            assert verdicts(plugin, pod, alone=False) == verdicts(plugin, pod, alone=True)
        for _ in range(dice.pick((1, 4))):
            cluster.apply(world.event())
