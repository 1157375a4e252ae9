"""TaintToleration: taints that refuse, taints that count against a node, and what changes that."""

from __future__ import annotations

import numpy as np
import pytest

from fairway.cluster import Action, Cluster, Nodes, Resource
from fairway.model import Node, Pod, Toleration
from fairway.plugins.taint_toleration import TaintToleration
from fairway.testing import cluster, node, pod
from fairway.testing.interview import Interview
from tests.plugins.volume_verdicts import OK, helps, judge

REFUSED = ("UnschedulableAndUnresolvable", "node(s) had untolerated taint(s)")
OPEN, TAINTED = node(), node(taints="gpu=a100")


@pytest.mark.parametrize(
    ("taints", "tolerates", "expected"),
    [
        pytest.param((), (), OK, id="no taint"),
        pytest.param("gpu=a100:NoSchedule", (), REFUSED, id="NoSchedule"),
        pytest.param("gpu=a100:NoExecute", (), REFUSED, id="NoExecute"),
        pytest.param("gpu=a100:PreferNoSchedule", (), OK, id="PreferNoSchedule does not refuse"),
        pytest.param("gpu=a100", "gpu", OK, id="tolerated whatever the value"),
        pytest.param("gpu=a100", "gpu=a100", OK, id="tolerated with the value"),
        pytest.param("gpu=a100", "gpu=h100", REFUSED, id="another value"),
        pytest.param("gpu=a100:NoExecute", "gpu:NoSchedule", REFUSED, id="another effect"),
        pytest.param("gpu=a100", "*", OK, id="everything tolerated"),
        pytest.param(("gpu", "spot"), "gpu", REFUSED, id="one of two tolerated"),
        pytest.param(("gpu", "spot"), ("spot", "gpu"), OK, id="both tolerated"),
        pytest.param(("gpu", "gpu:NoExecute"), "gpu:NoSchedule", REFUSED, id="one key, two effects, one tolerated"),
    ],
)
def test_untolerated_taints_refuse(taints: object, tolerates: object, expected: object) -> None:
    plugin = TaintToleration(cluster([node("open"), node("tainted", taints=taints)]))  # type: ignore[arg-type]
    assert judge(plugin, pod(tolerates=tolerates)) == {"open": OK, "tainted": expected}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tolerates", "expected"),
    [
        pytest.param((), {"none": 0, "one": 1, "two": 2, "hard": 0}, id="each counts; hard taints do not"),
        pytest.param("a", {"none": 0, "one": 0, "two": 1, "hard": 0}, id="one is tolerated"),
        pytest.param(
            "a:PreferNoSchedule", {"none": 0, "one": 0, "two": 1, "hard": 0}, id="one is tolerated with its effect"
        ),
        pytest.param("a:NoSchedule", {"none": 0, "one": 1, "two": 2, "hard": 0}, id="another effect does not help"),
        pytest.param("*", {"none": 0, "one": 0, "two": 0, "hard": 0}, id="all are tolerated"),
    ],
)
def test_preferences_count_against_a_node(tolerates: str, expected: dict[str, int]) -> None:
    nodes = [
        node("none"),
        node("one", taints="a:PreferNoSchedule"),
        node("two", taints=("a:PreferNoSchedule", "b:PreferNoSchedule")),
        node("hard", taints=("a:NoSchedule", "b:NoExecute")),
    ]
    assert Interview(TaintToleration(cluster(nodes)), pod(tolerates=tolerates)).answers().scores == expected


def test_the_fewest_taints_score_100_after_normalising() -> None:
    nodes = [
        node("a"),
        node("b", taints="x:PreferNoSchedule"),
        node("c", taints=[f"{k}:PreferNoSchedule" for k in "xyz"]),
    ]
    interview = Interview(TaintToleration(cluster(nodes)), pod())
    final = interview.final(interview.live_rows)
    assert final is not None
    assert final.tolist() == [100, 67, 0]  # 100 - 100 * n // 3


@pytest.mark.parametrize(
    ("resource", "action", "old", "new", "expected"),
    [
        pytest.param(Resource.NODE, Action.ADD, None, OPEN, True, id="a node without taints comes"),
        pytest.param(Resource.NODE, Action.ADD, None, TAINTED, False, id="a tainted node comes"),
        pytest.param(
            Resource.NODE, Action.ADD, None, node(taints="ok"), True, id="a node with a tolerated taint comes"
        ),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_TAINT, TAINTED, OPEN, True, id="a taint goes"),
        pytest.param(
            Resource.NODE, Action.UPDATE_NODE_TAINT, TAINTED, node(taints="ok"), True, id="it becomes a tolerated one"
        ),
        pytest.param(
            Resource.NODE,
            Action.UPDATE_NODE_TAINT,
            TAINTED,
            node(taints="gpu:PreferNoSchedule"),
            True,
            id="it becomes a preference",
        ),
        pytest.param(
            Resource.NODE, Action.UPDATE_NODE_TAINT, node(taints=("gpu", "b")), TAINTED, False, id="one of two goes"
        ),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_TAINT, node(taints="ok"), OPEN, False, id="was good already"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_TAINT, OPEN, TAINTED, False, id="a taint comes"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_LABEL, TAINTED, OPEN, False, id="labels do not matter"),
        pytest.param(
            Resource.UNSCHEDULED_POD,
            Action.UPDATE_POD_TOLERATION,
            pod(),
            pod(),
            True,
            id="the pod's tolerations changed",
        ),
        pytest.param(
            Resource.UNSCHEDULED_POD, Action.UPDATE_POD_TOLERATION, pod("b"), pod("b"), False, id="another pod's did"
        ),
        pytest.param(Resource.ASSIGNED_POD, Action.DELETE, pod("b"), None, False, id="a pod goes"),
    ],
)
def test_events_that_help(
    resource: Resource, action: Action, old: Node | Pod | None, new: Node | Pod | None, expected: bool
) -> None:
    assert helps(TaintToleration(Cluster()), pod(tolerates="ok"), resource, action, old, new) is expected


def test_a_taint_that_another_plugin_knows_better_is_not_looked_at() -> None:
    taints = ["fairway.dev/exclusive=1:NoSchedule", "fairway.dev/exclusive=1:PreferNoSchedule"]
    here = cluster([node("guarded", taints=taints), node("other", taints=["gpu", *taints]), node("plain")])
    plugin = TaintToleration(here)
    plugin.borne = (Toleration(key="fairway.dev/exclusive", operator="Exists"),)
    assert plugin.filter(here.classify(pod()), Nodes(here), None).tolist() == [True, False, True]
    assert TaintToleration(here).filter(here.classify(pod()), Nodes(here), None).tolist() == [False, False, True]
    state = plugin.pre_score(here.classify(pod()), Nodes(here))
    assert plugin.score(here.classify(pod()), Nodes(here), state).tolist() == [0, 0, 0]
    assert plugin.funnel_words(here.classify(pod()), Nodes(here, np.array([1])), None) == ["gpu"]
    guarded, unguarded = node("n", taints=taints), node("n")
    assert not helps(plugin, pod(), Resource.NODE, Action.UPDATE_NODE_TAINT, guarded, unguarded)
    assert helps(TaintToleration(here), pod(), Resource.NODE, Action.UPDATE_NODE_TAINT, guarded, unguarded)
