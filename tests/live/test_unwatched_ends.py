"""Pods that end while nobody leads: whoever takes the lease over charges what was seen, or what the pod itself tells.

The rules, again and naively: a job runs while as many of its members run as it takes. A member that is gone ran until
the old lease was last renewed; one that is there and over until its node says, if it does, and no longer than until
now. Nothing is negative; what goes on goes on uncut; the account has settled what records say, and not a bit more.
"""

from __future__ import annotations

import datetime as dt
import math
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.accounts import AccountBook, total_charge
from fairway.batch.job import JobRecord, RunInterval
from fairway.cluster import Verb
from fairway.live.batch.objects import AccountObject, JobRecordObject
from fairway.live.batch.record_codec import record_status
from fairway.live.batch.record_terms import RecordTerms
from fairway.model import ObjectMeta, Pod
from fairway.model.batch import AccountSpec
from fairway.model.pod import ContainerState, ContainerStateTerminated, ContainerStatus
from fairway.testing import pod
from tests.live.desk_room import DeskRoom, Left

ACCOUNTS = {"physics": AccountSpec(namespaces=("default",), weights={"cpu": 1.0})}
ACCOUNT = AccountObject(metadata=ObjectMeta(name="physics", uid="of-physics"))
QUEUES: dict[str, dict[str, Any]] = {"q": {}}
CPUS = (16, 16)
RUNS, GONE, DONE, FAILED = "runs", "is gone", "is done", "failed"


class Fate(NamedTuple):
    """What becomes of a pod while nobody looks."""

    what: str
    told: float | None = None  # when it ended, if its node says so


class Wanted(NamedTuple):
    """A job that starts `gap` after the one before."""

    gap: float
    cpu: int
    members: tuple[Fate, ...]
    least: int  # members that it takes


def members_of(number: int, wanted: Wanted) -> list[Pod]:
    said = {"fairway.dev/duration": "100000", "fairway.dev/time-limit": "90000s"}
    if len(wanted.members) > 1:
        gang = {"gang": f"job-{number}", "gang-size": str(len(wanted.members)), "gang-min": str(wanted.least)}
        said |= {f"fairway.dev/{key}": value for key, value in gang.items()}
    labels = {"fairway.dev/queue": "q"}
    names = [f"job-{number}"] if len(wanted.members) == 1 else [f"job-{number}-{n}" for n in range(len(wanted.members))]
    return [pod(name, cpu=wanted.cpu, labels=labels, annotations=said) for name in names]


def ended(there: Pod, fate: Fate) -> Pod:
    at = None if fate.told is None else dt.datetime.fromtimestamp(fate.told, dt.UTC)
    state = ContainerState(terminated=ContainerStateTerminated(exit_code=0, finished_at=at))
    phase = "Succeeded" if fate.what == DONE else "Failed"
    status = msgspec.structs.replace(
        there.status, phase=phase, container_statuses=(ContainerStatus(name="main", state=state),)
    )
    return msgspec.structs.replace(there, status=status)


def written(room: DeskRoom) -> list[JobRecordObject]:
    """The records of a room, as the server has them."""
    return [
        JobRecordObject(
            metadata=ObjectMeta(name=record.key.partition("/")[2], namespace="default", uid=f"record-{record.uid}"),
            status=msgspec.json.decode(msgspec.json.encode(record_status(record, RecordTerms("physics")))),
        )
        for record in room.live.books.records()
    ]


def led(jobs: list[Wanted]) -> tuple[DeskRoom, list[list[Pod]]]:
    """The first leader, under whom they all start."""
    room = DeskRoom(QUEUES, CPUS, accounts=ACCOUNTS)
    room.live.learn(ACCOUNT)
    pods = []
    for number, wanted in enumerate(jobs):
        room.advance(wanted.gap)
        uids = [room.come(each).metadata.uid for each in members_of(number, wanted)]
        room.settle()
        pods.append([room.pods[uid] for uid in uids])
    assert len(room.ran) == sum(len(wanted.members) for wanted in jobs)
    return room, pods


def taken_over(
    room: DeskRoom, jobs: list[Wanted], pods: list[list[Pod]], now: float, last_led: float | None
) -> DeskRoom:
    """The next leader, who finds what is there."""
    found = [
        each if fate.what == RUNS else ended(each, fate)
        for wanted, members in zip(jobs, pods, strict=True)
        for fate, each in zip(wanted.members, members, strict=True)
        if fate.what != GONE
    ]
    return DeskRoom(QUEUES, CPUS, Left([ACCOUNT], written(room), found, now, last_led), accounts=ACCOUNTS)


def latest(room: DeskRoom, uid: str) -> JobRecord:
    record = room.live.books.latest(uid)
    assert record is not None
    return record


def book_of(room: DeskRoom) -> AccountBook:
    """After all that is over was settled."""
    for _ in range(3):
        room.advance(31.0)
        room.desk.is_due = True
        room.settle()
    found = room.live.books.account("physics")
    assert found is not None
    return found[0]


def note_due(due: dict[str, int], record: JobRecord) -> None:
    """What a job that is over costs, by uid."""
    if record.ledger.is_final:
        due[record.uid] = total_charge(record.ledger.intervals, math.inf)


