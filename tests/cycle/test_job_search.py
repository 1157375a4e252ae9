"""The search for a place for all members, against one that tries everything."""

from __future__ import annotations

import random  # noqa: TID251 - a seeded set of cases
import sys
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.pod_group_cycle import decide_pod_group
from fairway.model import Pod
from fairway.testing import near, node, pod
from fairway.testing.group_builders import member, members, pod_group
from tests.cycle.job_worlds import attempt, places, world
from tests.cycle.test_pod_group_cycle import world as kube_world

NUM_CASES = 2000
BUDGET = 100_000


class Case(NamedTuple):
    """Nodes with what runs there, members, and how many of them it takes."""

    objects: list[Any]
    pods: list[Pod]
    least: int

    def decide(self, **gangs: Any) -> GroupDecision:
        return attempt(world(*self.objects, pod_group("train", self.least), **gangs), self.pods)

    def decide_as_kube(self) -> GroupDecision:
        profile = kube_world(*self.objects, pod_group("train", self.least))
        for each in self.pods:
            profile.cluster.groups.observe(each)
        group = profile.cluster.groups.of(self.pods[0].metadata.uid)
        assert group is not None
        return decide_pod_group(profile, group, self.pods)


def made_up(seed: int) -> Case:
    luck = random.Random(seed)
    num_nodes = luck.randint(1, 4)
    objects: list[Any] = [
        node(f"n{number}", cpu=luck.randint(2, 8), memory=f"{luck.randint(2, 8)}Gi", zone="ab"[number % 2])
        for number in range(num_nodes)
    ]
    for number in range(luck.randint(0, 3)):
        where = f"n{luck.randrange(num_nodes)}"
        objects.append(pod(f"r{number}", cpu=luck.randint(0, 2), node=where, labels={"app": luck.choice("xy")}))
    wishes: list[dict[str, Any]] = [{}, {}, {}, {"spread": "zone"}, {"anti_affinity": "node"}, {"affinity": "zone"}]
    pods = []
    for number in range(luck.randint(2, 5)):
        labels = {"app": luck.choice("xy")}
        sizes: dict[str, Any] = {"cpu": luck.randint(1, 5), "memory": f"{luck.randint(1, 5)}Gi"}
        pods.append(member(f"m{number}", labels=labels, **sizes, **luck.choice(wishes)))
    return Case(objects, pods, len(pods) if luck.random() < 0.7 else luck.randint(1, len(pods)))


def has_placement(case: Case) -> bool:
    """Is there any order, and any choice of nodes, in which enough members are let in one after the other?"""
    profile = world(*case.objects, pod_group("train", case.least))
    seen: set[frozenset[tuple[str, int]]] = set()

    def extend(placed: dict[str, int]) -> bool:
        if len(placed) >= case.least:
            return True
        if (state := frozenset(placed.items())) in seen:
            return False
        seen.add(state)
        return any(
            _with(profile, each, row, lambda each=each, row=row: extend({**placed, each.metadata.uid: row}))
            for each in case.pods
            if each.metadata.uid not in placed
            for row in range(profile.cluster.nodes.num_rows)
            if profile.fits_on(each, row)
        )

    return extend({})


def _with(profile: Profile, each: Pod, row: int, look: Any) -> bool:
    profile.cluster.assume(each, profile.classify(each), row)
    try:
        return bool(look())
    finally:
        profile.cluster.forget(each.metadata.uid)


def starts(decision: GroupDecision) -> bool:
    return decision.outcome is GroupOutcome.SCHEDULED


def check_placement(case: Case, decision: GroupDecision) -> None:
    """Each is let in where it was put, in the order told."""
    profile = world(*case.objects, pod_group("train", case.least))
    for each in decision.members:
        if each.row >= 0:
            assert profile.fits_on(each.pod, each.row), each.pod.metadata.name
            profile.cluster.assume(each.pod, profile.classify(each.pod), each.row)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_without_a_bound_every_placement_is_found(seed: int) -> None:
    case = made_up(seed)
    decision = case.decide(backtracks=BUDGET)
    assert starts(decision) is has_placement(case)
    assert not decision.is_exhausted  # so a no means that there is none, also where it was a quick one
    if starts(decision):
        check_placement(case, decision)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9), backtracks=st.integers(0, 40))
def test_who_stops_early_says_so(seed: int, backtracks: int) -> None:
    case = made_up(seed)
    decision = case.decide(backtracks=backtracks)
    assert decision.num_backtracks <= backtracks
    if starts(decision):
        check_placement(case, decision)
    elif not decision.is_exhausted:
        assert not has_placement(case)
    else:
        assert f"(search stopped after {backtracks})" in decision.message


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), order=st.randoms(use_true_random=False))
def test_the_order_in_which_members_come_does_not_matter(seed: int, order: random.Random) -> None:
    case = made_up(seed)
    first = case.decide()
    shuffled = list(case.pods)
    order.shuffle(shuffled)
    again = case._replace(pods=shuffled).decide()
    assert (starts(again), places(again), again.message) == (starts(first), places(first), first.message)


@pytest.mark.slow
def test_a_few_moves_find_nearly_every_placement(capsys: pytest.CaptureFixture[str]) -> None:
    solvable = found = found_as_kube = seed = 0
    while solvable < NUM_CASES:
        seed += 1
        case = made_up(seed)
        decision = case.decide()
        if not starts(decision) and not (decision.is_exhausted and starts(case.decide(backtracks=BUDGET))):
            continue
        solvable += 1
        found += starts(decision)
        found_as_kube += starts(case.decide_as_kube())
    shares = f"fairway starts {found / solvable:.1%}, kube {found_as_kube / solvable:.1%}"
    with capsys.disabled():
        sys.stdout.write(f"\nof {solvable} jobs that fit: {shares}\n")
    assert found >= 0.95 * solvable
    assert found > found_as_kube


# -- cases -------------------------------------------------------------------------------------------------------------


def test_an_earlier_member_makes_way() -> None:
    """Both would do for the first, which is tried first for what it takes of the cluster; the other has one choice."""
    nodes = [node("a", cpu=4, memory="4Gi"), node("b", cpu=4, memory="8Gi")]
    pods = [member("first", cpu=4, memory="1Gi"), member("second", cpu=1, memory="6Gi")]
    case = Case([*nodes, pod("x", node="a", cpu=1)], [pods[0]], 1)
    assert places(case.decide()) == {"first": "b"}
    decision = Case(nodes, pods, 2).decide(backtracks=1)
    assert places(decision) == {"first": "a", "second": "b"}


def test_equal_members_are_not_shuffled_among_themselves() -> None:
    """No order of equal members is better than another: nothing is searched, and the answer is sure."""
    blocked = pod("x", node="n1", ports=80)
    nodes = [node(f"n{number}", cpu=4) for number in range(3)]
    decision = Case([*nodes, blocked], members(3, cpu=1, ports=80), 3).decide()
    assert (decision.num_backtracks, decision.is_exhausted, decision.missing) == (0, False, 1)
    assert decision.message == (
        "job default/train: 2 of 3 members fit; train-2 fits nowhere: 0/3 nodes are available: "
        "3 node(s) didn't have free ports for the requested pod ports."
    )


def test_a_member_that_needs_another_waits_for_it() -> None:
    nodes = [node("a", cpu=8, zone="z"), node("b", cpu=8)]
    needy = member("needy", cpu=6, affinity=near("app=hub", "zone"))
    decision = Case(nodes, [needy, member("hub", cpu=1, labels={"app": "hub"})], 2).decide()
    assert places(decision) == {"hub": "a", "needy": "a"}
