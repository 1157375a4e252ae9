"""A job's states up to a moment, and what follows from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.batch.reasons import JobState, Reason
from fairway.explain.queues.job_story import JobStory, StateChange

QUEUED, STARTING, RUNNING = JobState.QUEUED, JobState.STARTING, JobState.RUNNING
ENDING, FINISHED = JobState.ENDING, JobState.FINISHED


def story(at: float, *changes: tuple[float, JobState, str]) -> JobStory:
    return JobStory(at, [StateChange(*change) for change in changes])


def test_what_it_ran_counts_while_it_is_told_to_end() -> None:
    found = story(50, (0, QUEUED, ""), (10, STARTING, ""), (12, RUNNING, ""), (40, ENDING, "TimedOut"))
    assert found.runs == [(12, 50)]
    assert found.consumed == 38
    assert found.began == 12


def test_a_requeue_is_counted_and_a_failed_start_is_none() -> None:
    changes = [(0, QUEUED, ""), (1, STARTING, ""), (2, QUEUED, "Placement"), (3, RUNNING, ""), (9, QUEUED, "Resources")]
    found = story(20, *((float(time), state, reason) for time, state, reason in changes))
    assert found.num_requeues == 1
    assert found.runs == [(3, 9)]
    assert found.waits_since == 9


@pytest.mark.parametrize(
    ("reasons", "since"),
    [
        pytest.param(["Planning", "Priority"], 0.0, id="from the start"),
        pytest.param(["BeginTime", "Priority"], 1.0, id="from when it could begin"),
        pytest.param(["Priority", "Held"], None, id="not while it is held"),
        pytest.param(["Priority", "Held", "Resources"], 2.0, id="anew after it was held"),
    ],
)
def test_age_counts_from_when_nothing_but_its_turn_kept_it(reasons: list[str], since: float | None) -> None:
    found = story(10, *((float(time), QUEUED, reason) for time, reason in enumerate(reasons)))
    assert found.eligible_since == since


steps = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([QUEUED, STARTING, RUNNING, ENDING]), st.sampled_from(list(Reason))),
    min_size=1,
    max_size=12,
)


@given(steps=steps, rest=st.integers(0, 5))
def test_runs_are_the_seconds_in_which_it_ran(steps: list[tuple[int, JobState, Reason]], rest: int) -> None:
    """Second by second: it runs from Running on, for as long as it is Running or Ending."""
    time, changes = 0, []
    for wait, state, reason in steps:
        time += wait
        changes.append(StateChange(float(time), state, reason))
    at = time + rest
    seconds, runs = 0, False
    for second in range(at):
        for state in (change.state for change in changes if change.time == second):
            runs = state is RUNNING or (runs and state is ENDING)
        seconds += runs
    assert JobStory(float(at), changes).consumed == seconds
