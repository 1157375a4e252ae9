"""Jobs through the scheduler in mode fairway: one entry, one attempt, one start, and nothing held in between."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest

from fairway.cluster import Event, Verb
from fairway.cycle import Decision
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.model import ApiObject, Pod, PodStatus
from fairway.model.pod import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
)
from fairway.model.pod_group import PodGroupStatus
from fairway.plugin import Plugin, PodClass, Refusal, Wait
from fairway.queue import Place
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from fairway.testing.group_builders import coscheduling_group, member, members, pod_group
from tests.test_group_scheduling import configuration, places
from tests.test_scheduler import SmallWorld, world_of


def scheduler(*things: ApiObject, accepts: bool = True, config: Any = None, **gangs: Any) -> Scheduler:
    world = SmallWorld(accepts)
    made = Scheduler(config or configuration(gangs), world, tie_break="first")
    world.scheduler = made
    for thing in things:
        made.observe(Event(Verb.ADDED, thing))
    return made


def attempt(made: Scheduler) -> GroupDecision:
    decision = made.step()
    assert isinstance(decision, GroupDecision)
    return decision


def gang(name: str, number: int, **settings: Any) -> list[Pod]:
    """Members that say themselves how many they are."""
    said = {"fairway.dev/gang": name, "fairway.dev/gang-size": str(number)}
    return [pod(f"{name}-{index}", annotations=said, **settings) for index in range(number)]


def words(made: Scheduler, name: str) -> str:
    (queued,) = (each for each in made.queue if each.pod.metadata.name == name)
    refusal = made.queue.refusal_of(queued)
    return "" if refusal is None else ", ".join(refusal.reasons)


# -- complete or not ---------------------------------------------------------------------------------------------------


def test_a_job_is_tried_when_its_last_member_comes_and_starts_in_one_step() -> None:
    first, second = gang("t", 2, cpu=1)
    made = scheduler(node("n", cpu=2), first)
    assert made.step() is None
    assert places(made) == {"t-0": Place.GATED}
    assert words(made, "t-0") == "job default/t is incomplete: 1 of 2 members exist"
    made.observe(Event(Verb.ADDED, second))
    assert places(made) == {"t-0": Place.ACTIVE, "t-1": Place.ACTIVE}
    decision = attempt(made)
    assert (decision.outcome, decision.attempt) == (GroupOutcome.SCHEDULED, 1)
    assert sorted(world_of(made).bindings) == [("t-0", "n"), ("t-1", "n")]
    assert len(made.queue) == len(made.queue.groups) == 0
    assert made.step() is None


def test_a_job_waits_for_its_object_and_is_tried_when_that_comes() -> None:
    made = scheduler(node("n", cpu=2), *members(2, cpu=1))
    assert words(made, "train-0") == "job default/train is incomplete: no PodGroup default/train"
    made.observe(Event(Verb.ADDED, pod_group("train", 2)))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


def test_a_job_whose_object_goes_waits_and_one_that_runs_goes_on() -> None:
    made = scheduler(node("n", cpu=1), pod_group("train", 2), *members(2, cpu=1))
    attempt(made)
    made.observe(Event(Verb.DELETED, pod_group("train", 2)))
    made.observe(Event(Verb.MODIFIED, node("n", cpu=2)))
    assert made.step() is None
    assert words(made, "train-0") == "job default/train is incomplete: no PodGroup default/train"
    made.observe(Event(Verb.ADDED, pod_group("train", 2)))
    world_of(made).advance(3)  # it had failed, and rests
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    made.observe(Event(Verb.DELETED, pod_group("train", 2)))
    assert made.step() is None
    assert len(made.cluster.pods) == 2


def test_a_job_whose_object_is_being_deleted_waits_though_its_pods_keep_the_object() -> None:
    made = scheduler(node("n", cpu=1), pod_group("train", 2), *members(2, cpu=1))
    attempt(made)
    group = pod_group("train", 2)
    leaving = msgspec.structs.replace(group.metadata, deletion_timestamp=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    made.observe(Event(Verb.MODIFIED, msgspec.structs.replace(group, metadata=leaving)))
    made.observe(Event(Verb.MODIFIED, node("n", cpu=2)))
    assert made.step() is None
    assert words(made, "train-0") == "job default/train is incomplete: PodGroup default/train is being deleted"


def test_a_gated_member_is_not_there_yet() -> None:
    first, shy = gang("t", 2, cpu=1)
    gated = msgspec.structs.replace(
        shy, spec=msgspec.structs.replace(shy.spec, scheduling_gates=pod("x", gates="g").spec.scheduling_gates)
    )
    made = scheduler(node("n", cpu=2), first, gated)
    assert made.step() is None
    assert words(made, "t-0") == "job default/t is incomplete: 2 of 2 members exist, 1 of them gated"
    made.observe(Event(Verb.MODIFIED, shy))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


def test_people_hear_once_of_a_job_that_stays_incomplete() -> None:
    made = scheduler(node("n", cpu=9), *gang("t", 8, cpu=1)[:7])
    world = world_of(made)
    assert made.next_wakeup() == 300
    world.advance(299)
    made.step()
    assert world.notices == []
    world.advance(1)
    made.step()
    assert world.notices == ["job default/t: GangIncomplete: job default/t is incomplete: 7 of 8 members exist"]
    world.advance(1000)
    made.step()
    assert len(world.notices) == 1
    assert len(made.cluster.pods) == 0


def test_a_job_that_was_complete_in_time_is_not_spoken_of() -> None:
    made = scheduler(*gang("t", 2, cpu=1))
    world_of(made).advance(301)
    made.run_until_idle()
    assert world_of(made).notices == []


def test_a_member_that_goes_makes_the_job_incomplete_again() -> None:
    jobs = gang("t", 2, cpu=1)
    made = scheduler(node("n", cpu=1), *jobs)
    attempt(made)
    made.observe(Event(Verb.DELETED, jobs[0]))
    assert places(made) == {"t-1": Place.GATED}
    made.observe(Event(Verb.DELETED, jobs[1]))
    assert len(made.queue) == len(made.queue.groups) == 0
    assert made.next_wakeup() is not None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"fairway.dev/gang-size": "two"}, "metadata.annotations['fairway.dev/gang-size']: 'two' is not a number"),
        ({"fairway.dev/gang-size": "0"}, "metadata.annotations['fairway.dev/gang-size']: is 0; it has to be 1 or more"),
        (
            {"fairway.dev/gang-size": "2", "fairway.dev/gang-min": "3"},
            "metadata.annotations['fairway.dev/gang-min']: 3 is more than fairway.dev/gang-size, which is 2",
        ),
    ],
)
def test_what_can_not_be_meant_waits_and_is_looked_at_again(said: dict[str, str], told: str) -> None:
    named = {"fairway.dev/gang": "t"}
    made = scheduler(node("n", cpu=2), pod("a", cpu=1, annotations={**named, **said}))
    assert words(made, "a") == f"Misconfigured: Pod default/a: {told}"
    made.observe(Event(Verb.MODIFIED, pod("a", cpu=1, annotations={**named, "fairway.dev/gang-size": "1"})))
    made.run_until_idle()
    assert world_of(made).bindings == [("a", "n")]


def test_members_of_two_schedulers_are_told_of_each_other() -> None:
    first, second = gang("t", 2, cpu=1)
    foreign = msgspec.structs.replace(second, spec=msgspec.structs.replace(second.spec, scheduler_name="else"))
    made = scheduler(node("n", cpu=2), first, foreign)
    told = "'default-scheduler' here and 'else' in Pod default/t-1; members have to agree"
    assert words(made, "t-0") == f"Misconfigured: Pod default/t-0: spec.schedulerName: {told}"
    made.observe(Event(Verb.DELETED, foreign))
    made.observe(Event(Verb.ADDED, second))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


# -- waiting and coming again ------------------------------------------------------------------------------------------


def test_a_job_that_does_not_fit_holds_nothing_and_rests_as_one() -> None:
    made = scheduler(node("n", cpu=2), *gang("t", 3, cpu=1))
    decision = attempt(made)
    assert decision.outcome is GroupOutcome.UNSCHEDULABLE
    assert len(made.cluster.pods) == 0
    assert set(places(made).values()) == {Place.UNSCHEDULABLE}
    assert made.step() is None  # nothing happened
    (entry,) = made.queue.groups
    assert (entry.attempts, entry.unschedulable_plugins) == (1, frozenset({"NodeResourcesFit"}))
    assert made.queue.counts()[Place.UNSCHEDULABLE] == 3
    assert len(made.queue.pending().unschedulable) == 3


def test_room_for_the_member_in_the_way_ends_the_back_off_at_once() -> None:
    made = scheduler(node("n", cpu=2), *gang("t", 3, cpu=1))
    attempt(made)
    made.observe(Event(Verb.ADDED, node("m", cpu=1)))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert world_of(made).now() == 0


def test_what_may_help_without_room_is_tried_when_the_back_off_is_over() -> None:
    made = scheduler(
        node("n", cpu=2), node("m", cpu=1, labels={"a": "1"}), *gang("t", 3, cpu=1, node_selector={"a": "1"})
    )
    attempt(made)
    made.observe(Event(Verb.MODIFIED, node("n", cpu=2, labels={"b": "1"})))
    assert made.step() is None
    made.observe(Event(Verb.MODIFIED, node("n", cpu=2, labels={"a": "1"})))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


def test_back_offs_double_up_to_the_jobs_own_limit() -> None:
    residents = [pod(f"r{number}", cpu="100m", node="m") for number in range(5)]
    made = scheduler(node("n", cpu=4), node("m", cpu=1), *residents, *gang("t", 3, cpu=2), maxBackoff="4s")
    world = world_of(made)
    (entry,) = made.queue.groups
    rests = []
    for resident in residents:
        attempt(made)
        made.observe(Event(Verb.DELETED, resident))  # not room enough, but worth a try
        began = world.now()
        while entry.place is not Place.ACTIVE:
            wakeup = made.next_wakeup()
            assert wakeup is not None
            world.advance(max(wakeup - world.now(), 0.001))
            made.queue.tick()
        rests.append(round(world.now() - began))
    assert rests == [2, 3, 5, 5, 5]  # to the end of the second in which it ends


def test_a_job_is_tried_again_after_five_minutes_without_any_event() -> None:
    made = scheduler(node("n", cpu=2), *gang("t", 3, cpu=1))
    attempt(made)
    world_of(made).advance(331)
    assert attempt(made).attempt == 2


def test_jobs_and_pods_stand_in_one_line() -> None:
    low, high = gang("low", 2, cpu=1), gang("high", 2, cpu=1, priority=5)
    made = scheduler(node("n", cpu=9), pod("alone", cpu=1), *low, *high, pod("urgent", cpu=1, priority=9))
    order = []
    while (decision := made.step()) is not None:
        order.append(decision.pod.metadata.name if isinstance(decision, Decision) else decision.job.name)
    assert order == ["urgent", "high", "alone", "low"]


def test_a_job_is_as_important_as_its_object_says() -> None:
    made = scheduler(
        node("n", cpu=9), *gang("other", 2, cpu=1, priority=5), pod_group("train", 2, priority=7), *members(2, cpu=1)
    )
    assert attempt(made).job.name == "train"


def test_a_change_of_the_object_is_heard() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 3), *members(3, cpu=1))
    attempt(made)
    made.observe(Event(Verb.MODIFIED, pod_group("train", 2)))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert len(world_of(made).bindings) == 2
    assert list(places(made).values()) == [Place.UNSCHEDULABLE]


def test_what_is_written_into_the_object_is_no_news() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 3), *members(3, cpu=1))
    attempt(made)
    told = msgspec.structs.replace(pod_group("train", 3), status=PodGroupStatus(conditions=()))
    meta = msgspec.structs.replace(told.metadata, resource_version="7", labels={"a": "1"})
    made.observe(Event(Verb.MODIFIED, msgspec.structs.replace(told, metadata=meta)))
    assert made.step() is None


# -- members beyond what it takes --------------------------------------------------------------------------------------


def test_surplus_waits_for_what_helps_it() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 2), *members(3, cpu=1))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert len(world_of(made).bindings) == 2
    assert made.step() is None
    made.observe(Event(Verb.ADDED, node("m", cpu=1)))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert world_of(made).bindings[2][1] == "m"


def test_surplus_may_have_to_wait_for_an_attempt_of_its_own() -> None:
    made = scheduler(node("n", cpu=9), pod_group("train", 2), *members(3, cpu=1), surplus="wait")
    attempt(made)
    assert len(world_of(made).bindings) == 2
    attempt(made)
    assert len(world_of(made).bindings) == 3


def test_a_replacement_is_tried_with_the_number_already_met() -> None:
    jobs = gang("t", 2, cpu=1)
    made = scheduler(node("n", cpu=2), *jobs)
    attempt(made)
    made.observe(Event(Verb.DELETED, pod("t-0", cpu=1, node="n", annotations=jobs[0].metadata.annotations)))
    made.observe(Event(Verb.ADDED, pod("t-0b", cpu=1, annotations=jobs[0].metadata.annotations)))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert world_of(made).bindings[-1] == ("t-0b", "n")


def test_a_job_of_one_is_a_pod_like_any_other() -> None:
    made = scheduler(node("n", cpu=1), *gang("t", 1, cpu=1), *gang("u", 1, cpu=1))
    assert isinstance(made.step(), Decision)
    assert isinstance(made.step(), Decision)
    assert len(made.queue.groups) == 0


def test_a_pod_that_was_alone_joins_the_job_when_a_second_member_comes() -> None:
    made = scheduler(node("n", cpu=1), pod("busy", cpu=1, node="n"), coscheduling_group("t", 1))
    named = {"scheduling.x-k8s.io/pod-group": "t"}
    made.observe(Event(Verb.ADDED, pod("a", cpu=1, labels=named)))
    made.step()
    made.observe(Event(Verb.ADDED, pod("b", cpu=1, labels=named)))
    (entry,) = made.queue.groups
    assert sorted(queued.pod.metadata.name for queued in entry.members.values()) == ["a", "b"]


# -- all or nothing ----------------------------------------------------------------------------------------------------


class Refusing(Plugin):
    """Says no to one member, though not when it is first asked, and keeps count of what is reserved."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.log: list[str] = []
        LOGS.append(self.log)

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | None:
        self.log.append(f"+{pod.metadata.name}")
        is_refused = pod.metadata.labels.get("refused") == "reserve"
        return Refusal(("no disk",)) if is_refused and self.log.count(f"+{pod.metadata.name}") > 1 else None

    def unreserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        self.log.append(f"-{pod.metadata.name}")

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | Wait | None:
        said = pod.metadata.labels.get("refused")
        return Refusal(("not today",)) if said == "permit" else Wait(30.0) if said == "wait" else None


