"""A profile: its plugins, the gate, assuming and taking back, permits, and users' plugins."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairway.cluster import Action, Aspect, Nodes, PodClass, Resource
from fairway.config import PluginEntry, decode_configuration, default_configuration
from fairway.cycle import Decision, Hold, Outcome, PluginError, Profile, Stop
from fairway.model import Node, Pod
from fairway.plugin import Code, Plugin, Refusal, Wait, per_node
from fairway.plugins.registry import REGISTRY
from fairway.testing import cluster, node, pod
from fairway.testing.fingerprint import differences, fingerprint
from tests.cycle.profiles import profile, refusing, scoring

NODES = (node("a", cpu=2), node("b", cpu=2))
NO = Refusal(("no",))

# -- what it is made of ------------------------------------------------------------------------------------------------


def test_the_default_profile() -> None:
    made = Profile(default_configuration(REGISTRY).profiles[0], cluster(NODES))
    assert made.name == "default-scheduler"
    assert made.queue_sort.name == "PrioritySort"
    assert [plugin.name for plugin in made.pre_enqueues] == ["SchedulingGates", "DynamicResources", "DefaultPreemption"]
    assert [plugin.name for plugin in made.post_filters] == ["DynamicResources", "DefaultPreemption"]
    assert made.weights["TaintToleration"] == 3
    assert made.sampler.strategy == "kube"
    assert made.plugin("NodeName") in made.filters
    with pytest.raises(KeyError):
        made.plugin("RandomScore")


def test_one_instance_of_a_plugin_takes_part_everywhere() -> None:
    made = profile(cluster(NODES), "NodeResourcesFit")
    (plugin,) = made.plugins
    assert made.filters == made.pre_filters == made.scores == [plugin]


class FilterAlone(Plugin):
    """Enabled for filtering only; but its filter needs what its pre-filter prepares."""

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> str:
        return "b"

    def filter(self, pod: PodClass, nodes: Nodes, state: str) -> Any:
        return np.array([name == state for name in nodes.names])


def test_a_filter_brings_its_pre_filter() -> None:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"filter": {"enabled": [{"name": "FilterAlone"}]}}}],
    }
    registry = {**REGISTRY, "FilterAlone": PluginEntry(FilterAlone, frozenset({"preFilter", "filter"}))}
    made = Profile(decode_configuration(config, "test", registry).profiles[0], cluster(NODES))
    assert made.decide(pod()).node == "b"


def test_hints_are_by_the_name_of_the_plugin() -> None:
    hints = profile(cluster(NODES), "NodeName", scoring("Mine", {})).hints()
    assert list(hints) == ["NodeName", "Mine"]
    assert [hint.event for hint in hints["NodeName"]] == [(Resource.NODE, Action.ADD)]
    assert [hint.event for hint in hints["Mine"]] == [(Resource.ANY, Action.ALL)]  # says nothing: any event may help


# -- the gate ----------------------------------------------------------------------------------------------------------


class Closed(Plugin):
    """Lets nobody in."""

    def pre_enqueue(self, pod: Pod) -> Refusal:
        return NO


@pytest.mark.parametrize(
    ("waiting", "kinds", "expected"),
    [
        pytest.param(pod(), ["SchedulingGates"], None, id="open"),
        pytest.param(pod(), ["SchedulingGates", Closed], ("Closed", NO), id="one refuses"),
        pytest.param(
            pod(gates="x"),
            ["SchedulingGates", Closed],
            ("SchedulingGates", Refusal(("waiting for scheduling gates: [x]",), Code.UNRESOLVABLE)),
            id="the first that refuses is heard",
        ),
    ],
)
def test_the_gate(waiting: Pod, kinds: list[str | type[Plugin]], expected: tuple[str, Refusal] | None) -> None:
    assert profile(cluster(NODES), *kinds).gate(waiting) == expected


# -- assuming ----------------------------------------------------------------------------------------------------------


def noting(name: str, answer: Refusal | None = None, permit: Refusal | Wait | None = None) -> type[Plugin]:
    """A plugin that writes down what it is asked, in a list that the test finds on the cluster."""

    def reserve(self: Any, pod: Pod, pod_class: PodClass, row: int) -> Refusal | None:
        self.cluster.noted.append(f"reserve {name} {pod.metadata.name}@{row}")
        return answer

    def unreserve(self: Any, pod: Pod, pod_class: PodClass, row: int) -> None:
        self.cluster.noted.append(f"unreserve {name} {pod.metadata.name}@{row}")

    def permitted(self: Any, pod: Pod, pod_class: PodClass, row: int) -> Refusal | Wait | None:
        self.cluster.noted.append(f"permit {name}")
        return permit

    return type(name, (Plugin,), {"reserve": reserve, "unreserve": unreserve, "permit": permitted})


def decided(*kinds: str | type[Plugin]) -> tuple[Profile, Decision, list[str]]:
    what: Any = cluster(NODES)
    what.noted = []
    made = profile(what, "NodeResourcesFit", *kinds)
    return made, made.decide(pod("p", cpu=2)), what.noted


def test_an_assumed_pod_counts_and_can_be_taken_back() -> None:
    made, decision, noted = decided(noting("One"), noting("Two"))
    before = fingerprint(made.cluster)
    assert made.assume(decision) is None
    assert made.cluster.nodes.requested[0, 0] == 2000
    assert made.cluster.pods.by_uid["default/p"].assumed
    assert made.decide(pod("q", cpu=2)).node == "b"
    made.release(decision.pod, decision.pod_class, decision.row)
    assert noted == ["reserve One p@0", "reserve Two p@0", "unreserve Two p@0", "unreserve One p@0"]
    assert differences(before, fingerprint(made.cluster)) == []


def test_a_newer_version_of_the_pod_may_be_assumed() -> None:
    made, decision, _ = decided()
    newer = pod("p", cpu=2, node="a", labels={"v": "2"})
    assert made.assume(decision, newer) is None
    assert made.cluster.pods.by_uid["default/p"].pod is newer


def test_a_pod_is_assumed_once() -> None:
    made, decision, _ = decided()
    made.assume(decision)
    with pytest.raises(ValueError, match="has a node already"):
        made.assume(decision)


def test_a_refusal_at_reserve_undoes_everything() -> None:
    made, decision, noted = decided(noting("One"), noting("Two", NO), noting("Three"))
    before = fingerprint(made.cluster)
    assert made.assume(decision) == Stop("Reserve", "Two", NO)
    assert noted == [
        "reserve One p@0",
        "reserve Two p@0",
        "unreserve Three p@0",
        "unreserve Two p@0",
        "unreserve One p@0",
    ]
    assert differences(before, fingerprint(made.cluster)) == []


@pytest.mark.parametrize(
    ("answers", "expected", "asked", "is_kept"),
    [
        pytest.param([None, None], None, 2, True, id="go"),
        pytest.param([Wait(30), None], Hold({"P0": 30}), 2, True, id="wait"),
        pytest.param([Wait(30), None, Wait(5)], Hold({"P0": 30, "P2": 5}), 3, True, id="all waits count"),
        pytest.param([Wait(5), NO, None], Stop("Permit", "P1", NO), 2, False, id="a refusal ends it"),
    ],
)
def test_permit(answers: list[Refusal | Wait | None], expected: Stop | Hold | None, asked: int, is_kept: bool) -> None:
    kinds = [noting(f"P{number}", permit=answer) for number, answer in enumerate(answers)]
    made, decision, noted = decided(*kinds)
    made.assume(decision)
    assert made.permit(decision.pod, decision.pod_class, decision.row) == expected
    assert len([line for line in noted if line.startswith("permit")]) == asked
    assert ("default/p" in made.cluster.pods.by_uid) is is_kept
    assert len([line for line in noted if line.startswith("unreserve")]) == (0 if is_kept else len(kinds))


# -- pods apart --------------------------------------------------------------------------------------------------------


class ByName(Plugin):
    """Sends a pod to the node of its own name."""

    reads = Aspect.NODE
    per_pod = True

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
        return np.array([name == pod.pod.metadata.name for name in nodes.names])


class ByNameForgetful(ByName):
    """The same, without saying so."""

    per_pod = False


def test_a_plugin_that_tells_pods_of_a_class_apart_says_so() -> None:
    made = profile(cluster(NODES), ByName)
    assert [made.decide(pod(name)).node for name in ("a", "b", "a")] == ["a", "b", "a"]
    shared = profile(cluster(NODES), ByNameForgetful)
    assert [shared.decide(pod(name)).node for name in ("a", "b")] == ["a", "a"]  # the answer is shared


def test_pods_of_a_class_share_what_is_known() -> None:
    made = profile(cluster(NODES), "NodeResourcesFit")
    assert made.classify(pod("x", cpu=1)) is made.classify(pod("y", cpu=1))
    assert made.classify(pod("x", cpu=1)) is not made.classify(pod("x", cpu=2))
    apart = profile(cluster(NODES), ByName)
    assert apart.classify(pod("x")) is not apart.classify(pod("y"))


# -- users' plugins ----------------------------------------------------------------------------------------------------


@per_node
def prefer_long_names(pod: Pod, node: Node) -> int:
    return len(node.metadata.name)


@per_node
def refuse_short_names(pod: Pod, node: Node) -> str | None:
    return None if len(node.metadata.name) > 1 else f"{node.metadata.name} is short"


def test_a_plugin_from_a_function() -> None:
    what = cluster([node("a"), node("bbb"), node("cc")])
    assert profile(what, prefer_long_names).inspect(pod()).totals == {"a": 1, "bbb": 3, "cc": 2}
    found = profile(what, refuse_short_names).inspect(pod())
    assert found.feasible == ["bbb", "cc"]
    assert found.rejected == [("RefuseShortNames", Refusal(("a is short",)), ["a"])]


MODULE = """
import numpy as np
from fairway.plugin import Plugin

