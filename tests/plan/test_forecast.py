"""Three dates for every job, by hand."""

import math

from fairway.plan import Amounts, Basis, EstimateBook, Present, StartEstimate, Way, forecast, has_moved, run_pass
from tests.plan.situations import RULES, job, machine, occupied

BASIS = Basis(Way.PLAYED, 0, None)


def estimate(likely: float, safe: float, by_limits: float, as_of: float = 0.0) -> StartEstimate:
    return StartEstimate(as_of, likely, safe, by_limits, False, BASIS, 0, 0, 0)


def experienced(lateness: float, number: int = 100) -> EstimateBook:
    """Jobs were to start in 400 seconds, by limits at once, and started later by this part of 1,000 seconds."""
    book = EstimateBook()
    for index in range(number):
        book.give(f"old-{index}", estimate(400.0, 400.0, 0.0))
        book.started(f"old-{index}", "", 400.0 + 1000.0 * lateness)
    return book


def waiting() -> Present:
    calendar = machine()
    occupied(calendar, "there", 4, 1000.0)
    jobs = [job("first", 4, 1000), job("second", 2, 1000)]
    run_pass(calendar, jobs, 0.0, RULES["easy"])
    return Present(calendar, jobs, RULES["easy"], {"first": 200.0, "second": 100.0}, {"there": 400.0})


def test_without_experience_safe_is_by_limits() -> None:
    found = forecast(waiting(), EstimateBook(), amounts=Amounts(cpu=0))
    assert found == {
        "first": StartEstimate(0.0, 400.0, 1000.0, 1000.0, True, Basis(Way.PLAYED, 0, None), 0, 0, 0, (0,)),
        "second": StartEstimate(0.0, 600.0, 2000.0, 2000.0, False, Basis(Way.PLAYED, 0, None), 1, 4, 0, (0,)),
    }


def test_experience_makes_a_date_safe_and_a_promise_bounds_it() -> None:
    found = forecast(waiting(), experienced(0.5))
    assert (found["first"].likely, found["first"].safe) == (400.0, 900.0)
    assert (found["second"].likely, found["second"].safe) == (600.0, 1200.0)
    assert found["second"].basis == Basis(Way.PLAYED, 100, 0.0)
    found = forecast(waiting(), experienced(2.0))
    assert found["first"].safe == found["first"].by_limits == 1000.0
    assert found["second"].safe == 600.0 + 2.0 * 1200.0  # later than by limits, which did not hold either


def test_jobs_that_start_early_do_not_make_safe_earlier_than_likely() -> None:
    found = forecast(waiting(), experienced(-0.3))
    assert (found["second"].likely, found["second"].safe) == (600.0, 600.0)


def test_others_than_those_with_a_booking_may_be_promised() -> None:
    found = forecast(waiting(), experienced(2.0), promised={"second": True})
    assert found["second"].is_promised
    assert found["second"].safe == found["second"].by_limits == 2000.0


def test_jobs_behind_too_many_others_are_told_so() -> None:
    found = forecast(waiting(), EstimateBook(), max_jobs=1)["second"]
    assert (found.likely, found.safe, found.by_limits) == (math.inf, math.inf, math.inf)
    assert (found.basis.way, found.ahead_jobs, found.is_promised) == (Way.NONE, 1, False)


def test_a_job_that_nobody_can_date_has_none() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, math.inf)
    present = Present(calendar, [job("one", 1, 5)], RULES["easy"], {"one": 5.0}, {})
    found = forecast(present, EstimateBook())["one"]
    assert (found.likely, found.safe, found.by_limits, found.basis.way) == (math.inf, math.inf, math.inf, Way.LIMITS)
    # With a prediction there is a likely date, though no bound.
    present = Present(calendar, present.jobs, RULES["easy"], present.runs, {"there": 9.0})
    found = forecast(present, experienced(0.0))["one"]
    assert found.likely <= found.safe < found.by_limits == math.inf


def test_only_those_are_estimated_that_are_asked_for() -> None:
    assert list(forecast(waiting(), EstimateBook(), wanted=["second"])) == ["second"]


def test_a_date_is_told_again_when_it_moved() -> None:
    before = estimate(1000.0, 2000.0, 3000.0)
    assert not has_moved(before, estimate(1000.0, 2000.0, 3000.0, as_of=500.0))
    assert not has_moved(before, estimate(1090.0, 2000.0, 3000.0))
    assert has_moved(before, estimate(1110.0, 2000.0, 3000.0))
    assert not has_moved(before, estimate(1000.0, 1810.0, 3000.0))
    assert has_moved(before, estimate(1000.0, 1790.0, 3000.0))
    assert has_moved(before, estimate(1000.0, 2000.0, math.inf))
    assert not has_moved(estimate(math.inf, math.inf, math.inf), estimate(math.inf, math.inf, math.inf))
    assert not has_moved(estimate(10.0, 20.0, 30.0), estimate(65.0, 75.0, 85.0))  # less than a minute
    promised = StartEstimate(0.0, 1000.0, 2000.0, 3000.0, True, BASIS, 0, 0, 0)
    assert has_moved(before, promised)
