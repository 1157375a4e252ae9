"""Room for a whole job: who has to go, who does not, and what is promised to whom."""

from __future__ import annotations

import datetime as dt
import random  # noqa: TID251 - made-up cases
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Event, Verb
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.model import LabelSelector, ObjectMeta, Pod, PodDisruptionBudget
from fairway.model.disruption import PREEMPTED, with_condition
from fairway.testing import node, pod
from fairway.testing.fingerprint import differences, fingerprint
from fairway.testing.group_builders import member, members, pod_group
from tests.cycle.job_worlds import attempt, places, world

PREEMPTING, UNSCHEDULABLE = GroupOutcome.PREEMPTING, GroupOutcome.UNSCHEDULABLE
RACK = "example.com/rack"


def nodes(number: int, cpu: int = 4, **settings_: Any) -> list[Any]:
    return [node(f"n{index}", cpu=cpu, **settings_) for index in range(number)]


def victims(decision: GroupDecision) -> list[str]:
    return sorted(victim.pod.metadata.name for victim in decision.victims)


def promised(decision: GroupDecision) -> dict[str, Any]:
    return {each.pod.metadata.name: each.nomination for each in decision.members}


def high(number: int, **settings_: Any) -> list[Pod]:
    return members(number, priority=10, **settings_)


def duo(cpu: int) -> list[Pod]:
    """Two members, of which one takes nothing."""
    return [*high(1, cpu=cpu), member("train-9", priority=10)]


def test_the_least_important_go_and_every_member_is_promised_a_node() -> None:
    running = [pod(f"p{number}", node=f"n{number}", cpu=4, priority=number) for number in range(4)]
    profile = world(*nodes(4), *running, pod_group("train", 2))
    decision = attempt(profile, high(2, cpu=3))
    assert (decision.outcome, victims(decision)) == (PREEMPTING, ["p0", "p1"])
    assert sorted(promised(decision).values()) == ["n0", "n1"]
    assert set(places(decision).values()) == {""}
    assert decision.message.endswith("2 less important pods have to make room for it.")
    assert {each.message for each in decision.members} == {decision.message}


def test_only_those_in_the_way_go() -> None:
    running = [pod(f"small{number}", node="n0", cpu=1) for number in range(4)]
    decision = attempt(world(*nodes(1), *running, pod_group("train", 2)), duo(2))
    assert len(victims(decision)) == 2


def test_equal_or_more_important_pods_stay() -> None:
    running = [pod("p0", node="n0", cpu=4, priority=10), pod("p1", node="n1", cpu=4, priority=11)]
    decision = attempt(world(*nodes(2), *running, pod_group("train", 2)), duo(2))
    assert (decision.outcome, victims(decision)) == (UNSCHEDULABLE, [])


def test_who_says_never_does_not_preempt() -> None:
    running = [pod("p0", node="n0", cpu=4)]
    pods = [*high(1, cpu=2), member("train-1", cpu=1, priority=10, preemption_policy="Never")]
    decision = attempt(world(*nodes(1), *running, pod_group("train", 2)), pods)
    assert (decision.outcome, victims(decision)) == (UNSCHEDULABLE, [])


def test_preemption_that_would_not_help() -> None:
    running = [pod("p0", node="n0", cpu=4), pod("p1", node="n1", cpu=4, priority=10)]
    decision = attempt(world(*nodes(2), *running, pod_group("train", 2)), high(2, cpu=4))
    assert (decision.outcome, victims(decision)) == (UNSCHEDULABLE, [])
    assert decision.message.endswith("Preemption would not help.")


@pytest.mark.parametrize("disruption", ["PodGroup", None])
def test_a_job_that_would_fall_below_its_minimum_goes_as_a_whole(disruption: str | None) -> None:
    group = pod_group("old", 2, disruption=disruption)
    running = [member(f"old-{number}", "old", node=f"n{number}", cpu=3) for number in range(2)]
    decision = attempt(world(*nodes(2), *running, group, pod_group("train", 2)), duo(3))
    assert victims(decision) == ["old-0", "old-1"]


