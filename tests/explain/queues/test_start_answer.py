"""What the plan of a run says of a job that nobody submitted is what happens when somebody does."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from fairway.explain.queues.past_plan import past_plan
from fairway.explain.queues.start_answer import StartAnswer, asked_of_pods, pod_of_size, start_answer
from fairway.record import Run
from tests.explain.queues.queue_runs import ExactJob, exact_run

LATER = 1000  # when it is asked; all have come by then


def ask(path: str, at: float, processors: int, limit: float) -> StartAnswer:
    with Run.open(path) as run:
        plan = past_plan(run, at)
        pod = pod_of_size(next(iter(plan.trial.profiles)), str(processors), None, 0, None)
        return start_answer(run, plan, asked_of_pods(plan, "it", [pod], None, limit))


jobs = st.builds(ExactJob, st.integers(0, LATER - 1), st.integers(1, 16), st.integers(60, 3000))


@given(
    known=st.lists(jobs, min_size=1, max_size=12),
    asked=st.builds(ExactJob, st.just(LATER), st.integers(1, 16), st.integers(60, 3000)),
    discipline=st.sampled_from(("fifo", "easy", "conservative", "walk")),
)
@settings(max_examples=6, deadline=None, phases=(Phase.explicit, Phase.generate))  # two simulations each
def test_a_job_starts_when_the_plan_said(known: list[ExactJob], asked: ExactJob, discipline: str) -> None:
    """All limits are run times, and nobody comes later: then nothing is left to guess."""
    known = [ExactJob(0, 1, 60), *sorted(known)]  # a log begins with its first job
    with TemporaryDirectory() as name:
        folder = Path(name)
        asked_run = exact_run(folder, discipline, known, "asked")
        with Run.open(asked_run) as run:
            assume(run.end_seconds >= LATER)
        answer = ask(asked_run, LATER, asked.processors, asked.run)
        with Run.open(exact_run(folder, discipline, [*known, asked], "submitted")) as run:
            start = list(run.pods.rows())[-1]["bound_seconds"]
    if answer.nodes:
        assert start == LATER
    else:
        assert answer.dates is not None
        assert start == pytest.approx(answer.dates.likely, rel=0.011, abs=1.0)  # ends that are close share a pass


def test_a_job_that_no_node_could_hold_is_refused(tmp_path: Path) -> None:
    path = exact_run(tmp_path, "easy", [ExactJob(0, 16, 3000)])
    answer = ask(path, 100, 17, 60)
    assert not answer.has_date
    assert answer.refusal.startswith("NeverFits")


def test_what_would_be_earlier_is_tried(tmp_path: Path) -> None:
    """Eight of sixteen are free until the wide job starts at 1000: half the limit ends before."""
    path = exact_run(tmp_path, "easy", [ExactJob(0, 8, 1000), ExactJob(10, 16, 3000)])
    answer = ask(path, 100, 8, 1200)
    assert answer.dates is not None
    assert answer.dates.likely == pytest.approx(4000, abs=1)
    assert ("with a limit of 10m", "now") in answer.changes
    assert ask(path, 100, 8, 600).nodes
