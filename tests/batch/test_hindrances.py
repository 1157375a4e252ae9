"""What keeps a job from running for good, or until another one has got on: who is told what, and what ends it."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.hindrances.feasibility import Feasibility
from fairway.batch.job import BatchJob
from fairway.batch.machine import Machine
from fairway.batch.reasons import JobState, Reason, Refused
from fairway.cluster import Cluster, Event, Verb
from fairway.model import Pod
from fairway.plan import BookingMode, MemberClass, WaitingJob
from fairway.testing import node, pod
from tests.batch.jobs import job_of
from tests.batch.room import Room, job
from tests.containers import num_calls

SAID: dict[str, Any] = {
    "labels": {"fairway.dev/queue": "q"},
    "annotations": {"fairway.dev/time-limit": "10s"},
}
GANG_OF_NINE: dict[str, Any] = {
    "labels": {"fairway.dev/queue": "q"},
    "annotations": {"fairway.dev/time-limit": "10s", "fairway.dev/gang": "j", "fairway.dev/gang-size": "9"},
}


def standing_of(room: Room, name: str) -> tuple[JobState, object]:
    standing = room.find(name).standing
    return standing.state, standing.reason


@pytest.mark.parametrize(
    ("members", "resource", "needs", "most", "words"),
    [
        ([job("j", cpu=5)], "cpu", 5000, 4000, "any of 2 nodes that it may be on has is 4: ask for at most 4"),
        (
            [job(f"j-{n}", cpu=3, gang="j", gang_size="3") for n in range(3)],
            "cpu",
            9000,
            6000,
            "have room for 2: ask for at most 2 members",
        ),
        (
            [pod(f"j-{n}", cpu=1, memory="16Gi", **GANG_OF_NINE) for n in range(9)],
            "cpu",
            9000,
            8000,
            "have room for 8: ask for at most 4 members",
        ),
        (
            [pod("j", cpu=1, requests={"example.com/fpga": "2"}, **SAID)],
            "example.com/fpga",
            2,
            0,
            "which no node has",
        ),
        (
            [pod("j", cpu=1, node_selector={"disk": "ssd"}, **SAID)],
            "nodes",
            1,
            0,
            "no node suits it",
        ),
    ],
    ids=["one node", "all nodes", "all nodes, two resources", "no such resource", "no such node"],
)
def test_what_can_never_run_is_refused_with_the_number_that_forbids_it(
    members: list[Pod], resource: str, needs: int, most: int, words: str
) -> None:
    room = Room([(0.0, each) for each in members], cpus=(4, 4))
    room.until(1.0)
    standing = room.find("j").standing
    assert (standing.state, standing.reason) == (JobState.REFUSED, Refused.NEVER_FITS)
    assert standing.detail == {"resource": resource, "needs": needs, "most": most}
    assert words in standing.words


def test_a_job_that_fits_no_node_runs_when_a_larger_one_comes() -> None:
    room = Room([(0.0, job("wide", cpu=6)), (1.0, job("small", cpu=4))])
    room.until(5.0)
    assert standing_of(room, "wide") == (JobState.REFUSED, Refused.NEVER_FITS)
    assert room.starts == {"small": 1.0}  # nobody waits for the other one
    room.simulation.api.create(node("large", cpu=8))
    room.until(6.0)
    assert room.starts["wide"] == 5.0


def test_a_node_that_is_down_may_come_back() -> None:
    room = Room([(1.0, job("j", cpu=4))], cpus=(4, 2))
    room.simulation.lifecycle.apply("cordon", "n0")
    room.until(5.0)
    assert room.find("j").state is JobState.QUEUED
    room.simulation.lifecycle.apply("uncordon", "n0")
    room.until(6.0)
    assert room.starts == {"j": 5.0}


def test_a_job_that_would_start_too_late_is_refused_and_stops_nobody() -> None:
    first, late, after = job("first", cpu=4, run=100.0, limit=100.0), job("late", cpu=4, start_by="+50s"), job("after")
    in_time = job("in-time", start_by="+200s", cpu=2)
    room = Room([(0.0, first), (1.0, late), (2.0, in_time), (3.0, after)])
    room.until(4.0)
    standing = room.find("late").standing
    assert (standing.state, standing.reason) == (JobState.REFUSED, Refused.TOO_LATE)
    assert standing.detail == {"start_by": 51.0, "planned": 100.0}
    room.until(150.0)
    assert room.starts == {"first": 0.0, "in-time": 100.0, "after": 100.0}


def test_a_date_that_was_missed_is_missed() -> None:
    """It was to start in time by its limit, and something came between."""
    room = Room([(0.0, job("first", cpu=4, limit=10.0)), (1.0, job("late", cpu=4, start_by="+30s"))])
    room.until(5.0)
    assert standing_of(room, "late") == (JobState.QUEUED, Reason.RESOURCES)
    room.simulation.lifecycle.apply("cordon", "n0")
    room.until(40.0)
    assert standing_of(room, "late") == (JobState.REFUSED, Refused.TOO_LATE)


def connected(name: str, to: str, mode: str = "after-any") -> Pod:
    return job(name, connect_to=to, connect_mode=mode)


def test_jobs_that_wait_for_each_other_hear_of_it() -> None:
    room = Room([(0.0, connected("a", "b")), (0.0, connected("b", "c")), (0.0, connected("c", "a"))])
    room.simulation.api.create(connected("self", "default/self"))
    room.simulation.api.create(connected("outside", "a"))
    room.until(1.0)
    for name in ("a", "b", "c", "self"):
        assert standing_of(room, name) == (JobState.REFUSED, Refused.DEPENDENCY_CYCLE)
    assert room.find("a").standing.words == (
        "waits for itself: default/a after default/b after default/c after default/a"
    )
    assert standing_of(room, "outside") == (JobState.QUEUED, Reason.DEPENDENCY)


@pytest.mark.parametrize(
    ("mode", "fails", "state", "start"),
    [
        ("after-ok", False, JobState.FINISHED, 10.0),
        ("after-ok", True, JobState.REFUSED, None),
        ("after-any", True, JobState.FINISHED, 10.0),
        ("after-started", True, JobState.FINISHED, 0.0),
    ],
)
def test_a_job_comes_after_another(mode: str, fails: bool, state: JobState, start: float | None) -> None:
    first = job("first", run=10.0) if not fails else job("first", fail_after="10")
    room = Room([(0.0, connected("second", "first", mode)), (0.0, first)])
    room.until(0.5)
    second = room.find("second")
    room.until(30.0)
    assert (second.state, room.starts.get("second")) == (state, start)
    if state is JobState.REFUSED:
        assert second.standing.reason is Refused.DEPENDENCY_FAILED


def test_a_job_waits_for_one_that_has_not_come() -> None:
    room = Room([(0.0, connected("second", "first")), (20.0, job("first"))])
    room.until(10.0)
    assert standing_of(room, "second") == (JobState.QUEUED, Reason.DEPENDENCY)
    assert room.find("second").standing.words == "no job default/first"
    room.until(50.0)
    assert room.starts == {"first": 20.0, "second": 30.0}


def test_a_mode_that_nobody_knows_is_misconfigured() -> None:
    room = Room([(0.0, connected("j", "other", "after-all"))])
    room.until(1.0)
    assert standing_of(room, "j") == (JobState.QUEUED, Reason.MISCONFIGURED)
    assert "fairway.dev/connect-mode: must be one of" in room.find("j").standing.words


# -- the same, said again ----------------------------------------------------------------------------------------------


def has_room(cpus: list[int], suits: list[bool], domains: list[list[bool]], needs: list[tuple[int, int]]) -> bool:
    """Does some domain of suitable nodes hold all members, placed the largest first wherever there is most room?"""
    for domain in domains or [[True] * len(cpus)]:
        free = [
            cpu if is_suitable and is_in else 0 for cpu, is_suitable, is_in in zip(cpus, suits, domain, strict=True)
        ]
        rests = {tuple(free)}
        for need in sorted((need for need, count in needs for _ in range(count)), reverse=True):
            rests = {
                (*rest[:index], rest[index] - need, *rest[index + 1 :])
                for rest in rests
                for index in range(len(rest))
                if rest[index] >= need
            }
        if rests:
            return True
    return False


@given(
    cpus=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    suits=st.lists(st.booleans(), min_size=3, max_size=3),
    domains=st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=2),
    need=st.integers(1, 6),
    count=st.integers(1, 4),
)
def test_one_class_of_members_is_refused_if_and_only_if_no_set_of_nodes_holds_it(
    cpus: list[int], suits: list[bool], domains: list[list[bool]], need: int, count: int
) -> None:
    cluster = Cluster()
    for number, cpu in enumerate(cpus):
        cluster.apply(Event(Verb.ADDED, node(f"n{number}", cpu=cpu)))
    machine = Machine(cluster, 0.0, BookingMode.AMOUNTS, 1000.0)
    machine.refresh(0.0)
    member = pod("m", cpu=need)
    asked: BatchJob = job_of(members=[member])
    num_rows = len(cpus)
    eligible = np.array(suits[:num_rows], np.bool_)
    classes = (MemberClass(machine.need(cluster.classify(member)), count, eligible),)
    masks = tuple(np.array(domain[:num_rows], np.bool_) for domain in domains)
    refusal = Feasibility(cluster, machine).refusal(asked, WaitingJob("j", classes, 10.0, domains=masks))
    expected = has_room(cpus, suits[:num_rows], [each[:num_rows] for each in domains], [(need, count)])
    assert (refusal is None) == expected
    if refusal is not None:
        assert refusal.detail["needs"] > refusal.detail["most"]  # type: ignore[operator]


def test_a_circle_of_many_jobs_is_told_by_their_number_and_a_long_chain_is_none() -> None:
    ring = [(0.0, connected(f"r{index}", f"r{(index + 1) % 1200}")) for index in range(1200)]
    chain = [(0.0, connected(f"c{index}", f"c{index + 1}")) for index in range(1200)]
    room = Room([*ring, *chain])
    room.until(0.5)
    assert standing_of(room, "r7") == (JobState.REFUSED, Refused.DEPENDENCY_CYCLE)
    assert room.find("r7").standing.words == "waits for itself: 1200 jobs wait for each other"
    assert standing_of(room, "c0") == (JobState.QUEUED, Reason.DEPENDENCY)
    assert room.find("c1199").standing.words == "no job default/c1200"


def test_what_a_chain_costs_follows_its_length() -> None:
    def calls_of_pass(number: int) -> int:
        room = Room([(0.0, connected(f"c{index}", f"c{index + 1}")) for index in range(number)])
        room.until(0.5)
        return num_calls(room.desk.run_pass)

    assert calls_of_pass(160) < 5 * calls_of_pass(40)


def test_what_jobs_that_are_gone_waited_for_is_forgotten() -> None:
    room = Room([(0.0, connected("a", "nobody")), (0.0, job("b"))])
    room.until(0.5)
    assert room.desk.book.awaited == {"default/nobody"}
    room.simulation.api.delete(room.find("a").members.popitem()[1])
    room.until(20.0)
    assert room.desk.book.awaited == set()


def test_a_job_names_so_many_others_and_no_more() -> None:
    many = ",".join(f"x{index}" for index in range(257))
    room = Room([(0.0, connected("a", many)), (0.0, connected("b", many.rpartition(",")[0]))])
    room.until(0.5)
    assert standing_of(room, "a") == (JobState.QUEUED, Reason.MISCONFIGURED)
    assert room.find("a").standing.words == "fairway.dev/connect-to: names 257 jobs; at most 256 may be named"
    assert standing_of(room, "b") == (JobState.QUEUED, Reason.DEPENDENCY)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), max_size=14))
def test_those_in_circles_and_nobody_else_wait_for_themselves(edges: list[tuple[int, int]]) -> None:
    """Looked at naively: a job is in a circle if one can go from it back to it, step by step."""
    after: dict[int, set[int]] = {number: {to for at, to in edges if at == number} for number in range(8)}

    def reached(start: int) -> set[int]:
        found: set[int] = set()
        new = after[start]
        while new - found:
            found |= new
            new = {to for number in found for to in after.get(number, ())}
        return found

    pods = [connected(f"j{number}", ",".join(f"j{to}" for to in sorted(after[number]))) for number in range(8)]
    room = Room([(0.0, each) for each in pods])
    room.until(0.5)
    for number in range(8):
        standing = room.find(f"j{number}").standing
        is_told = standing.reason is Refused.DEPENDENCY_CYCLE
        assert is_told == (number in reached(number))
        if is_told:
            cycle = standing.detail["cycle"]
            assert isinstance(cycle, list)
            names = [int(name.removeprefix("default/j")) for name in cycle]
            assert names[0] == names[-1] == number
            assert all(to in after[at] for at, to in itertools.pairwise(names))