LOGS: list[list[str]] = []


@pytest.mark.parametrize("point", ["reserve", "permit"])
def test_a_refusal_of_one_gives_all_back_and_names_it(point: str) -> None:
    jobs = gang("t", 3, cpu=1)
    bad = msgspec.structs.replace(
        jobs[1], metadata=msgspec.structs.replace(jobs[1].metadata, labels={"refused": point})
    )
    made = scheduler(node("n", cpu=3), jobs[0], bad, jobs[2], config=configuration({}, Refusing))
    decision = attempt(made)
    assert decision.outcome is GroupOutcome.UNSCHEDULABLE
    assert decision.blocking == "default/t-1"
    assert decision.message.startswith("job default/t: t-1: ")
    assert world_of(made).bindings == []
    assert len(made.cluster.pods) == 0
    log = LOGS[-1]
    taken = [each[1:] for each in log if each[0] == "+"]
    assert sorted(taken) == sorted(each[1:] for each in log if each[0] == "-")
    assert {queued.place for queued in made.queue} == {Place.UNSCHEDULABLE}


def test_a_permit_that_waits_holds_the_whole_job_until_its_time_is_up() -> None:
    jobs = gang("t", 2, cpu=1)
    slow = msgspec.structs.replace(
        jobs[1], metadata=msgspec.structs.replace(jobs[1].metadata, labels={"refused": "wait"})
    )
    made = scheduler(node("n", cpu=2), jobs[0], slow, config=configuration({}, Refusing))
    attempt(made)
    world = world_of(made)
    assert world.bindings == []
    assert len(made.cluster.pods) == 2
    assert made.step() is None
    world.advance(30)
    made.step()
    assert len(made.cluster.pods) == 0
    assert world.bindings == []
    assert "timeout" in world.reports[-1]


