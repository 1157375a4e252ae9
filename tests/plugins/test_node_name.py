"""NodeName: the one node a pod names."""

from __future__ import annotations

import pytest

from fairway.cluster import Action, Cluster, Event, Resource, Verb
from fairway.model import Pod
from fairway.plugins.node_name import NodeName
from fairway.testing import cluster, node, pod
from tests.plugins.volume_verdicts import OK, helps, judge

REFUSED = ("UnschedulableAndUnresolvable", "node(s) didn't match the requested node name")


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), {"a": OK, "b": OK}, id="none named"),
        pytest.param(pod(node="b"), {"a": REFUSED, "b": OK}, id="named"),
        pytest.param(pod(node="c"), {"a": REFUSED, "b": REFUSED}, id="named, but not there"),
        pytest.param(pod(node="B"), {"a": REFUSED, "b": REFUSED}, id="names are exact"),
    ],
)
def test_a_pod_runs_where_it_says(incoming: Pod, expected: object) -> None:
    assert judge(NodeName(cluster([node("a"), node("b")])), incoming) == expected


def test_a_named_node_that_is_gone_is_no_other() -> None:
    what = cluster([node("a"), node("b")])
    what.apply(Event(Verb.DELETED, node("a")))
    assert judge(NodeName(what), pod(node="a")) == {"b": REFUSED}
    what.apply(Event(Verb.ADDED, node("c")))  # takes the row
    assert judge(NodeName(what), pod(node="a")) == {"b": REFUSED, "c": REFUSED}


@pytest.mark.parametrize(
    ("resource", "action", "expected"),
    [
        pytest.param(Resource.NODE, Action.ADD, True, id="any new node"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_LABEL, False, id="a changed node"),
        pytest.param(Resource.ASSIGNED_POD, Action.DELETE, False, id="a pod goes"),
    ],
)
def test_events_that_help(resource: Resource, action: Action, expected: bool) -> None:
    assert helps(NodeName(Cluster()), pod(node="a"), resource, action) is expected
