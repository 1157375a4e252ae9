"""Columns of unsettled jobs against the same rules said again, job by job."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.accounts import OpenJobs, Payer, close_interval, open_interval, total_charge
from fairway.batch.accounts.charges import charge_between, last_run
from fairway.batch.job import RunInterval
from fairway.batch.usage import interval_usage
from tests.batch.accounts.memory_books import ran

ADA, BOB = Payer("physics", "ada"), Payer("physics", "bob")
HALF_LIFE = 1000.0


def test_a_released_job_counts_at_once_and_nothing_counts_twice() -> None:
    jobs = OpenJobs()

    def used(now: float) -> float:
        return float(jobs.usage(now, math.inf, 30.0)[0])

    jobs.put("u", ADA, (), released_rate=2.0)
    assert used(0.0) == used(500.0) == 60.0  # one plan interval, however long it waits for its nodes
    running = open_interval((), 100.0, 2.0)
    jobs.put("u", ADA, running, released_rate=2.0)
    assert [used(now) for now in (100.0, 115.0, 130.0, 160.0)] == [60.0, 60.0, 60.0, 120.0]
    jobs.put("u", ADA, close_interval(running, 110.0))
    assert used(200.0) == 20.0  # it is over, and used no more than that
    jobs.drop("u")
    assert used(200.0) == 0.0
    assert "u" not in jobs


def test_a_change_of_the_rate_is_no_new_entry_and_a_new_start_is() -> None:
    jobs = OpenJobs()
    jobs.put("split", ADA, (RunInterval(0, 100, 1.0), RunInterval(100, math.inf, 2.0)))
    assert jobs.usage(110.0, math.inf, 30.0).tolist() == [120.0]
    jobs.put("split", ADA, (RunInterval(0, 100, 1.0), RunInterval(105, math.inf, 2.0)))
    assert jobs.usage(110.0, math.inf, 30.0).tolist() == [160.0]


def test_what_is_given_back_does_not_count() -> None:
    jobs = OpenJobs()
    jobs.put("u", ADA, ran((0, 100), refund="NodeLost"))
    assert jobs.usage(100.0, math.inf).tolist() == [0.0]
    assert jobs.charges_by_account(100.0) == {}


def naive_usage(intervals: tuple[RunInterval, ...], rate: float | None, now: float, plan: float) -> float:
    usage = math.fsum(interval_usage(each.usage(), now, HALF_LIFE) for each in intervals if not each.refund)
    is_open = bool(intervals) and intervals[-1].end == math.inf
    if is_open and not intervals[-1].refund:
        began = intervals[last_run(intervals)].start
        return usage + intervals[-1].rate * min(max(began + plan - now, 0.0), plan)
    return usage + (rate or 0.0) * plan * (not is_open)


@st.composite
def jobs_of(draw: st.DrawFn) -> tuple[Payer, tuple[RunInterval, ...], float | None]:
    cuts = sorted(draw(st.lists(st.floats(0, 1e4), max_size=6)))
    intervals = [
        RunInterval(start, end, draw(st.floats(0, 50)), refund=draw(st.sampled_from(["", "", "NodeLost"])))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    if len(cuts) % 2:
        intervals.append(RunInterval(cuts[-1], math.inf, draw(st.floats(0, 50))))
    return draw(st.sampled_from([ADA, BOB])), tuple(intervals), draw(st.none() | st.floats(0, 50))


@given(
    steps=st.lists(st.tuples(st.sampled_from("abcd"), st.none() | jobs_of()), max_size=12),
    now=st.floats(0, 2e4),
    since=st.floats(0, 2e4),
)
def test_columns_are_the_sum_of_all_jobs(
    steps: list[tuple[str, tuple[Payer, tuple[RunInterval, ...], float | None] | None]], now: float, since: float
) -> None:
    columns = OpenJobs()
    for payer in (ADA, BOB):
        columns.number(payer)
    known: dict[str, tuple[Payer, tuple[RunInterval, ...], float | None]] = {}
    for uid, job in steps:
        if job is None:
            columns.drop(uid)
            known.pop(uid, None)
        else:
            columns.put(uid, *job)
            known[uid] = job
    assert len(columns) == len(known)
    usage, charges = columns.usage(now, HALF_LIFE, 30.0), columns.charges(now)
    parts = columns.charges(max(now, since), min(now, since))
    some = columns.charges(now, without={"a", "zz"})
    for number, payer in enumerate((ADA, BOB)):
        mine = {uid: job for uid, job in known.items() if job[0] == payer}
        expected = math.fsum(naive_usage(job[1], job[2], now, 30.0) for job in mine.values())
        assert usage[number] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert charges[number] == sum(total_charge(job[1], now) for job in mine.values())
        assert some[number] == sum(total_charge(job[1], now) for uid, job in mine.items() if uid != "a")
        billed = [each for job in mine.values() for each in job[1] if not each.refund]
        assert parts[number] == sum(charge_between(each, min(now, since), max(now, since)) for each in billed)


def test_rows_are_used_again() -> None:
    jobs = OpenJobs()
    for number in range(1000):
        jobs.put(f"u{number}", ADA, ran((0, 10)))
        jobs.drop(f"u{number - 5}")
    assert len(jobs) == 5
    assert jobs.charges(100.0).tolist() == [50_000]
    assert jobs.num_rows == 6
