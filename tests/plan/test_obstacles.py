"""Who is told of a window or of a lost node: who would start without it, and nobody else."""

from collections.abc import Collection

import numpy as np
import pytest

from fairway.plan import Calendar, Obstacles, WaitingJob, run_pass
from tests.plan.situations import RULES, job, machine, occupied

CAUSES = {"Maintenance": ["window"], "NodesUnavailable": ["down"], "Reserved": []}


def closed(*, empty: bool) -> Calendar:
    """Three nodes: one in use, one with a window from 20 on, one that is down."""
    calendar = machine(num_nodes=3)
    if not empty:
        occupied(calendar, "there", 4, 30.0, row=0)
    calendar.close("window", np.array([1]), 20.0, 40.0)
    calendar.close("down", np.array([2]), 0.0, np.inf)
    return calendar


@pytest.mark.parametrize(
    ("jobs", "causes"),
    [
        ([job("long", 4, 25)], ["Maintenance"]),  # it would start beside the window's node being free
        ([job("first", 4, 25), job("second", 4, 25)], ["Maintenance", None]),  # there is one such node only
        ([job("short", 4, 10), job("next", 4, 10)], [None, "NodesUnavailable"]),  # the first one starts
        ([job("wide", 4, 10, members=3)], ["NodesUnavailable"]),  # two nodes are too few, be they empty
        ([job("wide", 4, 25, members=3)], ["Maintenance"]),  # both are in its way: the first is told
        ([job("huge", 4, 10, members=4)], [None]),
    ],
)
def test_the_first_cause_that_stops_a_job_is_told(jobs: list[WaitingJob], causes: list[str | None]) -> None:
    def starts_now(calendar: Calendar) -> Collection[str]:
        return {promise.job.key for promise in run_pass(calendar, jobs, 0.0, RULES["easy"]).started}

    obstacles = Obstacles(closed(empty=False), closed(empty=True), CAUSES, starts_now)
    started = starts_now(closed(empty=False))
    assert [None if one.key in started else obstacles.cause(one) for one in jobs] == causes
