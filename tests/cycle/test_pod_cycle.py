"""One attempt, from pre-filters to the choice: known answers for each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fairway.cluster import Cluster, Event, Verb
from fairway.config import default_configuration
from fairway.cycle import Decision, Outcome, Profile, Sampling
from fairway.model import Pod
from fairway.plugin import SKIP, Code, Locality, Nodes, Plugin, PodClass, Refusal, Restriction
from fairway.plugins.registry import REGISTRY
from fairway.testing import cluster, node, pod
from fairway.testing.fingerprint import differences, fingerprint
from tests.cycle.profiles import pre_filtering, profile, refusing, scoring

NODES = (node("a"), node("b"), node("c"))
NO, NEVER = Refusal(("no",)), Refusal(("never",), Code.UNRESOLVABLE)
BROKEN = Refusal(("disk on fire", "again"), Code.ERROR)


def decide(*plugins: str | type[Plugin], incoming: Pod | None = None, **options: Any) -> Decision:
    return profile(cluster(NODES), *plugins, **options).decide(incoming or pod())


def test_no_nodes() -> None:
    decision = profile(Cluster(), defaults=True).decide(pod())
    assert (decision.outcome, decision.message) == (
        Outcome.UNSCHEDULABLE,
        "no nodes available to schedule pods",
    )
    assert decision.preemption is None


def test_nodes_that_are_all_gone() -> None:
    what = cluster(NODES)
    made = profile(what, "NodeResourcesFit")
    assert made.decide(pod()).node == "a"
    for each in NODES:
        what.apply(Event(Verb.DELETED, each))
    assert made.decide(pod()).message == "no nodes available to schedule pods"


# -- pre-filters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "outcome", "message", "plugins"),
    [
        pytest.param(NO, Outcome.UNSCHEDULABLE, "0/3 nodes are available: no.", {"P"}, id="refused"),
        pytest.param(NEVER, Outcome.UNSCHEDULABLE, "0/3 nodes are available: never.", {"P"}, id="refused for good"),
        pytest.param(
            BROKEN, Outcome.ERROR, 'running PreFilter plugin "P": disk on fire, again', set(), id="something is broken"
        ),
        pytest.param(
            Restriction(frozenset()),
            Outcome.UNSCHEDULABLE,
            "0/3 nodes are available: node(s) didn't satisfy plugin P.",
            {"P"},
            id="confined to no node",
        ),
        pytest.param(
            Restriction(frozenset({"gone"})),
            Outcome.UNSCHEDULABLE,
            "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [P].",
            {"P"},
            id="confined to a node that is not there",
        ),
    ],
)
def test_a_pre_filter_that_ends_the_attempt(answer: object, outcome: Outcome, message: str, plugins: set[str]) -> None:
    decision = decide(pre_filtering("P", answer), scoring("S", {}))
    assert (decision.outcome, decision.message, decision.node) == (outcome, message, "")
    assert decision.unschedulable_plugins == plugins


@pytest.mark.parametrize(
    ("first", "second", "message", "plugins"),
    [
        pytest.param(NO, Refusal(("not here",)), "not here", {"Q"}, id="the last that may be lifted is heard"),
        pytest.param(NO, NEVER, "never", {"Q"}, id="one for good ends it"),
        pytest.param(NEVER, NO, "never", {"P"}, id="after one for good nobody is asked"),
        pytest.param(
            Restriction(frozenset({"a"})),
            Restriction(frozenset({"b"})),
            "node(s) didn't satisfy plugin(s) [P Q] simultaneously",
            {"P", "Q"},
            id="confined to different nodes",
        ),
        pytest.param(Restriction(frozenset({"a"})), NO, "no", {"P", "Q"}, id="confined, then refused"),
    ],
)
def test_two_pre_filters(first: object, second: object, message: str, plugins: set[str]) -> None:
    decision = decide(pre_filtering("P", first), pre_filtering("Q", second))
    assert decision.message == f"0/3 nodes are available: {message}."
    assert decision.unschedulable_plugins == plugins


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        pytest.param([Restriction(frozenset({"c"}))], "c", id="one node"),
        pytest.param([Restriction(frozenset({"b", "c", "gone"}))], "b", id="several"),
        pytest.param(
            [Restriction(frozenset({"b", "c"})), Restriction(frozenset({"a", "c"}))], "c", id="what is common"
        ),
    ],
)
def test_a_pod_is_confined(answers: list[Restriction], expected: str) -> None:
    kinds = [pre_filtering(f"P{number}", answer) for number, answer in enumerate(answers)]
    assert decide(*kinds, scoring("S", {"a": 100})).node == expected


class Skipping(Plugin):
    """Would refuse everything, but has nothing to say."""

    def pre_filter(self, pod: Any, nodes: Any) -> Any:
        return SKIP

    def filter(self, pod: Any, nodes: Any, state: Any) -> Any:
        return ~super().filter(pod, nodes, state)


def test_a_plugin_that_skips_is_not_asked_to_filter() -> None:
    assert decide(Skipping).num_feasible == 3


class Remembering(Plugin):
    """Refuses the node that its pre-filter named."""

    def pre_filter(self, pod: Any, nodes: Any) -> Any:
        return Restriction(frozenset({"a", "b"}), "a")

    def filter(self, pod: Any, nodes: Any, state: Any) -> Any:
        return [name != state for name in nodes.names]


def test_what_a_restriction_carries_reaches_the_filter() -> None:
    assert decide(Remembering).node == "b"


# -- the choice --------------------------------------------------------------------------------------------------------


def test_a_single_feasible_node_is_not_scored() -> None:
    decision = decide(refusing("R", {"a": NO, "c": NO}), scoring("S", {"b": 7}))
    assert (decision.node, decision.via, decision.num_feasible, decision.score) == ("b", "single", 1, None)
    assert decision.message == ""


def test_the_best_node() -> None:
    decision = decide(scoring("S", {"b": 7, "c": 7, "a": 6}))
    assert (decision.node, decision.via, decision.num_feasible) == ("b", "scores", 3)
    assert (decision.score, decision.num_best, decision.row) == (7, 2, 1)


def test_the_best_of_those_that_fit() -> None:
    decision = decide(scoring("S", {"b": 7, "a": 6}), refusing("R", {"b": NO}))
    assert (decision.node, decision.score, decision.num_best, decision.num_feasible) == ("a", 6, 1, 2)


@pytest.mark.parametrize(
    ("weights", "expected", "score"),
    [
        pytest.param({"S": 1, "T": 1}, "a", 12, id="as they are"),
        pytest.param({"S": 1, "T": 4}, "b", 22, id="the second counts more"),
    ],
)
def test_weights_decide(weights: dict[str, int], expected: str, score: int) -> None:
    kinds = (scoring("S", {"a": 10, "b": 2}), scoring("T", {"a": 2, "b": 5}))
    decision = decide(*kinds, weights=weights)
    assert (decision.node, decision.score) == (expected, score)


def test_without_scores_every_feasible_node_is_as_good() -> None:
    decision = decide("NodeResourcesFit", refusing("R", {"a": NO}))
    assert decision.score is not None  # NodeResourcesFit scores
    decision = decide("NodeName", refusing("R", {"a": NO}))
    assert (decision.node, decision.score, decision.num_best) == ("b", None, 2)


# -- nominated nodes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("nominated", "expected", "via"),
    [
        pytest.param("c", "c", "nominated", id="taken first, whatever it scores"),
        pytest.param("b", "a", "scores", id="refused: the others are looked at"),
        pytest.param("gone", "a", "scores", id="gone: the others are looked at"),
    ],
)
def test_the_pod_s_own_nominated_node(nominated: str, expected: str, via: str) -> None:
    kinds = (refusing("R", {"b": NO}), scoring("S", {"a": 100}))
    decision = decide(*kinds, incoming=pod(nominated_node=nominated))
    assert (decision.node, decision.via) == (expected, via)


def test_a_nominated_node_needs_no_pre_filter_s_consent() -> None:
    kind = pre_filtering("P", Restriction(frozenset({"a"})))
    assert decide(kind, incoming=pod(nominated_node="c")).node == "c"
    assert decide(pre_filtering("P", NEVER), incoming=pod(nominated_node="c")).outcome is Outcome.UNSCHEDULABLE


def test_other_pods_nominated_nodes_are_avoided_if_need_be() -> None:
    what = cluster([node("a", cpu=4), node("b", cpu=3)])
    made = profile(what, "NodeResourcesFit")
    assert made.decide(pod(cpu=2)).node == "a"
    what.nominations.add(pod("waiting", cpu=3, priority=5), "a")
    assert made.decide(pod(cpu=2)).node == "b"
    assert made.decide(pod(cpu=1)).node == "a"  # there is room for both
    assert made.decide(pod(cpu=2, priority=6)).node == "a"
    refused = made.decide(pod(cpu=4, priority=5))
    assert refused.message == "0/2 nodes are available: 2 Insufficient cpu."
    what.nominations.remove("default/waiting")
    assert made.decide(pod(cpu=2)).node == "a"


# -- failure -----------------------------------------------------------------------------------------------------------


def test_an_error_on_a_node_makes_the_attempt_an_error() -> None:
    decision = decide(refusing("R", {"a": NO, "b": BROKEN, "c": NO}), "DefaultPreemption")
    assert decision.outcome is Outcome.ERROR
    assert decision.message == 'running "R" filter plugin: disk on fire, again'
    assert decision.preemption is None


class Fallible(Plugin):
    """Can not judge node b."""

    def filter(self, pod: PodClass, nodes: Nodes, state: object) -> NDArray[np.bool_]:
        return np.array([name != "b" for name in nodes.names], bool)

    def explain(self, pod: PodClass, nodes: Nodes, state: object) -> Refusal:
        return BROKEN

    def may_fail(self, state: object) -> bool:
        return True


def test_an_error_on_a_node_fails_the_attempt_though_others_fit() -> None:
    decision = decide(Fallible)
    assert (decision.outcome, decision.node) == (Outcome.ERROR, "")
    assert decision.error == 'running "Fallible" filter plugin: disk on fire, again'
    assert decide(Fallible, refusing("R", {"b": NO})).outcome is Outcome.ERROR  # whoever comes first
    assert decide(refusing("R", {"b": NO}), Fallible).outcome is Outcome.SCHEDULED


class Unreadable(Plugin):
    """Can not prepare to score."""

    def pre_score(self, pod: PodClass, nodes: Nodes) -> Refusal:
        return BROKEN

    def score(self, pod: PodClass, nodes: Nodes, state: object) -> NDArray[np.int64]:
        return np.zeros(len(nodes), np.int64)


def test_scores_that_can_not_be_prepared_fail_the_attempt_if_there_is_a_choice() -> None:
    decision = decide(Unreadable)
    assert (decision.outcome, decision.num_feasible) == (Outcome.ERROR, 3)
    assert decision.message == 'running PreScore plugin "Unreadable": disk on fire, again'
    assert decide(Unreadable, refusing("R", {"a": NO, "b": NO})).node == "c"


def test_nominated_nodes_outside_a_restriction_are_not_judged() -> None:
    what = cluster([node("a", cpu=4), node("b", cpu=4), node("c", cpu=4)])
    what.nominations.add(pod("waiting", cpu=3, priority=5), "b")
    made = profile(what, pre_filtering("P", Restriction(frozenset({"a"}))), "NodeResourcesFit")
    refused = made.decide(pod(cpu=8))
    words = "1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [P]"
    assert refused.message == f"0/3 nodes are available: {words}."


def test_preemption_is_tried_when_nothing_fits() -> None:
    what = cluster(node("a", cpu=1), pod("low", node="a", cpu=1))
    decision = profile(what, defaults=True).decide(pod(cpu=1, priority=1))
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.preemption is not None
    assert decision.preemption.nominated_node == "a"
    assert decision.message == "0/1 nodes are available: 1 Insufficient cpu."


def test_the_whole_message_of_the_default_profile() -> None:
    what = cluster(
        [
            node("a", unschedulable=True),
            node("b", taints="gpu"),
            node("c", cpu=1),
            node("d", cpu=2, memory="1Gi"),
            node("e", cpu=2, memory="1Gi", labels={"disk": "hdd"}),
        ],
        pod("there", node="d", memory="1Gi", cpu=1, priority=7),
    )
    decision = profile(what, defaults=True).decide(pod(cpu=2, memory="1Gi", node_affinity="disk notin (hdd)"))
    assert decision.message == (
        "0/5 nodes are available: 1 Insufficient memory, 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 2 Insufficient cpu. "
        "no new claims to deallocate, preemption: 0/5 nodes are available: "
        "1 No preemption victims found for incoming pod, 4 Preemption is not helpful for scheduling."
    )
    assert decision.unschedulable_plugins == {
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodeResourcesFit",
    }


def test_deciding_changes_nothing() -> None:
    what = cluster(NODES, [pod(f"p{number}", node=name, cpu=8) for number, name in enumerate("abc")])
    what.nominations.add(pod("waiting", cpu=3, priority=5), "a")
    made = profile(what, defaults=True)
    attempts = [pod("x", cpu=1, priority=9, anti_affinity="node", labels={"k": "v"}), pod("y", cpu=99), pod("z")]
    for attempt in attempts:
        made.decide(attempt)
    before = fingerprint(what)
    for attempt in attempts:
        made.decide(attempt)
    assert differences(before, fingerprint(what)) == []


@pytest.mark.parametrize("sampling", ["all", "two-choices"])
def test_totals_below_zero_stay_above_nodes_that_do_not_fit(sampling: Sampling) -> None:
    plugins = (refusing("Refuses", {"a": NO}), scoring("Scores", {"a": 0, "b": 7, "c": 5}))
    decision = decide(*plugins, weights={"Scores": -1}, sampling=sampling)
    assert (decision.node, decision.score, decision.num_feasible) == ("c", -5, 2)


def test_shared_failures_change_no_later_choice() -> None:
    def run(caching: bool) -> list[tuple[str, str]]:
        full = [pod(f"b{number}", cpu=3, node=f"n{number}", priority=5) for number in range(15)]
        made = Profile(
            default_configuration(REGISTRY).profiles[0],
            cluster([node(f"n{number}", cpu=4) for number in range(30)], full),
            seed=3,
            sampling="all",
            caching=caching,
        )
        found = []
        for number in range(60):  # every third fits nowhere; the others take one of many equal nodes at random
            decision = made.decide(pod(f"p{number}", cpu=2 if number % 3 else 30, priority=number % 2))
            found.append((decision.node, decision.message))
            if decision.outcome is Outcome.SCHEDULED:
                made.assume(decision)
        return found

    assert run(caching=True) == run(caching=False)


class NoRoomAnywhere(Plugin):
    """Refuses every node, looks at all of them each time, and counts how often it was asked."""

    locality = Locality.CLUSTER
    asked = 0

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        NoRoomAnywhere.asked += 1
        return np.zeros(len(nodes), bool)


@pytest.mark.parametrize("sampling", ["all", "kube", "two-choices"])
def test_equal_pods_that_fail_at_one_moment_cost_one_look(sampling: Sampling) -> None:
    NoRoomAnywhere.asked = 0
    there = cluster(NODES)
    made = profile(there, NoRoomAnywhere, sampling=sampling)
    first = made.decide(pod("p1"))
    asked = NoRoomAnywhere.asked
    again = [made.decide(pod(f"q{number}")) for number in range(50)]
    assert NoRoomAnywhere.asked == asked
    assert {one.message for one in again} == {first.message}
    assert {one.unschedulable_plugins for one in again} == {first.unschedulable_plugins}
    assert [one.pod.metadata.name for one in again[:2]] == ["q0", "q1"]
    there.apply(Event(Verb.ADDED, pod("other", node="a")))
    made.decide(pod("p2"))
    assert NoRoomAnywhere.asked > asked  # something changed: who knows
