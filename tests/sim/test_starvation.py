"""Nobody starves: wide jobs under `easy` beside `walk`, and everybody's first date under `conservative`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairway.model.batch import QueueLimits
from fairway.model.duration import Duration
from fairway.plan import Discipline
from tests.batch.room import Room, job
from tests.plan.pool_log import LoggedJob, play

PROCESSORS = 128
LONG = QueueLimits(max=Duration(1e7), kill_grace=Duration(0))


def jobs_at(load: float, seed: int, count: int) -> list[LoggedJob]:
    """Jobs of all sizes, most of them small, some as wide as the machine; limits are 1 to 10 times what they need."""
    generator = np.random.default_rng(seed)
    sizes = np.floor(2 ** generator.uniform(0, math.log2(PROCESSORS), count)).clip(1, PROCESSORS)
    wide = generator.random(count) < 0.02
    sizes[wide] = np.floor(generator.uniform(PROCESSORS / 2, PROCESSORS + 1, wide.sum()))
    runs = np.ceil(generator.lognormal(math.log(600), 1.2, count)).clip(30, 12 * 3600)
    limits = np.ceil(runs * generator.uniform(1, 10, count))
    gaps = generator.exponential(1.0, count)
    times = np.floor(np.cumsum(gaps * (sizes * runs).sum() / PROCESSORS / load / gaps.sum()))
    columns = (times.tolist(), runs.tolist(), sizes.astype(int).tolist(), limits.tolist())
    return [LoggedJob(f"job-{number}", *values) for number, values in enumerate(zip(*columns, strict=True))]


@pytest.mark.parametrize("seed", [2])
def test_wide_jobs_wait_less_under_easy_than_under_walk(seed: int) -> None:
    # A plain event loop over the planner; that the engine starts the same jobs is tested in properties/test_queues.
    jobs = jobs_at(0.95, seed, 1500)
    longest = {}
    for discipline in (Discipline.EASY, Discipline.WALK):
        starts = play(jobs, PROCESSORS, discipline, "ends-first")
        longest[discipline] = max(starts[job.key] - job.submitted for job in jobs if 2 * job.processors >= PROCESSORS)
    assert longest[Discipline.EASY] <= 0.6 * longest[Discipline.WALK]


def test_under_conservative_nobody_starts_later_than_it_was_first_told() -> None:
    jobs = jobs_at(0.95, 3, 200)
    arrivals = [(each.submitted, job(each.key, each.processors, each.run, each.limit)) for each in jobs]
    queue = {"discipline": "conservative", "limits": LONG}
    room = Room(arrivals, (PROCESSORS,), queues={"q": queue}, horizon=math.inf)
    first: dict[str, float] = {}
    while room.simulation.timeline.step():
        for key, promise in room.desk.machine.calendar.promises.items():
            first.setdefault(key.partition("/")[2], promise.slot.start)
    assert len(room.starts) == len(jobs)
    assert len(first) > 50
    assert all(room.starts[name] <= date for name, date in first.items())
