"""A job's record survives being written down: whatever its state, what is read back is what was written."""

from __future__ import annotations

import json
import math
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairway.batch.job import (
    BilledJob,
    FailureDecision,
    GivenDates,
    JobLedger,
    JobOrders,
    JobRecord,
    JobWishes,
    RunInterval,
)
from fairway.batch.members_alike import MembersAlike
from fairway.batch.order_answer import OrderAnswer
from fairway.batch.reasons import JobOutcome, JobStanding, JobState, Reason, Refused
from fairway.live.batch.objects import JobRecordObject
from fairway.live.batch.record_codec import orders_of, read_record, record_status, uid_of
from fairway.live.batch.record_terms import RecordTerms, read_terms
from fairway.model import ObjectMeta, Pod, PodSpec, PodStatus
from fairway.model.group import After, AfterMode, GroupKey, Spelling
from fairway.plan import StartEstimate
from fairway.plan.start_estimate import Basis, Way

NAMES = st.text("abc-09", min_size=1, max_size=6)
WORDS = st.text(max_size=8)
MOMENTS = st.floats(1.7e9, 1.9e9).map(lambda seconds: round(seconds, 6))
AMOUNTS = st.floats(0, 1e9)
EVER = MOMENTS | st.just(math.inf)

INTERVALS = st.builds(RunInterval, MOMENTS, EVER, AMOUNTS, st.lists(NAMES, max_size=2).map(tuple), WORDS, st.booleans())
ESTIMATES = st.builds(
    StartEstimate,
    MOMENTS,
    MOMENTS,
    EVER,
    EVER,
    st.booleans(),
    st.builds(Basis, st.sampled_from(Way), st.integers(0, 300), st.none() | st.floats(0, 1)),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 9),
    st.lists(st.integers(0, 9), max_size=2).map(tuple),
)
ENDINGS = st.builds(
    FailureDecision,
    st.sampled_from(("RestartPod", "Requeue", "FailJob")),
    WORDS,
    st.lists(NAMES, max_size=2).map(tuple),
    outcome=st.none() | st.sampled_from(JobOutcome),
    back_off_until=MOMENTS | st.just(-math.inf),
)
ANSWERS = st.builds(
    OrderAnswer,
    st.sampled_from(("timeLimit", "requeueBefore")),
    MOMENTS,
    st.booleans(),
    MOMENTS,
    WORDS,
    by_owner=st.booleans(),
    limit=EVER,
    longest=EVER,
    stopped_by=st.sampled_from(("", "maintenance")),
    stopped_at=EVER,
    delayed=st.lists(NAMES, max_size=2).map(tuple),
)
LEDGERS = st.builds(
    JobLedger,
    MOMENTS,
    granted_limit=st.none() | AMOUNTS | st.just(math.inf),
    answer=st.none() | ANSWERS,
    intervals=st.lists(INTERVALS, max_size=3).map(tuple),
    num_requeues=st.integers(0, 5),
    back_off_until=MOMENTS | st.just(-math.inf),
    ending=st.none() | ENDINGS,
    released=st.none() | MOMENTS,
    is_final=st.booleans(),
    is_settled=st.booleans(),
    billed=st.none() | st.builds(BilledJob, NAMES, NAMES, NAMES, NAMES, NAMES, st.dictionaries(NAMES, st.integers(0))),
    ended=EVER,
    dates=st.none() | st.builds(GivenDates, ESTIMATES, ESTIMATES, EVER),
)
WISHES = st.builds(
    JobWishes,
    NAMES,
    NAMES,
    limit=st.none() | AMOUNTS | st.just(math.inf),
    begin=MOMENTS | st.just(-math.inf),
    start_by=EVER,
    after=st.lists(st.builds(After, st.sampled_from(get_args(AfterMode)), NAMES), max_size=2).map(tuple),
)
STANDINGS = st.builds(
    JobStanding,
    st.sampled_from(JobState),
    st.none() | st.sampled_from([*Reason, *Refused, *JobOutcome]),
    st.dictionaries(NAMES, WORDS | AMOUNTS | st.integers(0, 2**40), max_size=3),
    WORDS,
)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """As much of one as a record keeps."""
    return Pod(
        metadata=ObjectMeta(name=draw(NAMES), namespace="ns", uid=draw(NAMES)),
        spec=PodSpec(node_name=draw(NAMES | st.just(""))),
        status=PodStatus(phase=draw(st.sampled_from(("Pending", "Running", "Failed")))),
    )


