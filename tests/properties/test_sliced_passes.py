"""Passes in steps: the same as whole ones while nothing happens, and safe whatever happens between two steps.

A live desk whose pass is left alone after any step, for pods that come, run, end and are deleted, nodes that are
cordoned or join, and attempts of the scheduler. At every moment no node has more than it can hold, now or as it is
planned; and when all is quiet, everybody who stayed has run.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.cluster import Verb
from fairway.model import parse_quantity
from fairway.testing import node, pod
from tests.live.desk_room import DeskRoom

THREE = {"cpu": parse_quantity("3")}
QUEUES: dict[str, dict[str, dict[str, Any]]] = {
    "easy": {"q": {"discipline": "easy", "depth": 2}},
    "conservative": {"q": {"discipline": "conservative"}},
    "fifo": {"q": {"discipline": "fifo"}},
    "two": {"q": {"discipline": "easy"}, "now": {"policy": "interactive", "tier": 10}},
    "quotas": {
        "q": {"quota": {"cpu": parse_quantity("3")}},
        "now": {"quota": {"cpu": parse_quantity("4")}, "max": {"cpu": parse_quantity("6")}},
    },
}

COMES = st.tuples(
    st.just("come"),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(2, 30),
    st.booleans(),
    st.sampled_from(["q", "now"]),
)
HAPPENS = st.one_of(
    COMES,
    COMES,
    st.tuples(st.just("step"), st.integers(1, 6)),
    st.tuples(st.just("step"), st.integers(1, 40)),
    st.tuples(st.just("decide"), st.integers(1, 4)),
    st.tuples(st.just("time"), st.integers(1, 12)),
    st.tuples(st.just("delete"), st.integers(0, 9)),
    st.tuples(st.just("cordon"), st.integers(0, 2)),
    st.tuples(st.just("join"), st.just(0)),
    st.tuples(st.just("give up"), st.just(0)),
)


class Story:
    """What happens in a room, by words."""

    def __init__(self, queues: dict[str, dict[str, Any]]) -> None:
        self.queues = queues
        self.room = DeskRoom(queues, (4, 4, 3))
        self.came: set[str] = set()  # names of pods that stay
        self.number = 0

    def happen(self, what: tuple[Any, ...]) -> None:
        word, *values = what
        room = self.room
        if word == "come":
            self._come(*values)
        elif word == "step":
            room.step_pass(values[0])
        elif word == "decide":
            room.decide(values[0])
        elif word == "time":
            room.pass_time(float(values[0]))
        elif word == "delete" and room.pods:
            gone = list(room.pods.values())[values[0] % len(room.pods)]
            group = gone.metadata.annotations.get("fairway.dev/gang")
            for each in [each for each in room.pods.values() if each is gone or (group and _gang(each) == group)]:
                self.came.discard(each.metadata.name)
                room.happen(Verb.DELETED, each)
        elif word == "more":
            self._more()
        elif word == "cordon":
            self._cordon(f"n{values[0]}")
        elif word == "join":
            room.happen(Verb.ADDED, node(f"n{len(room.nodes)}", cpu=2))
        elif word == "give up" and room.steps is not None:
            while room.steps is not None and room.desk.machine.calendar.lacks_promises:
                room.step_pass(1)
            if room.steps is not None:
                room.steps.close()
                room.steps, room.desk.is_due = None, True

    def _come(self, cpu: int, members: int, limit: int, ends_early: bool, queue: str) -> None:
        self.number += 1
        name = f"job-{self.number}"
        run = limit * (0.5 if ends_early else 1.0)
        said = {"fairway.dev/time-limit": f"{limit}s", "fairway.dev/duration": f"{run}"}
        if members > 1:
            said |= {"fairway.dev/gang": name, "fairway.dev/gang-size": str(members)}
        for index in range(members):
            labels = {"fairway.dev/queue": queue if queue in self.queues else "q"}
            made = self.room.come(pod(f"{name}-{index}", cpu=cpu, labels=labels, annotations=said))
            self.came.add(made.metadata.name)

    def _more(self) -> None:
        """Jobs that wait have one member more each, of another size."""
        there = {_gang(each): each for each in self.room.pods.values() if _gang(each) and not each.spec.node_name}
        for gang, each in there.items():
            said, labels = each.metadata.annotations, each.metadata.labels
            made = self.room.come(pod(f"{gang}-more", cpu=1, labels=labels, annotations=said))
            self.came.add(made.metadata.name)

    def _cordon(self, name: str) -> None:
        there = self.room.nodes[name]
        spec = msgspec.structs.replace(there.spec, unschedulable=not there.spec.unschedulable)
        self.room.happen(Verb.MODIFIED, msgspec.structs.replace(there, spec=spec))

    def check(self) -> None:
        """Nobody has what another one has."""
        room, used = self.room, dict[str, int]()
        for each in room.pods.values():
            if each.spec.node_name:
                used[each.spec.node_name] = used.get(each.spec.node_name, 0) + _cpu(each)
        assert all(amount <= room.nodes[name].status.allocatable["cpu"].milli for name, amount in used.items())
        free = room.desk.machine.calendar.timeline.free[:-1]  # without access, which closed rows have none of
        assert free.min(initial=0) >= 0
        assert room.desk.machine.calendar.promises.keys() <= room.desk.book.jobs.keys() or room.steps is not None

    def end(self) -> None:
        """All nodes are open, and time passes until everybody has run."""
        room = self.room
        for name, there in list(room.nodes.items()):
            if there.spec.unschedulable:
                self._cordon(name)
        for _ in range(400):
            room.settle()
            self.check()
            calendar = room.desk.machine.calendar
            assert calendar.promises.keys() <= room.desk.book.jobs.keys()
            calendar.has_changed = calendar.has_gained = True
            calendar.refused.clear()
            assert not room.desk.run_pass().started, "all that happened was looked at by then"
            if not room.pods:
                break
            room.pass_time(5.0)
            time = room.desk.next_time()
            room.desk.is_due |= time is not None and time <= room.now()
        if not room.pods:
            timeline = room.desk.machine.calendar.timeline
            least = timeline.least_free(np.arange(timeline.num_rows), room.now(), math.inf)[:, 0]
            assert least.tolist() == [each.status.allocatable["cpu"].milli for each in room.nodes.values()]
        # Whoever could never run was told so.
        refused = {uid for job in room.desk.book if job.standing.state == "Refused" for uid in job.members}
        assert room.pods.keys() == refused
        names = {room.pods[uid].metadata.name for uid in refused}
        assert self.came - names <= room.ran


def _gang(each: Any) -> str:
    return str(each.metadata.annotations.get("fairway.dev/gang", ""))


def _cpu(each: Any) -> int:
    return sum(container.resources.requests["cpu"].milli for container in each.spec.containers)


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(sorted(QUEUES)), happens=st.lists(HAPPENS, min_size=1, max_size=40))
def test_whatever_happens_between_two_steps_nothing_is_given_twice(kind: str, happens: list[tuple[Any, ...]]) -> None:
    story = Story(QUEUES[kind])
    for what in happens:
        story.happen(what)
        story.check()
    story.end()


def _state(story: Story) -> dict[str, object]:
    desk = story.room.desk
    promises = desk.machine.calendar.promises
    return {
        job.key: (
            job.standing,
            job.is_released,
            promises[job.key].slot.start if job.key in promises else None,
            sorted(each.spec.node_name for each in job.members.values()),
        )
        for job in desk.book
    }


QUIET = st.one_of(COMES, COMES, st.tuples(st.just("time"), st.integers(1, 12)), st.tuples(st.just("pass"), st.just(0)))


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(sorted(QUEUES)), happens=st.lists(QUIET, min_size=1, max_size=30))
def test_a_pass_in_steps_comes_to_what_a_whole_one_does(kind: str, happens: list[tuple[Any, ...]]) -> None:
    stepped, whole = Story(QUEUES[kind]), Story(QUEUES[kind])
    for what in happens:
        if what[0] != "pass":
            stepped.happen(what)
            whole.happen(what)
            continue
        stepped.room.step_pass(1_000_000)
        if whole.room.desk.is_due:
            whole.room.desk.run_pass()
        assert _state(stepped) == _state(whole)
        stepped.room.decide(1000)
        whole.room.decide(1000)
        assert _state(stepped) == _state(whole)


MEANWHILE = [
    ("come", 1, 1, 5, True, "now"),
    ("come", 3, 2, 9, True, "q"),
    ("delete", 0),
    ("delete", 2),
    ("delete", 4),
    ("cordon", 1),
    ("join", 0),
    ("time", 7),
    ("more", 0),
    ("give up", 0),
]
"""`time` ends who runs; the pods that are deleted run, wait, and wait behind others."""


def busy(kind: str) -> Story:
    """Somebody runs, some wait, and a pass is due."""
    story = Story(QUEUES[kind])
    story.happen(("come", 4, 2, 12, True, "q"))
    story.room.settle()
    for cpu, members in ((3, 2), (2, 1), (4, 2), (1, 1)):
        story.happen(("come", cpu, members, 10, False, "q"))
    if kind == "two":
        story.room.settle()  # others have promises that the next one takes
        story.happen(("come", 3, 1, 8, False, "now"))
    return story


def num_steps(kind: str) -> int:
    story = busy(kind)
    for number in range(10_000):
        story.room.step_pass(1)
        if story.room.steps is None:
            return number
    raise AssertionError


@pytest.mark.parametrize("what", MEANWHILE, ids=lambda what: " ".join(map(str, what[:2])))
@pytest.mark.parametrize("kind", ["conservative", "two"])
def test_something_happens_after_each_of_all_steps(kind: str, what: tuple[Any, ...]) -> None:
    steps = num_steps(kind)
    assert steps > 10
    for number in range(1, steps + 1):
        story = busy(kind)
        story.room.step_pass(number)
        story.happen(what)
        story.check()
        story.room.decide(1)
        story.check()
        story.end()


def test_a_pass_is_left_alone_after_every_single_step() -> None:
    """So that it is known that there are many, and that something comes between each two of them."""
    story = Story(QUEUES["conservative"])
    for number in range(12):
        story.happen(("come", 3, 1 + number % 3, 20, False, "q"))
    num_steps = 0
    while story.room.steps is not None or story.room.desk.is_due:
        story.room.step_pass(1)
        story.room.decide(1)
        story.check()
        num_steps += 1
        if num_steps % 7 == 0 and num_steps < 60:
            story.happen(("come", 1, 1, 5, True, "q"))
        assert num_steps < 5000
    assert num_steps > 50
    story.end()