def test_a_permit_that_comes_lets_all_go() -> None:
    jobs = gang("t", 2, cpu=1)
    slow = msgspec.structs.replace(
        jobs[1], metadata=msgspec.structs.replace(jobs[1].metadata, labels={"refused": "wait"})
    )
    made = scheduler(node("n", cpu=2), jobs[0], slow, config=configuration({}, Refusing))
    attempt(made)
    made.cluster.held.allow("default/t-1", "Refusing")
    made.step()
    assert sorted(world_of(made).bindings) == [("t-0", "n"), ("t-1", "n")]
    assert len(made.queue.groups) == 0


def test_a_held_job_that_loses_a_member_gives_all_back() -> None:
    jobs = gang("t", 2, cpu=1)
    slow = msgspec.structs.replace(
        jobs[1], metadata=msgspec.structs.replace(jobs[1].metadata, labels={"refused": "wait"})
    )
    made = scheduler(node("n", cpu=2), jobs[0], slow, config=configuration({}, Refusing))
    attempt(made)
    made.observe(Event(Verb.DELETED, jobs[0]))
    assert len(made.cluster.pods) == 0
    assert places(made) == {"t-1": Place.GATED}


@pytest.mark.parametrize("position", range(4))
def test_one_binding_of_many_that_fails_is_tried_again_at_once_with_its_room_kept(position: int) -> None:
    jobs = gang("t", 4, cpu=1)
    made = scheduler(node("n", cpu=4), *jobs, accepts=False)
    attempt(made)
    world = world_of(made)
    for index, each in enumerate(jobs):
        if index == position:
            made.binding_failed(each, "webhook")
        else:
            world.confirm(each, "n")
    made.observe(Event(Verb.ADDED, pod("greedy", cpu=1)))
    assert made.cluster.nominations.node_of(f"default/t-{position}") == "n"
    decision = attempt(made)
    assert (decision.outcome, [each.pod.metadata.name for each in decision.members]) == (
        GroupOutcome.SCHEDULED,
        [f"t-{position}"],
    )
    assert world.bindings[-1] == (f"t-{position}", "n")
    assert world.now() == 0