RECORDS = st.builds(
    JobRecord,
    NAMES.map(lambda name: f"ns/{name}"),
    NAMES,
    STANDINGS,
    LEDGERS,
    st.integers(1, 99),
    st.none() | st.integers(1, 99),
    st.just(JobOrders()),
    st.none() | st.builds(GroupKey, st.sampled_from(Spelling), NAMES, NAMES),
    WISHES,
    st.none() | NAMES,
    st.integers(0, 999),
    st.none() | MOMENTS,
    st.lists(pods(), max_size=3).map(tuple),
    st.integers(0, 9),
    st.booleans(),
    st.lists(pods(), max_size=2).map(tuple),
)


def through_a_server(status: dict[str, Any]) -> dict[str, Any]:
    """What an API server gives back: keys in another order, whole numbers without a point."""

    def stored(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: stored(value[key]) for key in sorted(value)}
        if isinstance(value, list):
            return [stored(each) for each in value]
        return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value

    plain = json.loads(msgspec.json.encode(status))
    assert "null" not in json.dumps(plain).replace('"null"', ""), "servers drop what is null"
    return dict(stored(plain))


SOUND = RECORDS.filter(lambda each: not each.ledger.is_final or all(i.end < math.inf for i in each.ledger.intervals))


@given(SOUND)
def test_what_is_read_back_is_what_was_written(record: JobRecord) -> None:
    status = through_a_server(record_status(record, RecordTerms("account", 3600.0, 7)))
    thing = JobRecordObject(metadata=ObjectMeta(name="it", namespace="ns"), status=status)
    assert read_record(thing) == record
    assert uid_of(thing) == record.uid


MEMBERS = st.builds(
    MembersAlike,
    st.integers(1, 9),
    st.dictionaries(st.sampled_from(("cpu", "memory", "nvidia.com/gpu")), st.integers(1, 10**12), min_size=1),
)
TERMS = st.builds(
    RecordTerms,
    NAMES,
    st.integers(1, 10**6).map(float) | st.just(math.inf),
    st.integers(0, 9999),
    st.dictionaries(NAMES, st.floats(0, 1), max_size=2),
    st.lists(NAMES, max_size=2).map(tuple),
    st.booleans(),
    st.lists(MEMBERS, max_size=2).map(tuple),
    st.none() | MOMENTS,
    st.lists(MEMBERS, max_size=2).map(tuple),
)


@given(SOUND, TERMS)
def test_what_is_said_besides_is_read_back_as_well(record: JobRecord, terms: RecordTerms) -> None:
    status = through_a_server(record_status(record, terms))
    is_dated = "plan" in status  # what belongs to dates goes with them
    terms = terms._replace(whole=() if terms.whole == terms.members else terms.whole)
    assert read_terms(status) == (terms if is_dated else terms._replace(nodes=(), is_rough=False))


def test_a_write_keeps_what_it_does_not_know() -> None:
    members = (MembersAlike(2, {"cpu": 1500}),)
    told = RecordTerms("a", 60.0, 7, {"age": 0.5}, ("n1",), True, members, 100.0)
    later = RecordTerms("b", 90.0, 9, members=(), since=200.0)
    kept = later.after(told, is_moved=False, is_dated=False)
    assert kept == RecordTerms("b", 90.0, 7, {"age": 0.5}, ("n1",), True, members, 100.0)
    moved = later.after(told, is_moved=True, is_dated=True)
    assert moved == RecordTerms("b", 90.0, 9, {}, (), False, members, 200.0)


def test_nothing_is_read_of_a_record_that_was_only_made() -> None:
    assert read_record(JobRecordObject(metadata=ObjectMeta(name="it"))) is None
    assert uid_of(JobRecordObject()) == ""


