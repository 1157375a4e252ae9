"""NodeDeclaredFeatures: which pods need which features, and which nodes declare them."""

from __future__ import annotations

import pytest

from fairway.cluster import Action, Cluster, Resource
from fairway.model import Container, ContainerRestartRule, Node, Pod
from fairway.plugins.node_declared_features import NodeDeclaredFeatures, needed_features
from fairway.testing import cluster, node, pod
from tests.plugins.volume_verdicts import OK, helps, judge

RESTART, USERS = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
REFUSED = ("UnschedulableAndUnresolvable", "node(s) didn't match Pod's required features")


def restarting(action: str) -> Container:
    return Container(restart_policy_rules=(ContainerRestartRule(action=action),))


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), set(), id="nothing special"),
        pytest.param(pod(images=("x", restarting("RestartAllContainers"))), {RESTART}, id="a container's rule"),
        pytest.param(pod(init_containers=restarting("RestartAllContainers")), {RESTART}, id="an init container's rule"),
        pytest.param(pod(images=restarting("Restart")), set(), id="another rule"),
        pytest.param(pod(host_network=True, host_users=False), {USERS}, id="host network, own users"),
        pytest.param(pod(host_network=True, host_users=True), set(), id="host network, host users"),
        pytest.param(pod(host_network=True), set(), id="host network, nothing said of users"),
        pytest.param(pod(host_users=False), set(), id="own users, own network"),
        pytest.param(
            pod(images=restarting("RestartAllContainers"), host_network=True, host_users=False),
            {RESTART, USERS},
            id="both",
        ),
    ],
)
def test_what_a_pod_needs(incoming: Pod, expected: set[str]) -> None:
    assert needed_features(incoming.spec) == expected


@pytest.mark.parametrize(
    ("incoming", "fitting"),
    [
        pytest.param(pod(), None, id="nothing needed: skipped"),
        pytest.param(pod(images=restarting("RestartAllContainers")), "bd", id="one"),
        pytest.param(
            pod(images=restarting("RestartAllContainers"), host_network=True, host_users=False), "d", id="both"
        ),
    ],
)
def test_nodes_that_can(incoming: Pod, fitting: str | None) -> None:
    nodes = [
        node("a"),
        node("b", features=RESTART),
        node("c", features=(USERS, "Other")),
        node("d", features=("Other", USERS, RESTART)),
    ]
    expected = "skip" if fitting is None else {name: OK if name in fitting else REFUSED for name in "abcd"}
    assert judge(NodeDeclaredFeatures(cluster(nodes)), incoming) == expected


DECLARED = Action.UPDATE_NODE_DECLARED_FEATURE
NEEDY = pod(images=restarting("RestartAllContainers"))


@pytest.mark.parametrize(
    ("resource", "action", "old", "new", "expected"),
    [
        pytest.param(Resource.NODE, Action.ADD, None, node(), True, id="any node comes"),
        pytest.param(Resource.NODE, DECLARED, node(), node(features="New"), True, id="a node declares anything new"),
        pytest.param(
            Resource.NODE, DECLARED, node(features="A"), node(features="A"), False, id="a node declares the same"
        ),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_LABEL, node(), node(features="New"), False, id="labels"),
        pytest.param(Resource.UNSCHEDULED_POD, Action.UPDATE, NEEDY, pod(), True, id="the pod needs less"),
        pytest.param(Resource.UNSCHEDULED_POD, Action.UPDATE, NEEDY, NEEDY, False, id="the pod needs the same"),
        pytest.param(
            Resource.ASSIGNED_POD,
            Action.UPDATE,
            pod("b", images=restarting("RestartAllContainers")),
            pod("b"),
            False,
            id="another pod needs less",
        ),
        pytest.param(Resource.ASSIGNED_POD, Action.DELETE, NEEDY, None, False, id="a pod goes"),
    ],
)
def test_events_that_help(
    resource: Resource, action: Action, old: Node | Pod | None, new: Node | Pod | None, expected: bool
) -> None:
    assert helps(NodeDeclaredFeatures(Cluster()), NEEDY, resource, action, old, new) is expected
