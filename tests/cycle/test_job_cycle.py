"""One attempt for a job in mode `fairway`: who starts, where, and what is said to those who wait."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Event, Nodes, PodClass, Verb
from fairway.cycle import Outcome, Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.model import Pod
from fairway.plugin import Code, Plugin, Refusal
from fairway.testing import node, pod
from fairway.testing.fingerprint import differences, fingerprint
from fairway.testing.group_builders import member, members, pod_group, volcano_group
from fairway.testing.storage_builders import claim, storage_class, volume
from tests.cycle.job_worlds import attempt, places, world
from tests.cycle.profiles import refusing
from tests.cycle.test_extender import Service, only
from tests.plugins.gpu_world import gpu_node, gpu_pod

SCHEDULED, UNSCHEDULABLE, ERROR = GroupOutcome.SCHEDULED, GroupOutcome.UNSCHEDULABLE, GroupOutcome.ERROR


def three_nodes(cpu: int = 4) -> list[Any]:
    return [node(f"n{number}", cpu=cpu) for number in range(3)]


# -- who starts --------------------------------------------------------------------------------------------------------


def test_all_members_get_a_node_or_none_does() -> None:
    profile = world(*three_nodes(), pod_group("train", 8))
    decision = attempt(profile, members(8, cpu=1))
    assert decision.outcome is SCHEDULED
    assert sorted(places(decision).values()) == ["n0"] * 3 + ["n1"] * 3 + ["n2"] * 2
    decision = attempt(world(*three_nodes(), pod("other", node="n0", cpu=3), pod_group("train", 8)), members(8, cpu=2))
    assert decision.outcome is UNSCHEDULABLE
    assert set(places(decision).values()) == {""}


def test_large_members_are_tried_before_small_ones() -> None:
    """Scores prefer the emptiest node, which only the large one can do with."""
    busy = [pod("x", node="a", cpu=2), pod("y", node="b", cpu=2)]
    profile = world(node("big", cpu=8), node("a", cpu=4), node("b", cpu=4), *busy, pod_group("train", 3))
    decision = attempt(profile, [member("s1", cpu=2), member("s2", cpu=2), member("large", cpu=8)])
    assert places(decision) == {"large": "big", "s1": "a", "s2": "b"}
    assert [each.pod.metadata.name for each in decision.members] == ["large", "s1", "s2"]


def test_members_that_have_a_node_count() -> None:
    running = [member("train-8", node="n0", cpu=4), member("train-9", node="n1", cpu=4)]
    profile = world(*three_nodes(), *running, pod_group("train", 4))
    assert places(attempt(profile, members(2, cpu=2))) == {"train-0": "n2", "train-1": "n2"}
    decision = attempt(profile, members(2, cpu=3))
    assert decision.outcome is UNSCHEDULABLE
    assert (decision.missing, decision.message.split(";")[0]) == (1, "job default/train: 3 of 4 members fit")


def test_members_beyond_the_minimum_start_where_there_is_room() -> None:
    profile = world(*three_nodes(), pod_group("train", 2))
    decision = attempt(profile, members(5, cpu=3))
    assert decision.outcome is SCHEDULED
    assert list(places(decision).values()) == ["n0", "n1", "n2", "", ""]
    left = decision.members[-1]
    assert left.message == "0/3 nodes are available: 3 Insufficient cpu."
    assert left.unschedulable_plugins == {"NodeResourcesFit"}


def test_members_beyond_the_minimum_may_be_made_to_wait() -> None:
    profile = world(*three_nodes(), pod_group("train", 2), surplus="wait")
    decision = attempt(profile, members(3, cpu=3))
    assert list(places(decision).values()) == ["n0", "n1", ""]
    assert "beyond what the job takes to start" in decision.members[-1].message
    for each in decision.members[:2]:
        bound = msgspec.structs.replace(each.pod, spec=msgspec.structs.replace(each.pod.spec, node_name=each.node))
        profile.cluster.apply(Event(Verb.ADDED, bound))
    assert places(attempt(profile, [decision.members[-1].pod])) == {"train-2": "n2"}


def test_who_fits_nowhere_is_left_out_if_the_others_are_enough() -> None:
    profile = world(*three_nodes(), pod_group("train", 3))
    decision = attempt(profile, [member("huge", cpu=9), *members(3, cpu=4)])
    assert decision.outcome is SCHEDULED
    assert places(decision) == {"train-0": "n0", "train-1": "n1", "train-2": "n2", "huge": ""}


def test_a_minimum_of_0_takes_whoever_fits() -> None:
    profile = world(*three_nodes(), pod_group("train"))
    decision = attempt(profile, [member("huge", cpu=9), member("small", cpu=1)])
    assert (decision.outcome, places(decision)) == (SCHEDULED, {"small": "n0", "huge": ""})


def test_what_a_task_needs_comes_first() -> None:
    def of_task(name: str, task: str, cpu: int) -> Pod:
        annotations = {"scheduling.k8s.io/group-name": "train", "volcano.sh/task-spec": task}
        return pod(name, cpu=cpu, annotations=annotations)

    pods = [*(of_task(f"w{number}", "worker", 4) for number in range(3)), of_task("ps", "server", 1)]
    group = volcano_group("train", 3, tasks={"server": 1, "worker": 1})
    assert places(attempt(world(*three_nodes(), group), pods)) == {"w0": "n0", "ps": "n1", "w1": "n2", "w2": ""}
    busy = [pod(f"x{number}", node=f"n{number}", cpu=1) for number in range(3)]
    decision = attempt(world(*three_nodes(), *busy, group), pods)
    assert (decision.outcome, decision.missing) == (UNSCHEDULABLE, 2)


def test_one_per_node() -> None:
    def alone(name: str, **settings_: Any) -> Pod:
        told = {"fairway.dev/gang": "train", "fairway.dev/gang-size": "3", "fairway.dev/gang-one-per-node": "true"}
        return pod(name, annotations=told, cpu=1, **settings_)

    pods = [alone(f"m{number}") for number in range(3)]
    assert places(attempt(world(*three_nodes()), pods)) == {"m0": "n0", "m1": "n1", "m2": "n2"}
    decision = attempt(world(*three_nodes()[:2]), pods)
    assert (decision.outcome, decision.missing) == (UNSCHEDULABLE, 1)
    assert "2 of 3 members" in decision.message
    assert "2 node(s) had another member of the job" in decision.message
    running = alone("m3", node="n0")
    assert places(attempt(world(*three_nodes(), running), pods[:2])) == {"m0": "n1", "m1": "n2"}


# -- what is said ------------------------------------------------------------------------------------------------------


def test_the_message_names_who_is_in_the_way_and_what_it_lacks() -> None:
    gpu = {"nvidia.com/gpu": 2}
    nodes = [node(f"n{number}", resources={"nvidia.com/gpu": 4}) for number in range(3)]
    busy = pod("svc", node="n2", requests={"nvidia.com/gpu": 3})
    profile = world(*nodes, node("plain", taints="dedicated"), busy, pod_group("train", 6))
    decision = attempt(profile, members(6, requests=gpu))
    assert decision.message == (
        "job default/train: 4 of 6 members fit; train-4 is short of nvidia.com/gpu: 0/4 nodes are available: "
        "1 node(s) had untolerated taint(s), 3 Insufficient nvidia.com/gpu."
    )
    assert (decision.blocking, decision.missing, decision.resource) == ("default/train-4", 2, "nvidia.com/gpu")
    assert {each.message for each in decision.members} == {decision.message}
    blamed = {each.pod.metadata.name: each.unschedulable_plugins for each in decision.members}
    assert blamed.pop("train-4") == {"NodeResourcesFit", "TaintToleration"}
    assert set(blamed.values()) == {frozenset()}
    assert (decision.never_fits, decision.is_exhausted) == (False, False)


def test_a_job_that_would_not_fit_on_empty_nodes_is_told_so() -> None:
    profile = world(*three_nodes(), pod("x", node="n0", cpu=4), pod_group("train", 7))
    decision = attempt(profile, members(7, cpu=2))
    assert decision.never_fits
    assert decision.message == (
        "job default/train can never fit on these nodes: 6 of 7 members would fit if they were empty; "
        "train-6 is short of cpu: 0/3 nodes are available: 3 Insufficient cpu."
    )
    assert not attempt(profile, members(6, cpu=2)).never_fits


def test_the_quick_no_says_what_the_filters_say() -> None:
    """What is told of all rows at once is what each filter would have told of each row."""
    nodes = [node("a", cpu=4, pods=1), node("b", cpu=4, memory="1Gi"), node("c", taints="x"), node("d", cpu=1)]
    busy = [pod("r", node="a"), pod("s", node="b", cpu=3), pod("t", node="e", memory="31Gi")]
    profile = world(*nodes, node("e"), *busy, pod_group("train", 2))
    pods = members(2, cpu=2, memory="2Gi")
    decision = attempt(profile, pods)
    told = profile.decide(pods[0], makes_room=False)
    blocking = next(each for each in decision.members if each.pod.metadata.uid == decision.blocking)
    assert decision.message.endswith(told.message)
    assert blocking.unschedulable_plugins == told.unschedulable_plugins


def test_members_that_are_not_there_yet() -> None:
    decision = attempt(world(*three_nodes(), pod_group("train", 8)), members(7, cpu=1))
    assert (decision.outcome, decision.missing) == (UNSCHEDULABLE, 1)
    assert decision.message == "job default/train: 7 of 8 members are there"


def test_too_many_members_are_refused() -> None:
    decision = attempt(world(*three_nodes(), pod_group("train", 2), max_members=3), members(4))
    assert decision.outcome is ERROR
    assert decision.message == "job default/train: 4 members wait, and maxMembers is 3"


def test_a_plugin_that_breaks_is_an_error_of_the_whole_job() -> None:
    def broken(self: Plugin, pod_class: PodClass, nodes: Nodes, state: Any) -> Any:
        if self.cluster.pods.by_uid:
            raise ZeroDivisionError("no")
        return np.ones(len(nodes), bool)

    kind = type("Broken", (Plugin,), {"filter": broken})
    profile = with_plugin(kind, *three_nodes(), pod_group("train", 2))
    before = fingerprint(profile.cluster)
    decision = attempt(profile, members(2, cpu=1))
    assert decision.outcome is ERROR
    assert {each.outcome for each in decision.members} == {Outcome.ERROR}
    assert "Broken" in decision.message
    assert differences(before, fingerprint(profile.cluster)) == []


def test_a_node_that_reserve_refuses_is_not_taken() -> None:
    def reserve(self: Plugin, pod: Pod, pod_class: PodClass, row: int) -> Refusal | None:
        return Refusal(("no",)) if self.cluster.nodes.names[row] == "n0" else None

    profile = with_plugin(type("Picky", (Plugin,), {"reserve": reserve}), *three_nodes(), pod_group("train", 2))
    assert places(attempt(profile, members(2, cpu=1))) == {"train-0": "n1", "train-1": "n2"}
    profile = with_plugin(type("Picky", (Plugin,), {"reserve": reserve}), node("n0"), pod_group("train", 2))
    decision = attempt(profile, members(2))
    assert decision.message == (
        "job default/train: 0 of 2 members fit; train-0 fits nowhere: 0/1 nodes are available: 1 no."
    )
    blocking = next(each for each in decision.members if each.pod.metadata.uid == decision.blocking)
    assert blocking.unschedulable_plugins == {"Picky"}
    refused = refusing("Never", {f"n{number}": Refusal(("no",), Code.UNRESOLVABLE) for number in range(3)})
    decision = attempt(with_plugin(refused, *three_nodes(), pod_group("train", 2)), members(2, cpu=1))
    assert decision.message == (
        "job default/train can never fit on these nodes: 0 of 2 members would fit if they were empty; "
        "train-0 fits nowhere: 0/3 nodes are available: 3 no."
    )


def with_plugin(kind: type[Plugin], *objects: Any) -> Profile:
    return world(*objects, plugins=[kind])


# -- what plugins reserve ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_volumes", [1, 2])
def test_volumes_are_reserved_for_each_member_and_given_back(num_volumes: int) -> None:
    """Both volumes can be reached from anywhere: the second member does not count on the first one's."""
    volumes = [volume(f"v{number}") for number in range(num_volumes)]
    claims = [claim(f"c{number}") for number in range(2)]
    profile = world(*three_nodes(), storage_class(), *volumes, *claims, pod_group("train", 2))
    pods = [member(f"train-{number}", claims=f"c{number}", cpu=1) for number in range(2)]
    for each in pods:
        profile.decide(each)
    before = fingerprint(profile.cluster)
    decision = attempt(profile, pods)
    assert differences(before, fingerprint(profile.cluster)) == []
    assert decision.outcome is (SCHEDULED if num_volumes == 2 else UNSCHEDULABLE)
    if num_volumes == 1:
        assert "1 of 2 members fit; train-1 fits nowhere" in decision.message
        assert "didn't find available persistent volumes to bind" in decision.message


