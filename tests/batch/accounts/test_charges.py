"""What a job costs follows from its intervals, whenever one looks."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.accounts import (
    LineKind,
    RefundCause,
    change_rate,
    charge_lines,
    close_interval,
    job_rate,
    open_interval,
    refund_last_run,
    total_charge,
    unwatched_end,
)
from fairway.batch.accounts.charges import charge_between
from fairway.batch.job import BilledJob, RunInterval
from fairway.model.batch import AccountSpec

JOB = BilledJob("u1", "ml/train", "physics", "ada", "batch", {"cpu": 4000})
WEIGHTS = {"cpu": 1.0, "memory": 0.25, "nvidia.com/gpu": 20.0}


def test_a_rate_is_the_sum_of_all_members_or_what_costs_most() -> None:
    member = {"cpu": 2000, "memory": 8 << 30, "nvidia.com/gpu": 1}
    assert job_rate(AccountSpec(weights=WEIGHTS), [member, member]) == 2 * (2 + 2 + 20)
    assert job_rate(AccountSpec(weights=WEIGHTS, billing="max"), [member, member]) == 40


def test_who_has_nodes_to_itself_pays_for_them() -> None:
    node = {"cpu": 64000, "memory": 256 << 30}
    assert job_rate(AccountSpec(weights=WEIGHTS), [{"cpu": 1000}], [node]) == 64 + 64


def test_a_rate_that_changes_splits_the_interval_from_that_instant() -> None:
    intervals = open_interval((), 10.0, 2.0, ("n1",))
    assert change_rate(intervals, 20.0, 2.0) == intervals
    intervals = change_rate(intervals, 20.0, 3.0)
    assert intervals == (RunInterval(10, 20, 2.0, ("n1",)), RunInterval(20, math.inf, 3.0, ("n1",)))
    assert change_rate(intervals, 20.0, 5.0)[-1] == RunInterval(20, math.inf, 5.0, ("n1",))  # twice in one instant
    assert total_charge(intervals, 30.0) == 50_000
    assert change_rate(intervals, 25.0, 3.0, ("n2",))[-1] == RunInterval(25, math.inf, 3.0, ("n2",))
    closed = close_interval(intervals, 30.0)
    assert change_rate(closed, 40.0, 9.0) == closed  # what is over is over


def test_opening_and_closing_twice_is_harmless_and_nothing_is_ever_negative() -> None:
    intervals = open_interval(open_interval((), 10.0, 1.0), 15.0, 9.0)
    assert intervals == (RunInterval(10, math.inf, 1.0),)
    closed = close_interval(intervals, 5.0)  # the clock was set back
    assert closed == (RunInterval(10, 10, 1.0),)
    assert close_interval(closed, 50.0) == closed
    assert close_interval((), 50.0) == ()
    assert open_interval(closed, 7.0, 1.0)[-1].start == 10
    assert list(charge_lines(JOB, closed, 50.0)) == []


@pytest.mark.parametrize(
    ("told", "end"),
    [
        pytest.param(None, 100.0, id="nobody tells: the last renewal of the old lease"),
        pytest.param(130.0, 130.0, id="its payer tells"),
        pytest.param(1e9, 200.0, id="a wrong clock tells a time to come"),
        pytest.param(10.0, 50.0, id="a wrong clock tells a time before it began"),
    ],
)
def test_what_nobody_saw_is_uncertain_and_not_charged(told: float | None, end: float) -> None:
    ended = unwatched_end(last_renewal=100.0, now=200.0, told_finish=told)
    intervals = close_interval(open_interval((), 50.0, 1.0), ended, is_uncertain=True)
    assert intervals == (RunInterval(50, end, 1.0, is_uncertain=True),)
    assert [line.is_uncertain for line in charge_lines(JOB, intervals, 300.0)] == [True] * (end > 50)


def test_what_was_lost_is_given_back_by_a_line_that_says_why() -> None:
    first = close_interval(open_interval((), 0.0, 1.0), 60.0)
    second = close_interval(change_rate(open_interval(first, 100.0, 1.0), 130.0, 2.0), 150.0)
    lost = refund_last_run(second, RefundCause.NODE_LOST)
    lines = list(charge_lines(JOB, lost, 1000.0))
    assert [(line.number, line.start, line.end, line.charge, line.kind, line.reason) for line in lines] == [
        (0, 0, 60, 60_000, LineKind.RUN, ""),
        (2, 100, 130, 30_000, LineKind.RUN, ""),
        (3, 100, 130, -30_000, LineKind.REFUND, "NodeLost"),
        (4, 130, 150, 40_000, LineKind.RUN, ""),
        (5, 130, 150, -40_000, LineKind.REFUND, "NodeLost"),
    ]
    assert total_charge(lost, 1000.0) == 60_000
    assert refund_last_run(lost, RefundCause.PREEMPTED) == lost  # the first cause stays
    assert refund_last_run((), RefundCause.OUR_ERROR) == ()


SPANS = st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e5), st.floats(0, 1e3)), max_size=6)


def played(spans: list[tuple[float, float, float]]) -> tuple[RunInterval, ...]:
    intervals: tuple[RunInterval, ...] = ()
    now = 0.0
    for gap, length, rate in spans:
        intervals = close_interval(open_interval(intervals, now + gap, rate), now + gap + length)
        now += gap + length
    return intervals


@given(spans=SPANS, looks=st.lists(st.floats(0, 1e6), max_size=5), refunded=st.booleans())
def test_lines_add_up_and_looks_change_nothing(
    spans: list[tuple[float, float, float]], looks: list[float], refunded: bool
) -> None:
    intervals = played(spans)
    if refunded:
        intervals = refund_last_run(intervals, RefundCause.PREEMPTED)
    end = 1e7
    for now in (*looks, end):
        lines = list(charge_lines(JOB, intervals, now))
        assert sum(line.charge for line in lines) == total_charge(intervals, now)
        assert len({line.number for line in lines}) == len(lines)
    final = {line.number: line for line in charge_lines(JOB, intervals, end)}
    assert final == {line.number: line for line in charge_lines(JOB, intervals, end + 1e6)}
    exact = math.fsum((each.end - each.start) * each.rate for each in intervals if not each.refund)
    assert total_charge(intervals, end) / 1000 == pytest.approx(exact, abs=0.0005 * len(intervals) + 1e-9 * exact)


@given(length=st.floats(0, 1e6), rate=st.floats(0, 1e4), cuts=st.lists(st.floats(-1e5, 2e6), max_size=6))
def test_parts_of_an_interval_add_up_to_the_whole(length: float, rate: float, cuts: list[float]) -> None:
    interval = RunInterval(0.0, length, rate)
    times = [-math.inf, *sorted(cuts), math.inf]
    parts = [charge_between(interval, since, until) for since, until in itertools.pairwise(times)]
    assert sum(parts) == total_charge([interval], math.inf)
    assert min(parts) >= 0
