"""What the plan of a run says of a job that nobody submitted is what happens when somebody does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from fairway.batch.reasons import Reason
from fairway.explain.queues.asked_jobs import asked_of_pods, pod_of_size
from fairway.explain.queues.past_plan import past_plan
from fairway.explain.queues.queue_jobs import queue_jobs
from fairway.explain.queues.run_moment import RunMoment
from fairway.explain.queues.start_answer import EarlierStart, StartAnswer, start_answer, told_answer
from fairway.explain.queues.window_table import window_table
from fairway.record import Run
from tests.explain.queues.queue_runs import ExactJob, exact_run, table_then, why_then

LATER = 1000  # when it is asked; all have come by then


def ask(path: str, at: float, processors: int, limit: float, queue: str | None = None) -> StartAnswer:
    with Run.open(path) as run:
        plan = past_plan(RunMoment(run, at))
        pod = pod_of_size(next(iter(plan.trial.profiles)), str(processors), None, 0, None)
        return start_answer(plan, asked_of_pods(plan, "it", [pod], queue, limit))


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


def test_fewer_members_are_no_help_where_nobody_has_a_date(tmp_path: Path) -> None:
    """Somebody is there for longer than the plan looks ahead."""
    path = exact_run(tmp_path, "easy", [ExactJob(0, 16, 3_000_000)])
    with Run.open(path) as run:
        plan = past_plan(RunMoment(run, 100))
        pod = pod_of_size(plan.profile, "4", None, 0, None)
        answer = start_answer(plan, asked_of_pods(plan, "it", [pod] * 4, None, 600.0))
    assert not answer.has_date
    assert answer.changes == ()
    assert answer.lines()[0].endswith("would start later than the plan looks ahead, behind 0 jobs")


def test_a_job_that_no_node_could_hold_is_refused(tmp_path: Path) -> None:
    path = exact_run(tmp_path, "easy", [ExactJob(0, 16, 3000)])
    answer = ask(path, 100, 17, 60)
    assert not answer.has_date
    assert answer.refusal == (
        "NeverFits: needs 17 of cpu on one node; the most that 1 node that it may be on has is 16: ask for at most 16"
    )
    assert ask(path, 100, 16, 60).has_date


def test_a_job_that_was_told_no_date_yet_has_that_of_the_plan(tmp_path: Path) -> None:
    """The third comes a second after dates were told to the second, and waits for it."""
    path = exact_run(tmp_path, "easy", [ExactJob(0, 16, 3000), ExactJob(99, 16, 60), ExactJob(100, 16, 60)])
    with Run.open(path) as run:
        moment = RunMoment(run, 110)
        told, new = (job for job in moment.jobs if job.waits)
        assert told.dates is not None
        assert new.dates is None
        answer = told_answer(moment, new, lambda: past_plan(moment))
    assert answer.dates is not None
    assert answer.dates.likely == pytest.approx(3060, abs=1)
    assert answer.lines()[0].endswith("by limits 00:51:00, behind 1 job")


def test_a_job_that_is_held_has_no_date(tmp_path: Path) -> None:
    held = "orders: [{at: 50s, hold: job-2}]"
    path = exact_run(tmp_path, "easy", [ExactJob(0, 16, 3000), ExactJob(10, 16, 60)], closed=held)
    with Run.open(path) as run:
        moment = RunMoment(run, 100)
        (job,) = (job for job in moment.jobs if job.waits)
        assert job.reason == Reason.HELD
        answer = told_answer(moment, replace(job, dates=None), lambda: past_plan(moment))
    assert not answer.has_date
    assert "has no date while it waits for Held" in answer.lines()[0]


ACCOUNTS = "accounts: {physics: {namespaces: ['*'], weights: {cpu: 1}, budget: {amount: 60000, period: ever}}}"


def test_a_job_that_its_account_can_not_pay_for_would_wait_for_that(tmp_path: Path) -> None:
    """Of 60,000 units 1,600 are used by then; the desk says the same of such a job when it comes."""
    path = exact_run(tmp_path, "easy", [ExactJob(0, 16, 3000), ExactJob(100, 16, 7200)], closed=ACCOUNTS)
    answer = ask(path, 100, 16, 7200)
    assert not answer.has_date
    assert answer.lines() == [
        "it (1 × 16 cpu, limit 2h, queue q) would have no date while it waits for AccountStopped: "
        "account physics has 58 400 left of its budget (1 600 of 60 000), this job may need 115 200, more than all of "
        "it",
        "  with a limit of 1h: likely 00:50:00",
    ]
    assert ask(path, 100, 16, 3600).has_date
    with Run.open(path) as run:
        moment = RunMoment(run, 110)
        (job,) = (job for job in moment.jobs if job.waits)
        told = told_answer(moment, job)
    assert (job.reason, told.has_date) == (Reason.ACCOUNT_STOPPED, False)
    assert "has no date while it waits for AccountStopped: account physics has" in told.lines()[0]


def test_a_job_that_nobody_may_pay_for_is_refused(tmp_path: Path) -> None:
    closed = ACCOUNTS.replace("'*'", "ours")
    path = exact_run(tmp_path, "easy", [ExactJob(0, 16, 3000)], closed=closed)
    with Run.open(path) as run:
        plan = past_plan(RunMoment(run, 100))
        pod = pod_of_size(plan.profile, "1", None, 0, None)
        said = {**pod.metadata.annotations, "fairway.dev/account": "physics"}
        pod = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=said))
        answer = start_answer(plan, asked_of_pods(plan, "it", [pod], None, 60.0))
    assert answer.refusal == "AccountNotAllowed: account physics is for namespaces ours, not for default"


def test_what_is_booked_for_a_lower_tier_does_not_stop_a_higher_one(tmp_path: Path) -> None:
    """Eight of sixteen are free until the wide job starts at 1000; the desk plans a higher tier before it."""
    closed = "  inter: {policy: interactive, limits: {max: 8h}}"  # one queue more
    path = exact_run(tmp_path, "easy", [ExactJob(0, 8, 1000), ExactJob(10, 16, 3000)], closed=closed)
    assert ask(path, 100, 8, 1200, "inter").nodes
    behind = ask(path, 100, 8, 1200, "q")
    assert behind.dates is not None
    assert behind.dates.likely == pytest.approx(4000, abs=1)
    later = ask(path, 100, 16, 1200, "inter")
    assert later.dates is not None
    assert (later.dates.by_limits, later.dates.is_promised) == (1000.0, True)


def test_a_queue_is_as_orders_had_made_it_by_then(tmp_path: Path) -> None:
    orders = [
        "{at: 200s, queue: q, state: Paused}",
        "{at: 400s, queue: q, deleted: true}",
        "{at: 600s, queue: q, deleted: false}",
        "{at: 650s, queue: q, change: {weights: {maxAge: 2d}, quota: {cpu: 16000m}}}",
        "{at: 700s, queue: q, change: {state: Open, limits: {default: 1m, max: 2m}}}",
    ]
    path = exact_run(tmp_path, "easy", [ExactJob(0, 8, 1000)], closed=f"orders: [{', '.join(orders)}]")
    with Run.open(path) as run:
        states = [table_then(run, at).queues[0].spec.state for at in (100.0, 200.0, 500.0, 650.0, 700.0)]
    assert states == ["Open", "Paused", "Closed", "Paused", "Open"]
    assert ask(path, 100, 8, 300).nodes
    assert not ask(path, 300, 8, 300).nodes
    assert ask(path, 500, 8, 300).refusal == "QueueClosed: the queue is Closed"
    assert ask(path, 800, 8, 300).refusal.startswith("LimitTooLong")
    assert ask(path, 800, 8, 60).nodes


def test_what_would_be_earlier_is_tried(tmp_path: Path) -> None:
    """Eight of sixteen are free until the wide job starts at 1000: half the limit ends before."""
    path = exact_run(tmp_path, "easy", [ExactJob(0, 8, 1000), ExactJob(10, 16, 3000)])
    answer = ask(path, 100, 8, 1200)
    assert answer.dates is not None
    assert answer.dates.likely == pytest.approx(4000, abs=1)
    assert EarlierStart("with a limit of 10m") in answer.changes
    assert ask(path, 100, 8, 600).nodes


WINDOW = "windows: [{start: 1000s, duration: 1000s, announce: 1h, drainLead: 1s, mode: %s}]"
RESERVATION = "reservations: [{start: 1000s, duration: 1000s, for: {users: [ada]}}]"


@pytest.mark.parametrize(
    ("closed", "limit", "user", "start"),
    [
        pytest.param(WINDOW % "avoid", 900.0, "", 100.0, id="it fits before the window"),
        pytest.param(WINDOW % "avoid", 901.0, "", 2000.0, id="it does not"),
        pytest.param(RESERVATION, 901.0, "bob", 2000.0, id="a reservation of somebody else"),
        pytest.param(RESERVATION, 901.0, "ada", 100.0, id="its own reservation"),
    ],
)
def test_windows_and_reservations_are_in_the_plan(
    tmp_path: Path, closed: str, limit: float, user: str, start: float
) -> None:
    path = exact_run(tmp_path, "easy", [ExactJob(0, 8, 900), ExactJob(50, 4, 300)], closed=closed)
    with Run.open(path) as run:
        plan = past_plan(RunMoment(run, 100.0))
        pod = pod_of_size(next(iter(plan.trial.profiles)), "4", None, 0, None)
        said = msgspec.structs.replace(pod.metadata, annotations={"fairway.dev/user": user} if user else {})
        asked = asked_of_pods(plan, "it", [msgspec.structs.replace(pod, metadata=said)], None, limit)
        answer = start_answer(plan, asked)
    if start == 100.0:
        assert answer.nodes
    else:
        assert answer.dates is not None
        assert answer.dates.likely == pytest.approx(start, abs=1)


def test_a_window_and_a_reservation_are_listed_with_their_nodes_and_whom_they_are_in_the_way_of(tmp_path: Path) -> None:
    closed = WINDOW % "kill" + "\n    " + RESERVATION.replace("1000s, duration", "3000s, duration")
    path = exact_run(tmp_path, "easy", [ExactJob(0, 8, 900), ExactJob(50, 4, 5000)], closed=closed)
    with Run.open(path) as run:
        seen = {at: window_table(RunMoment(run, at)).document() for at in (100.0, 1500.0, 2500.0)}
        why = why_then(run, 100.0, queue_jobs(run, 100.0)[-1].job)
    assert [each["windows"][0]["phase"] for each in seen.values()] == ["Announced", "Active", "Done"]
    assert [len(each["windows"][0]["nodes"]) for each in seen.values()] == [1, 1, 1]
    assert why.job.reason == Reason.MAINTENANCE
    assert seen[100.0]["windows"][0]["told"] == [why.job.job]
    assert why.slot is not None
    assert why.slot[0] == 4000.0, "behind the reservation"
    (kept,) = seen[100.0]["reservations"]
    assert (kept["phase"], kept["startSeconds"], kept["for"], len(kept["nodes"])) == ("Planned", 3000.0, "ada", 1)