def test_a_binding_that_fails_again_and_again_is_tried_less_and_less_and_people_are_told() -> None:
    jobs = gang("t", 2, cpu=1)
    made = scheduler(node("n", cpu=2), *jobs, accepts=False)
    attempt(made)
    world = world_of(made)
    world.confirm(jobs[1], "n")
    made.binding_failed(jobs[0], "webhook")
    times = []
    while world.now() < 100:
        decision = made.step()
        if decision is not None:
            times.append(world.now())
            made.binding_failed(jobs[0], "webhook")
        else:
            wakeup = made.next_wakeup()
            assert wakeup is not None
            world.advance(max(wakeup - world.now(), 0.01))
    assert times[0] == 0
    assert 5 <= len(times) <= 9
    broken = [notice for notice in world.notices if "GangBroken" in notice]
    assert broken == ["job default/t: GangBroken: job default/t: 1 of the 2 members that it takes run"]


class Recalling(SmallWorld):
    """Bindings stay under way, and those of all but the first can be taken back."""

    def __init__(self) -> None:
        super().__init__(accepts=False)

    def recall(self, pods: Any) -> list[str]:
        return [each.metadata.uid for each in pods if each.metadata.name != "t-1"]


def test_who_is_not_on_its_way_yet_when_one_fails_stays_at_home() -> None:
    world = Recalling()
    made = Scheduler(configuration({}), world, tie_break="first")
    world.scheduler = made
    jobs = gang("t", 3, cpu=1)
    for thing in (node("n", cpu=3), *jobs):
        made.observe(Event(Verb.ADDED, thing))
    attempt(made)
    made.binding_failed(jobs[0], "webhook")
    assert set(made.cluster.pods.by_uid) == {"default/t-1"}  # it may be bound or not: nobody knows yet
    world.confirm(jobs[1], "n")
    decision = attempt(made)
    assert sorted(each.pod.metadata.name for each in decision.members) == ["t-0", "t-2"]
    assert decision.outcome is GroupOutcome.SCHEDULED