@pytest.mark.parametrize("milli", [500, 600])
def test_shares_of_devices_are_taken_by_each_member_and_given_back(milli: int) -> None:
    profile = world(gpu_node("n", 2), pod_group("train", 4), plugins=["GpuShare"])
    group = members(1)[0].spec.scheduling_group
    pods = [
        msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, scheduling_group=group))
        for each in (gpu_pod(f"train-{number}", milli) for number in range(4))
    ]
    for each in pods:
        profile.decide(each)
    before = fingerprint(profile.cluster)
    decision = attempt(profile, pods)
    assert differences(before, fingerprint(profile.cluster)) == []
    assert decision.outcome is (SCHEDULED if milli == 500 else UNSCHEDULABLE)
    if milli == 600:
        assert "2 of 4 members fit" in decision.message


def test_extenders_are_asked_about_each_member() -> None:
    picky = Service(keeps=only("n1", "n2"))
    profile = world(*three_nodes(), pod_group("train", 2), extenders=[picky])
    assert places(attempt(profile, members(2, cpu=3))) == {"train-0": "n1", "train-1": "n2"}
    decision = attempt(world(*three_nodes(), pod_group("train", 3), extenders=[picky]), members(3, cpu=3))
    assert (decision.outcome, decision.missing) == (UNSCHEDULABLE, 1)
    decision = attempt(world(*three_nodes(), pod_group("train", 2), extenders=[Service(binds=True)]), members(2))
    assert decision.outcome is ERROR
    assert "binds pods by itself" in decision.message
    broken = Service(keeps=only("n1"), broken="no answer")
    decision = attempt(world(*three_nodes(), pod_group("train", 2), extenders=[broken]), members(2))
    assert (decision.outcome, "no answer" in decision.message) == (ERROR, True)


