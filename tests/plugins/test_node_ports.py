"""NodePorts: who can not share a port of a node, and whose leaving frees it."""

from __future__ import annotations

import pytest

from fairway.cluster import Action, Cluster, Event, Resource, Verb
from fairway.model import Container, ContainerPort, Node, Pod
from fairway.plugins.node_ports import NodePorts
from fairway.testing import cluster, node, pod
from tests.plugins.volume_verdicts import OK, helps, judge

REFUSED = ("Unschedulable", "node(s) didn't have free ports for the requested pod ports")
HTTP = (ContainerPort(container_port=80, host_port=80, protocol="TCP"),)


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        pytest.param(80, 80, REFUSED, id="the same port"),
        pytest.param(80, 81, OK, id="another port"),
        pytest.param("80/UDP", 80, OK, id="another protocol"),
        pytest.param("53/UDP", "53/UDP", REFUSED, id="the same port of another protocol than TCP"),
        pytest.param("10.0.0.1:80", "10.0.0.1:80", REFUSED, id="the same address"),
        pytest.param("10.0.0.1:80", "10.0.0.2:80", OK, id="another address"),
        pytest.param("10.0.0.1:80", 80, REFUSED, id="theirs is at every address"),
        pytest.param(80, "10.0.0.1:80", REFUSED, id="mine is at every address"),
        pytest.param("0.0.0.0:80", "10.0.0.1:80", REFUSED, id="every address, written out"),
        pytest.param((81, 80), (80, 82), REFUSED, id="one of several"),
        pytest.param(ContainerPort(container_port=80), 80, "skip", id="a port of the container alone"),
        pytest.param((), 80, "skip", id="no ports"),
    ],
)
def test_ports_that_collide(mine: object, theirs: object, expected: object) -> None:
    there = pod("there", node="a", ports=theirs)  # type: ignore[arg-type]
    plugin = NodePorts(cluster([node("a"), node("b")], there))
    found = judge(plugin, pod(ports=mine))  # type: ignore[arg-type]
    assert found == ("skip" if expected == "skip" else {"a": expected, "b": OK})


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(images=("x", Container(ports=HTTP))), REFUSED, id="any container"),
        pytest.param(pod(init_containers=Container(ports=HTTP, restart_policy="Always")), REFUSED, id="a sidecar"),
        pytest.param(pod(init_containers=Container(ports=HTTP)), "skip", id="an init container's does not count"),
    ],
)
def test_whose_ports_count(incoming: Pod, expected: object) -> None:
    found = judge(NodePorts(cluster(node("a"), pod("there", node="a", ports=80))), incoming)
    assert found == ("skip" if expected == "skip" else {"a": expected})


def test_a_port_is_free_again_when_its_pod_is_gone() -> None:
    there = pod("there", node="a", ports=80)
    what = cluster(node("a"), there)
    plugin = NodePorts(what)
    assert judge(plugin, pod(ports=80)) == {"a": REFUSED}
    what.apply(Event(Verb.DELETED, there))
    assert judge(plugin, pod(ports=80)) == {"a": OK}


@pytest.mark.parametrize(
    ("resource", "action", "old", "expected"),
    [
        pytest.param(Resource.ASSIGNED_POD, Action.DELETE, pod("b", node="a", ports=80), True, id="its port is freed"),
        pytest.param(
            Resource.ASSIGNED_POD, Action.DELETE, pod("b", node="a", ports="10.0.0.1:80"), True, id="at one address"
        ),
        pytest.param(Resource.ASSIGNED_POD, Action.DELETE, pod("b", node="a", ports=81), False, id="another is freed"),
        pytest.param(Resource.ASSIGNED_POD, Action.DELETE, pod("b", node="a"), False, id="a pod without ports goes"),
        pytest.param(
            Resource.UNSCHEDULED_POD, Action.DELETE, pod("b", ports=80), False, id="a pod that never had a node goes"
        ),
        pytest.param(
            Resource.UNSCHEDULED_POD,
            Action.DELETE,
            pod("b", ports=80, nominated_node="a"),
            True,
            id="a pod that waited for a node goes",
        ),
        pytest.param(Resource.ASSIGNED_POD, Action.ADD, None, False, id="a pod comes"),
        pytest.param(Resource.NODE, Action.ADD, None, True, id="a node comes"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_LABEL, node(), False, id="a node changes"),
    ],
)
def test_events_that_help(resource: Resource, action: Action, old: Pod | Node | None, expected: bool) -> None:
    assert helps(NodePorts(Cluster()), pod(ports=80), resource, action, old) is expected
