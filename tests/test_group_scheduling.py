"""Groups through the scheduler as kube-scheduler treats them: who waits, who is tried with whom, what comes of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.cluster import Event, Verb
from fairway.config import decode_configuration
from fairway.config.plugin_entry import PluginEntry, implemented_points
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.model import ApiObject, Pod
from fairway.plugin import Plugin, PodClass, Refusal
from fairway.plugin.verdicts import Code
from fairway.plugins.registry import REGISTRY
from fairway.queue import Place
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from fairway.testing.group_builders import coscheduling_group, member, members, pod_group
from tests.test_scheduler import SmallWorld, world_of


def configuration(gangs: dict[str, Any] | None, *plugins: type[Plugin], profiles: tuple[str, ...] = ("",)) -> Any:
    registry = {**REGISTRY, **{kind.name: PluginEntry(kind, implemented_points(kind)) for kind in plugins}}
    enabled = [{"name": kind.name} for kind in plugins]
    written = [
        {
            "schedulerName": name or "default-scheduler",
            "plugins": {"multiPoint": {"enabled": enabled}},
            **({} if gangs is None else {"fairway": {"gangs": gangs}}),
        }
        for name in profiles
    ]
    tree = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": written}
    return decode_configuration(tree, "test", registry)


def scheduler(*things: ApiObject, accepts: bool = True, config: Any = None, **gangs: Any) -> Scheduler:
    world = SmallWorld(accepts)
    made = Scheduler(config or configuration({"mode": "kube", **gangs}), world, tie_break="first")
    world.scheduler = made
    for thing in things:
        made.observe(Event(Verb.ADDED, thing))
    return made


def attempt(made: Scheduler) -> GroupDecision:
    decision = made.step()
    assert isinstance(decision, GroupDecision)
    return decision


def places(made: Scheduler) -> dict[str, Place | None]:
    return {queued.pod.metadata.name: queued.place for queued in made.queue}


def test_without_the_key_groups_are_ignored() -> None:
    made = scheduler(node("n", cpu=1), *members(2, cpu=1), config=configuration(None))
    assert [decision.node for decision in made.run_until_idle()] == ["n", ""]
    assert list(made.cluster.groups) == []


def test_members_wait_for_their_object_and_for_each_other() -> None:
    first, second = members(2, cpu=1)
    made = scheduler(node("n", cpu=2), first)
    assert made.step() is None
    assert places(made) == {"train-0": Place.GATED}
    made.observe(Event(Verb.ADDED, pod_group("train", 2)))
    assert places(made) == {"train-0": Place.GATED}
    made.observe(Event(Verb.ADDED, second))
    assert places(made) == {"train-0": Place.ACTIVE, "train-1": Place.ACTIVE}
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert sorted(world_of(made).bindings) == [("train-0", "n"), ("train-1", "n")]
    assert len(made.queue) == 0


def test_no_other_event_wakes_a_gated_member() -> None:
    (first,) = members(1, cpu=1)
    made = scheduler(pod_group("train", 2), first)
    for thing in (node("n", cpu=9), pod("other", node="n"), *members(1, "else"), pod_group("else", 1)):
        made.observe(Event(Verb.ADDED, thing))
        assert places(made)["train-0"] is Place.GATED


def test_a_member_that_runs_counts() -> None:
    first, second = members(2, cpu=1)
    running = msgspec.structs.replace(first, spec=msgspec.structs.replace(first.spec, node_name="n"))
    made = scheduler(node("n", cpu=2), pod_group("train", 2), second)
    assert places(made) == {"train-1": Place.GATED}
    made.observe(Event(Verb.ADDED, running))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert world_of(made).bindings == [("train-1", "n")]


def test_nothing_is_bound_or_kept_if_too_few_fit() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 3), *members(3, cpu=1))
    decision = attempt(made)
    assert (decision.outcome, decision.message) == (GroupOutcome.UNSCHEDULABLE, "pod group is unschedulable")
    assert world_of(made).bindings == []
    assert len(made.cluster.pods) == 0
    waits = (
        "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, "
        "one or more plugins asked to wait and no plugin rejected pod"
    )
    assert [each.message for each in decision.members] == [
        waits,
        waits,
        "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are "
        "available: 1 No preemption victims found for incoming pod.",
    ]
    assert world_of(made).reports[-1] == "group train: unschedulable: pod group is unschedulable"


def test_all_rest_and_come_again_whatever_refused_them() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 3), *members(3, cpu=1))
    attempt(made)
    assert set(places(made).values()) == {Place.BACKOFF}
    made.observe(Event(Verb.ADDED, node("m", cpu=1)))
    world_of(made).advance(2)
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert sorted(world_of(made).bindings) == [("train-0", "n"), ("train-1", "n"), ("train-2", "m")]


def test_a_popped_member_takes_the_others_from_wherever_they_wait() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 3), *members(3, cpu=1))
    attempt(made)
    late = member("train-late", cpu=1)
    made.observe(Event(Verb.ADDED, late))  # which is ready at once; the others rest
    decision = attempt(made)
    assert {each.pod.metadata.name: each.attempt for each in decision.members} == {
        "train-0": 2,
        "train-1": 2,
        "train-2": 2,
        "train-late": 1,
    }


def test_a_gated_member_does_not_take_part_but_counts() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 2), *members(1, cpu=1), member("shy", cpu=1, gates="wait"))
    decision = attempt(made)
    assert [each.pod.metadata.name for each in decision.members] == ["train-0"]
    assert decision.outcome is GroupOutcome.UNSCHEDULABLE  # one node is not two
    assert places(made)["shy"] is Place.GATED


def test_the_most_important_member_is_tried_first() -> None:
    low, high = member("a", cpu=1), member("b", cpu=1, priority=5)
    made = scheduler(node("n", cpu=1), pod_group("train", 1), low, high)
    assert [each.pod.metadata.name for each in attempt(made).members] == ["b", "a"]
    assert world_of(made).bindings == [("b", "n")]


def test_members_that_do_not_fit_stay_behind_once_enough_do() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 2), *members(3, cpu=1))
    decision = attempt(made)
    assert decision.outcome is GroupOutcome.SCHEDULED
    assert len(world_of(made).bindings) == 2
    assert places(made) == {"train-2": Place.BACKOFF}


def test_a_binding_that_fails_changes_nothing_for_the_others() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 2), *members(2, cpu=1), accepts=False)
    attempt(made)
    first, second = members(2, cpu=1)
    made.binding_failed(first, "webhook")
    world_of(made).confirm(second, "n")
    assert set(made.cluster.pods.by_uid) == {"default/train-1"}
    assert places(made) == {"train-0": Place.BACKOFF}


class Broken(Plugin):
    """Fails to reserve for one pod."""

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | None:
        return Refusal(("disk on fire",), Code.ERROR) if pod.metadata.name == "train-1" else None


def test_an_error_of_one_member_ends_the_attempt_of_all() -> None:
    config = configuration({"mode": "kube"}, Broken)
    made = scheduler(node("n", cpu=9), pod_group("train", 1), *members(3, cpu=1), config=config)
    decision = attempt(made)
    own = 'running Reserve plugin "Broken": disk on fire'
    others = f"failed to schedule other pod from a pod group: {own}"
    assert (decision.outcome, decision.message) == (GroupOutcome.ERROR, others)
    assert [each.message for each in decision.members] == [others, own, others]
    assert decision.condition[:2] == ("False", "SchedulerError")
    assert world_of(made).bindings == []
    assert len(made.cluster.pods) == 0


def test_members_of_two_schedulers_are_an_error() -> None:
    config = configuration({"mode": "kube"}, profiles=("one", "two"))
    here, there = member("a", cpu=1, scheduler_name="one"), member("b", cpu=1, scheduler_name="two")
    made = scheduler(node("n", cpu=2), pod_group("train", 1), here, config=config)
    made.observe(Event(Verb.ADDED, there))
    decision = attempt(made)
    words = 'all pods in a single pod group should have the same .spec.schedulerName set, got: "two" and "one"'
    assert (decision.outcome, decision.message) == (GroupOutcome.ERROR, words)


def test_a_member_makes_room_by_itself_and_the_group_waits_for_it() -> None:
    victim = pod("victim", cpu=1, node="b")
    made = scheduler(node("a", cpu=1), node("b", cpu=1), victim, pod_group("train", 2), *members(2, cpu=1, priority=1))
    decision = attempt(made)
    assert decision.outcome is GroupOutcome.PREEMPTING
    assert world_of(made).evictions == [("victim", "train-1")]
    assert [each.nomination for each in decision.members] == ["a", "b"]
    assert [made.cluster.nominations.node_of(f"default/train-{number}") for number in range(2)] == ["a", "b"]
    world_of(made).advance(2)
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert sorted(world_of(made).bindings) == [("train-0", "a"), ("train-1", "b")]


def test_room_is_made_for_all_with_workload_preemption() -> None:
    residents = [pod(f"v{name}", cpu=1, node=name) for name in "abc"]
    made = scheduler(
        *(node(name, cpu=1) for name in "abc"),
        *residents,
        pod_group("train", 2, priority=5),
        *members(2, cpu=1),
        workloadPreemption=True,
    )
    decision = attempt(made)
    assert decision.outcome is GroupOutcome.PREEMPTING
    assert len(world_of(made).evictions) == 2
    world_of(made).advance(2)
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


def test_a_group_goes_to_one_rack() -> None:
    racks = [node(f"n{number}", cpu=1, labels={"rack": "a" if number < 1 else "b"}) for number in range(3)]
    made = scheduler(*racks, pod_group("train", 2, topology="rack"), *members(2, cpu=1), topology=True)
    decision = attempt(made)
    assert (decision.outcome, decision.domain) == (GroupOutcome.SCHEDULED, "b")
    assert sorted(world_of(made).bindings) == [("train-0", "n1"), ("train-1", "n2")]


def test_groups_of_other_spellings_start_together_too() -> None:
    first, second = (pod(name, cpu=1, labels={"scheduling.x-k8s.io/pod-group": "t"}) for name in ("a", "b"))
    made = scheduler(node("n", cpu=2), coscheduling_group("t", 2), first)
    assert made.step() is None
    made.observe(Event(Verb.ADDED, second))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert sorted(world_of(made).bindings) == [("a", "n"), ("b", "n")]


def test_what_can_not_be_meant_keeps_the_members_waiting_until_it_is_put_right() -> None:
    said = {"fairway.dev/gang": "t", "fairway.dev/gang-size": "two"}
    made = scheduler(node("n", cpu=2), pod("a", cpu=1, annotations=said))
    (queued,) = made.queue
    assert queued.place is Place.GATED
    assert queued.refusal is not None
    assert queued.refusal.reasons == (
        "Misconfigured: Pod default/a: metadata.annotations['fairway.dev/gang-size']: 'two' is not a number",
    )
    made.observe(Event(Verb.MODIFIED, pod("a", cpu=1, annotations={**said, "fairway.dev/gang-size": "1"})))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


def test_a_member_that_agrees_with_the_others_again_frees_them() -> None:
    said = {"fairway.dev/gang": "t", "fairway.dev/gang-size": "2"}
    first, second = (pod(name, cpu=1, annotations={**said, "fairway.dev/gang-size": name}) for name in ("2", "3"))
    made = scheduler(node("n", cpu=2), first, second)
    assert set(places(made).values()) == {Place.GATED}
    made.observe(Event(Verb.MODIFIED, pod("3", cpu=1, annotations=said)))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert len(world_of(made).bindings) == 2


def test_an_object_that_is_put_right_frees_its_members() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 0), *members(2, cpu=1))
    assert set(places(made).values()) == {Place.GATED}
    made.observe(Event(Verb.MODIFIED, pod_group("train", 2)))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


@pytest.mark.parametrize("is_first", [True, False])
def test_a_member_that_is_being_deleted_is_left_out(is_first: bool) -> None:
    going = member("going", cpu=1, terminating=True, priority=1 if is_first else 0)
    made = scheduler(node("n", cpu=2), pod_group("train", 1), going, *members(1, cpu=1))
    decision = attempt(made)
    assert [each.pod.metadata.name for each in decision.members] == ["train-0"]
    assert world_of(made).bindings == [("train-0", "n")]
    assert "going" not in places(made)
