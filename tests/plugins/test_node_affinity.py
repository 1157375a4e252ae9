"""NodeAffinity: what a pod requires of a node, what its profile enforces, what both prefer."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.cluster import Action, Cluster, Nodes, Resource
from fairway.model import Affinity, Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod
from fairway.model import NodeAffinity as Requirements
from fairway.plugin import SKIP, Refusal, Restriction
from fairway.plugins.node_affinity import NodeAffinity
from fairway.plugins.node_affinity_args import NodeAffinityArgs
from fairway.testing import cluster, node, pod
from fairway.testing.interview import Interview
from tests.plugins.volume_verdicts import OK, helps, verdicts, words

NOT_MATCHED = ("UnschedulableAndUnresolvable", "node(s) didn't match Pod's node affinity/selector")
NOT_ENFORCED = ("UnschedulableAndUnresolvable", "node(s) didn't match scheduler-enforced node affinity")
NODES = (
    node("a", labels={"disk": "ssd", "cores": "8", "arch": "arm"}),
    node("b", labels={"disk": "hdd", "cores": "16"}),
    node("c"),
)


def named(*requirements: tuple[str, ...], labels: str = "") -> NodeSelectorTerm:
    """A term over the node's name (operator, then values), and labels it must have."""
    return NodeSelectorTerm(
        match_fields=tuple(
            NodeSelectorRequirement(key="metadata.name", operator=operator, values=tuple(values))
            for operator, *values in requirements
        ),
        match_expressions=(NodeSelectorRequirement(key=labels, operator="Exists"),) if labels else (),
    )


def numbers(operator: str, value: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(
        match_expressions=(NodeSelectorRequirement(key="cores", operator=operator, values=(value,)),)
    )


def without_terms() -> Pod:
    required = Requirements(required_during_scheduling_ignored_during_execution=NodeSelector())
    plain = pod()
    return msgspec.structs.replace(
        plain, spec=msgspec.structs.replace(plain.spec, affinity=Affinity(node_affinity=required))
    )


def added(**requirements: Any) -> NodeAffinityArgs:
    """What a profile adds to every pod, written as a pod writes it."""
    affinity = pod(**requirements).spec.affinity
    assert affinity is not None
    return NodeAffinityArgs(added_affinity=affinity.node_affinity)


def stance(plugin: NodeAffinity, incoming: Pod) -> Any:
    """What becomes of the pre-filter: skipped, words of a refusal, names, or each node's verdict."""
    found = plugin.pre_filter(plugin.cluster.classify(incoming), Nodes(plugin.cluster))
    if found is SKIP:
        return "skip"
    if isinstance(found, Refusal):
        return words(found)
    if isinstance(found, Restriction):
        return set(found.names), verdicts(plugin, incoming, found.state)
    return verdicts(plugin, incoming, found)


@pytest.mark.parametrize(
    ("incoming", "fitting"),
    [
        pytest.param(pod(node_selector={"disk": "ssd"}), "a", id="nodeSelector"),
        pytest.param(pod(node_selector={"disk": "ssd", "arch": "amd"}), "", id="nodeSelector: all of it"),
        pytest.param(pod(node_affinity="disk in (ssd, hdd)"), "ab", id="In"),
        pytest.param(pod(node_affinity="disk notin (ssd)"), "bc", id="NotIn: absent labels match"),
        pytest.param(pod(node_affinity="arch"), "a", id="Exists"),
        pytest.param(pod(node_affinity="!arch"), "bc", id="DoesNotExist"),
        pytest.param(pod(node_affinity=numbers("Gt", "8")), "b", id="Gt"),
        pytest.param(pod(node_affinity=numbers("Lt", "16")), "a", id="Lt"),
        pytest.param(pod(node_affinity=numbers("Lt", "x")), "", id="Lt: not a number"),
        pytest.param(pod(node_affinity="disk=ssd,arch=arm"), "a", id="one term: all of it"),
        pytest.param(pod(node_affinity=("disk=hdd", "arch=arm")), "ab", id="two terms: either"),
        pytest.param(pod(node_affinity="disk", node_selector={"arch": "arm"}), "a", id="selector and affinity: both"),
        pytest.param(pod(node_affinity=named(("NotIn", "a"))), "bc", id="by name, but not confined"),
        pytest.param(pod(node_affinity=NodeSelectorTerm()), "", id="an empty term matches nothing"),
        pytest.param(without_terms(), "", id="no terms match nothing"),
    ],
)
def test_required_labels(incoming: Pod, fitting: str) -> None:
    assert stance(NodeAffinity(cluster(NODES)), incoming) == {
        name: OK if name in fitting else NOT_MATCHED for name in "abc"
    }


@pytest.mark.parametrize(
    ("terms", "names", "fitting"),
    [
        pytest.param(named(("In", "a")), {"a"}, "a", id="one name"),
        pytest.param(named(("In", "gone")), {"gone"}, "", id="a name that nobody has"),
        pytest.param(named(("In", "a"), ("In", "a")), {"a"}, "a", id="twice in a term: both"),
        pytest.param((named(("In", "a")), named(("In", "c"))), {"a", "c"}, "ac", id="two terms: either"),
        pytest.param(named(("In", "b"), labels="arch"), {"b"}, "", id="labels are for the filter"),
        pytest.param(named(("In", "a", "b")), {"a", "b"}, "", id="a field with two values matches nothing"),
        pytest.param(named(("In", "a", "b"), ("In", "b", "c")), {"b"}, "", id="nor do two such fields"),
    ],
)
def test_names_confine_a_pod(terms: Any, names: set[str], fitting: str) -> None:
    expected = {name: OK if name in fitting else NOT_MATCHED for name in "abc"}
    assert stance(NodeAffinity(cluster(NODES)), pod(node_affinity=terms)) == (names, expected)


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), "skip", id="no wishes"),
        pytest.param(pod(prefers_nodes={"disk=ssd": 1}), "skip", id="preferences only"),
        pytest.param(
            pod(node_affinity=named(("In", "a"), ("In", "b"))),
            ("UnschedulableAndUnresolvable", "pod affinity terms conflict"),
            id="names that exclude each other",
        ),
        pytest.param(
            pod(node_affinity=(named(("In", "a"), ("In", "b")), "disk=ssd")),
            {"a": OK, "b": NOT_MATCHED, "c": NOT_MATCHED},
            id="another term may match",
        ),
    ],
)
def test_what_the_pre_filter_says(incoming: Pod, expected: object) -> None:
    assert stance(NodeAffinity(cluster(NODES)), incoming) == expected


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), {"a": OK, "b": OK, "c": NOT_ENFORCED}, id="a pod without wishes is held to it"),
        pytest.param(
            pod(node_selector={"arch": "arm"}),
            {"a": OK, "b": NOT_MATCHED, "c": NOT_ENFORCED},
            id="what is enforced is said first",
        ),
    ],
)
def test_a_profile_enforces_labels(incoming: Pod, expected: object) -> None:
    plugin = NodeAffinity(cluster(NODES), added(node_affinity="disk"))
    assert stance(plugin, incoming) == expected