def naive(wanted: Wanted, start: float, now: float, last_led: float) -> list[tuple[float, float]]:
    """Until when it costs how much a second: each end of a member, as long as there are enough; last, for ever."""
    ends = sorted(
        min(last_led if fate.told is None else fate.told, now) for fate in wanted.members if fate.what != RUNS
    )
    steps, left, before = list[tuple[float, float]](), len(wanted.members), start
    for end in ends:
        if end > before:
            steps.append((end, float(left * wanted.cpu)))
            before = end
        left -= 1
        if left < wanted.least:
            return steps
    return [*steps, (math.inf, float(left * wanted.cpu))]


def told_after(wanted: Wanted, last_led: float) -> Wanted:
    """What pods tell is of the time in which nobody led."""
    members = (fate if fate.told is None else fate._replace(told=last_led + fate.told) for fate in wanted.members)
    return wanted._replace(members=tuple(members))


FATES = st.one_of(
    st.sampled_from([Fate(RUNS), Fate(GONE)]),
    st.builds(Fate, st.just(FAILED), st.none() | st.integers(0, 400).map(float)),
)
JOBS = st.lists(
    st.builds(Wanted, st.integers(1, 50).map(float), st.integers(1, 4), st.tuples(FATES, FATES), st.integers(1, 2))
    | st.builds(Wanted, st.integers(1, 50).map(float), st.integers(1, 4), st.tuples(FATES), st.just(1)),
    min_size=1,
    max_size=4,
)


@settings(max_examples=100)
@given(JOBS, st.integers(0, 200).map(float), st.integers(0, 300).map(float))
def test_charges_are_what_was_seen_or_told(jobs: list[Wanted], seen: float, unseen: float) -> None:
    room, pods = led(jobs)
    last_led = min(seen, room.now())
    jobs = [told_after(wanted, last_led) for wanted in jobs]
    now = room.now() + unseen
    after = taken_over(room, jobs, pods, now, last_led)
    start = 0.0
    for wanted, members in zip(jobs, pods, strict=True):
        start += wanted.gap
        intervals = latest(after, members[0].metadata.uid).ledger.intervals
        costs = [(each.end, each.rate) for each in intervals if each.end > each.start]
        assert costs == naive(wanted, start, now, last_led)
        assert all(sooner.end == later.start for sooner, later in pairwise(intervals))
        assert intervals[0].start == start
        assert all(each.is_uncertain == (each.end < math.inf) for each in intervals)
    due: dict[str, int] = {}
    for members in pods:
        note_due(due, latest(after, members[0].metadata.uid))
    after.live.on_written = lambda job, former: note_due(due, job.record())
    assert book_of(after).settled == sum(due.values())
    assert min(due.values(), default=0) >= 0


@pytest.mark.parametrize(
    ("fate", "last_led", "end"),
    [
        pytest.param(Fate(GONE), 60.0, 60.0, id="it is gone: the last renewal"),
        pytest.param(Fate(GONE), 5.0, 10.0, id="never before it began"),
        pytest.param(Fate(GONE), 1e9, 500.0, id="a lease of the time to come: now"),
        pytest.param(Fate(DONE), 60.0, 60.0, id="it is done, and nobody says since when"),
        pytest.param(Fate(DONE, 200.0), 60.0, 200.0, id="its node says when"),
        pytest.param(Fate(DONE, 30.0), 60.0, 30.0, id="it ended while somebody led, who did not get to write it down"),
        pytest.param(Fate(FAILED, 1e9), 60.0, 500.0, id="a node with a wrong clock"),
        pytest.param(Fate(GONE), None, 500.0, id="nobody knows when somebody led: now"),
    ],
)
def test_a_job_that_ended_meanwhile_is_settled_once_and_the_next_one_knows(
    fate: Fate, last_led: float | None, end: float
) -> None:
    jobs = [Wanted(10.0, 2, (fate,), 1)]
    room, pods = led(jobs)
    uid = pods[0][0].metadata.uid
    after = taken_over(room, jobs, pods, 500.0, last_led)
    record = latest(after, uid)
    nodes = (pods[0][0].spec.node_name,)
    assert record.ledger.intervals == (RunInterval(10.0, end, 2.0, nodes, is_uncertain=last_led is not None),)
    assert record.ledger.is_final
    assert record.ledger.ended == 500.0, "that is when it was found out"
    assert book_of(after).settled == (end - 10.0) * 2.0 * 1000


def test_what_ends_after_the_takeover_ends_when_it_is_seen() -> None:
    jobs = [Wanted(10.0, 2, (Fate(RUNS),), 1)]
    room, pods = led(jobs)
    after = taken_over(room, jobs, pods, 500.0, 60.0)
    uid = pods[0][0].metadata.uid
    after.pass_time(100.0)
    after.happen(Verb.DELETED, pods[0][0])
    (interval,) = latest(after, uid).ledger.intervals
    assert (interval.start, interval.end, interval.is_uncertain) == (10.0, 600.0, False)


def test_a_gang_that_runs_on_costs_what_it_cost() -> None:
    """Its members are written down by name alone: what they ask for is known before anything is worked out."""
    jobs = [Wanted(10.0, 2, (Fate(RUNS), Fate(RUNS)), 2)]
    room, pods = led(jobs)
    before = latest(room, pods[0][0].metadata.uid).ledger.intervals
    for last_led in (None, 60.0):
        after = taken_over(room, jobs, pods, 500.0, last_led)
        assert latest(after, pods[0][0].metadata.uid).ledger.intervals == before
        assert before[0].rate == 4.0
