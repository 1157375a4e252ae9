"""Killed and restarted at any instant: the same jobs run, the same is charged, nothing is lost, nothing done twice.

Small clusters with limits, failing pods, controllers, gangs, requeues and accounts are simulated while the scheduler
and its desk are killed between any two of their writes (`tests.sim.mortal`). A witness who only watches the API server
knows which pod ran from when to when; what records and books say has to follow from that, however often the desk died.
Whatever else a desk learns to do joins by one more entry in `FEATURES`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.accounts import AccountBook, book_differences, record_book
from fairway.batch.dates import DateBook
from fairway.batch.job import JobOrders
from fairway.batch.reasons import JobState
from fairway.batch.settings import BatchSettings
from fairway.cluster import Verb
from fairway.model import Node, Pod
from fairway.model.batch import AccountSpec, FailureRules, QueueLimits, QueueSpec, WeightSpec, WindowSpec
from fairway.model.batch.queue import QueueState
from fairway.model.duration import Duration
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Fault, Plan
from fairway.testing import node
from fairway.trace.workload import Arrival
from tests.batch.room import job
from tests.batch.test_failing_jobs import controller, patient
from tests.batch.upkeep.closed_times import window
from tests.sim.mortal import Mortal

PLAIN = WeightSpec(age=0, size=0, fair_share=0, queue=0, class_=0)
END = 3000.0
ACCOUNTS = ("physics", "bio")


class Wanted(NamedTuple):
    """A job that comes."""

    feature: str
    cpu: int
    run: float
    limit: float
    gap: float  # since the arrival before
    account: str


def _plain(name: str, want: Wanted) -> list[Any]:
    return [_pod(name, want)]


def _too_long(name: str, want: Wanted) -> list[Any]:
    return [_pod(name, want, run=want.limit * 2)]


def _gang(name: str, want: Wanted) -> list[Any]:
    return [_pod(f"{name}-{n}", want, gang=name, gang_size="3") for n in range(3)]


def _long_gang(name: str, want: Wanted) -> list[Any]:
    return [_pod(f"{name}-{n}", want, run=want.limit * 2, gang=name, gang_size="2") for n in range(2)]


def _failing_gang(name: str, want: Wanted) -> list[Any]:
    """One member fails again and again; the job is restarted so often as its queue allows."""
    said = {"gang": name, "gang_size": "2", "requeue": "recreate"}
    return [
        _pod(f"{name}-0", want, run=200.0, limit=900.0, **said),
        _pod(f"{name}-1", want, run=200.0, limit=900.0, fail_after="7", **said),
    ]


def _failing(name: str, want: Wanted) -> list[Any]:
    return [_pod(name, want, fail_after="3")]


def _made_anew(name: str, want: Wanted) -> list[Any]:
    """A Job whose pod fails: its time goes on over all its pods."""
    return [controller(_pod(name, want, run=50.0, limit=40.0, fail_after="15"))]


def _made(name: str, want: Wanted) -> list[Any]:
    return [controller(_pod(name, want), number=2)]


FEATURES: dict[str, Callable[[str, Wanted], list[Any]]] = {
    "plain": _plain,
    "too long": _too_long,
    "gang": _gang,
    "long gang": _long_gang,
    "failing": _failing,
    "failing gang": _failing_gang,
    "made": _made,
    "made anew": _made_anew,
}
"""What may come: a name and what is wanted make the objects of one job."""


def _pod(name: str, want: Wanted, run: float | None = None, limit: float | None = None, **said: str) -> Pod:
    seconds, allowed = want.run if run is None else run, want.limit if limit is None else limit
    return job(name, want.cpu, seconds, allowed, account=want.account, user="ada", **said)


WANTED = st.builds(
    Wanted,
    st.sampled_from(sorted(FEATURES)),
    st.integers(1, 2),
    st.sampled_from([5.0, 10.0, 30.0]),
    st.sampled_from([20.0, 45.0]),
    st.sampled_from([0.0, 0.0, 4.0, 20.0]),
    st.sampled_from(["physics", "bio"]),
)


@dataclass
class Witness:
    """Sees what the API server says, and nothing else."""

    now: Callable[[], float]
    ran: dict[str, list[float]] = field(default_factory=dict)  # by uid: from, to
    owner: dict[str, str] = field(default_factory=dict)  # by uid: name of what it is of
    asked_to_go: Counter[str] = field(default_factory=Counter)
    bound: Counter[str] = field(default_factory=Counter)
    created: Counter[str] = field(default_factory=Counter)
    node: dict[str, str] = field(default_factory=dict)  # by uid
    _last: dict[str, Pod] = field(default_factory=dict)

    def watch(self, event: Any) -> None:
        pod = event.object
        if not isinstance(pod, Pod):
            return
        uid, now = pod.metadata.uid, self.now()
        before = self._last.get(uid)
        self._last[uid] = pod
        holder = pod.metadata.controller
        group = pod.metadata.annotations.get("fairway.dev/gang")
        self.owner[uid] = group or (holder.name if holder is not None else pod.metadata.name)
        self.created[uid] += event.verb is Verb.ADDED
        self.node[uid] = pod.spec.node_name
        self.bound[uid] += bool(pod.spec.node_name) and (before is None or not before.spec.node_name)
        self.asked_to_go[uid] += pod.is_terminating and (before is None or not before.is_terminating)
        is_over = event.verb is Verb.DELETED or pod.is_finished
        if pod.status.phase == "Running" and not is_over:
            self.ran.setdefault(uid, [now, math.inf])
        elif is_over and uid in self.ran and self.ran[uid][1] == math.inf:
            self.ran[uid][1] = now

    def seconds(self, owner: str, least: int) -> float:
        """How long at least so many pods of it ran at the same time, or all but those that had ended well."""
        spans = [self.ran[uid] for uid in self.ran if self.owner[uid] == owner]
        times = sorted({time for span in spans for time in span if time < math.inf})
        total = 0.0
        for begin, end in pairwise(times):
            total += (end - begin) if sum(a <= begin and b >= end for a, b in spans) >= least else 0.0
        return total


def batch_settings(
    discipline: str = "easy", windows: Mapping[str, WindowSpec] | None = None, state: QueueState = "Open"
) -> BatchSettings:
    limits = QueueLimits(max=Duration(1000), kill_grace=Duration(2), warn_before=Duration(5))
    failure = FailureRules(retries=2, broken_after=Duration(10), lost_after=Duration(40))
    queue = QueueSpec(state=state, discipline=discipline, weights=PLAIN, limits=limits, failure=failure)  # type: ignore[arg-type]
    accounts = {"physics": AccountSpec(weights={"cpu": 1.0}), "bio": AccountSpec(weights={"cpu": 3.0})}
    return BatchSettings({"q": queue.completed()}, accounts, windows=dict(windows or {}))


class Order(NamedTuple):
    """What somebody says about one of the jobs, or about their queue."""

    at: float
    verb: str
    number: int = 0  # of the job


JOB_ORDERS: dict[str, Callable[[JobOrders, float], JobOrders]] = {
    "hold": lambda orders, now: replace(orders, hold=True),
    "release": lambda orders, now: replace(orders, hold=False),
    "nice": lambda orders, now: replace(orders, nice=10),
    "longer": lambda orders, now: replace(orders, time_limit=80.0),
    "shorter": lambda orders, now: replace(orders, time_limit=8.0),
    "requeue": lambda orders, now: replace(orders, requeue_before=now),
    "cancel": lambda orders, now: replace(orders, cancel=True),
}
QUEUE_ORDERS: dict[str, QueueState] = {
    "open": "Open",
    "pause": "Paused",
    "drain": "Draining",
    "close": "Closed",
}
ORDERS = st.builds(
    Order,
    st.sampled_from([3.0, 7.0, 12.0, 26.0, 48.0]),
    st.sampled_from([*JOB_ORDERS, *QUEUE_ORDERS, "owner longer"]),
    st.integers(0, 3),
)
LAST_ORDERS = [Order(150.0, "open"), *(Order(150.0, "release", number) for number in range(5))]
"""Nobody is held for ever."""


def give(mortal: Mortal, order: Order) -> None:
    """It is said now."""
    name, api = f"j{order.number}", mortal.simulation.api
    if order.verb in QUEUE_ORDERS:
        state = QUEUE_ORDERS[order.verb]
        mortal.change(batch_settings(state=state))
    elif order.verb in JOB_ORDERS:
        now = mortal.simulation.timeline.now()
        mortal.order(lambda key: _name(key) == name, lambda orders: JOB_ORDERS[order.verb](orders, now))
    else:
        for each in [each for each in api.objects("Pod") if _name(each.key) == name]:
            annotations = {**each.metadata.annotations, "fairway.dev/time-limit": "70s"}
            metadata = msgspec.structs.replace(each.metadata, annotations=annotations)
            api.update(msgspec.structs.replace(each, metadata=metadata))


def lived(
    wanted: list[Wanted],
    fuses: list[int],
    faults: tuple[Fault, ...] = (),
    discipline: str = "easy",
    dates: bool = False,
    windows: Mapping[str, WindowSpec] | None = None,
    orders: Iterable[Order] = (),
) -> tuple[Mortal, Witness]:
    """A whole simulation, and what was seen of it."""
    time, arrivals = 0.0, []
    for number, want in enumerate(wanted):
        time += want.gap
        things = FEATURES[want.feature](f"j{number}", want)
        arrivals += [
            Arrival(time, patient(each) if isinstance(each, Pod) and (faults or windows) else each) for each in things
        ]
    nodes = [node(f"n{number}", cpu=4, labels={"rack": f"r{number}"}) for number in range(2)]
    latency = KubeletSettings(start_latency=1.0, termination_latency=1.0)
    plan = Plan(nodes, (), arrivals, [], faults=faults, kubelet=latency)
    mortal = Mortal(plan, batch_settings(discipline, windows), fuses, dates)
    witness = Witness(mortal.simulation.timeline.now)
    mortal.simulation.api.watch(witness.watch)
    for order in orders:
        mortal.simulation.timeline.at(order.at, partial(give, mortal, order))
    mortal.simulation.timeline.run(END)
    return mortal, witness


def endings(mortal: Mortal) -> dict[str, list[Any]]:
    """By job: how it ended, and how often it came again."""
    found: dict[str, list[Any]] = {}
    for record in mortal.store.records():
        ledger = record.ledger
        found.setdefault(_name(record.key), []).append((record.standing[:2], ledger.num_restarts, ledger.num_requeues))
    return {name: sorted(each, key=str) for name, each in found.items()}


def charges(mortal: Mortal) -> dict[str, int]:
    """By job: what its lines say."""
    found: dict[str, int] = {}
    for line in (each for account in ACCOUNTS for each in mortal.store.lines_of(account)):
        name = _name(line.job.key)
        found[name] = found.get(name, 0) + line.charge
    return found


def _name(key: str) -> str:
    return key.partition("/")[2].partition("-")[0]


def settled_book(mortal: Mortal, account: str) -> AccountBook:
    found = mortal.store.account(account)
    assert found is not None
    return found[0]


def assert_sound(mortal: Mortal, witness: Witness) -> None:
    """What is true however often it died."""
    assert all(count <= 1 for count in witness.asked_to_go.values()), "evicted twice"
    assert all(count <= 1 for count in witness.bound.values())
    for account in ACCOUNTS:
        book = settled_book(mortal, account)
        records = [
            record_book(each)
            for each in mortal.store.records()
            if each.ledger.billed is not None and each.ledger.billed.account == account
        ]
        differences = book_differences(account, book, records, mortal.store.lines_of(account), END)
        assert [each.words for each in differences] == []
        assert book.settled == sum(line.charge for line in mortal.store.lines_of(account))
    for record in mortal.store.records():
        assert record.standing.state is JobState.FINISHED, record
        assert record.ledger.is_settled, record
        spans = [(each.start, each.end) for each in record.ledger.intervals]
        assert all(a <= b < math.inf for a, b in spans)
        assert spans == sorted(spans)


def assert_time_as_seen(mortal: Mortal, witness: Witness, wanted: list[Wanted]) -> None:
    """Consumed time is what the witness saw, job by job."""
    used: dict[str, float] = {}
    for record in mortal.store.records():
        seconds = math.fsum(each.end - each.start for each in record.ledger.intervals)
        used[_name(record.key)] = used.get(_name(record.key), 0.0) + seconds
    for number, want in enumerate(wanted):
        name = f"j{number}"
        if want.feature == "made":  # two jobs, each of one pod
            seen = math.fsum(b - a for uid, (a, b) in witness.ran.items() if witness.owner[uid] == name)
        else:
            least = {"gang": 3, "long gang": 2, "failing gang": 2}.get(want.feature, 1)
            seen = witness.seconds(name, least)
        assert used.get(name, 0.0) == pytest.approx(seen, abs=1e-6), (name, want)


@settings(max_examples=40, deadline=None)
@given(
    wanted=st.lists(WANTED, min_size=1, max_size=5),
    fuses=st.lists(st.integers(0, 25), max_size=12),
    discipline=st.sampled_from(["easy", "conservative", "walk", "fifo"]),
)
def test_whenever_it_is_killed_the_same_jobs_run_and_cost_the_same(
    wanted: list[Wanted], fuses: list[int], discipline: str
) -> None:
    immortal, seen = lived(wanted, [], discipline=discipline)
    assert_sound(immortal, seen)
    assert_time_as_seen(immortal, seen, wanted)
    mortal, witness = lived(wanted, fuses, discipline=discipline)
    assert_sound(mortal, witness)
    assert_time_as_seen(mortal, witness, wanted)
    assert endings(mortal) == endings(immortal)
    assert charges(mortal) == charges(immortal)
    assert sum(witness.created.values()) == sum(seen.created.values())


@settings(max_examples=40, deadline=None)
@given(
    wanted=st.lists(WANTED, min_size=1, max_size=4),
    fuses=st.lists(st.integers(0, 25), max_size=12),
    orders=st.lists(ORDERS, min_size=1, max_size=5),
)
def test_orders_are_carried_out_once_whoever_died(wanted: list[Wanted], fuses: list[int], orders: list[Order]) -> None:
    """Whatever operators and owners say in the course of time: the same becomes of all jobs, and costs the same."""
    said = [*orders, *LAST_ORDERS]
    immortal, seen = lived(wanted, [], orders=said)
    assert_sound(immortal, seen)
    assert_time_as_seen(immortal, seen, wanted)
    mortal, witness = lived(wanted, fuses, orders=said)
    assert_sound(mortal, witness)
    assert_time_as_seen(mortal, witness, wanted)
    assert endings(mortal) == endings(immortal)
    assert charges(mortal) == charges(immortal)


SINGLE_ORDERS = [Order(5.0, verb, 2) for verb in ("hold", "nice", "cancel", "longer", "close")]  # about one that waits
SINGLE_ORDERS += [Order(5.0, verb, 0) for verb in ("longer", "shorter", "cancel", "owner longer")]  # that runs
SINGLE_ORDERS += [Order(5.0, verb, 1) for verb in ("requeue", "cancel")]  # that would come again


@pytest.mark.parametrize("order", SINGLE_ORDERS, ids=lambda order: f"{order.verb} {order.number}")
def test_an_order_survives_single_cuts(order: Order) -> None:
    """Killed once after every fourth write, of each order after others."""
    wanted = [Wanted("plain", 2, 30.0, 45.0, 0.0, "bio"), Wanted("failing gang", 2, 10.0, 20.0, 0.0, "physics")]
    wanted.append(Wanted("too long", 2, 10.0, 20.0, 1.0, "physics"))
    orders = [order, *LAST_ORDERS]
    immortal, _ = lived(wanted, [], orders=orders)
    for fuse in range(SINGLE_ORDERS.index(order) % 4, immortal.num_writes, 4):
        mortal, witness = lived(wanted, [fuse], orders=orders)
        assert_sound(mortal, witness)
        assert_time_as_seen(mortal, witness, wanted)
        assert (endings(mortal), charges(mortal)) == (endings(immortal), charges(immortal)), fuse


@pytest.mark.parametrize("feature", sorted(FEATURES))
def test_every_single_cut_is_survived(feature: str) -> None:
    """One of each kind beside a plain one, killed once: after the first write, after the second, and so on."""
    wanted = [Wanted("plain", 2, 30.0, 45.0, 0.0, "bio"), Wanted(feature, 2, 10.0, 20.0, 0.0, "physics")]
    immortal, _ = lived(wanted, [])
    for fuse in range(immortal.num_writes):
        mortal, witness = lived(wanted, [fuse])
        assert mortal.num_deaths == 1
        assert_sound(mortal, witness)
        assert_time_as_seen(mortal, witness, wanted)
        assert (endings(mortal), charges(mortal)) == (endings(immortal), charges(immortal)), fuse


@settings(max_examples=15, deadline=None)
@given(
    wanted=st.lists(WANTED.filter(lambda want: "made" not in want.feature), min_size=1, max_size=4),
    fuses=st.lists(st.integers(0, 25), max_size=10),
    at=st.sampled_from([5.0, 12.0, 33.0]),
    is_back=st.booleans(),
)
def test_a_lost_node_is_waited_for_no_longer_because_somebody_died(
    wanted: list[Wanted], fuses: list[int], at: float, is_back: bool
) -> None:
    """Its jobs are counted lost so many seconds after it, whoever looks; nobody is evicted twice, all is settled."""
    faults = (Fault(at, "n0", "lose"), Fault(at + (200.0 if is_back else 400.0), "n0", "return"))
    mortal, witness = lived(wanted, fuses, faults)
    for account in ACCOUNTS:
        lines = mortal.store.lines_of(account)
        assert settled_book(mortal, account).settled == sum(line.charge for line in lines)
    assert all(count <= 1 for count in witness.asked_to_go.values())
    assert {record.standing.state for record in mortal.store.records()} == {JobState.FINISHED}
    assert all(record.ledger.is_settled for record in mortal.store.records())


@settings(max_examples=20, deadline=None)
@given(
    wanted=st.lists(WANTED.filter(lambda want: "made" not in want.feature), min_size=1, max_size=4),
    fuses=st.lists(st.integers(0, 25), max_size=10),
    start=st.sampled_from([8.0, 25.0, 60.0]),
    length=st.sampled_from([10.0, 90.0]),
    mode=st.sampled_from(["avoid", "drain", "kill"]),
)
def test_windows_are_carried_out_whoever_died(
    wanted: list[Wanted], fuses: list[int], start: float, length: float, mode: str
) -> None:
    """Nobody begins to run on closed nodes, these are given back, nobody is evicted twice, all ends and is settled."""
    mortal, witness = lived(wanted, fuses, windows={"w": window(start, length, mode, rack="r0")})
    assert_sound(mortal, witness)
    for uid, (begin, _) in witness.ran.items():
        assert witness.node[uid] != "n0" or not start + 1.0 < begin < start + length, (
            "it was bound before, or not at all"
        )
    there = [each for each in mortal.simulation.api.everything() if isinstance(each, Node)]
    assert [each.spec.unschedulable for each in there] == [False, False]
    assert {status.phase for status in mortal.store.statuses.values()} == {"Done"}


@settings(max_examples=10, deadline=None)
@given(wanted=st.lists(WANTED, min_size=2, max_size=5), fuses=st.lists(st.integers(0, 25), min_size=1, max_size=6))
def test_what_is_known_of_dates_survives(wanted: list[Wanted], fuses: list[int]) -> None:
    """Predictions and judgements are the same as if they were read from what is written down at the end."""
    mortal, _ = lived(wanted, fuses, dates=True)
    kept = mortal.scheduler.queues
    assert kept is not None
    read = DateBook(mortal.store.records())
    known = kept.desk.forecasts.book
    for user, queue, limit in (("ada", "q", 100.0), ("eve", "q", 100.0), ("ada", "r", 10.0)):
        assert known.history.predict(user, queue, limit) == read.history.predict(user, queue, limit)
    assert known.estimates.summary() == read.estimates.summary()
