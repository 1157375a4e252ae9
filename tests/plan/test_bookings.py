"""What is closed, exclusive, bound to a domain or mixed."""

import math

import numpy as np
import pytest

from fairway.plan import MemberClass, Slot, WaitingJob, member_need
from tests.plan.situations import job, machine, occupied


def start_of(slot: Slot | None) -> float | None:
    return None if slot is None else slot.start


@pytest.mark.parametrize(
    ("limit", "start"),
    [(20.0, 0.0), (21.0, 40.0), (math.inf, 40.0)],
    ids=["ends as the window begins", "would run into it", "never ends"],
)
def test_nobody_runs_into_a_window(limit: float, start: float) -> None:
    calendar = machine()
    calendar.close("window", np.array([0]), 20.0, 30.0)
    calendar.close("another, over it", np.array([0]), 25.0, 40.0)
    assert start_of(calendar.search(job("one", limit=limit))) == start
    calendar.remove("another, over it")
    assert start_of(calendar.search(job("one", limit=limit))) == (0.0 if limit == 20 else 30.0)


def test_an_exclusive_job_waits_for_an_empty_node_and_keeps_it() -> None:
    calendar = machine(num_nodes=2)
    occupied(calendar, "small", 1, 10.0, row=0)
    occupied(calendar, "other", 0, 20.0, row=1)  # asks for nothing, but is there
    alone = job("alone", exclusive=True)
    slot = calendar.search(alone)
    assert slot is not None
    assert (slot.start, slot.placements[0].rows.tolist()) == (10.0, [0])
    calendar.start(alone, slot)
    assert start_of(calendar.search(job("pair", 1, 5, members=2))) == 0.0  # both on the other node
    assert start_of(calendar.search(job("eight", 4, 15, members=2))) == 20.0


def test_what_serves_the_node_is_in_nobody_s_way() -> None:
    calendar = machine()
    calendar.occupy("daemon", np.array([0]), np.array([1, 0]), math.inf)  # no access taken
    assert start_of(calendar.search(job("alone", 3, exclusive=True))) == 0.0
    assert calendar.search(job("alone", 4, exclusive=True)) is None


def test_all_members_are_in_one_domain_the_first_that_has_room_and_of_these_the_smallest() -> None:
    calendar = machine(num_nodes=5, cpus=1)
    occupied(calendar, "there", 1, 10.0, row=0)
    rack = [np.array([True, True, False, False, False]), np.array([False, False, True, True, True])]
    base = job("pair", members=2)
    slots = {}
    for order in (rack, rack[::-1]):
        placed = calendar.search(WaitingJob("pair", base.classes, 10.0, domains=tuple(order)))
        assert placed is not None
        slots[placed.start] = placed.placements[0].rows.tolist()
    assert slots == {0.0: [2, 3]}
    calendar.remove("there")
    placed = calendar.search(WaitingJob("pair", base.classes, 10.0, domains=tuple(rack[::-1])))
    assert placed is not None
    assert placed.placements[0].rows.tolist() == [0, 1]  # both are free: the smaller one


def test_quota_is_a_row_like_any_other() -> None:
    calendar = machine(num_nodes=3)  # the last one is no node but what the queue may use
    nodes, quota = np.array([True, True, False]), np.array([False, False, True])
    occupied(calendar, "counts", 3, 50.0, row=2)
    members = MemberClass(member_need([1]), 2, nodes)
    within_quota = MemberClass(member_need([2]), 1, quota)
    assert start_of(calendar.search(WaitingJob("one", (members, within_quota), 10.0))) == 50.0
    assert start_of(calendar.search(WaitingJob("one", (members,), 10.0))) == 0.0


def test_a_calendar_without_something_leaves_the_first_one_as_it_is() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, 10.0)
    assert start_of(calendar.without(["there"]).search(job("one"))) == 0.0
    assert start_of(calendar.search(job("one"))) == 10.0
