"""The desk in a small simulation: who starts when, who is told what, and who is ended."""

from __future__ import annotations

import math

import msgspec
import pytest

from fairway.batch.reasons import JobOutcome, JobState, Reason, Refused
from fairway.model import Pod
from fairway.model.batch import AccountSpec, WeightSpec
from fairway.model.meta import OwnerReference
from fairway.testing import pod
from tests.batch.room import Room, job


def test_pods_outside_of_queues_are_not_held_back() -> None:
    room = Room([(0.0, pod("free", cpu=1)), (0.0, job("full", cpu=4))])
    room.until(1.0)
    assert room.starts == {"free": 0.0}
    assert room.find("full").standing.reason is Reason.RESOURCES


def test_a_short_job_passes_without_delaying_a_promise() -> None:
    jobs = [
        job("long", cpu=3, limit=100.0, run=100.0),
        job("wide", cpu=4),
        job("short", limit=90.0),
        job("late", limit=101.0),
    ]
    room = Room([(float(number), each) for number, each in enumerate(jobs)])
    room.until(50.0)
    assert room.starts == {"long": 0.0, "short": 2.0}
    assert room.desk.machine.calendar.promises["default/wide"].slot.start == 100.0
    assert room.find("wide").standing.reason is Reason.RESOURCES
    assert room.find("late").standing.reason is Reason.PRIORITY
    room.until(200.0)
    assert room.starts == {"long": 0.0, "short": 2.0, "wide": 100.0, "late": 110.0}


def test_a_job_at_its_limit_is_ended() -> None:
    room = Room([(0.0, job("greedy", run=500.0, limit=30.0)), (1.0, job("next", cpu=4))])
    room.until(29.0)
    greedy = room.find("greedy")
    assert greedy.state is JobState.RUNNING
    room.until(30.0)
    assert (greedy.state, greedy.standing.reason) == (JobState.FINISHED, JobOutcome.TIMED_OUT)
    assert greedy.consumed(1000.0) == 30.0
    assert room.starts["next"] == 30.0


def test_what_a_controller_makes_anew_has_no_more_time() -> None:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "job-uid", "controller": True}
    first, again = (job(name, run=500.0, limit=30.0) for name in ("train-1", "train-2"))
    owners = (msgspec.convert(owner, OwnerReference),)
    owned = []
    for each in (first, again):
        metadata = msgspec.structs.replace(each.metadata, owner_references=owners)
        owned.append(msgspec.structs.replace(each, metadata=metadata))
    room = Room([(0.0, owned[0]), (40.0, owned[1])])
    room.until(100.0)
    assert room.starts == {"train-1": 0.0}
    standing = room.find("train-2").standing
    assert (standing.state, standing.reason) == (JobState.REFUSED, Refused.TIME_USED_UP)


def test_nothing_is_awaited_when_everybody_has_left_early() -> None:
    room = Room([(0.0, job("early", run=2.0, limit=500.0))])
    room.until(3.0)
    assert room.desk.machine.first_end == math.inf


@pytest.mark.parametrize(
    ("pod", "state", "reason", "words"),
    [
        (job("j", queue="bacth"), JobState.REFUSED, Refused.QUEUE_UNKNOWN, "did you mean batch?"),
        (job("j", queue="batch", limit=2000.0), JobState.REFUSED, Refused.LIMIT_TOO_LONG, "allows at most"),
        (job("j", queue="batch", hold="true"), JobState.QUEUED, Reason.HELD, "held by its owner"),
        (job("j", queue="batch", begin="+1h"), JobState.QUEUED, Reason.BEGIN_TIME, "in "),
        (job("j", queue="batch", nice="many"), JobState.QUEUED, Reason.MISCONFIGURED, "fairway.dev/nice"),
        (job("j", queue="batch", time_limit="0", limit=None), JobState.QUEUED, Reason.MISCONFIGURED, "time-limit"),
        (job("j", queue="shut"), JobState.QUEUED, Reason.QUEUE_STOPPED, "Paused"),
        (job("j", queue="batch", account="nobody"), JobState.REFUSED, Refused.ACCOUNT_UNKNOWN, "no account nobody"),
        (job("j", queue="batch", gang="g", gang_size="3"), JobState.QUEUED, Reason.GANG_INCOMPLETE, "1 of 3"),
    ],
    ids=lambda value: str(value) if not isinstance(value, Pod) else "",
)
def test_a_job_that_does_not_start_says_why(pod: Pod, state: JobState, reason: str, words: str) -> None:
    room = Room([(0.0, pod)], queues={"batch": {}, "shut": {"state": "Paused"}}, accounts={"physics": AccountSpec()})
    room.until(1.0)
    (standing,) = (each.standing for each in room.desk.book)
    assert (standing.state, standing.reason) == (state, reason)
    assert words in standing.words
    assert room.starts == {}


def test_a_job_that_may_begin_later_steps_aside_until_then() -> None:
    room = Room([(0.0, job("later", cpu=4, begin="+20s")), (1.0, job("now", cpu=4, limit=19.0, run=19.0))])
    room.until(60.0)
    assert room.starts == {"now": 1.0, "later": 20.0}


def test_whoever_used_less_comes_first() -> None:
    weights = WeightSpec(age=0, size=0, fair_share=1000, queue=0, class_=0)
    first = [(0.0, job("a0", cpu=4, user="ada"))]
    more = [(1.0, job("a1", cpu=4, user="ada")), (1.0, job("b1", cpu=4, user="bob"))]
    room = Room([*first, *more], queues={"q": {"weights": weights}}, half_life=math.inf)
    room.until(100.0)
    assert room.starts == {"a0": 0.0, "b1": 10.0, "a1": 20.0}


def test_a_higher_tier_is_planned_first() -> None:
    jobs = [(0.0, job("old", cpu=4)), (1.0, job("low", cpu=4)), (2.0, job("high", cpu=4, queue="inter"))]
    room = Room(jobs, queues={"q": {}, "inter": {"policy": "interactive"}})
    room.until(100.0)
    assert room.starts == {"old": 0.0, "high": 10.0, "low": 20.0}


def test_members_of_a_job_start_together_and_within_what_is_promised() -> None:
    gang = [job(f"g-{n}", cpu=2, limit=20.0, gang="g", gang_size="4") for n in range(4)]
    room = Room([(0.0, job("first", cpu=3, limit=30.0, run=30.0)), *((1.0, each) for each in gang)], cpus=(4, 4))
    room.until(29.0)
    assert set(room.starts) == {"first"}
    room.until(31.0)
    assert {room.starts[f"g-{n}"] for n in range(4)} == {30.0}