def test_surplus_whose_binding_fails_rests_alone() -> None:
    made = scheduler(node("n", cpu=3), pod_group("train", 2), *members(3, cpu=1), accepts=False)
    attempt(made)
    world = world_of(made)
    for each in members(3, cpu=1)[:2]:
        world.confirm(each, "n")
    made.binding_failed(members(3, cpu=1)[2], "webhook")
    assert places(made) == {"train-2": Place.BACKOFF}
    assert len(made.cluster.nominations) == 0
    world.advance(3)
    assert attempt(made).outcome is GroupOutcome.SCHEDULED


def bound(each: Pod, name: str) -> Pod:
    return msgspec.structs.replace(each, spec=msgspec.structs.replace(each.spec, node_name=name))


def test_after_a_restart_a_half_started_job_goes_first_and_is_told_of_if_it_stays_so() -> None:
    jobs = gang("t", 3, cpu=1)
    made = scheduler(node("n", cpu=3), pod("before", cpu=1), bound(jobs[0], "n"), *jobs[1:])
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert len(world_of(made).bindings) == 2

    made = scheduler(node("n", cpu=2), bound(jobs[0], "n"), *jobs[1:])
    world = world_of(made)
    world.advance(1000)  # nobody led meanwhile
    made.run_until_idle()
    assert world.notices == []
    world.advance(60)
    made.run_until_idle()
    assert world.notices == ["job default/t: GangBroken: job default/t: 1 of the 3 members that it takes run"]


