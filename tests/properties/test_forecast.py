"""Forecasts of any past and any queue are what slow programs say that tell the same rules again."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.plan import (
    Basis,
    Calendar,
    Calibration,
    DateJudgement,
    Discipline,
    Effort,
    EstimateBook,
    FreeTimeline,
    MemberClass,
    Present,
    QueueRule,
    RunHistory,
    SmallestRest,
    StartEstimate,
    WaitingJob,
    Way,
    forecast,
    member_need,
    play_forward,
    run_pass,
    seconds_left,
)
from fairway.plan.recent_values import RecentValues
from tests.plan.naive_forecast import Ended, Pool, PoolJob, covering, interpolated, prediction
from tests.plan.naive_plan import told

CPUS = 4
EXACT = Effort(resolution=0.0)
NUMBERS = st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float)
LIMITS = st.integers(1, 30).map(float) | st.just(math.inf)
RULES = {
    "fifo": QueueRule(Discipline.FIFO),
    "walk": QueueRule(Discipline.WALK),
    "easy": QueueRule(Discipline.EASY),
    "easy-2": QueueRule(Discipline.EASY, depth=2),
    "conservative": QueueRule(Discipline.CONSERVATIVE),
}


@given(values=st.lists(NUMBERS, min_size=1, max_size=30), size=st.integers(1, 12), share=st.floats(0.0, 1.0))
def test_quantiles_are_those_of_the_last_values_sorted(values: list[float], size: int, share: float) -> None:
    recent = RecentValues(size)
    for value in values:
        recent.add(value)
    last = values[-size:]
    assert len(recent) == len(last)
    assert recent.quantile(share) == pytest.approx(interpolated(last, share), rel=1e-9, abs=1e-6)
    assert recent.bound(max(share, 0.01)) == covering(last, max(share, 0.01))


ENDED = st.builds(Ended, st.sampled_from("ab"), st.sampled_from(["x", "y"]), LIMITS, st.floats(0.0, 40.0))


@given(ended=st.lists(ENDED, max_size=130), limit=LIMITS, expected=st.none() | st.floats(-1.0, 50.0))
def test_run_times_are_predicted_from_those_most_like_them(
    ended: list[Ended], limit: float, expected: float | None
) -> None:
    history = RunHistory()
    for one in ended:
        history.add(*one)
    for user, queue in (("a", "x"), ("b", "y"), ("c", "x"), ("a", "z")):
        found = history.predict(user, queue, limit, expected)
        assert found == pytest.approx(prediction(ended, user, queue, limit, expected))
        assert 0 < found <= limit


@given(elapsed=st.floats(0.0, 100.0), predicted=st.floats(1.0, 100.0), limit=st.floats(1.0, 100.0) | st.just(math.inf))
def test_who_runs_has_some_time_left_and_not_more_than_the_limit(
    elapsed: float, predicted: float, limit: float
) -> None:
    left = seconds_left(elapsed, min(predicted, limit), limit)
    assert left > 0
    assert elapsed >= limit or elapsed + left <= limit + 1e-9


ROOM = st.tuples(st.integers(0, 2), st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 9), st.integers(1, 9))


@given(rooms=st.lists(ROOM, max_size=12), origin=st.sampled_from([0.0, 4.0]), is_endless=st.booleans())
def test_many_gives_at_once_are_the_same_as_one_after_the_other(
    rooms: list[tuple[int, int, int, int, int]], origin: float, is_endless: bool
) -> None:
    slow, fast = (FreeTimeline(np.array([[3, 1], [0, 0], [2, 5]], np.int64), 0.0) for _ in range(2))
    for timeline in (slow, fast):
        timeline.take(np.array([0, 2]), [1, 1], 2.0, 6.0)
        timeline.forget_before(origin)
    end = math.inf if is_endless else 0.0
    gives = [(row, (first, second), float(start), start + length + end) for row, first, second, start, length in rooms]
    for row, amounts, start, until in gives:
        slow.give(np.array([row]), amounts, start, until)
    fast.give_each(
        np.array([give[0] for give in gives], np.intp),
        np.array([give[1] for give in gives], np.int64).reshape(-1, 2),
        np.array([give[2] for give in gives], np.float64),
        np.array([give[3] for give in gives], np.float64),
    )
    assert told(fast) == told(slow)
    assert fast.first.tolist() == slow.first.tolist()
    fast.take(np.array([1]), [1, 0], 5.0, 7.0)  # and it can be used on
    slow.take(np.array([1]), [1, 0], 5.0, 7.0)
    assert told(fast) == told(slow)


JOB = st.tuples(st.integers(1, CPUS), LIMITS, st.sampled_from([1.0, 1.0, 0.7, 0.3, 0.05]))


def pool_job(key: str, cpus: int, limit: float, part: float) -> PoolJob:
    return PoolJob(key, cpus, limit, limit if limit == math.inf and part > 0.5 else min(limit, 40.0) * part)


def situation(running: list[PoolJob], waiting: list[PoolJob], rule: QueueRule) -> Present:
    calendar = Calendar(np.array([[CPUS]]), 0.0, SmallestRest(np.array([1.0, 0.0]), np.arange(1)))
    for one in running:
        calendar.occupy(one.key, np.array([0]), member_need([one.cpus]), one.limit)
    jobs = [WaitingJob(one.key, (MemberClass(member_need([one.cpus])),), one.limit) for one in waiting]
    runs = {one.key: one.run for one in waiting}
    return Present(calendar, jobs, {"": rule}, runs, {one.key: one.run for one in running})


def drawn(
    running: list[tuple[int, float, float]], waiting: list[tuple[int, float, float]]
) -> tuple[list[PoolJob], list[PoolJob]]:
    there: list[PoolJob] = []
    for index, one in enumerate(running):
        if sum(job.cpus for job in there) + one[0] <= CPUS:
            there.append(pool_job(f"there-{index}", *one))
    return there, [pool_job(f"job-{index}", *one) for index, one in enumerate(waiting)]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=100)
@given(running=st.lists(JOB, max_size=4), waiting=st.lists(JOB, min_size=1, max_size=9))
def test_the_play_is_that_of_a_pool_played_with_lists(
    rule: QueueRule, running: list[tuple[int, float, float]], waiting: list[tuple[int, float, float]]
) -> None:
    there, wait = drawn(running, waiting)
    present = situation(there, wait, rule)
    before = told(present.calendar.timeline)
    outlook = play_forward(present, effort=EXACT)
    assert {key: slot.start for key, slot in outlook.slots.items()} == Pool(CPUS, there, rule).play(wait)
    assert told(present.calendar.timeline) == before
    last = wait[-1].key
    asked = play_forward(present, [last], EXACT).slots
    assert (asked[last].start if last in asked else None) == (
        outlook.slots[last].start if last in outlook.slots else None
    )


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=60)
@given(running=st.lists(JOB, max_size=4), waiting=st.lists(JOB, min_size=1, max_size=9))
def test_without_time_to_play_the_rest_is_planned_in_order(
    rule: QueueRule, running: list[tuple[int, float, float]], waiting: list[tuple[int, float, float]]
) -> None:
    there, wait = drawn(running, waiting)
    outlook = play_forward(situation(there, wait, rule), effort=Effort(0.0, work=0))
    assert {key: slot.start for key, slot in outlook.slots.items()} == Pool(CPUS, there, rule).plan_rest(wait)


def judged_as(likely: float, more: float, start: float) -> DateJudgement:
    basis = Basis(Way.PLAYED, 0, None)
    return DateJudgement(StartEstimate(0.0, likely, likely + more, more, False, basis, 0, 0, 0), start)


JUDGED = st.builds(judged_as, st.floats(0.0, 1e4), st.floats(0.0, 1e4), st.floats(0.0, 2e4))


def calibrated(judgements: list[DateJudgement]) -> Calibration:
    calibration = Calibration()
    for judgement in judgements:
        calibration.add(judgement)
    return calibration


@given(judged=st.lists(JUDGED, max_size=40), repeat=st.sampled_from([1, 12]), lead=st.floats(0.0, 1e4))
def test_a_safe_date_is_later_by_as_much_as_jobs_were_late(
    judged: list[DateJudgement], repeat: int, lead: float
) -> None:
    judged = judged * repeat
    by_limits = 3000.0
    safe = calibrated(judged).safe_date(0.0, lead, by_limits)
    counted = [one for one in judged if one.start >= 60 or one.estimate.likely >= 60][-300:]
    if len(counted) < 20:
        assert safe == max(lead, by_limits)
        return
    late = [(one.start - one.estimate.likely) / (one.estimate.likely + 600) for one in counted]
    expected = lead + covering(late, 0.97) * (lead + 600)
    if sum(one.start <= one.estimate.by_limits for one in counted) >= 0.97 * len(counted):
        expected = min(expected, by_limits)
    assert safe == pytest.approx(max(lead, expected))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=60)
@given(
    running=st.lists(JOB, max_size=4),
    waiting=st.lists(JOB, min_size=1, max_size=9),
    judged=st.lists(JUDGED, min_size=15, max_size=30),
)
def test_dates_are_in_order_and_never_in_the_past(
    rule: QueueRule,
    running: list[tuple[int, float, float]],
    waiting: list[tuple[int, float, float]],
    judged: list[DateJudgement],
) -> None:
    there, wait = drawn(running, waiting)
    present = situation(there, wait, rule)
    started = {job.key for job, _ in run_pass(present.calendar, present.jobs, 0.0, present.rules).started}
    left = [job for job in present.jobs if job.key not in started]
    ends = {**present.ends, **{key: present.runs[key] for key in started}}
    book = EstimateBook()
    for index, judgement in enumerate(judged):
        book.give(f"old-{index}", judgement.estimate)
        book.started(f"old-{index}", "", judgement.start)
    estimates = forecast(Present(present.calendar, left, present.rules, present.runs, ends), book)
    assert list(estimates) == [job.key for job in left]
    for index, (key, estimate) in enumerate(estimates.items()):
        assert 0.0 == estimate.as_of <= estimate.likely <= estimate.safe
        assert estimate.by_limits >= 0.0
        assert estimate.ahead_jobs == index
        assert estimate.is_promised == (key in present.calendar.promises)
        if estimate.is_promised:
            assert estimate.safe <= estimate.by_limits == present.calendar.promises[key].slot.start