# -- nothing changes ---------------------------------------------------------------------------------------------------

CPUS = st.integers(1, 4)
WISHES = ("", "spread", "apart", "near", "port")
MEMBERS = st.lists(st.tuples(CPUS, st.integers(0, 2), st.sampled_from(WISHES)), min_size=1, max_size=5)
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


@settings(max_examples=100, deadline=None)
@given(members_=MEMBERS, residents=RESIDENTS, least=st.integers(0, 5), is_promised=st.booleans(), nested=st.booleans())
def test_an_attempt_leaves_everything_as_it_was(
    members_: list[tuple[int, int, str]],
    residents: list[tuple[int, int, int, bool]],
    least: int,
    is_promised: bool,
    nested: bool,
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
    profile = world(*nodes, *running, pod_group("train", least or None, priority=1))
    waiting = [shaped(f"m{number}", *how) for number, how in enumerate(members_)]
    cluster = profile.cluster
    for each in waiting:
        cluster.groups.observe(each)
        profile.decide(each)  # counters and classes that somebody looks at come into being
    if is_promised:
        cluster.nominations.add(waiting[0], "n1")
    book = cluster.groups.of(waiting[0].metadata.uid)
    assert book is not None
    before = fingerprint(cluster), dict(book.assumed), dict(book.bound)
    if nested:
        with cluster.what_if():
            first = attempt(profile, waiting)
    else:
        first = attempt(profile, waiting)
    after = fingerprint(cluster), dict(book.assumed), dict(book.bound)
    assert differences(before[0], after[0]) == []
    assert before[1:] == after[1:]
    again = attempt(profile, list(reversed(waiting)))
    assert (again.outcome, again.message, places(again)) == (first.outcome, first.message, places(first))
    check(profile, first, least, book.num_scheduled)


def check(profile: Profile, decision: GroupDecision, least: int, already: int) -> None:
    placed = [each for each in decision.members if each.outcome is Outcome.SCHEDULED]
    if decision.outcome is not SCHEDULED:
        assert placed == []
        return
    assert len(placed) + already >= least
    table = profile.cluster.nodes
    for name in {each.node for each in placed}:  # no node is given more than it has
        row = table.row_of[name]
        wanted = sum(each.pod_class.requests["cpu"] for each in placed if each.node == name)
        assert int(table.requested[row, 0]) + wanted <= int(table.allocatable[row, 0])


@settings(max_examples=60, deadline=None)
@given(residents=RESIDENTS, shape=st.tuples(CPUS, st.integers(0, 2), st.sampled_from(WISHES)), seed=st.integers(0, 9))
def test_a_job_of_one_member_is_decided_about_as_a_lone_pod(
    residents: list[tuple[int, int, int, bool]], shape: tuple[int, int, str], seed: int
) -> None:
    running = [
        pod(f"r{number}", cpu=cpu, priority=priority, node=f"n{where % 3}", labels={"app": "train"})
        for number, (where, cpu, priority, _) in enumerate(residents)
    ]
    objects = [*three_nodes(), *running, pod_group("train", 1)]
    one = shaped("one", *shape)
    alone = world(*objects, tie_break="random", seed=seed).decide(one)
    decision = attempt(world(*objects, tie_break="random", seed=seed), [one])
    [told] = decision.members
    assert (told.outcome, told.node, told.message, told.nomination) == (
        alone.outcome,
        alone.node,
        alone.message,
        alone.nomination,
    )
    chosen = None if alone.preemption is None else alone.preemption.chosen
    assert [victim.pod for victim in decision.victims] == ([] if chosen is None else list(chosen.victims))