@pytest.mark.parametrize(
    "ledger",
    ["x", {"key": "a/b"}, {"key": "a/b", "uid": "u", "wishes": 3, "state": {}}, {"uid": 5, "key": [], "state": None}],
    ids=["text", "half", "wrong kinds", "nothing"],
)
def test_what_makes_no_sense_is_told_and_raises_nothing_else(ledger: Any) -> None:
    thing = JobRecordObject(status={"state": "Queued", "ledger": ledger})
    with pytest.raises(ValueError, match=r"status\.ledger"):
        read_record(thing)


@pytest.mark.parametrize(
    ("spec", "orders"),
    [
        ({}, JobOrders()),
        ({"hold": True, "nice": 3, "queue": "b"}, JobOrders(hold=True, nice=3, queue="b")),
        ({"timeLimit": "1h30m", "cancel": True}, JobOrders(time_limit=5400.0, cancel=True)),
        ({"requeueBefore": "1970-01-01T00:01:00Z"}, JobOrders(requeue_before=60.0)),
        ({"timeLimit": "never", "requeueBefore": "soon"}, JobOrders()),
    ],
    ids=["nothing", "held", "limited", "requeued", "nonsense"],
)
def test_orders_are_the_spec_of_the_record(spec: dict[str, Any], orders: JobOrders) -> None:
    assert orders_of(JobRecordObject(spec=spec)) == orders


def test_people_read_dates_and_columns() -> None:
    estimate = StartEstimate(1e9, 1e9 + 60, 1e9 + 120, math.inf, False, Basis(Way.PLAYED, 3, None), 3, 4, 0)
    ledger = JobLedger(1e9, dates=GivenDates(estimate, estimate))
    standing = JobStanding(JobState.QUEUED, Reason.RESOURCES, {"cpu": 2}, "2 cpu more")
    record = JobRecord("ns/a", "u", standing, ledger, wishes=JobWishes("batch", "ada"))
    members = (MembersAlike(2, {"cpu": 1500, "nvidia.com/gpu": 1}),)
    status = record_status(
        record, RecordTerms("physics", 5400.0, 12, {"age": 0.5}, ("n1",), members=members, since=1e9)
    )
    del status["ledger"]
    assert status == {
        "state": "Queued",
        "reason": "Resources",
        "message": "2 cpu more",
        "detail": {"cpu": 2},
        "queue": "batch",
        "account": "physics",
        "user": "ada",
        "since": "2001-09-09T01:46:40Z",
        "size": "2 × 1 gpu",
        "members": [{"count": 2, "requests": {"cpu": "1500m", "nvidia.com/gpu": "1"}}],
        "submitted": "2001-09-09T01:46:40Z",
        "start": "2001-09-09T01:47:40Z",
        "priority": 12,
        "factors": {"age": 0.5},
        "limit": "5400s",
        "charge": 0.0,
        "plan": {
            "asOf": "2001-09-09T01:46:40Z",
            "likely": "2001-09-09T01:47:40Z",
            "safe": "2001-09-09T01:48:40Z",
            "basis": "played",
            "ahead": {"jobs": 3, "cpu": 4, "gpu": 0},
            "nodes": ["n1"],
        },
    }


def test_people_read_what_whoever_wanted_something_was_told() -> None:
    words = "refused: its queue allows no longer limit; longest possible: +5m (until 00:20:00)"
    answer = OrderAnswer("timeLimit", 10800.0, False, 60.0, words, limit=900.0, longest=1200.0)
    ledger = JobLedger(0.0, answer=answer)
    record = JobRecord("ns/it", "uid", JobStanding(JobState.RUNNING), ledger, wishes=JobWishes("batch", "ada"))
    found = record_status(record, RecordTerms())["answer"]
    time = "1970-01-01T00:01:00Z"
    assert found == {"about": "timeLimit", "asked": "10800s", "message": words, "longest": "1200s", "time": time}
    requeued = replace(ledger, answer=OrderAnswer("requeueBefore", 3600.0, True, 60.0))
    found = record_status(replace(record, ledger=requeued), RecordTerms())["answer"]
    assert found == {"about": "requeueBefore", "asked": "1970-01-01T01:00:00Z", "granted": True, "time": time}
