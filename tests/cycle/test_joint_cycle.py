"""Several jobs that start together: all of them or none, and whose room they get if there is none left."""

from __future__ import annotations

import datetime as dt
import random  # noqa: TID251 - made-up cases
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Event, Verb
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.joint_attempt import JobRequest
from fairway.cycle.groups.joint_cycle import decide_jobs
from fairway.model import Pod
from fairway.model.group import GroupSpec
from fairway.testing import node, pod
from fairway.testing.fingerprint import differences, fingerprint
from fairway.testing.group_builders import member, pod_group
from tests.cycle.job_worlds import world

SCHEDULED, PREEMPTING, UNSCHEDULABLE = GroupOutcome.SCHEDULED, GroupOutcome.PREEMPTING, GroupOutcome.UNSCHEDULABLE
RACK = "example.com/rack"


def together(profile: Profile, *jobs: Sequence[Pod], may_preempt: bool = True) -> list[GroupDecision]:
    groups = profile.cluster.groups
    requests = []
    for pods in jobs:
        for each in pods:
            groups.observe(each)
        book = groups.of(pods[0].metadata.uid)
        assert book is not None
        spec = groups.spec_of(book)
        assert isinstance(spec, GroupSpec)
        requests.append(JobRequest(book, spec, pods))
    return decide_jobs(profile, requests, may_preempt)


def job(name: str, number: int, **how: Any) -> list[Pod]:
    return [member(f"{name}-{index}", name, **how) for index in range(number)]


def victims(decisions: Sequence[GroupDecision]) -> list[str]:
    return sorted(victim.pod.metadata.name for decision in decisions for victim in decision.victims)


def promises(decisions: Sequence[GroupDecision]) -> dict[str, str]:
    members = [each for decision in decisions for each in decision.members]
    return {each.pod.metadata.name: each.nomination for each in members if each.nomination}


# -- cases -------------------------------------------------------------------------------------------------------------


def test_members_beyond_what_a_job_takes_do_not_keep_the_other_from_starting() -> None:
    profile = world(node("n", cpu=4), pod_group("a", 2), pod_group("b", 2))
    first, second = together(profile, job("a", 4, cpu=1), job("b", 2, cpu=1))
    assert (first.outcome, first.num_placed) == (SCHEDULED, 2)
    assert (second.outcome, second.num_placed) == (SCHEDULED, 2)


def test_room_is_made_for_both_at_once_and_every_member_is_promised_a_node() -> None:
    running = [pod(f"p{number}", node=f"n{number}", cpu=4, priority=number) for number in range(4)]
    nodes = [node(f"n{number}", cpu=4) for number in range(4)]
    profile = world(*nodes, *running, pod_group("a", 2), pod_group("b", 1))
    decisions = together(profile, job("a", 2, cpu=4, priority=10), job("b", 1, cpu=4, priority=10))
    assert {decision.outcome for decision in decisions} == {PREEMPTING}
    assert victims(decisions) == ["p0", "p1", "p2"]
    assert sorted(promises(decisions).values()) == ["n0", "n1", "n2"]
    assert all(decision.message.endswith("3 less important pods have to make room for it.") for decision in decisions)


def test_nobody_goes_who_is_as_important_as_one_of_them() -> None:
    running = [pod("p0", node="n0", cpu=4), pod("p1", node="n1", cpu=4, priority=5)]
    profile = world(node("n0", cpu=4), node("n1", cpu=4), *running, pod_group("a", 1), pod_group("b", 1))
    decisions = together(profile, job("a", 1, cpu=4, priority=10), job("b", 1, cpu=4, priority=5))
    assert {decision.outcome for decision in decisions} == {UNSCHEDULABLE}
    assert victims(decisions) == []
    assert all(decision.message.endswith("Preemption would not help.") for decision in decisions)


def test_nobody_goes_where_one_of_them_says_never() -> None:
    profile = world(node("n0", cpu=4), pod("p0", node="n0", cpu=4), pod_group("a", 1), pod_group("b", 1))
    second = job("b", 1, cpu=1, priority=10, preemption_policy="Never")
    decisions = together(profile, job("a", 1, cpu=1, priority=10), second)
    assert {decision.outcome for decision in decisions} == {UNSCHEDULABLE}
    assert victims(decisions) == []


