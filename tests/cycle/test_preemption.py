"""Preemption: which pods would have to go, from which node, and when nobody may or need be asked to."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from fairway.cluster import Cluster
from fairway.cycle import Preemption
from fairway.model import (
    LabelSelector,
    Node,
    ObjectMeta,
    Pod,
    PodCondition,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodDisruptionBudgetStatus,
)
from fairway.plugin import Code, Plugin, Refusal
from fairway.testing import FakeClock, cluster, near, node, pod
from fairway.testing.fingerprint import differences, fingerprint
from tests.cycle.profiles import pre_filtering, profile

PLUGINS = ("NodeUnschedulable", "NodePorts", "NodeResourcesFit", "InterPodAffinity", "DefaultPreemption")
LOWEST = -(2**31)


def at(second: int) -> dt.datetime:
    return dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=second)


def budget(app: str, allowed: int = 0) -> PodDisruptionBudget:
    return PodDisruptionBudget(
        metadata=ObjectMeta(name=app, namespace="default", uid=app),
        spec=PodDisruptionBudgetSpec(selector=LabelSelector(match_labels={"app": app})),
        status=PodDisruptionBudgetStatus(disruptions_allowed=allowed),
    )


def preempt(what: Cluster, incoming: Pod, *more: type[Plugin], **options: Any) -> Preemption:
    """What preemption comes to; the cluster is as before, and no node fits."""
    made = profile(what, *more, *PLUGINS, **options)
    made.classify(incoming)
    before = fingerprint(what)
    decision = made.decide(incoming)
    assert decision.row == -1
    assert differences(before, fingerprint(what)) == []
    assert decision.preemption is not None
    return decision.preemption


def victims(found: Preemption) -> list[str]:
    return [] if found.chosen is None else [victim.metadata.name for victim in found.chosen.victims]


def full(name: str, *running: Pod) -> tuple[Node, list[Pod]]:
    """A node that these pods, of one CPU each, fill."""
    placed = [
        msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, node_name=name)) for each in running
    ]
    return node(name, cpu=len(running)), placed


def clusters(*filled: tuple[Node, list[Pod]], budgets: tuple[PodDisruptionBudget, ...] = ()) -> Cluster:
    return cluster([each for each, _ in filled], [placed for _, pods in filled for placed in pods], budgets)


def low(name: str, priority: int = 1, **fields: Any) -> Pod:
    return pod(name, cpu=1, priority=priority, **fields)


# -- who has to go -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("running", "wants", "expected"),
    [
        pytest.param([low("x", 3), low("y", 1), low("z", 2)], 1, ["y"], id="the least important"),
        pytest.param([low("x", 3), low("y", 1), low("z", 2)], 2, ["z", "y"], id="two; the more important first"),
        pytest.param([low("x", 9), low("y", 1), low("z", 10)], 1, ["y"], id="never an equal"),
        pytest.param(
            [low("x", started=at(9)), low("y", started=at(7)), low("z", started=at(8))],
            1,
            ["x"],
            id="of equals the one that started last",
        ),
        pytest.param(
            [low("x", started=at(9)), low("y"), low("z", started=at(8))],
            1,
            ["y"],
            id="one that has not started starts now",
        ),
    ],
)
def test_the_least_important_pods_go(running: list[Pod], wants: int, expected: list[str]) -> None:
    found = preempt(clusters(full("n", *running)), pod(cpu=wants, priority=9), now=at(1000).timestamp)
    assert victims(found) == expected
    assert (found.code, found.reasons, found.nominated_node, found.attempted) == (None, (), "n", True)


def test_a_pod_that_would_not_help_stays() -> None:
    """The large one alone makes room: the small one, though less important, is let back."""
    what = cluster(node("n", cpu=5), [pod("large", node="n", cpu=4, priority=2), low("small", 1, node="n")])
    assert victims(preempt(what, pod(cpu=4, priority=9))) == ["large"]


@pytest.mark.parametrize("wishes", [{}, {"anti_affinity": near("app=none")}], ids=["near", "looking further"])
@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        pytest.param(0, ["y"], id="whose budget would be violated is let back first"),
        pytest.param(1, ["x"], id="the budget allows it: the least important goes"),
    ],
)
def test_budgets_protect(allowed: int, expected: list[str], wishes: dict[str, Any]) -> None:
    running = [low("x", 1, labels={"app": "web"}), low("y", 2)]
    found = preempt(clusters(full("n", *running), budgets=(budget("web", allowed),)), pod(cpu=1, priority=9, **wishes))
    assert victims(found) == expected
    assert found.chosen is not None
    assert found.chosen.pdb_violations == 0


@pytest.mark.parametrize("wishes", [{}, {"anti_affinity": near("app=none")}], ids=["near", "looking further"])
def test_violations_are_counted_and_victims_come_by_importance(wishes: dict[str, Any]) -> None:
    running = [low("x", 1, labels={"app": "web"}), low("y", 3), low("z", 2, labels={"app": "web"})]
    found = preempt(clusters(full("n", *running), budgets=(budget("web", 1),)), pod(cpu=3, priority=9, **wishes))
    assert victims(found) == ["y", "z", "x"]
    assert found.chosen is not None
    assert found.chosen.pdb_violations == 1  # the more important of the two used the budget up


def test_a_pod_goes_for_what_it_holds_besides_room() -> None:
    what = cluster(node("n"), [low("port", node="n", ports=80), low("other", 0, node="n")])
    assert victims(preempt(what, pod(ports=80, priority=9))) == ["port"]


# -- plugins that look further -----------------------------------------------------------------------------------------


def test_a_pod_goes_because_of_affinity() -> None:
    nodes = [node("a", zone="z"), node("b", zone="z")]
    alone = pod(labels={"app": "x"}, anti_affinity=near("app=y"), priority=9)
    what = cluster(nodes, [low("y1", 2, node="a", labels={"app": "y"}), low("y2", 1, node="b", labels={"app": "y"})])
    found = preempt(what, alone)
    assert (found.nominated_node, victims(found)) == ("b", ["y2"])
    assert [candidate.row for candidate in found.candidates] == [0, 1]


def test_pods_of_other_nodes_can_not_be_removed() -> None:
    nodes = [node("a", zone="z"), node("b", zone="z")]
    alone = pod(labels={"app": "x"}, anti_affinity=near("app=y", "zone"), priority=9)
    what = cluster(nodes, [low("y1", node="a", labels={"app": "y"}), low("y2", node="b", labels={"app": "y"})])
    found = preempt(what, alone)
    assert found.chosen is None
    assert found.reasons == ("preemption: 0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.",)


# -- which node --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        pytest.param(
            [low("a1", 1, labels={"app": "web"})], [low("b1", 8)], id="fewest violated budgets, however important"
        ),
        pytest.param(
            [low("a1", 5)], [low("b1", 4), low("b2", 3)], id="the least important of the most important, however many"
        ),
        pytest.param([low("a1", 5), low("a2", 4)], [low("b1", 5), low("b2", 1)], id="the smallest sum of priorities"),
        pytest.param([low("a1", 5), low("a2", 5)], [low("b1", 5)], id="fewer victims, by the sum"),
        pytest.param([low("a1", 5), low("a2", LOWEST)], [low("b1", 5)], id="fewer victims, the sum being equal"),
        pytest.param([low("a1", started=at(5))], [low("b1", started=at(6))], id="the latest start"),
        pytest.param(
            [low("a1", 2, started=at(5)), low("a2", 1, started=at(9))],
            [low("b1", 2, started=at(6)), low("b2", 1, started=at(1))],
            id="the latest start of the most important",
        ),
        pytest.param(
            [low("a1", 2, started=at(5)), low("a2", 2, started=at(9))],
            [low("b1", 2, started=at(6)), low("b2", 2, started=at(7))],
            id="of several of those the earliest counts",
        ),
        pytest.param([low("a1", started=at(5))], [low("b1")], id="one that has not started starts now"),
    ],
)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "named the other way round"])
def test_the_cheapest_node_is_chosen(worse: list[Pod], better: list[Pod], swapped: bool) -> None:
    """The pod wants a whole CPU for each victim of the fuller node; an emptier one is just smaller."""
    first, second = ("b", "a") if swapped else ("a", "b")
    wants = max(len(worse), len(better))
    filled = (_sized(full(first, *worse), wants), _sized(full(second, *better), wants))
    what = clusters(*filled, budgets=(budget("web"),))
    found = preempt(what, pod(cpu=wants, priority=9), now=at(100).timestamp)
    assert found.nominated_node == second
    assert victims(found) == [each.metadata.name for each in better]
    assert found.ties == 1
    assert len(found.candidates) == 2


def _sized(filled: tuple[Node, list[Pod]], cpu: int) -> tuple[Node, list[Pod]]:
    return node(filled[0].metadata.name, cpu=cpu), filled[1]


def equals(number: int = 3) -> Cluster:
    return clusters(*(full(f"n{index}", low(f"p{index}", started=at(1))) for index in range(number)))


def test_of_equals_the_first_by_name() -> None:
    found = preempt(equals(), pod(cpu=1, priority=9))
    assert (found.nominated_node, found.ties) == ("n0", 3)
    assert [victim.metadata.name for each in found.candidates for victim in each.victims] == ["p0", "p1", "p2"]


def test_of_equals_any_by_seed() -> None:
    def chosen(seed: int) -> str:
        return preempt(equals(), pod(cpu=1, priority=9), tie_break="random", seed=seed).nominated_node

    assert {chosen(seed) for seed in range(20)} == {"n0", "n1", "n2"}
    assert [chosen(seed) for seed in range(5)] == [chosen(seed) for seed in range(5)]


# -- how many nodes are tried ------------------------------------------------------------------------------------------


def limited(percentage: int, absolute: int) -> dict[str, Any]:
    args = {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}
    return {"args": {"DefaultPreemption": args}}


@pytest.mark.parametrize("seed", range(6))
def test_no_more_candidates_than_enough(seed: int) -> None:
    """Every other node has nobody to remove, so that more nodes than candidates have to be looked at."""
    filled = [full(f"n{index}", low(f"p{index}", priority=index % 2 * 9)) for index in range(8)]
    found = preempt(clusters(*filled), pod(cpu=1, priority=9), seed=seed, **limited(0, 2))
    assert len(found.candidates) == 2
    assert all(each.victims[0].priority == 0 for each in found.candidates)


@pytest.mark.parametrize("seed", range(6))
def test_the_search_goes_on_until_a_budget_is_kept(seed: int) -> None:
    filled = [full(f"n{index}", low(f"p{index}", labels={"app": "web"})) for index in range(5)]
    what = clusters(*filled, full("z", low("free", 8)), budgets=(budget("web"),))
    found = preempt(what, pod(cpu=1, priority=9), seed=seed, **limited(0, 1))
    assert victims(found) == ["free"]
    assert len(found.candidates) <= 2  # it, and one of those before it


def test_a_share_that_comes_to_nothing_finds_nothing() -> None:
    found = preempt(equals(), pod(cpu=1, priority=9), **limited(10, 0))
    assert found.chosen is None
    assert found.reasons == ("preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",)


# -- when it does not help ---------------------------------------------------------------------------------------------


def test_every_node_says_why_not() -> None:
    what = cluster(
        [node("a", cpu=1, unschedulable=True), node("b", cpu=2), node("c", cpu=3)],
        [low("a1", node="a"), low("b1", 9, node="b"), low("c1", node="c"), pod("c2", node="c", cpu=2, priority=9)],
    )
    found = preempt(what, pod(cpu=2, priority=9))
    assert (found.chosen, found.code, found.clear_nomination, found.attempted) == (None, Code.UNSCHEDULABLE, True, True)
    assert found.reasons == (
        "preemption: 0/3 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod, "
        "1 Preemption is not helpful for scheduling.",
    )


def test_nothing_is_attempted_where_removing_pods_can_not_help() -> None:
    found = preempt(cluster(node("a", unschedulable=True), low("a1", node="a")), pod(priority=9))
    assert (found.attempted, found.clear_nomination) == (False, True)
    assert found.reasons == ("preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        pytest.param(Refusal(("no",)), ["p0"], id="one that may be lifted: every node is tried"),
        pytest.param(Refusal(("never",), Code.UNRESOLVABLE), [], id="one that may not"),
    ],
)
def test_after_a_pre_filter_refused(refusal: Refusal, expected: list[str]) -> None:
    found = preempt(equals(1), pod(cpu=1, priority=9), pre_filtering("P", refusal))
    assert victims(found) == expected
    assert found.attempted is bool(expected)


def test_who_never_preempts() -> None:
    found = preempt(equals(1), pod(cpu=1, priority=9, preemption_policy="Never"))
    assert found.reasons == ("preemption: not eligible due to preemptionPolicy=Never.",)
    assert (found.chosen, found.attempted, found.clear_nomination) == (None, False, False)


# -- pods that wait for a node -----------------------------------------------------------------------------------------

PREEMPTED = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")


def leaving(condition: PodCondition | None, priority: int = 1, terminating: bool = True) -> Pod:
    made = pod("leaving", node="a", cpu=1, priority=priority, terminating=terminating)
    conditions = () if condition is None else (condition,)
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, conditions=conditions))


@pytest.mark.parametrize(
    ("there", "nominated", "is_eligible"),
    [
        pytest.param(leaving(PREEMPTED), "a", False, id="its victim is still there"),
        pytest.param(leaving(PREEMPTED), "", True, id="but it waits for no node"),
        pytest.param(leaving(PREEMPTED), "gone", True, id="but it waits for a node that is gone"),
        pytest.param(leaving(PREEMPTED), "b", True, id="but it waits for another node"),
        pytest.param(leaving(PREEMPTED, terminating=False), "a", True, id="but it is not leaving yet"),
        pytest.param(leaving(None), "a", True, id="it leaves for another reason"),
        pytest.param(
            leaving(PodCondition(type="DisruptionTarget", status="True", reason="EvictionByEvictionAPI")),
            "a",
            True,
            id="it was evicted by somebody else",
        ),
        pytest.param(
            leaving(PodCondition(type="DisruptionTarget", status="False", reason="PreemptionByScheduler")),
            "a",
            True,
            id="it was to be preempted, but is not",
        ),
        pytest.param(leaving(PREEMPTED, priority=9), "a", True, id="it was somebody else's victim: as important"),
    ],
)
def test_who_waits_for_a_victim_does_not_look_for_others(there: Pod, nominated: str, is_eligible: bool) -> None:
    what = cluster([node("a", cpu=1), node("b", cpu=1)], [there, low("b1", node="b")])
    found = preempt(what, pod(cpu=1, priority=9, nominated_node=nominated))
    if is_eligible:
        assert found.chosen is not None
    else:
        assert found.reasons == ("preemption: not eligible due to a terminating pod on the nominated node.",)
        assert (found.chosen, found.attempted, found.clear_nomination) == (None, False, False)


def test_a_nominated_node_that_became_hopeless_is_given_up() -> None:
    what = cluster([node("a", cpu=1, unschedulable=True), node("b", cpu=1)], [leaving(PREEMPTED), low("b1", node="b")])
    assert preempt(what, pod(cpu=1, priority=9, nominated_node="a")).nominated_node == "b"


def test_less_important_pods_no_longer_wait_for_the_chosen_node() -> None:
    what = equals(2)
    for name, priority, place in (("lower", 5, "n0"), ("equal", 9, "n0"), ("elsewhere", 5, "n1"), ("next", 8, "n0")):
        what.nominations.add(pod(name, priority=priority), place)
    found = preempt(what, pod(cpu=1, priority=9))
    assert found.nominated_node == "n0"
    assert [other.metadata.name for other in found.cleared] == ["lower", "next"]


def test_room_is_left_for_others_that_wait_for_a_node() -> None:
    what = equals(2)
    what.nominations.add(pod("waiting", cpu=1, priority=9), "n0")
    found = preempt(what, pod(cpu=1, priority=9))
    assert [what.nodes.names[each.row] for each in found.candidates] == ["n1"]
    what.nominations.add(pod("waiting-too", cpu=1, priority=9), "n1")
    assert preempt(what, pod(cpu=1, priority=9)).reasons == (
        "preemption: 0/2 nodes are available: 2 Insufficient cpu.",
    )


def test_the_same_clock_tells_when_a_pod_starts_that_does_not_say() -> None:
    clock = FakeClock(at(3).timestamp())
    what = clusters(full("a", low("a1")), full("b", low("b1", started=at(5))))
    assert preempt(what, pod(cpu=1, priority=9), now=clock.now).nominated_node == "b"
    clock.advance(10)
    assert preempt(what, pod(cpu=1, priority=9), now=clock.now).nominated_node == "a"
