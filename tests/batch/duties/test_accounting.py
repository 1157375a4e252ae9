"""Accounts in a small simulation: what jobs cost, who pays, what budgets stop, and books that balance."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fairway.batch.accounts import MILLI, ROOT, AccountBook, book_differences
from fairway.batch.reasons import JobOutcome, JobState, Reason, Refused
from fairway.model import Pod, decode_object
from fairway.model.batch import AccountSpec, WeightSpec
from fairway.model.batch.account import BudgetSpec, UserShares
from fairway.model.job_set import JobSet
from fairway.model.pod import PodSchedulingGroup
from fairway.sim.batch_world import SimDesk
from fairway.testing import pod
from tests.batch.room import Room, job

PHYSICS = {"physics": AccountSpec()}


def with_budget(amount: float, **said: Any) -> dict[str, AccountSpec]:
    return {"physics": AccountSpec(budget=BudgetSpec(amount=amount, **said))}


def desk_of(room: Room) -> SimDesk:
    queues = room.simulation.schedulers[0].queues
    assert queues is not None
    return queues


def book(room: Room, account: str = "physics") -> AccountBook:
    found = desk_of(room).books.account(account)
    assert found is not None
    return found[0]


def lines(room: Room, account: str = "physics") -> list[tuple[str, float, float, float, int]]:
    found = desk_of(room).books.lines_of(account)
    return [(line.job.key, line.start, line.end, line.rate, line.charge) for line in found]


def test_a_job_costs_what_it_asks_for_and_is_settled_once() -> None:
    room = Room([(0.0, job("a", cpu=2, account="physics", user="ada"))], accounts=PHYSICS)
    room.until(5.0)
    assert room.find("a").ledger.intervals[-1].rate == 2.0
    room.until(100.0)
    assert lines(room) == [("default/a", 0.0, 10.0, 2.0, 20 * MILLI)]
    assert (book(room).settled, book(room).running, book(room).settling) == (20 * MILLI, 0, ())
    assert book(room).users["ada"].settled == 20 * MILLI
    assert all(record.ledger.is_settled for record in desk_of(room).records())


def test_a_job_with_nodes_to_itself_pays_for_all_of_them() -> None:
    room = Room([(0.0, job("a", cpu=1, exclusive="node"))], cpus=(4, 8))
    room.until(100.0)
    ((_, _, _, rate, _),) = lines(room, ROOT)
    assert rate in (4.0, 8.0)


def test_what_daemons_take_of_such_a_node_is_not_paid_for() -> None:
    daemon = pod("daemon", cpu="1500m", owner="DaemonSet/logs", node="n0", annotations={"fairway.dev/duration": "500"})
    room = Room([(0.0, daemon), (1.0, job("a", cpu=1, exclusive="node"))], own={"exclusive": True})
    room.until(100.0)
    ((_, _, _, rate, _),) = lines(room, ROOT)
    assert rate == 2.5


SPEAKERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "Job": ("batch/v1", {"suspend": True, "template": {}}, {"owner": "Job/run"}),
    "JobSet": (
        "jobset.x-k8s.io/v1alpha2",
        {"replicatedJobs": []},
        {"owner": "Job/run-0", "labels": {"jobset.sigs.k8s.io/jobset-name": "run"}},
    ),
    "PodGroup": (
        "scheduling.k8s.io/v1alpha2",
        {"schedulingPolicy": {"basic": {}}},
        {"scheduling_group": PodSchedulingGroup(pod_group_name="run")},
    ),
}


@pytest.mark.parametrize("kind", SPEAKERS)
def test_what_a_job_says_for_its_pods_is_planned_and_paid_for(kind: str) -> None:
    """The object names no queue: its pods do."""
    version, spec, belongs = SPEAKERS[kind]
    metadata = {"name": "run", "namespace": "default", "annotations": {"fairway.dev/exclusive": "node"}}
    document = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    speaker = msgspec.convert(document, JobSet) if kind == "JobSet" else decode_object(document)
    plain = job("a", cpu=1, run=50.0, limit=50.0)
    labels = plain.metadata.labels | belongs.get("labels", {})
    alone = pod("a", cpu=1, annotations=plain.metadata.annotations, **{**belongs, "labels": labels})
    room = Room([(0.0, alone), (1.0, job("b", cpu=1))], objects=[speaker], own={"exclusive": True})
    room.until(20.0)
    found = room.find("run" if kind == "PodGroup" else "a")
    assert found.wishes.is_exclusive
    assert found.ledger.intervals[-1].rate == 4.0
    assert (room.find("b").standing.state, "b" in room.starts) == (JobState.QUEUED, False)  # not even released
    room.until(100.0)
    assert room.starts["b"] == 50.0


def test_a_gang_pays_for_those_that_are_there() -> None:
    """One member ends before the others: from then on it costs less."""
    members = [job(f"g-{n}", run=5.0 if n == 2 else 10.0, gang="g", gang_size="3", gang_min="2") for n in range(3)]
    room = Room([(0.0, each) for each in members])
    room.until(100.0)
    assert lines(room, ROOT) == [
        ("default/g", 0.0, 5.0, 3.0, 15 * MILLI),
        ("default/g", 5.0, 10.0, 2.0, 10 * MILLI),
    ]


def test_jobs_that_never_ran_owe_nothing() -> None:
    room = Room([(0.0, job("a", cpu=4, run=50.0, limit=60.0)), (1.0, job("b", cpu=4))])
    room.until(5.0)
    room.simulation.api.remove(room.simulation.api.find("Pod", "default", "b"))
    room.until(300.0)
    assert [line[0] for line in lines(room, ROOT)] == ["default/a"]
    assert all(record.ledger.is_settled for record in desk_of(room).records())


@pytest.mark.parametrize(
    ("account", "state", "reason"),
    [
        ("fysics", JobState.REFUSED, Refused.ACCOUNT_UNKNOWN),
        ("theirs", JobState.REFUSED, Refused.ACCOUNT_NOT_ALLOWED),
        ("poor", JobState.QUEUED, Reason.ACCOUNT_STOPPED),
    ],
)
def test_accounts_that_do_not_let_a_job_start(account: str, state: JobState, reason: str) -> None:
    accounts = {
        "physics": AccountSpec(),
        "theirs": AccountSpec(namespaces=("other-*",)),
        "poor": AccountSpec(budget=BudgetSpec(amount=5)),
    }
    room = Room([(0.0, job("a", cpu=1, account=account))], accounts=accounts)
    room.until(1.0)
    standing = room.find("a").standing
    assert (standing.state, standing.reason) == (state, reason)
    assert room.starts == {}


def test_of_two_jobs_that_a_budget_can_not_hold_the_first_starts() -> None:
    jobs = [job(name, cpu=1, account="physics") for name in ("a", "b")]
    room = Room([(0.0, each) for each in jobs], accounts=with_budget(15))
    room.until(1.0)
    assert set(room.starts) == {"a"}
    assert room.find("b").standing.reason is Reason.ACCOUNT_STOPPED
    room.until(60.0)  # after it only 5 are left
    assert set(room.starts) == {"a"}


def test_a_job_that_its_budget_stops_leaves_its_slot_to_others() -> None:
    jobs = [job("a", cpu=3, account="physics"), job("b", cpu=1, account="physics"), job("c", cpu=1)]
    room = Room([(0.0, each) for each in jobs], accounts=with_budget(35))
    room.until(0.0)
    assert set(room.starts) == {"a", "c"}


def test_what_waits_for_a_budget_starts_with_the_next_period() -> None:
    day = 86_400.0
    room = Room(
        [(0.0, job("a", account="physics")), (20.0, job("b", account="physics"))],
        accounts=with_budget(15, period="day"),
    )
    room.until(day - 1)
    assert set(room.starts) == {"a"}
    room.until(2 * day)
    assert room.starts["b"] == day


def test_a_budget_that_stops_ends_what_runs_at_the_second_it_is_used_up() -> None:
    accounts = with_budget(50, on_exhausted="stop")
    slow = job("a", run=1000.0, limit=45.0, account="physics")
    other = job("b", run=1000.0, limit=20.0, account="physics")
    room = Room([(0.0, slow), (10.0, other), (11.0, job("c", run=60.0, limit=70.0))], accounts=accounts)
    room.until(29.0)
    a = room.find("a")
    assert a.state is JobState.RUNNING
    room.until(30.0)
    assert (a.state, a.standing.reason) == (JobState.FINISHED, JobOutcome.CANCELLED)
    room.until(200.0)
    assert book(room).settled == 50 * MILLI
    assert room.desk.book.ended["default/c"].outcome is JobOutcome.SUCCEEDED


def test_a_threshold_is_noted_when_it_is_reached() -> None:
    room = Room(
        [(0.0, job("a", run=95.0, limit=100.0, account="physics"))], accounts=with_budget(100, on_exhausted="warn")
    )
    room.until(79.0)
    assert book(room).told == {}
    room.until(80.0)
    assert list(book(room).told.values()) == [80]


def test_usage_of_accounts_decides_who_comes_first_and_fades() -> None:
    weights = WeightSpec(age=0, size=0, fair_share=1000, queue=0, class_=0)
    accounts = {"physics": AccountSpec(shares=1), "bio": AccountSpec(shares=1)}
    said = {"a0": ("physics", "ada"), "a1": ("physics", "eve"), "b1": ("bio", "bob")}
    jobs = [job(name, cpu=4, account=account, user=user) for name, (account, user) in said.items()]
    room = Room([(0.0, jobs[0]), (1.0, jobs[1]), (1.0, jobs[2])], queues={"q": {"weights": weights}}, accounts=accounts)
    room.until(100.0)
    assert room.starts == {"a0": 0.0, "b1": 10.0, "a1": 20.0}


def test_a_user_whom_the_account_names_has_the_shares_it_says() -> None:
    """Equal use, more shares: ada comes before bob, who was there first."""
    weights = WeightSpec(age=0, size=0, fair_share=1000, queue=0, class_=0)
    accounts = {"physics": AccountSpec(users={"ada": UserShares(shares=5)})}
    first = [(0.0, job(f"{user}-0", cpu=2, account="physics", user=user)) for user in ("ada", "bob")]
    more = [(1.0, job(f"{user}-1", cpu=4, account="physics", user=user)) for user in ("bob", "ada")]
    room = Room([*first, *more], queues={"q": {"weights": weights}}, accounts=accounts)
    room.until(100.0)
    assert (room.starts["ada-1"], room.starts["bob-1"]) == (10.0, 20.0)


def test_the_rate_changes_at_the_instant_at_which_the_account_does() -> None:
    room = Room([(0.0, job("a", run=40.0, limit=50.0, account="physics"))], accounts=PHYSICS)
    room.until(10.0)
    dearer = {"physics": AccountSpec(weights={"cpu": 3.0})}
    room.desk.settings = replace(room.desk.settings, accounts=dearer)
    room.desk.run_pass()
    room.until(100.0)
    assert lines(room) == [("default/a", 0.0, 10.0, 1.0, 10 * MILLI), ("default/a", 10.0, 40.0, 3.0, 90 * MILLI)]


def test_books_balance_at_the_end() -> None:
    pods: list[tuple[float, Pod]] = [
        (float(n), job(f"j{n}", cpu=1 + n % 3, run=3.0 + n, account="physics", user=f"u{n % 2}")) for n in range(8)
    ]
    room = Room(pods, accounts=PHYSICS)
    room.until(500.0)
    desk = desk_of(room)
    records = list(desk.books.records_of("physics"))
    assert list(book_differences("physics", book(room), records, desk.lines("physics"), 500.0)) == []
    spent = math.fsum(min(3.0 + n, 10.0) * (1 + n % 3) for n in range(8))
    assert book(room).settled == spent * MILLI