def test_each_keeps_to_its_own_domain() -> None:
    nodes = [node(f"{rack}{number}", cpu=4, labels={RACK: rack}) for rack in "ab" for number in range(2)]
    running = [pod(f"p-{each.name}", node=each.name, cpu=4) for each in nodes]
    profile = world(*nodes, *running, pod_group("a", 2, topology=RACK), pod_group("b", 2, topology=RACK))
    decisions = together(profile, job("a", 2, cpu=4, priority=10), job("b", 2, cpu=4, priority=10))
    assert len(victims(decisions)) == 4
    racks = [{str(each.nomination)[0] for each in decision.members} for decision in decisions]
    assert [len(rack) for rack in racks] == [1, 1]
    assert racks[0] != racks[1]


# -- any cases ---------------------------------------------------------------------------------------------------------


def made_up(seed: int) -> tuple[list[Any], list[list[Pod]]]:
    luck = random.Random(seed)
    number = luck.randint(1, 5)
    objects: list[Any] = [
        node(f"n{index}", cpu=luck.randint(2, 6), labels={RACK: f"r{index % 2}"}) for index in range(number)
    ]
    free = {f"n{index}": int(objects[index].status.allocatable["cpu"].value) for index in range(number)}
    objects.append(pod_group("old", luck.randint(1, 3), disruption=luck.choice([None, "PodGroup"])))
    for index in range(luck.randint(0, 8)):
        where, cpu = f"n{luck.randrange(number)}", luck.randint(1, 3)
        if free[where] < cpu:
            continue
        free[where] -= cpu
        how: dict[str, Any] = {"cpu": cpu, "node": where, "priority": luck.choice([0, 1, 2, 5, 6])}
        how["started"] = dt.datetime(2026, 1, 1 + luck.randint(0, 3), tzinfo=dt.UTC)
        objects.append(member(f"r{index}", "old", **how) if luck.random() < 0.3 else pod(f"r{index}", **how))
    jobs = []
    for name in "abc"[: luck.randint(2, 3)]:
        pods = [
            member(f"{name}{index}", name, cpu=luck.randint(1, 3), priority=5) for index in range(luck.randint(1, 3))
        ]
        topology = RACK if luck.random() < 0.2 else None
        objects.append(pod_group(name, luck.randint(1, len(pods)), topology=topology))
        jobs.append(pods)
    return objects, jobs


def without(profile: Profile, gone: Sequence[Pod]) -> None:
    for each in gone:
        profile.cluster.apply(Event(Verb.DELETED, each))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_no_victim_is_needless_and_the_jobs_start_next(seed: int) -> None:
    objects, jobs = made_up(seed)
    profile = world(*objects, backtracks=100_000)
    before = fingerprint(profile.cluster)
    decisions = together(profile, *jobs)
    assert differences(before, fingerprint(profile.cluster)) == []
    assert len({decision.outcome for decision in decisions}) == 1  # all or none
    if decisions[0].outcome is not PREEMPTING:
        assert victims(decisions) == []
        return
    gone = [victim.pod for victim in decisions[0].victims]
    assert victims(decisions[1:]) == []
    assert all(each.priority < 5 for each in gone)
    assert victims(together(world(*objects, backtracks=100_000), *jobs)) == victims(decisions)
    starting = world(*objects, backtracks=100_000)
    without(starting, gone)
    for each in (each for decision in decisions for each in decision.members):
        if each.nomination:
            starting.cluster.nominations.add(each.pod, each.nomination)
    next_time = together(starting, *jobs)
    assert {decision.outcome for decision in next_time} == {SCHEDULED}
    for spared in gone:
        if spared.spec.scheduling_group is None:
            other = world(*objects, backtracks=100_000)
            without(other, [each for each in gone if each is not spared])
            found = together(other, *jobs, may_preempt=False)
            assert {decision.outcome for decision in found} == {UNSCHEDULABLE}


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_where_all_start_each_has_what_it_takes_and_nothing_is_over_committed(seed: int) -> None:
    objects, jobs = made_up(seed)
    profile = world(*objects)
    decisions = together(profile, *jobs, may_preempt=False)
    if decisions[0].outcome is not SCHEDULED:
        return
    for decision in decisions:
        book = profile.cluster.groups.find(decision.job)
        assert book is not None
        spec = profile.cluster.groups.spec_of(book)
        assert isinstance(spec, GroupSpec)
        assert decision.num_placed >= spec.min_count
        placed = [each for each in decision.members if each.node]
        if spec.topology is not None:
            nodes = profile.cluster.nodes
            assert len({nodes.objects[each.row].metadata.labels[RACK] for each in placed}) == 1  # type: ignore[union-attr]
        for each in placed:
            profile.cluster.assume(each.pod, each.pod_class, each.row)
    table = profile.cluster.nodes
    assert (table.requested[: table.num_rows] <= table.allocatable[: table.num_rows]).all()
