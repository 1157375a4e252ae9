"""Dates of two logs and of made-up ones hold as often as they should.

The logs are not part of this project. They are read where they lie, beside the checkout; where they do not, a small
pool says what the loop does, and the made-up logs are left.
"""

import math
from pathlib import Path

import pytest

from fairway.plan import DateJudgement, Discipline, Way
from fairway.plan.calibration import summarise
from tests.plan.estimated_log import made_up_log, play_estimated, waited
from tests.plan.pool_log import LoggedJob, play, read_log

LOGS = Path(__file__).parents[3] / "shared" / "batch"
MINUTE = 60.0
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="the logs (shared/batch) are not beside this checkout")


def test_a_small_pool() -> None:
    jobs = [
        LoggedJob("long", 0, 10, 2, 20),  # ends earlier than it said
        LoggedJob("wide", 1, 5, 4, 5),
        LoggedJob("fits", 2, 18, 2, 18),
        LoggedJob("late", 3, 5, 2, 19),
    ]
    log = play_estimated(jobs, 4, Discipline.EASY, "ends-first")
    assert {key: one.start for key, one in log.judgements.items()} == {"wide": 20.0, "late": 25.0}
    assert {key: one.estimate.likely for key, one in log.judgements.items()} == {"wide": 20.0, "late": 25.0}
    assert log.judgements["wide"].estimate.is_promised
    assert log.promises_kept == [True, True]


def test_dates_leave_a_log_as_it_is() -> None:
    jobs = made_up_log(7, num_jobs=120)
    starts = play(jobs, 128, Discipline.EASY, "ends-first")
    judgements = play_estimated(jobs, 128, Discipline.EASY, "ends-first").judgements
    assert {key: one.start for key, one in judgements.items()} == {key: starts[key] for key in judgements}
    assert judgements.keys() == {job.key for job in jobs if starts[job.key] > job.submitted}
    check_order(list(judgements.values()))


def check_order(judgements: list[DateJudgement]) -> None:
    for estimate, _ in judgements:
        assert estimate.as_of <= estimate.likely <= estimate.safe < math.inf
        assert estimate.basis.way is Way.PLAYED
        assert not estimate.is_promised or estimate.safe <= estimate.by_limits


@needs_logs
@pytest.mark.slow
def test_dates_of_a_real_log_hold() -> None:
    jobs = read_log(LOGS / "swf" / "sdsc-sp2-5k.swf.gz")
    log = play_estimated(jobs, 128, Discipline.EASY, "each")
    judgements = waited(log, jobs)
    check_order(judgements)
    summary = summarise(judgements, log.promises_kept)
    assert summary.num_jobs == 1435
    assert summary.safe_held is not None
    assert summary.safe_held >= 0.95
    assert (summary.safe_slack or math.inf) <= (summary.by_limits_slack or 0.0)
    assert abs(summary.median_error or math.inf) <= 10 * MINUTE
    assert (summary.median_absolute_error or math.inf) <= 65 * MINUTE
    assert summary.promises_kept == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))  # benchmarks/estimates.py has five
def test_dates_of_made_up_logs_hold(seed: int) -> None:
    jobs = made_up_log(seed)
    log = play_estimated(jobs, 128, Discipline.EASY, "ends-first", every=3)
    judgements = waited(log, jobs)
    check_order(judgements)
    summary = summarise(judgements, log.promises_kept)
    assert summary.num_jobs >= 200
    assert (summary.median_absolute_error or math.inf) <= 20 * MINUTE
    assert summary.promises_kept == 1.0
