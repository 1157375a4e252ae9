"""Predictions of run times, by hand."""

import math

import pytest

from fairway.plan import RunHistory, seconds_left


def test_nothing_known_is_the_limit() -> None:
    history = RunHistory()
    assert history.predict("ada", "batch", 3600.0) == 3600.0
    assert history.predict("ada", "batch", math.inf) == math.inf


def test_a_user_who_asks_for_twice_too_much_does_so_again() -> None:
    history = RunHistory()
    for limit in (100.0, 200.0, 400.0, 50.0, 10.0):
        history.add("ada", "batch", limit, limit / 2)
    assert history.predict("ada", "batch", 3600.0) == 1800.0
    assert history.predict("ada", "inter", 3600.0) == 1800.0  # of all jobs, for there are no others
    for _ in range(5):
        history.add("bob", "batch", 100.0, 100.0)
    assert history.predict("ada", "batch", 3600.0) == 1800.0
    assert history.predict("eve", "batch", 3600.0) == 3600.0  # of the queue: bob's are above the quantile


def test_what_was_long_ago_is_forgotten() -> None:
    history = RunHistory()
    for share in [1.0] * 50 + [0.25] * 50:
        history.add("ada", "batch", 100.0, 100.0 * share)
    assert history.predict("ada", "batch", 100.0) == 25.0


def test_what_its_user_expects_counts_up_to_the_limit() -> None:
    history = RunHistory()
    assert history.predict("ada", "batch", 3600.0, expected=60.0) == 60.0
    assert history.predict("ada", "batch", 3600.0, expected=7200.0) == 3600.0
    assert history.predict("ada", "batch", math.inf, expected=7200.0) == 7200.0
    assert history.predict("ada", "batch", 3600.0, expected=0.0) == 3600.0  # says nothing


def test_jobs_without_limit_are_compared_with_their_like() -> None:
    history = RunHistory()
    for used in (100.0, 200.0, 300.0, 400.0, 500.0):
        history.add("ada", "batch", math.inf, used)
    assert history.predict("ada", "batch", math.inf) == pytest.approx(360.0)
    assert history.predict("ada", "batch", 3600.0) == 3600.0  # they say nothing about limits


@pytest.mark.parametrize(
    ("limit", "used"),
    [(0.0, 1.0), (-5.0, 1.0), (math.nan, 1.0), (100.0, -1.0), (100.0, math.nan), (100.0, math.inf)],
)
def test_what_can_not_be_is_passed_over(limit: float, used: float) -> None:
    history = RunHistory()
    for _ in range(9):
        history.add("ada", "batch", limit, used)
    assert history.predict("ada", "batch", 60.0) == 60.0


def test_who_ran_over_the_limit_used_all_of_it() -> None:
    history = RunHistory()
    for _ in range(5):
        history.add("ada", "batch", 100.0, 130.0)
    assert history.predict("ada", "batch", 100.0) == 100.0


@pytest.mark.parametrize(
    ("elapsed", "prediction", "limit", "left"),
    [
        (0.0, 50.0, 100.0, 50.0),
        (40.0, 50.0, 100.0, 10.0),
        (60.0, 50.0, 100.0, 15.0),  # outlived its prediction: a quarter more
        (90.0, 50.0, 100.0, 10.0),  # but not more than the limit
        (100.0, 50.0, 100.0, 60.0),  # is being ended
        (800.0, 50.0, math.inf, 200.0),
        (800.0, math.inf, math.inf, math.inf),
    ],
)
def test_what_is_left(elapsed: float, prediction: float, limit: float, left: float) -> None:
    assert seconds_left(elapsed, prediction, limit) == left
