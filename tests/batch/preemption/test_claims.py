"""Room is made at the desk: for higher tiers, and for lenders."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.reasons import JobOutcome, JobState, Reason
from fairway.model.batch import PreemptionRules
from fairway.model.duration import Duration
from fairway.model.quantity import parse_quantity
from fairway.testing import pod
from tests.batch.room import Room, job

AT_ONCE = PreemptionRules(min_runtime=Duration(0))
LOW = {"preemption": AT_ONCE}
HIGH = {"tier": 10, "preemption": PreemptionRules(by="none")}


def again(name: str, **more: Any) -> Any:
    return job(name, requeue="recreate", **more)


def test_a_higher_tier_takes_the_room_and_the_others_wait_again() -> None:
    jobs = [
        (0.0, again("low", cpu=4, run=100.0, limit=200.0)),
        (10.0, again("late", cpu=4, run=5.0)),
        (20.0, job("high", cpu=3, run=30.0, limit=30.0, queue="high")),
    ]
    room = Room(jobs, queues={"q": LOW, "high": HIGH})
    room.until(25.0)
    low = room.find("low")
    assert (low.state, low.ledger.submitted) == (JobState.QUEUED, 0.0)
    assert [each.refund for each in low.ledger.intervals] == ["Preempted"]
    assert room.starts["high"] == 20.0
    room.until(400.0)
    assert room.desk.book.ended["default/low"].ended == 150.0, "it keeps its place before the other"


def test_who_leaves_has_its_grace_and_the_room_is_kept_until_then() -> None:
    jobs = [
        (0.0, again("low", cpu=4, run=100.0, limit=200.0)),
        (20.0, job("high", cpu=3, run=30.0, limit=30.0, queue="high")),
        (21.0, again("small", cpu=2, run=3.0, limit=3.0)),
    ]
    room = Room(jobs, queues={"q": LOW, "high": HIGH}, latency=5.0)
    room.until(22.0)
    standing = room.find("high").standing
    assert (standing.reason, standing.detail) == (Reason.PREEMPTING, {"victims": 1})
    assert standing.words == "1 job to leave for it: default/low"
    assert room.desk.machine.calendar.promises["default/high"].slot.start == 50.0
    room.until(30.0)
    assert room.starts["high"] == 25.0
    assert [name for _, name, reason, _ in room.told if reason == "Requeue"] == ["default/low"], "told once"


@pytest.mark.parametrize(
    "queue",
    [
        pytest.param({"preemption": PreemptionRules(by="none", min_runtime=Duration(0))}, id="by none"),
        pytest.param({"preemption": AT_ONCE, "tier": 10}, id="the same tier"),
    ],
)
def test_who_is_protected_stays(queue: dict[str, Any]) -> None:
    jobs = [(0.0, again("low", cpu=4, run=90.0, limit=90.0)), (20.0, job("high", cpu=3, queue="high"))]
    room = Room(jobs, queues={"q": queue, "high": HIGH})
    room.until(200.0)
    assert room.starts == {"low": 0.0, "high": 90.0}


def test_a_job_is_left_alone_for_as_long_as_its_queue_says() -> None:
    jobs = [(0.0, again("low", cpu=4, run=90.0, limit=90.0)), (20.0, job("high", cpu=3, queue="high"))]
    room = Room(jobs, queues={"q": {"preemption": PreemptionRules(min_runtime=Duration(47))}, "high": HIGH})
    room.until(60.0)
    assert room.starts["high"] == 47.0


@pytest.mark.parametrize(
    ("rules", "start"),
    [
        pytest.param(PreemptionRules(by="none", min_runtime=Duration(0)), 90.0, id="by none"),
        pytest.param(PreemptionRules(min_runtime=Duration(80)), 90.0, id="not for long enough"),
        pytest.param(PreemptionRules(min_runtime=Duration(20)), 20.0, id="for long enough"),
        pytest.param(AT_ONCE, 20.0, id="at any time"),
    ],
)
def test_a_group_of_no_queue_leaves_protected_jobs_alone(rules: PreemptionRules, start: float) -> None:
    gang = {"fairway.dev/gang": "high", "fairway.dev/gang-size": "2", "fairway.dev/duration": "5"}
    jobs = [(0.0, again(f"low-{number}", cpu=4, run=90.0, limit=90.0)) for number in range(2)]
    high = [(20.0, pod(f"high-{number}", cpu=3, priority=100, annotations=gang)) for number in range(2)]
    room = Room([*jobs, *high], (4, 4), queues={"q": {"preemption": rules}}, own={"gangs": {"mode": "fairway"}})
    room.until(200.0)
    assert {room.starts["high-0"], room.starts["high-1"]} == {start}


def test_a_job_that_would_be_lost_is_not_requeued_but_may_be_cancelled() -> None:
    jobs = [(0.0, job("low", cpu=4, run=90.0, limit=90.0)), (20.0, job("high", cpu=3, queue="high"))]
    room = Room(jobs, queues={"q": LOW, "high": HIGH})
    room.until(100.0)
    assert room.starts["high"] == 90.0
    cancels = {"preemption": PreemptionRules(min_runtime=Duration(0), mode="cancel")}
    room = Room(jobs, queues={"q": cancels, "high": HIGH})
    room.until(100.0)
    assert room.starts["high"] == 20.0
    assert room.desk.book.ended["default/low"].outcome is JobOutcome.CANCELLED


def test_a_gang_takes_room_on_several_nodes_and_no_more() -> None:
    low = [(float(number), again(f"low-{number}", cpu=2, run=500.0, limit=500.0)) for number in range(6)]
    gang = [(30.0, job(f"g-{number}", cpu=3, queue="high", gang="g", gang_size="2")) for number in range(2)]
    room = Room([*low, *gang], cpus=(4, 4, 4), queues={"q": LOW, "high": HIGH})
    room.until(35.0)
    assert {room.starts[f"g-{number}"] for number in range(2)} == {30.0}
    waiting = sorted(each.key for each in room.desk.book if each.state is JobState.QUEUED)
    assert len(waiting) == 4, "two on each of two nodes"


QUOTAS = {
    "q": {"quota": {"cpu": parse_quantity("2")}, "preemption": AT_ONCE},
    "lender": {"quota": {"cpu": parse_quantity("4")}, "preemption": AT_ONCE},
}


def test_what_was_borrowed_is_taken_back_least_run_time_lost_first() -> None:
    jobs = [(float(number), again(f"b{number}", cpu=2, run=300.0, limit=300.0)) for number in range(3)]
    room = Room([*jobs, (50.0, job("own", cpu=2, queue="lender"))], cpus=(6,), queues=QUOTAS)
    room.until(55.0)
    assert room.starts["own"] == 50.0
    assert [each.key for each in room.desk.book if each.state is JobState.QUEUED] == ["default/b2"]


def test_a_lender_takes_back_no_more_than_its_quota() -> None:
    jobs = [(float(number), again(f"b{number}", cpu=2, run=300.0, limit=300.0)) for number in range(3)]
    room = Room([*jobs, (50.0, job("own", cpu=6, queue="lender"))], cpus=(6,), queues=QUOTAS)
    room.until(55.0)
    assert "own" not in room.starts
    assert all(each.state is JobState.RUNNING for each in room.desk.book if each.key != "default/own")


def test_borrowed_jobs_stay_where_their_queue_says_so() -> None:
    stays = {**QUOTAS, "q": {**QUOTAS["q"], "preemption": PreemptionRules(min_runtime=Duration(0), borrowed=False)}}
    jobs = [(float(number), again(f"b{number}", cpu=2, run=300.0, limit=300.0)) for number in range(3)]
    room = Room([*jobs, (50.0, job("own", cpu=2, queue="lender"))], cpus=(6,), queues=stays)
    room.until(200.0)
    assert "own" not in room.starts


SHAPES = st.lists(st.tuples(st.integers(1, 4), st.integers(5, 60), st.integers(0, 40), st.booleans()), max_size=8)


@settings(max_examples=40, deadline=None)
@given(low=SHAPES, high=SHAPES, least=st.integers(0, 20), latency=st.sampled_from([0.0, 3.0]))
def test_nobody_ends_in_vain_or_though_protected_and_the_same_state_has_the_same_victims(
    low: list[tuple[int, int, int, bool]], high: list[tuple[int, int, int, bool]], least: int, latency: float
) -> None:
    rules = PreemptionRules(min_runtime=Duration(least))
    arrivals = []
    for tier, shapes in (("q", low), ("high", high)):
        for number, (cpu, run, at, comes_again) in enumerate(shapes):
            more = {"requeue": "recreate"} if comes_again else {}
            arrivals.append((float(at), job(f"{tier}-{number}", cpu, float(run), float(run), queue=tier, **more)))
    arrivals.sort(key=lambda item: item[0])

    def play() -> tuple[list[tuple[float, str, str, str]], dict[str, JobOutcome], Room]:
        room = Room(arrivals, cpus=(4, 4), latency=latency, queues={"q": {"preemption": rules}, "high": {"tier": 5}})
        room.until(3000.0)
        return room.told, {key: each.outcome for key, each in room.desk.book.ended.items()}, room

    told, ended, room = play()
    victims = [(time, name, words) for time, name, reason, words in told if reason == "Requeue"]
    started: dict[str, float] = {}
    for record in sorted(room.desk.world.records(), key=lambda each: each.key):
        for interval in record.ledger.intervals:
            if interval.refund:
                assert interval.refund == "Preempted"
                assert interval.end - interval.start >= least
                started[record.key] = interval.end
    for time, name, words in victims:
        claimant = words.partition(" ")[0].removeprefix("default/")
        assert room.starts[claimant] == time + latency, "the room is theirs for whom it was made"
        assert name.startswith("default/q-"), "nobody of the highest tier"
        assert low[int(name.rpartition("-")[2])][3], "nobody who would be lost"
        assert "of a higher tier" in words
    assert set(started) == {name for _, name, _ in victims}
    assert len(ended) == len(arrivals), "everybody came to an end"
    assert play()[0] == told
