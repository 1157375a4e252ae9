"""NodeUnschedulable: cordoned nodes, and pods that bear them."""

from __future__ import annotations

import pytest

from fairway.cluster import Action, Cluster, Resource
from fairway.model import Node, Pod
from fairway.plugins.node_unschedulable import NodeUnschedulable
from fairway.testing import cluster, node, pod
from tests.plugins.volume_verdicts import OK, helps, judge

CORDON = "node.kubernetes.io/unschedulable"
REFUSED = ("UnschedulableAndUnresolvable", "node(s) were unschedulable")
OPEN, CORDONED = node(), node(unschedulable=True)


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), REFUSED, id="no tolerations"),
        pytest.param(pod(tolerates=f"{CORDON}:NoSchedule"), OK, id="bears the cordon's taint"),
        pytest.param(pod(tolerates=CORDON), OK, id="with any effect"),
        pytest.param(pod(tolerates="*"), OK, id="bears everything"),
        pytest.param(pod(tolerates=f"{CORDON}=:NoSchedule"), OK, id="the taint has no value"),
        pytest.param(pod(tolerates=f"{CORDON}=yes:NoSchedule"), REFUSED, id="another value"),
        pytest.param(pod(tolerates=f"{CORDON}:NoExecute"), REFUSED, id="another effect"),
        pytest.param(pod(tolerates="gpu"), REFUSED, id="another taint"),
    ],
)
def test_who_may_run_on_a_cordoned_node(incoming: Pod, expected: object) -> None:
    plugin = NodeUnschedulable(cluster([node("open"), node("cordoned", unschedulable=True)]))
    assert judge(plugin, incoming) == {"cordoned": expected, "open": OK}


@pytest.mark.parametrize(
    ("resource", "action", "old", "new", "expected"),
    [
        pytest.param(Resource.NODE, Action.ADD, None, OPEN, True, id="an open node comes"),
        pytest.param(Resource.NODE, Action.ADD, None, CORDONED, False, id="a cordoned node comes"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_TAINT, CORDONED, OPEN, True, id="a cordon is lifted"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_TAINT, OPEN, OPEN, False, id="a node that was open stays so"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_TAINT, OPEN, CORDONED, False, id="a node is cordoned"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_TAINT, CORDONED, CORDONED, False, id="a node stays cordoned"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_LABEL, CORDONED, OPEN, False, id="labels do not matter"),
        pytest.param(
            Resource.UNSCHEDULED_POD,
            Action.UPDATE_POD_TOLERATION,
            pod(),
            pod(tolerates=CORDON),
            True,
            id="it bears it now",
        ),
        pytest.param(
            Resource.UNSCHEDULED_POD,
            Action.UPDATE_POD_TOLERATION,
            pod(),
            pod(tolerates="gpu"),
            False,
            id="it bears another taint now",
        ),
        pytest.param(
            Resource.UNSCHEDULED_POD,
            Action.UPDATE_POD_TOLERATION,
            pod("other"),
            pod("other", tolerates=CORDON),
            False,
            id="another pod bears it now",
        ),
        pytest.param(Resource.ASSIGNED_POD, Action.DELETE, pod("other"), None, False, id="a pod goes"),
    ],
)
def test_events_that_help(
    resource: Resource, action: Action, old: Node | Pod | None, new: Node | Pod | None, expected: bool
) -> None:
    assert helps(NodeUnschedulable(Cluster()), pod(), resource, action, old, new) is expected