def test_members_to_spare_go_alone() -> None:
    running = [member(f"old-{number}", "old", node=f"n{number}", cpu=3) for number in range(3)]
    profile = world(*nodes(3), *running, pod_group("old", 2), pod_group("train", 2))
    assert len(victims(attempt(profile, duo(3)))) == 1
    profile = world(*nodes(3), *running, pod_group("old", 2), pod_group("train", 2))
    assert victims(attempt(profile, high(2, cpu=3))) == ["old-0", "old-1", "old-2"]
    profile = world(*nodes(3), *running, pod_group("old", 2, disruption="PodGroup"), pod_group("train", 2))
    assert len(victims(attempt(profile, duo(3)))) == 3


def test_a_lone_pod_goes_rather_than_a_job() -> None:
    running = [member(f"old-{number}", "old", node=f"n{number}", cpu=4) for number in range(2)]
    profile = world(*nodes(3), *running, pod("lone", node="n2", cpu=4), pod_group("old", 2), pod_group("train", 2))
    assert victims(attempt(profile, duo(2))) == ["lone"]


def test_budgets_are_kept_where_they_can_be() -> None:
    budget = PodDisruptionBudget(metadata=ObjectMeta(name="b", namespace="default"))
    budget = msgspec.structs.replace(
        budget,
        spec=msgspec.structs.replace(budget.spec, selector=LabelSelector(match_labels={"app": "kept"})),
        status=msgspec.structs.replace(budget.status, disruptions_allowed=0),
    )
    running = [pod("kept", node="n0", cpu=4, labels={"app": "kept"}), pod("other", node="n1", cpu=4, priority=1)]
    decision = attempt(world(*nodes(2), *running, budget, pod_group("train", 2)), duo(2))
    assert victims(decision) == ["other"]


def test_the_cheapest_domain_wins() -> None:
    where = [node(f"{rack}{number}", cpu=4, labels={RACK: rack}) for rack in "abc" for number in range(2)]
    running = [
        *(pod(f"a{number}", node=f"a{number}", cpu=4, priority=5) for number in range(2)),
        *(pod(f"b{number}", node=f"b{number}", cpu=4, priority=1) for number in range(2)),
        pod("c0", node="c0", cpu=4, priority=2),
        pod("c1", node="c1", cpu=4, priority=20),
    ]
    decision = attempt(world(*where, *running, pod_group("train", 2, topology=RACK)), high(2, cpu=4))
    assert victims(decision) == ["b0", "b1"]
    assert set(promised(decision).values()) == {"b0", "b1"}


def test_less_important_pods_lose_what_was_promised_to_them() -> None:
    profile = world(*nodes(1), pod("p0", node="n0", cpu=4), pod_group("train", 2))
    other = pod("other", cpu=2, priority=5)
    profile.cluster.nominations.add(other, "n0")
    decision = attempt(profile, duo(3))
    assert [each.metadata.name for each in decision.cleared] == ["other"]