@pytest.mark.parametrize(
    ("args", "prefers", "expected"),
    [
        pytest.param(None, {}, {}, id="no preferences: skipped"),
        pytest.param(None, {"disk=ssd": 5}, {"a": 5, "b": 0, "c": 0}, id="one"),
        pytest.param(None, {"disk": 5, "arch": 70}, {"a": 75, "b": 5, "c": 0}, id="weights add up"),
        pytest.param(added(prefers_nodes={"disk=hdd": 3}), {}, {"a": 0, "b": 3, "c": 0}, id="the profile's"),
        pytest.param(
            added(prefers_nodes={"disk": 3}),
            {"disk=ssd": 5},
            {"a": 8, "b": 3, "c": 0},
            id="the profile's and the pod's",
        ),
        pytest.param(added(node_affinity="disk"), {}, {}, id="what is enforced is no preference"),
    ],
)
def test_preferred_labels_score(
    args: NodeAffinityArgs | None, prefers: dict[str, int], expected: dict[str, int]
) -> None:
    plugin = NodeAffinity(cluster(NODES), args)
    assert Interview(plugin, pod(prefers_nodes=prefers)).answers().scores == expected


def test_the_best_score_100_after_normalising() -> None:
    interview = Interview(NodeAffinity(cluster(NODES)), pod(prefers_nodes={"disk": 2, "arch": 1}))
    final = interview.final(interview.live_rows)
    assert final is not None
    assert final.tolist() == [100, 66, 0]  # of 3, 2, 0


SSD, HDD, BARE = node(labels={"disk": "ssd", "pool": "x"}), node(labels={"disk": "hdd", "pool": "x"}), node()
RELABEL = Action.UPDATE_NODE_LABEL


@pytest.mark.parametrize(
    ("enforced", "resource", "action", "old", "new", "expected"),
    [
        pytest.param("", Resource.NODE, Action.ADD, None, SSD, True, id="a matching node comes"),
        pytest.param("", Resource.NODE, Action.ADD, None, HDD, False, id="another node comes"),
        pytest.param("", Resource.NODE, RELABEL, HDD, SSD, True, id="a node matches now"),
        pytest.param("", Resource.NODE, RELABEL, SSD, HDD, False, id="a node matches no longer"),
        pytest.param("", Resource.NODE, RELABEL, SSD, SSD, False, id="a node matched before"),
        pytest.param("", Resource.NODE, RELABEL, BARE, HDD, False, id="a node still does not match"),
        pytest.param("pool=x", Resource.NODE, Action.ADD, None, SSD, True, id="enforced too, and met"),
        pytest.param("pool=y", Resource.NODE, Action.ADD, None, SSD, False, id="enforced, and not met"),
        pytest.param("", Resource.NODE, Action.UPDATE_NODE_TAINT, HDD, SSD, False, id="taints do not matter"),
        pytest.param("", Resource.ASSIGNED_POD, Action.DELETE, pod("b"), None, False, id="a pod goes"),
    ],
)
def test_events_that_help(
    enforced: str, resource: Resource, action: Action, old: Node | Pod | None, new: Node | None, expected: bool
) -> None:
    plugin = NodeAffinity(Cluster(), added(node_affinity=enforced) if enforced else None)
    for wishing in (pod(node_selector={"disk": "ssd"}), pod(node_affinity="disk=ssd")):
        assert helps(plugin, wishing, resource, action, old, new) is expected
