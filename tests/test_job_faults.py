"""Jobs that are odd, and things that break, on their way through the scheduler in mode fairway."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Event, Verb
from fairway.cycle.groups.group_decision import GroupOutcome
from fairway.model import Pod
from fairway.plugin import Nodes, Plugin, PodClass
from fairway.queue import Place
from fairway.testing import node, pod
from fairway.testing.group_builders import members, pod_group
from tests.test_group_scheduling import configuration
from tests.test_job_scheduling import attempt, gang, scheduler
from tests.test_scheduler import world_of


def test_more_members_than_are_taken_at_once_are_refused_unless_that_is_raised() -> None:
    things: list[Any] = [node("n", cpu=99, pods=3000), *gang("t", 2001)]
    decision = attempt(scheduler(*things))
    assert decision.outcome is GroupOutcome.ERROR
    assert decision.message == "job default/t: 2001 members wait, and maxMembers is 2000"
    assert attempt(scheduler(*things, maxMembers=2001)).outcome is GroupOutcome.SCHEDULED


def test_a_job_that_has_started_stays_so_whatever_its_object_says_then() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 2), *members(2, cpu=1))
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    made.observe(Event(Verb.MODIFIED, pod_group("train", 3)))
    made.run_until_idle()
    assert len(world_of(made).bindings) == 2
    assert world_of(made).evictions == []


def test_a_storm_of_updates_leads_to_no_attempt() -> None:
    made = scheduler(node("n", cpu=2), pod_group("train", 3), *members(3, cpu=1))
    attempt(made)
    for number in range(1000):
        group = pod_group("train", 3)
        meta = msgspec.structs.replace(group.metadata, resource_version=str(number), annotations={"n": str(number)})
        made.observe(Event(Verb.MODIFIED, msgspec.structs.replace(group, metadata=meta)))
    assert made.step() is None
    assert len(made.queue.groups) == 1


def test_a_plugin_that_breaks_for_one_job_leaves_the_others_alone() -> None:
    def broken(self: Plugin, pod_class: PodClass, nodes: Nodes, state: Any) -> Any:
        if pod_class.labels.get("app") == "bad":
            raise ZeroDivisionError("no")
        return np.ones(len(nodes), bool)

    kind = type("Broken", (Plugin,), {"filter": broken})
    bad, good = gang("bad", 2, cpu=1, labels={"app": "bad"}), gang("good", 2, cpu=1)
    made = scheduler(node("n", cpu=4), *bad, *good, config=configuration({}, kind))
    assert attempt(made).outcome is GroupOutcome.ERROR
    assert attempt(made).outcome is GroupOutcome.SCHEDULED
    assert sorted(name for name, _ in world_of(made).bindings) == ["good-0", "good-1"]
    (entry,) = made.queue.groups
    assert entry.place is Place.BACKOFF


# -- room for as many as it takes --------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=4, max_size=14))
def test_a_job_starts_with_the_event_that_makes_its_room(number: int, held: list[tuple[int, int]]) -> None:
    """Pods leave one by one. A job is not tried upon each, but at the moment there is room it starts."""
    nodes = [node(f"n{index}", cpu=4) for index in range(4)]
    free = [4] * 4
    running: list[Pod] = []
    for index, (where, cpu) in enumerate(held):
        if free[where] >= cpu:
            free[where] -= cpu
            running.append(pod(f"p{index}", cpu=cpu, node=f"n{where}"))
    made = scheduler(*nodes, *running, *gang("t", number, cpu=2))
    made.run_until_idle()
    slots = sum(left // 2 for left in free)
    assert bool(world_of(made).bindings) is (slots >= number)
    for each in running:
        if world_of(made).bindings:
            break
        where = int(each.spec.node_name[1:])
        free[where] += int(each.spec.containers[0].resources.requests["cpu"].value)
        made.observe(Event(Verb.DELETED, each))
        made.run_until_idle()
        assert bool(world_of(made).bindings) is (sum(left // 2 for left in free) >= number)
