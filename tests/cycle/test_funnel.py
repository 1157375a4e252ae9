"""The funnel against brute force: each node asked alone, each plugin in its turn."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster
from fairway.config import default_configuration
from fairway.cycle import Outcome, Profile
from fairway.cycle.funnel import Step, funnel_document, funnel_lines, make_funnel
from fairway.model import Node, Pod
from fairway.plugins.registry import REGISTRY
from fairway.testing import node, pod

CONFIGURATION = default_configuration(REGISTRY).profiles[0]

NODES = st.lists(
    st.builds(
        lambda cpu, cordoned, tainted, ssd: {"cpu": cpu, "unschedulable": cordoned, "tainted": tainted, "ssd": ssd},
        st.integers(1, 4),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)
PODS = st.builds(
    lambda cpu, picky: pod("wanted", cpu=cpu, node_selector={"disk": "ssd"} if picky else {}),
    st.integers(1, 5),
    st.booleans(),
)


def build(number: int, drawn: dict[str, Any]) -> Node:
    return node(
        f"n{number}",
        cpu=drawn["cpu"],
        unschedulable=bool(drawn["unschedulable"]),
        taints="team=red:NoSchedule" if drawn["tainted"] else (),
        labels={"disk": "ssd" if drawn["ssd"] else "hdd"},
    )


def refused_by(one: Node, wanted: Pod) -> str | None:
    """Who says no first, on a cluster of this node alone: the plugins are asked in this order."""
    if one.spec.unschedulable:
        return "NodeUnschedulable"
    if one.spec.taints:
        return "TaintToleration"
    if any(one.metadata.labels.get(key) != value for key, value in wanted.spec.node_selector.items()):
        return "NodeAffinity"
    requested = wanted.spec.containers[0].resources.requests["cpu"].milli
    return "NodeResourcesFit" if requested > one.status.allocatable["cpu"].milli else None


def funnel_of(nodes: list[Node], wanted: Pod) -> tuple[Step, ...] | None:
    """None: the pod fits."""
    cluster = Cluster()
    cluster.load(nodes)
    profile = Profile(CONFIGURATION, cluster)
    decision = profile.decide(wanted)
    if decision.outcome is Outcome.SCHEDULED:
        return None
    return make_funnel(profile, decision.pod_class, decision.diagnosis)


@settings(max_examples=150, deadline=None)
@given(NODES, PODS)
def test_every_node_counts_once_for_the_first_plugin_that_refuses_it(drawn: list[dict[str, Any]], wanted: Pod) -> None:
    nodes = [build(number, one) for number, one in enumerate(drawn)]
    expected = Counter(refused_by(one, wanted) for one in nodes)
    funnel = funnel_of(nodes, wanted)
    if expected[None]:
        assert funnel is None
        return
    assert funnel is not None
    assert {step.plugin: step.num_refused for step in funnel} == expected
    left = len(nodes)
    for step in funnel:
        left -= step.num_refused
        assert step.num_left == left
        assert sum(group.num_nodes for group in step.groups) >= step.num_refused  # a node may be short of two things
    assert left == 0
    document = funnel_document(funnel)
    assert [one["refused"] for one in document] == [step.num_refused for step in funnel]
    lines = funnel_lines(funnel, len(nodes))
    assert lines[0].split() == [str(len(nodes)), "nodes" if len(nodes) > 1 else "node"]
    assert len(lines) == 1 + len(funnel)


def test_what_is_short_is_told_with_what_is_needed_and_the_most_that_is_free() -> None:
    (step,) = funnel_of([node("a", cpu=1), node("b", cpu=3)], pod("wanted", cpu=4)) or ()
    (group,) = step.groups
    assert (group.resource, group.needed, group.most_free, group.num_nodes) == ("cpu", 4000, 3000, 2)
    assert step.words == "2 short: cpu 2 (needs 4, most free 3)"


def test_a_pod_that_names_its_node_leaves_the_others_out_first() -> None:
    affinity_pod = pod("wanted", cpu=4, node_affinity="metadata.name in (b)")
    funnel = funnel_of([node("a", cpu=8), node("b", cpu=3)], affinity_pod)
    assert funnel is not None
    assert [(step.num_refused, step.num_left) for step in funnel] == [(1, 1), (1, 0)]