def leaving(each: Pod) -> Pod:
    gone = msgspec.structs.replace(each.metadata, deletion_timestamp=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    return with_condition(msgspec.structs.replace(each, metadata=gone), PREEMPTED)


def test_nobody_else_goes_while_victims_are_leaving() -> None:
    running = [pod("p0", node="n0", cpu=4), pod("p1", node="n1", cpu=4, priority=1)]
    profile = world(*nodes(2), *running, pod_group("train", 2))
    pods = duo(3)
    first = attempt(profile, pods)
    assert victims(first) == ["p0"]
    kept = promised(first)
    assert kept["train-0"] == "n0"
    for each in first.members:
        profile.cluster.nominations.add(each.pod, each.nomination or "")
    profile.cluster.apply(Event(Verb.MODIFIED, leaving(running[0])))
    again = attempt(profile, pods)
    assert (again.outcome, victims(again), again.waits_for_victims) == (UNSCHEDULABLE, [], True)
    assert promised(again) == kept
    profile.cluster.apply(Event(Verb.DELETED, running[0]))
    assert places(attempt(profile, pods)) == kept


def test_pods_that_leave_anyway_are_waited_for() -> None:
    running = [pod("p0", node="n0", cpu=4, terminating=True), pod("p1", node="n1", cpu=4)]
    decision = attempt(world(*nodes(2), *running, pod_group("train", 2)), duo(3))
    assert (decision.outcome, victims(decision), decision.waits_for_victims) == (UNSCHEDULABLE, [], True)


def test_what_was_kept_in_vain_is_kept_no_more() -> None:
    profile = world(*nodes(1), pod("p0", node="n0", cpu=4, priority=20), pod_group("train", 2))
    pods = duo(3)
    profile.cluster.nominations.add(pods[0], "n0")
    assert set(promised(attempt(profile, pods)).values()) == {""}


# -- any cluster -------------------------------------------------------------------------------------------------------


def made_up(seed: int) -> tuple[list[Any], list[Pod]]:
    luck = random.Random(seed)
    number = luck.randint(1, 4)
    objects: list[Any] = [
        node(f"n{index}", cpu=luck.randint(2, 6), labels={RACK: f"r{index % 2}"}) for index in range(number)
    ]
    free = {f"n{index}": int(objects[index].status.allocatable["cpu"].value) for index in range(number)}
    objects += [
        pod_group(f"old{index}", luck.randint(1, 3), disruption=luck.choice([None, "PodGroup"])) for index in (0, 1)
    ]
    for index in range(luck.randint(0, 8)):
        where, cpu = f"n{luck.randrange(number)}", luck.randint(1, 3)
        if free[where] < cpu:
            continue
        free[where] -= cpu
        how: dict[str, Any] = {"cpu": cpu, "node": where, "priority": luck.choice([0, 1, 2, 5, 6])}
        how["started"] = dt.datetime(2026, 1, 1 + luck.randint(0, 3), tzinfo=dt.UTC)
        if luck.random() < 0.4:
            objects.append(member(f"r{index}", f"old{luck.randrange(2)}", **how))
        else:
            objects.append(pod(f"r{index}", **how))
    pods = [member(f"m{index}", cpu=luck.randint(1, 4), priority=5) for index in range(luck.randint(2, 4))]
    least = luck.randint(1, len(pods))
    objects.append(pod_group("train", least, topology=RACK if luck.random() < 0.3 else None))
    return objects, pods


def without(profile: Profile, gone: list[Pod]) -> None:
    for each in gone:
        profile.cluster.apply(Event(Verb.DELETED, each))


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_no_victim_is_needless_and_the_job_starts_next(seed: int) -> None:
    objects, pods = made_up(seed)
    profile = world(*objects, backtracks=100_000)
    before = fingerprint(profile.cluster)
    decision = attempt(profile, pods)
    assert differences(before, fingerprint(profile.cluster)) == []
    if decision.outcome is not PREEMPTING:
        assert decision.victims == []
        if decision.outcome is UNSCHEDULABLE:  # not even with everybody less important gone
            rest = [each for each in objects if not (isinstance(each, Pod) and each.priority < 5)]
            if all(not isinstance(each, Pod) or each.spec.scheduling_group is None for each in rest):
                assert attempt(world(*rest, backtracks=100_000), pods).outcome is UNSCHEDULABLE
        return
    gone = [victim.pod for victim in decision.victims]
    assert all(each.priority < 5 for each in gone)
    assert victims(attempt(world(*objects, backtracks=100_000), list(reversed(pods)))) == victims(decision)
    starting = world(*objects, backtracks=100_000)
    without(starting, gone)
    for each in decision.members:
        if each.nomination:
            starting.cluster.nominations.add(each.pod, each.nomination)
    next_time = attempt(starting, pods)
    assert next_time.outcome is GroupOutcome.SCHEDULED
    kept = {name: where for name, where in promised(decision).items() if where}
    assert {name: where for name, where in places(next_time).items() if name in kept} == kept
    for spared in gone:
        if spared.spec.scheduling_group is None:
            other = world(*objects, backtracks=100_000)
            without(other, [each for each in gone if each is not spared])
            assert attempt(other, pods).outcome is not GroupOutcome.SCHEDULED


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_no_job_is_left_with_fewer_than_it_takes(seed: int) -> None:
    objects, pods = made_up(seed)
    decision = attempt(world(*objects), pods)
    gone = {victim.pod.metadata.uid for victim in decision.victims}
    for group in (each for each in objects if each.kind == "PodGroup" and each.metadata.name != "train"):
        name = group.metadata.name
        there = [
            each
            for each in objects
            if isinstance(each, Pod)
            and each.spec.scheduling_group
            and each.spec.scheduling_group.pod_group_name == name
        ]
        left = [each for each in there if each.metadata.uid not in gone]
        least = len(there) if group.spec.disruption_mode == "PodGroup" else group.spec.scheduling_policy.gang.min_count
        assert not left or len(left) == len(there) or len(left) >= least