def owned(each: Pod) -> Pod:
    owner = pod("x", owner="ReplicaSet/r").metadata.owner_references
    return msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, owner_references=owner))


def test_a_broken_job_begins_anew_where_that_is_wanted() -> None:
    jobs = [owned(each) for each in gang("t", 3, cpu=1)]
    made = scheduler(node("n", cpu=2), bound(jobs[0], "n"), *jobs[1:], onBroken="evict")
    made.run_until_idle()
    world_of(made).advance(61)
    made.run_until_idle()
    assert [name for name, _ in world_of(made).evictions] == ["t-0"]


WAITING = ContainerState(waiting=ContainerStateWaiting(reason="ContainerCreating"))
RUNNING, ENDED = ContainerState(running=ContainerStateRunning()), ContainerState(terminated=ContainerStateTerminated())
BEGUN: dict[str, tuple[PodStatus, bool]] = {
    "nothing yet": (PodStatus(container_statuses=(ContainerStatus(state=WAITING),)), True),
    "running": (PodStatus(container_statuses=(ContainerStatus(state=RUNNING),)), False),
    "ended, and starts again": (
        PodStatus(container_statuses=(ContainerStatus(state=WAITING, restart_count=1),)),
        False,
    ),
    "ended": (PodStatus(container_statuses=(ContainerStatus(state=ENDED),)), False),
    "prepared": (PodStatus(init_container_statuses=(ContainerStatus(state=ENDED),)), False),
}


@pytest.mark.parametrize(("status", "goes"), BEGUN.values(), ids=BEGUN.keys())
def test_of_a_broken_job_only_pods_go_that_have_done_nothing(status: PodStatus, goes: bool) -> None:
    first, *others = (owned(each) for each in gang("t", 3, cpu=1))
    begun = msgspec.structs.replace(bound(first, "n"), status=status)
    made = scheduler(node("n", cpu=2), begun, *others, onBroken="evict")
    made.run_until_idle()
    world_of(made).advance(61)
    made.run_until_idle()
    assert bool(world_of(made).evictions) == goes


def test_of_a_broken_job_pods_stay_that_nobody_makes_again() -> None:
    first, *others = gang("t", 3, cpu=1)
    made = scheduler(node("n", cpu=2), bound(first, "n"), *others, onBroken="evict")
    made.run_until_idle()
    world_of(made).advance(61)
    made.run_until_idle()
    assert world_of(made).evictions == []


def test_spellings_that_do_not_count_are_told_once_a_job() -> None:
    pods = [
        msgspec.structs.replace(
            each, metadata=msgspec.structs.replace(each.metadata, annotations={"fairway.dev/gang": "other"})
        )
        for each in members(2, cpu=1)
    ]
    made = scheduler(node("n", cpu=2), pod_group("train", 2), *pods)
    told = (
        "job default/train: GangIgnored: members of job default/train also name a group in another way (fairway.dev), "
    )
    made.run_until_idle()
    assert [notice.startswith(told) for notice in world_of(made).notices if "GangIgnored" in notice] == [True]
    for each in pods:
        made.observe(Event(Verb.DELETED, bound(each, "n")))
    made.observe(Event(Verb.ADDED, pods[0]))
    made.observe(Event(Verb.ADDED, pods[1]))
    assert [notice.startswith(told) for notice in world_of(made).notices if "GangIgnored" in notice] == [True, True]