class PreferZone(Plugin):
    def __init__(self, cluster, args=None):
        super().__init__(cluster, args)
        self.zone = args["zone"]

    def filter(self, pod, nodes, state):
        return nodes.label("topology.kubernetes.io/zone") != ""

    def score(self, pod, nodes, state):
        return np.where(nodes.label("topology.kubernetes.io/zone") == self.zone, 100, 0)
"""


@pytest.fixture
def site(tmp_path: Path) -> Any:
    (tmp_path / "my_zone_plugin.py").write_text(MODULE)
    sys.path.insert(0, str(tmp_path))
    yield "my_zone_plugin:PreferZone"
    sys.path.remove(str(tmp_path))
    sys.modules.pop("my_zone_plugin", None)


def test_a_user_s_plugin_goes_by_the_name_it_is_listed_under(site: str) -> None:
    what = cluster([node("a", zone="x"), node("b", zone="y"), node("c")])
    made = profile(what, site, weights={site: 5}, args={site: {"zone": "y"}})
    decision = made.decide(pod())
    assert (decision.node, decision.score) == ("b", 500)
    assert made.inspect(pod()).rejected == [(site, Refusal((f"node(s) were refused by {site}",)), ["c"])]
    assert made.plugin(site).name == site


def test_a_user_s_plugin_that_can_not_be_made(site: str) -> None:
    with pytest.raises(PluginError, match=f"plugin {site} can not be made: TypeError"):
        profile(cluster(NODES), site)


def test_what_a_broken_plugin_leaves_behind_is_forgotten() -> None:
    class Moody(Plugin):
        """Breaks until it is told not to."""

        broken = True

        def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> Any:
            if Moody.broken:
                raise OSError("no network")
            return super().filter(pod, nodes, state)

    made = profile(cluster(NODES), Moody)
    failed = made.decide(pod())
    assert failed.outcome is Outcome.ERROR
    assert failed.message.startswith("plugin Moody: filter() raised OSError: no network (")
    Moody.broken = False
    assert made.decide(pod()).node == "a"


# -- fits_on and the seed ----------------------------------------------------------------------------------------------


def test_fits_on() -> None:
    made = profile(cluster(NODES), refusing("R", {"a": NO}))
    assert [made.fits_on(pod(), row) for row in (0, 1)] == [False, True]


def test_the_same_seed_the_same_decisions() -> None:
    def decisions(seed: int) -> list[str]:
        made = profile(cluster(9), "NodeResourcesFit", tie_break="random", seed=seed)
        found = []
        for number in range(30):
            decision = made.decide(pod(f"p{number}", cpu="500m"))
            made.assume(decision)
            found.append(decision.node)
        return found

    assert decisions(3) == decisions(3)
    assert decisions(3) != decisions(4)
