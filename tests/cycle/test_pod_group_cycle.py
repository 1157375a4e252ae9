"""An attempt for a group changes nothing, whatever comes of it; and what members overlook of each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Cluster
from fairway.config import decode_configuration
from fairway.cycle import Outcome, Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.cycle.groups.pod_group_cycle import decide_pod_group
from fairway.model import Pod
from fairway.plugins.registry import REGISTRY
from fairway.testing import near, node, pod
from fairway.testing.fingerprint import differences, fingerprint
from fairway.testing.group_builders import member, members, pod_group


def world(*objects: Any, **gangs: Any) -> Profile:
    written = {"fairway": {"gangs": {"mode": "kube", **gangs}, "sampling": "all"}}
    tree = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [written]}
    cluster = Cluster()
    made = Profile(decode_configuration(tree, "test", REGISTRY).profiles[0], cluster, tie_break="first")
    cluster.load(objects)
    return made


def attempt(profile: Profile, pods: list[Pod]) -> GroupDecision:
    for each in pods:
        profile.cluster.groups.observe(each)
    group = profile.cluster.groups.of(pods[0].metadata.uid)
    assert group is not None
    return decide_pod_group(profile, group, pods)


def nodes_of(decision: GroupDecision) -> list[str]:
    return [each.node for each in decision.members]


# -- nothing changes ---------------------------------------------------------------------------------------------------

CPUS = st.integers(1, 4)
MEMBERS = st.lists(
    st.tuples(CPUS, st.integers(0, 2), st.sampled_from(("", "spread", "apart", "near", "port"))), min_size=1, max_size=5
)
RESIDENTS = st.lists(st.tuples(st.integers(0, 3), CPUS, st.integers(-1, 2), st.booleans()), max_size=6)


def shaped(name: str, cpu: int, priority: int, wish: str) -> Pod:
    wishes: dict[str, dict[str, Any]] = {
        "": {},
        "spread": {"spread": "zone"},
        "apart": {"anti_affinity": "node"},
        "near": {"affinity": "zone"},
        "port": {"ports": 80},
    }
    return member(name, cpu=cpu, priority=priority, labels={"app": "train"}, **wishes[wish])


@settings(max_examples=60, deadline=None)
@given(
    members_=MEMBERS,
    residents=RESIDENTS,
    least=st.integers(1, 5),
    topology=st.booleans(),
    preemption=st.booleans(),
    is_constrained=st.booleans(),
)
def test_an_attempt_leaves_everything_as_it_was(
    members_: list[tuple[int, int, str]],
    residents: list[tuple[int, int, int, bool]],
    least: int,
    topology: bool,
    preemption: bool,
    is_constrained: bool,
) -> None:
    nodes = [node(f"n{number}", cpu=4, labels={"zone": "ab"[number % 2]}, zone="ab"[number % 2]) for number in range(4)]
    running, taken = [], set()
    for number, (where, cpu, priority, is_member) in enumerate(residents):
        ports = () if where in taken else 80
        taken.add(where)
        make = member if is_member else pod
        running.append(
            make(f"r{number}", cpu=cpu, priority=priority, node=f"n{where}", labels={"app": "train"}, ports=ports)
        )
    group = pod_group("train", least, priority=1, topology="zone" if is_constrained else None)
    profile = world(*nodes, *running, group, topology=topology, workloadPreemption=preemption)
    waiting = [shaped(f"m{number}", *how) for number, how in enumerate(members_)]
    for each in waiting:
        profile.cluster.groups.observe(each)
        profile.decide(each)  # counters and classes that somebody looks at come into being
    book = profile.cluster.groups.of(waiting[0].metadata.uid)
    assert book is not None
    before = fingerprint(profile.cluster), dict(book.assumed), dict(book.bound)
    first = attempt(profile, waiting)
    after = fingerprint(profile.cluster), dict(book.assumed), dict(book.bound)
    assert differences(before[0], after[0]) == []
    assert before[1:] == after[1:]
    again = attempt(profile, waiting)
    assert (again.outcome, again.message, nodes_of(again)) == (first.outcome, first.message, nodes_of(first))
    assert [each.message for each in again.members] == [each.message for each in first.members]
    placed = [each for each in first.members if each.outcome is Outcome.SCHEDULED]
    if first.outcome is GroupOutcome.SCHEDULED:
        assert len(placed) + book.num_scheduled >= least
        check_room(profile, placed)
    else:
        assert placed == []


@settings(max_examples=60, deadline=None)
@given(
    shapes=st.lists(st.tuples(CPUS, st.integers(0, 1), st.sampled_from(("", "apart"))), min_size=1, max_size=2),
    copies=st.integers(2, 5),
    residents=RESIDENTS,
    least=st.integers(1, 8),
    topology=st.booleans(),
    preemption=st.booleans(),
)
def test_equal_members_fail_alike_whether_failures_are_remembered_or_not(
    shapes: list[tuple[int, int, str]],
    copies: int,
    residents: list[tuple[int, int, int, bool]],
    least: int,
    topology: bool,
    preemption: bool,
) -> None:
    told = []
    for remembers in (True, False):
        profile = world(
            pod_group("train", least, topology="zone" if topology else None, priority=1),
            *(node(f"n{number}", cpu=4, labels={"zone": "ab"[number % 2]}) for number in range(4)),
            *(
                pod(f"r{number}", cpu=cpu, priority=priority, node=f"n{where}")
                for number, (where, cpu, priority, _) in enumerate(residents)
            ),
            topology=topology,
            workloadPreemption=preemption,
        )
        profile.remembers_failures &= remembers
        pods = [shaped(f"m{number}-{copy}", *shape) for number, shape in enumerate(shapes) for copy in range(copies)]
        decision = attempt(profile, pods)
        told.append(
            (
                decision.outcome,
                decision.message,
                [(each.outcome, each.node, each.message, each.nomination) for each in decision.members],
                [victim.pod.metadata.name for victim in decision.victims],
            )
        )
    assert told[0] == told[1]


def test_a_port_that_a_victim_has_stays_its_own() -> None:
    profile = world(node("n", cpu=4), pod("victim", node="n", cpu=1, ports=80), pod_group("train", 2))
    decision = attempt(profile, [member("a", cpu=1, priority=5, ports=80)])
    assert [victim.pod.metadata.name for victim in decision.victims] == ["victim"]
    assert profile.decide(pod("rival", ports=80)).outcome is Outcome.UNSCHEDULABLE


def check_room(profile: Profile, placed: list[Any]) -> None:
    """No node is given more than it has."""
    for name in {each.node for each in placed}:
        row = profile.cluster.nodes.row_of[name]
        wanted = sum(each.pod_class.requests["cpu"] for each in placed if each.node == name)
        table = profile.cluster.nodes
        assert int(table.requested[row, 0]) + wanted <= int(table.allocatable[row, 0])


# -- what members overlook ---------------------------------------------------------------------------------------------


def wary(name: str, **settings_: Any) -> Pod:
    """A member that does not want to be where pods of the app `quiet` are."""
    return member(name, anti_affinity=near("app=quiet", "node"), **settings_)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_member_s_anti_affinity_is_overlooked_on_nodes_that_had_none(is_known: bool) -> None:
    """kube-scheduler 1.36 keeps a list of nodes with such pods, and does not add to it within an attempt."""
    resident = [pod("resident", node="n", anti_affinity=near("app=nobody", "node"))] if is_known else []
    profile = world(node("n", cpu=4), *resident, pod_group("train", 1))
    first, second = wary("a", priority=1, cpu=1), member("b", cpu=1, labels={"app": "quiet"})
    decision = attempt(profile, [first, second])
    assert nodes_of(decision) == (["n", ""] if is_known else ["n", "n"])
    lone = pod("lone", cpu=1, labels={"app": "quiet"})
    assert profile.decide(lone).node == "n"  # nothing stays hidden, nothing stays there


def test_a_member_that_is_told_apart_by_its_own_terms_sees_all() -> None:
    profile = world(node("n", cpu=4), node("m", cpu=4), pod_group("train", 1))
    pods = members(3, cpu=1, labels={"app": "x"}, anti_affinity="node")
    assert sorted(nodes_of(attempt(profile, pods))) == ["", "m", "n"]