def test_a_job_that_comes_to_its_end_is_not_broken() -> None:
    jobs = gang("t", 2, cpu=1)
    made = scheduler(node("n", cpu=2), *jobs)
    made.run_until_idle()
    ended = bound(jobs[0], "n")
    made.observe(
        Event(
            Verb.MODIFIED,
            msgspec.structs.replace(ended, status=msgspec.structs.replace(ended.status, phase="Succeeded")),
        )
    )
    world_of(made).advance(100)
    made.run_until_idle()
    assert not any("GangBroken" in notice for notice in world_of(made).notices)


def test_a_member_without_its_job_is_ignored_where_nobody_asks() -> None:
    made = scheduler(node("n", cpu=1), member("a", cpu=1), config=configuration(None))
    assert isinstance(made.step(), Decision)


# -- room for a job ----------------------------------------------------------------------------------------------------


def test_room_is_made_for_all_members_and_kept_for_them() -> None:
    residents = [pod(f"v{name}", cpu=1, node=name) for name in "abc"]
    made = scheduler(*(node(name, cpu=1) for name in "abc"), *residents, *gang("t", 2, cpu=1, priority=5))
    world = world_of(made)
    decision = attempt(made)
    assert decision.outcome is GroupOutcome.PREEMPTING
    assert len(world.evictions) == 2
    assert sorted(world.notices) == [
        "job default/t: GangPreempting: 2 less important pods have to make room for job default/t"
    ]
    kept = {made.cluster.nominations.node_of(f"default/t-{index}") for index in range(2)}
    assert {victim[1:] for victim, _ in world.evictions} == kept
    made.observe(Event(Verb.ADDED, pod("again", cpu=1)))  # a victim that comes back does not get it
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    made.run_until_idle()
    assert {name for name, _ in world.bindings} == {"t-0", "t-1"}


class Stubborn(SmallWorld):
    """Victims are replaced by others at once, wherever they were."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        super().evict(victim, preemptor)
        self.number += 1
        self.scheduler.observe(Event(Verb.ADDED, pod(f"w{self.number}", cpu=1, node=victim.spec.node_name)))


def stubborn(**gangs: Any) -> Scheduler:
    world = Stubborn()
    made = Scheduler(configuration(gangs), world, tie_break="first")
    world.scheduler = made
    things = (node("a", cpu=1), node("b", cpu=1), pod("va", cpu=1, node="a"), pod("vb", cpu=1, node="b"))
    for thing in (*things, *gang("t", 2, cpu=1, priority=5)):
        made.observe(Event(Verb.ADDED, thing))
    return made


def test_what_does_not_help_comes_to_an_end_until_nodes_change() -> None:
    made = stubborn()
    world = world_of(made)
    for _ in range(40):
        made.step()
        world.advance(10)
    assert len(world.evictions) == 6  # three rounds
    futile = [notice for notice in world.notices if "PreemptionFutile" in notice]
    assert len(futile) == 1
    made.observe(Event(Verb.MODIFIED, node("a", cpu=1, labels={"new": "1"})))
    world.advance(400)
    made.step()
    assert len(world.evictions) > 6


def test_what_is_kept_too_long_is_given_up() -> None:
    class Slow(SmallWorld):
        def evict(self, victim: Pod, preemptor: Pod) -> None:
            self.evictions.append((victim.metadata.name, preemptor.metadata.name))

    world = Slow()
    made = Scheduler(configuration({"earmark": "30s"}), world, tie_break="first")
    world.scheduler = made
    residents = [pod(f"v{name}", cpu=1, node=name) for name in "ab"]
    for thing in (node("a", cpu=1), node("b", cpu=1), *residents, *gang("t", 2, cpu=1, priority=5)):
        made.observe(Event(Verb.ADDED, thing))
    attempt(made)
    assert len(made.cluster.nominations) == 2
    assert made.next_wakeup() == 30
    world.advance(30)
    attempt(made)  # it is looked at once more, and room is asked for anew
    assert len(world.evictions) == 4
