"""Two logs of some five thousand jobs each, start by start as independent simulators have them.

The logs are not part of this project. They are read where they lie, beside the checkout; where they do not, a small
pool says what the loop does, and the rest is skipped.
"""

from pathlib import Path
from typing import Literal

import pytest

from fairway.plan import Discipline
from tests.plan.pool_log import LoggedJob, play, read_log, read_starts

LOGS = Path(__file__).parents[3] / "shared" / "batch"
PROCESSORS = {"sdsc-sp2-5k": 128, "lublin-256-5k": 256}
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason="the logs (shared/batch) are not beside this checkout")
Ties = Literal["ends-first", "each"]


def test_a_small_pool() -> None:
    jobs = [
        LoggedJob("long", 0, 10, 2, 20),  # ends earlier than it said
        LoggedJob("wide", 1, 5, 4, 5),
        LoggedJob("fits", 2, 18, 2, 18),  # ends as the wide one may start
        LoggedJob("late", 3, 5, 2, 19),
    ]
    starts = {discipline: play(jobs, 4, discipline, "ends-first") for discipline in Discipline}
    assert starts[Discipline.FIFO] == {"long": 0, "wide": 10, "fits": 15, "late": 15}
    assert starts[Discipline.WALK] == {"long": 0, "fits": 2, "late": 10, "wide": 20}
    assert starts[Discipline.EASY] == {"long": 0, "fits": 2, "wide": 20, "late": 25}
    assert starts[Discipline.CONSERVATIVE] == {"long": 0, "fits": 2, "wide": 20, "late": 25}


@needs_logs
@pytest.mark.slow
@pytest.mark.parametrize(
    ("log", "policy", "discipline", "ties"),
    [
        ("sdsc-sp2-5k", "fcfs", Discipline.FIFO, "ends-first"),
        ("lublin-256-5k", "fcfs", Discipline.FIFO, "ends-first"),
        ("sdsc-sp2-5k", "easy", Discipline.EASY, "each"),
        ("lublin-256-5k", "easy", Discipline.EASY, "ends-first"),
        ("sdsc-sp2-5k", "conservative", Discipline.CONSERVATIVE, "each"),
        ("lublin-256-5k", "conservative", Discipline.CONSERVATIVE, "ends-first"),
    ],
)
def test_every_start_of_a_log_is_as_expected(log: str, policy: str, discipline: Discipline, ties: Ties) -> None:
    expected = read_starts(LOGS / "swf-expected" / f"{log}.{policy}.starts.gz")
    starts = play(read_log(LOGS / "swf" / f"{log}.swf.gz"), PROCESSORS[log], discipline, ties)
    assert starts == expected
