"""Dates that were given, judged when jobs start."""

import math

import pytest

from fairway.plan import Basis, EstimateBook, EstimateSummary, StartEstimate, Way

BASIS = Basis(Way.PLAYED, 0, None)


def estimate(
    likely: float, safe: float, by_limits: float, as_of: float = 0.0, *, promised: bool = False
) -> StartEstimate:
    return StartEstimate(as_of, likely, safe, by_limits, promised, BASIS, 0, 0, 0)


def test_every_date_is_judged_and_the_first_one_counts() -> None:
    book = EstimateBook()
    book.give("job", estimate(100.0, 200.0, 300.0))
    book.give("job", estimate(150.0, 160.0, 300.0, as_of=60.0))
    assert [one.likely for one in book.given("job")] == [100.0, 150.0]
    judgements = book.started("job", "batch", 180.0)
    assert [one.error for one in judgements] == [80.0, 30.0]
    assert [one.is_safe_held for one in judgements] == [True, False]
    assert book.summary() == EstimateSummary(1, 80.0, 80.0, 1.0, 20.0, 1.0, 120.0, 0, None)
    assert len(book.calibration("batch")) == 1
    assert len(book.calibration("inter")) == 0
    assert book.given("job") == []
    assert book.started("job", "batch", 500.0) == []


def test_who_goes_without_starting_says_nothing() -> None:
    book = EstimateBook()
    book.give("job", estimate(100.0, 200.0, 300.0))
    book.forget("job")
    book.forget("job")
    assert book.started("job", "batch", 180.0) == []
    assert book.summary("batch").num_jobs == 0


def test_who_starts_at_once_as_was_said_teaches_nothing() -> None:
    book = EstimateBook()
    book.give("at-once", estimate(0.0, 0.0, 0.0))
    book.started("at-once", "batch", 1.0)
    assert len(book.calibration("batch")) == 0
    book.give("surprised", estimate(0.0, 0.0, 0.0))
    book.started("surprised", "batch", 61.0)
    assert len(book.calibration("batch")) == 1


def test_an_infinite_date_counts_as_held_and_has_no_error() -> None:
    book = EstimateBook()
    book.give("job", estimate(math.inf, math.inf, math.inf))
    book.started("job", "batch", 180.0)
    summary = book.summary("batch")
    assert (summary.num_jobs, summary.median_error, summary.safe_held) == (1, None, 1.0)
    assert book.calibration("batch").safe_date(0.0, 10.0, 99.0) == 99.0


@pytest.mark.parametrize(("start", "kept"), [(300.0, 1.0), (360.0, 1.0), (361.0, 0.0)])
def test_a_promise_is_kept_within_a_minute(start: float, kept: float) -> None:
    book = EstimateBook()
    book.give("job", estimate(100.0, 200.0, 900.0))
    book.give("job", estimate(100.0, 200.0, 300.0, promised=True))
    book.started("job", "batch", start)
    summary = book.summary()
    assert (summary.num_promised, summary.promises_kept) == (1, kept)


def test_dates_by_limits_are_believed_while_they_hold() -> None:
    book = EstimateBook()
    for index in range(100):
        book.give(f"old-{index}", estimate(400.0, 400.0, 5000.0))
        book.started(f"old-{index}", "batch", 1400.0)
    calibration = book.calibration("batch")
    assert calibration.safe_date(0.0, 400.0, 900.0) == 900.0
    assert calibration.safe_date(0.0, 400.0, 5000.0) == 1400.0
    assert calibration.safe_date(0.0, 400.0, 100.0) == 400.0  # never before the likely one
    for index in range(4):
        book.give(f"new-{index}", estimate(400.0, 400.0, 1000.0))
        book.started(f"new-{index}", "batch", 1400.0)
    assert calibration.safe_date(0.0, 400.0, 900.0) == 1400.0
    assert calibration.safe_held == 0.0


def test_the_last_three_hundred_count() -> None:
    book = EstimateBook()
    for index in range(300):
        book.give(f"late-{index}", estimate(400.0, 400.0, 0.0))
        book.started(f"late-{index}", "batch", 1400.0)
    for index in range(300):
        book.give(f"exact-{index}", estimate(400.0, 400.0, 0.0))
        book.started(f"exact-{index}", "batch", 400.0)
    assert book.calibration("batch").safe_date(0.0, 400.0, 900.0) == 400.0
    assert book.summary("batch").num_jobs == 300
