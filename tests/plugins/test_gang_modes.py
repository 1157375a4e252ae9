"""Members that are tried one by one and hold their nodes: permit, reject and activate of the two plugins that do so."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.cluster import Event, Verb
from fairway.model.meta import EPOCH
from fairway.plugins.pfnet_gang import PfnetGang
from fairway.queue import Place
from fairway.scheduler import Scheduler
from fairway.testing import node, pod
from fairway.testing.group_builders import members, pod_group
from tests.test_scheduler import scheduler, world_of

COSCHEDULING = {"mode": "coscheduling"}
PFNET = {"mode": "pfnet", "prefix": "gang.example.com"}


def gang_scheduler(gangs: dict[str, Any], num_nodes: int) -> Scheduler:
    """One-core nodes, and the mode."""
    profile = {"schedulerName": "default-scheduler", "fairway": {"sampling": "all", "gangs": gangs}}
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    return scheduler(*(node(f"n{number}", cpu=1) for number in range(num_nodes)), config=config)


def arrive(made: Scheduler, number: int, min_count: int) -> None:
    made.observe(Event(Verb.ADDED, pod_group("train", min_count)))
    for each in members(number, cpu=1):
        made.observe(Event(Verb.ADDED, each))


def bound(made: Scheduler) -> list[str]:
    return sorted(name for name, _ in world_of(made).bindings)


def test_coscheduling_holds_members_until_the_last_has_a_node() -> None:
    made = gang_scheduler(COSCHEDULING, 3)
    arrive(made, 3, 3)
    for _ in range(2):
        made.step()
    assert (len(made.cluster.held), bound(made)) == (2, [])
    made.run_until_idle()
    assert (len(made.cluster.held), bound(made)) == (0, ["train-0", "train-1", "train-2"])


def test_coscheduling_does_not_try_a_group_of_which_too_few_exist() -> None:
    made = gang_scheduler(COSCHEDULING, 3)
    arrive(made, 2, 3)
    made.run_until_idle()
    assert (len(made.cluster.held), bound(made)) == (0, [])
    assert "current pods number: 2, minMember of group: 3" in world_of(made).reports[-1]


def test_coscheduling_keeps_the_nodes_while_a_tenth_is_missing_until_the_time_is_up() -> None:
    made = gang_scheduler(COSCHEDULING, 9)
    arrive(made, 10, 10)
    made.run_until_idle()
    assert len(made.cluster.held) == 9
    world_of(made).advance(59)
    made.run_until_idle()
    assert len(made.cluster.held) == 9
    world_of(made).advance(2)
    made.step()
    assert sum("rejection in Unreserve" in wait or "timeout" in wait for wait in world_of(made).waits) == 9
    assert bound(made) == []


def test_coscheduling_gives_the_nodes_back_when_more_than_a_tenth_is_missing() -> None:
    made = gang_scheduler(COSCHEDULING, 2)
    arrive(made, 3, 3)
    for _ in range(3):
        made.step()
    assert len(made.cluster.held) == 0
    assert sum("optimistic rejection in PostFilter" in wait for wait in world_of(made).waits) == 2


def test_a_pfnet_gang_waits_for_the_next_pod_that_gets_a_node() -> None:
    made = gang_scheduler(PFNET, 4)
    arrive(made, 3, 3)
    made.run_until_idle()
    assert bound(made) == []
    assert made.queue.counts()[Place.GATED] == 3
    made.observe(Event(Verb.ADDED, pod("other", cpu=1)))
    made.run_until_idle()
    assert bound(made) == ["other", "train-0", "train-1", "train-2"]


def test_a_pfnet_member_that_fits_nowhere_makes_the_others_give_their_nodes_back() -> None:
    made = gang_scheduler(PFNET, 3)
    arrive(made, 3, 3)
    made.observe(Event(Verb.ADDED, pod("other", cpu=1)))
    made.run_until_idle()
    assert bound(made) == ["other"]
    assert len(made.cluster.held) == 0
    assert sum("another pod of the gang gets rejected" in wait for wait in world_of(made).waits) == 2


@pytest.mark.parametrize("gangs", [COSCHEDULING, PFNET], ids=["coscheduling", "pfnet"])
def test_a_lone_pod_is_bound_as_ever(gangs: dict[str, Any]) -> None:
    made = gang_scheduler(gangs, 1)
    made.observe(Event(Verb.ADDED, pod("other", cpu=1)))
    made.run_until_idle()
    assert bound(made) == ["other"]


@pytest.mark.parametrize(("last_failure_order", "first"), [(True, "other"), (False, "train-0")], ids=["last", "oldest"])
def test_a_coscheduling_group_stands_where_it_failed_last_or_where_it_was_created(
    last_failure_order: bool, first: str
) -> None:
    made = gang_scheduler({**COSCHEDULING, "lastFailureOrder": last_failure_order}, 1)
    arrive(made, 2, 2)
    world_of(made).advance(10)
    made.observe(Event(Verb.ADDED, pod("other", cpu=2)))
    world_of(made).advance(10)
    for _ in range(2):
        made.step()
    made.queue.activate([queued.pod for queued in made.queue])
    order = [queued.pod.metadata.name for queued in made.queue.pending().active]
    assert order[0] == first


def test_a_pfnet_member_that_is_being_deleted_names_the_others() -> None:
    made = gang_scheduler(PFNET, 4)
    arrive(made, 3, 3)
    made.observe(Event(Verb.ADDED, pod("other", cpu=1)))
    made.run_until_idle()
    plugin = made.profiles["default-scheduler"].plugin("PfnetGang")
    assert isinstance(plugin, PfnetGang)
    going = made.cluster.pods.by_uid["default/train-1"].pod
    assert plugin.deleted_with(going) == []
    leaving = msgspec.structs.replace(going.metadata, deletion_timestamp=EPOCH)
    made.observe(Event(Verb.MODIFIED, msgspec.structs.replace(going, metadata=leaving)))
    going = made.cluster.pods.by_uid["default/train-1"].pod
    assert sorted(other.metadata.name for other in plugin.deleted_with(going)) == ["train-0", "train-2"]
