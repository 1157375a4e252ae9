"""SchedulingGates: who is kept waiting, in which words, and what lets a pod go."""

from __future__ import annotations

import pytest

from fairway.cluster import Action, Cluster, Resource
from fairway.model import Node, Pod
from fairway.plugins.scheduling_gates import SchedulingGates
from fairway.testing import node, pod
from tests.plugins.volume_verdicts import helps, words

LIFTED = Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        pytest.param(pod(), None, id="no gate"),
        pytest.param(pod(gates="a"), "waiting for scheduling gates: [a]", id="one gate"),
        pytest.param(
            pod(gates=("b", "example.com/a")),
            "waiting for scheduling gates: [b example.com/a]",
            id="several, in the order they are written",
        ),
    ],
)
def test_a_gated_pod_is_not_tried(waiting: Pod, expected: str | None) -> None:
    refusal = SchedulingGates(Cluster()).pre_enqueue(waiting)
    found = None if refusal is None else words(refusal)
    assert found == (None if expected is None else ("UnschedulableAndUnresolvable", expected))


@pytest.mark.parametrize(
    ("resource", "action", "new", "expected"),
    [
        pytest.param(Resource.UNSCHEDULED_POD, LIFTED, pod(), True, id="its own gates are lifted"),
        pytest.param(Resource.UNSCHEDULED_POD, LIFTED, pod("other"), False, id="another pod's gates"),
        pytest.param(Resource.UNSCHEDULED_POD, Action.UPDATE_POD_LABEL, pod(), False, id="another update of the pod"),
        pytest.param(Resource.NODE, Action.ADD, node(), False, id="a node comes"),
        pytest.param(Resource.ASSIGNED_POD, Action.DELETE, None, False, id="a pod goes"),
    ],
)
def test_events_that_help(resource: Resource, action: Action, new: Pod | Node | None, expected: bool) -> None:
    plugin = SchedulingGates(Cluster())
    assert helps(plugin, pod(gates="a"), resource, action, pod(gates="a"), new) is expected
