"""Orders at the desk: jobs are held, moved, cancelled, requeued, extended; queues are paused, drained, deleted."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from fairway.batch.job import JobOrders
from fairway.batch.reasons import JobOutcome, JobState, Reason, Refused
from fairway.model.batch import AccountSpec, ExtensionRules, QueueLimits, QueueSpec
from fairway.model.duration import Duration
from fairway.sim.batch_orders import BatchOrder
from tests.batch.room import PLAIN, Room, job

LIMITS = QueueLimits(max=Duration(1000), kill_grace=Duration(0))


def order(at: float, verb: Any, subject: str, **more: Any) -> BatchOrder:
    return BatchOrder(at, verb, subject if verb in ("queue", "account") else f"default/{subject}", **more)


def queue(**spec: Any) -> QueueSpec:
    return QueueSpec(**{"weights": PLAIN, "limits": LIMITS, **spec}).completed()


def told(room: Room, name: str) -> list[tuple[float, str, str]]:
    """What was told of a job: when, the reason, the words."""
    return [(time, reason, words) for time, about, reason, words in room.told if about == f"default/{name}"]


def reasons(room: Room, name: str) -> list[str]:
    return [reason for _, reason, _ in told(room, name)]


def test_a_held_job_waits_until_it_is_released() -> None:
    jobs = [(0.0, job("first", cpu=4)), (1.0, job("held")), (2.0, job("other"))]
    room = Room(jobs, orders=[order(3.0, "hold", "held"), order(30.0, "release", "held")])
    room.until(20.0)
    standing = room.find("held").standing
    assert (standing.reason, standing.words) == (Reason.HELD, "held by an operator")
    room.until(100.0)
    assert room.starts == {"first": 0.0, "other": 10.0, "held": 30.0}


def test_what_its_owner_holds_no_operator_releases() -> None:
    jobs = [(0.0, job("held", hold="true"))]
    orders = [order(1.0, "hold", "held"), order(2.0, "release", "held"), order(9.0, "release", "held", by_owner=True)]
    room = Room(jobs, orders=orders)
    room.until(5.0)
    assert room.find("held").standing.words == "held by its owner"
    assert "StillHeld" in reasons(room, "held")
    room.until(20.0)
    assert room.starts == {"held": 9.0}


def test_a_nicer_job_lets_others_pass() -> None:
    jobs = [(0.0, job("first", cpu=4)), (1.0, job("nice", cpu=4)), (2.0, job("other", cpu=4))]
    room = Room(jobs, orders=[order(3.0, "nice", "nice", nice=10)])
    room.until(100.0)
    assert room.starts == {"first": 0.0, "other": 10.0, "nice": 20.0}


def test_a_job_is_moved_to_another_queue_while_it_waits() -> None:
    jobs = [(0.0, job("first", cpu=4)), (1.0, job("stuck", queue="shut")), (1.0, job("runs", limit=90.0, run=90.0))]
    queues = {"q": {}, "shut": {"state": "Paused"}}
    orders = [order(5.0, "move", "stuck", queue="q"), order(20.0, "move", "runs", queue="shut")]
    room = Room(jobs, queues=queues, orders=orders)
    room.until(30.0)
    assert room.starts == {"first": 0.0, "stuck": 10.0, "runs": 10.0}
    assert room.find("runs").queue == "q", "what runs stays until it waits again"


@pytest.mark.parametrize("by_owner", [False, True])
def test_a_job_is_cancelled_whether_it_waits_or_runs(by_owner: bool) -> None:
    jobs = [(0.0, job("runs", cpu=4, run=50.0, limit=50.0)), (1.0, job("waits", cpu=4)), (2.0, job("next", cpu=4))]
    orders = [order(3.0, "cancel", name, by_owner=by_owner) for name in ("waits", "runs")]
    room = Room(jobs, orders=orders)
    room.until(60.0)
    assert room.starts == {"runs": 0.0, "next": 3.0}
    ended = room.desk.book.ended
    assert {ended[f"default/{name}"].outcome for name in ("runs", "waits")} == {JobOutcome.CANCELLED}


def test_a_requeued_job_keeps_its_place_and_pays_for_what_it_used() -> None:
    jobs = [(0.0, job("again", cpu=4, run=50.0, limit=60.0, requeue="recreate")), (1.0, job("next", cpu=4))]
    room = Room(jobs, orders=[order(20.0, "requeue", "again")])
    room.until(25.0)
    again = room.find("again")
    assert again.ledger.submitted == 0.0
    assert (again.state, room.find("next").state) == (JobState.RUNNING, JobState.QUEUED)
    assert [(each.start, each.end, each.refund) for each in again.ledger.intervals] == [
        (0.0, 20.0, ""),
        (20.0, math.inf, ""),
    ]


def test_a_job_that_nobody_makes_anew_is_not_requeued() -> None:
    room = Room([(0.0, job("alone", run=50.0, limit=60.0))], orders=[order(20.0, "requeue", "alone")])
    room.until(30.0)
    answer = room.find("alone").ledger.answer
    room.until(100.0)
    assert room.desk.book.ended["default/alone"].outcome is JobOutcome.SUCCEEDED
    assert "RequeueRefused" in reasons(room, "alone")
    assert answer is not None
    assert (answer.about, answer.is_granted) == ("requeueBefore", False)
    assert answer.words.startswith("it goes on: ")


def test_an_order_about_a_job_that_is_not_there_is_told_and_nothing_else_happens() -> None:
    room = Room([(0.0, job("runs")), (50.0, job("late"))], orders=[order(20.0, "cancel", "late")])
    room.until(100.0)
    assert room.starts == {"runs": 0.0, "late": 50.0}
    assert reasons(room, "late")[0] == "OrderLost"
    assert room.simulation.result.problems == [
        "order at 00:00:20: job default/late: cancel: no such job at this moment, nothing was done"
    ]


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_owner", [False, True])
def test_a_granted_extension_moves_the_end(by_owner: bool) -> None:
    jobs = [(0.0, job("long", cpu=4, run=200.0, limit=100.0))]
    room = Room(jobs, orders=[order(50.0, "extend", "long", seconds=120.0, by_owner=by_owner)])
    room.until(150.0)
    long = room.find("long")
    assert long.ledger.granted_limit == 220.0
    assert room.desk.machine.first_end == 220.0
    assert ("LimitChanged", "granted: its limit is 3m 40s from now on") in [each[1:] for each in told(room, "long")]
    room.until(1000.0)
    assert room.desk.book.ended["default/long"] == (0.0, 200.0, JobOutcome.SUCCEEDED)


@pytest.mark.parametrize("by_owner", [False, True])
def test_an_extension_never_delays_a_promise_and_says_how_far_it_may_go(by_owner: bool) -> None:
    jobs = [
        (0.0, job("other", cpu=1, run=400.0, limit=400.0)),
        (0.0, job("long", cpu=2, run=900.0, limit=100.0)),
        (1.0, job("wide", cpu=4, limit=60.0)),
    ]
    orders = [
        order(50.0, "extend", "long", seconds=600.0, by_owner=by_owner),
        order(60.0, "extend", "long", seconds=300.0, by_owner=by_owner),
        order(70.0, "extend", "long", seconds=60.0, by_owner=by_owner),
    ]
    room = Room(jobs, orders=orders)
    room.until(55.0)
    (refused,) = [words for _, reason, words in told(room, "long") if reason == "LimitRefused"]
    assert refused == (
        "refused: 10m would delay default/wide, which was promised room at 00:06:40; "
        "longest possible: +5m (until 00:06:40)"
    )
    assert room.find("long").ledger.granted_limit == 100.0, "all or nothing"
    answer = room.find("long").ledger.answer
    assert answer is not None
    assert (answer.is_granted, answer.asked, answer.limit, answer.longest) == (False, 700.0, 100.0, 400.0)
    assert (answer.stopped_by, answer.stopper, answer.stopped_at) == ("promise", "default/wide", 400.0)
    assert (answer.by_owner, answer.time, answer.words) == (by_owner, 50.0, refused)
    room.until(1000.0)
    assert reasons(room, "long").count("LimitRefused") == 2, "the longest was granted, a minute more was not"
    assert room.starts["wide"] == 400.0


def test_what_was_refused_and_taken_back_is_judged_anew() -> None:
    """An operator asks, takes it back, and asks for the same when nothing is in the way any more."""
    jobs = [(0.0, job("long", run=90.0, limit=100.0))]
    change = queue(extension=ExtensionRules(max=Duration(500)))
    room = Room(
        jobs,
        queues={"q": {"extension": ExtensionRules(max=Duration(120))}},
        orders=[order(40.0, "queue", "q", spec=change)],
    )
    room.until(10.0)
    long, heed = room.find("long"), room.desk.ordering.heed
    asked = JobOrders(time_limit=400.0)
    for orders, is_granted in ((asked, False), (JobOrders(), False), (asked, False)):
        heed(long, orders)
        room.desk.run_pass()
        assert long.ledger.answer is not None
        assert (long.ledger.answer.is_granted, long.ledger.granted_limit) == (is_granted, 100.0)
    assert reasons(room, "long").count("LimitRefused") == 2
    room.until(50.0)
    heed(long, asked)
    room.desk.run_pass()
    assert reasons(room, "long").count("LimitRefused") == 2, "it stands there, and was answered"
    heed(long, JobOrders())
    heed(long, asked)
    room.desk.run_pass()
    assert long.ledger.granted_limit == 400.0
    assert long.ledger.answer is not None
    assert (long.ledger.answer.is_granted, long.ledger.answer.limit, long.ledger.answer.time) == (True, 100.0, 50.0)


def test_a_limit_that_is_so_already_is_no_news() -> None:
    room = Room([(0.0, job("long", run=90.0, limit=100.0))])
    room.until(10.0)
    long = room.find("long")
    room.desk.ordering.heed(long, JobOrders(time_limit=100.0))
    room.desk.run_pass()
    assert (long.ledger.answer, long.ledger.answered_limit) == (None, 100.0)
    assert "LimitChanged" not in reasons(room, "long")


@pytest.mark.parametrize(
    ("rules", "by_owner", "seconds", "says"),
    [
        (ExtensionRules(by_owner=False), True, 60.0, "operators alone"),
        (ExtensionRules(by_owner=False), False, 60.0, ""),
        (ExtensionRules(max=Duration(120)), False, 180.0, "by more in all; longest possible: +2m"),
        (ExtensionRules(), False, 950.0, "allows no longer limit; longest possible: +15m"),
    ],
)
def test_what_the_queue_says_of_extensions(rules: ExtensionRules, by_owner: bool, seconds: float, says: str) -> None:
    room = Room(
        [(0.0, job("long", run=90.0, limit=100.0))],
        queues={"q": {"extension": rules}},
        orders=[order(50.0, "extend", "long", seconds=seconds, by_owner=by_owner)],
    )
    room.until(60.0)
    refused = [words for _, reason, words in told(room, "long") if reason == "LimitRefused"]
    assert bool(refused) == bool(says)
    assert all(says in words for words in refused)
    assert room.find("long").ledger.granted_limit == (100.0 if says else 160.0)


def test_a_limit_is_lowered_but_not_below_what_has_passed() -> None:
    jobs = [(0.0, job("long", cpu=4, run=900.0, limit=800.0)), (1.0, job("next", cpu=4))]
    room = Room(jobs, orders=[order(100.0, "limit", "long", seconds=10.0)])
    room.until(1000.0)
    assert room.starts["next"] == 160.0
    assert room.desk.book.ended["default/long"].outcome is JobOutcome.TIMED_OUT


def test_a_waiting_job_has_the_limit_that_is_ordered_if_its_queue_allows_it() -> None:
    jobs = [(0.0, job("first", cpu=4, limit=100.0, run=100.0)), (1.0, job("waits", cpu=4, limit=50.0, run=150.0))]
    orders = [order(5.0, "limit", "waits", seconds=2000.0), order(6.0, "limit", "waits", seconds=200.0)]
    room = Room(jobs, orders=orders)
    room.until(10.0)
    assert [each[1:] for each in told(room, "waits") if each[1].startswith("Limit")] == [
        ("LimitRefused", "refused: queue q allows at most 16m 40s"),
        ("LimitChanged", "granted: its limit is 3m 20s from now on"),
    ]
    room.until(500.0)
    assert room.desk.book.ended["default/waits"].outcome is JobOutcome.SUCCEEDED


def test_a_wish_that_can_not_be_meant_changes_nothing() -> None:
    room = Room([(0.0, job("long", run=90.0, limit=100.0))])
    room.until(10.0)
    pod = room.simulation.api.find("Pod", "default", "long")
    assert pod is not None
    annotations = {**pod.metadata.annotations, "fairway.dev/time-limit": "soon"}
    metadata = msgspec.structs.replace(pod.metadata, annotations=annotations)
    room.simulation.api.update(msgspec.structs.replace(pod, metadata=metadata))
    room.until(100.0)
    assert "LimitUnchanged" in reasons(room, "long")
    assert room.desk.book.ended["default/long"].outcome is JobOutcome.SUCCEEDED


def test_orders_that_are_heard_twice_are_carried_out_once() -> None:
    room = Room([(0.0, job("long", cpu=4, run=200.0, limit=100.0))])
    room.until(10.0)
    long, orders = room.find("long"), JobOrders(time_limit=300.0, nice=3)
    for _ in range(2):
        room.desk.ordering.heed(long, orders)
        room.desk.run_pass()
    assert reasons(room, "long").count("LimitChanged") == 1
    assert (long.ledger.granted_limit, long.ledger.nice) == (300.0, 3)


# -- queues ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "before", "after"),
    [
        ("Paused", Reason.QUEUE_STOPPED, Reason.QUEUE_STOPPED),
        ("Draining", Reason.RESOURCES, Refused.QUEUE_CLOSED),
        ("Closed", Reason.QUEUE_STOPPED, Refused.QUEUE_CLOSED),
    ],
)
def test_states_of_a_queue_and_the_way_out(state: Any, before: str, after: str) -> None:
    jobs = [
        (0.0, job("runs", cpu=4, limit=60.0, run=60.0)),
        (1.0, job("early", cpu=4)),
        (20.0, job("late", cpu=4)),
    ]
    orders = [order(10.0, "queue", "q", spec=queue(state=state)), order(100.0, "queue", "q", spec=queue())]
    room = Room(jobs, orders=orders)
    room.until(50.0)
    assert (room.find("early").standing.reason, room.find("late").standing.reason) == (before, after)
    room.until(300.0)
    starts = {"runs": 0.0, "early": 100.0, "late": 110.0}
    assert room.starts == ({**starts, "early": 60.0, "late": 100.0} if state == "Draining" else starts)
    assert room.desk.book.ended["default/runs"].outcome is JobOutcome.SUCCEEDED, "what runs goes on"


def test_what_is_not_started_by_a_paused_queue_holds_nobody_else_up() -> None:
    jobs = [
        (0.0, job("runs", cpu=3, limit=60.0, run=60.0)),
        (1.0, job("wide", cpu=4, queue="p")),
        (2.0, job("long", limit=200.0, run=90.0)),
    ]
    room = Room(jobs, queues={"q": {}, "p": {}}, orders=[order(10.0, "queue", "p", spec=queue(state="Paused"))])
    room.until(50.0)
    assert room.starts == {"runs": 0.0, "long": 10.0}, "the promise of a job that may not start is nobody's"


def test_jobs_of_a_deleted_queue_wait_until_it_is_back_and_limits_go_on() -> None:
    jobs = [
        (0.0, job("runs", cpu=4, limit=60.0, run=500.0)),
        (1.0, job("waits", cpu=2)),
        (2.0, job("moved", cpu=2)),
        (30.0, job("late", cpu=2)),
    ]
    orders = [
        order(10.0, "queue", "q"),
        order(40.0, "move", "moved", queue="p"),
        order(100.0, "queue", "q", spec=queue()),
    ]
    room = Room(jobs, queues={"q": {}, "p": {}}, orders=orders)
    room.until(90.0)
    standing = room.find("waits").standing
    assert (standing.state, standing.reason) == (JobState.REFUSED, Refused.QUEUE_UNKNOWN)
    assert "was deleted" in standing.words
    assert room.desk.book.ended["default/runs"] == (0.0, 60.0, JobOutcome.TIMED_OUT)
    room.until(200.0)
    assert room.starts == {"runs": 0.0, "moved": 60.0, "waits": 100.0, "late": 100.0}


def test_a_queue_that_changes_leaves_the_limits_of_what_runs() -> None:
    short = queue(limits=QueueLimits(default=Duration(20), max=Duration(50), kill_grace=Duration(0)))
    jobs = [
        (0.0, job("runs", cpu=4, limit=90.0, run=80.0)),
        (1.0, job("asks", cpu=4, limit=90.0)),
        (2.0, job("silent", cpu=4, limit=None, run=90.0)),
    ]
    room = Room(jobs, orders=[order(10.0, "queue", "q", spec=short)])
    room.until(200.0)
    assert room.desk.book.ended["default/runs"] == (0.0, 80.0, JobOutcome.SUCCEEDED)
    assert room.find("asks").standing.reason is Refused.LIMIT_TOO_LONG
    assert room.desk.book.ended["default/silent"] == (80.0, 100.0, JobOutcome.TIMED_OUT)


def test_an_account_that_changes_costs_otherwise_from_that_instant() -> None:
    dear = AccountSpec(weights={"cpu": 3.0})
    room = Room(
        [(0.0, job("runs", cpu=2, limit=90.0, run=80.0, account="a"))],
        accounts={"a": AccountSpec()},
        orders=[order(30.0, "account", "a", spec=dear)],
    )
    room.until(50.0)
    intervals = room.find("runs").ledger.intervals
    assert [(each.start, each.end, each.rate) for each in intervals] == [(0.0, 30.0, 2.0), (30.0, math.inf, 6.0)]
