"""What is asked about the queues of a run, against what its other tables say."""

from __future__ import annotations

import math

import pytest

from fairway.batch.accounts import MILLI
from fairway.batch.reasons import JobState
from fairway.explain.queues.job_list import JobChoice, job_list
from fairway.explain.queues.job_sheet import job_sheet
from fairway.explain.queues.queue_jobs import queue_jobs
from fairway.explain.queues.run_moment import RunMoment
from fairway.explain.queues.share_table import share_table
from fairway.explain.queues.usage_table import usage_table
from fairway.model import UserError
from fairway.record import Run
from tests.explain.queues.queue_runs import table_then, why_then

MOMENTS = (0.0, 600.0, 1800.0, 3600.0, 5400.0, 9000.0, 21600.0)


@pytest.mark.parametrize("at", MOMENTS)
def test_who_waits_and_who_runs_is_what_the_pods_say(queues: str, at: float) -> None:
    with Run.open(queues) as run:
        jobs = queue_jobs(run, at)
        pods = run.sql(
            "SELECT pod, bound_seconds <= $1 AS is_bound FROM pods"
            " WHERE created_seconds <= $1 AND (ended_seconds IS NULL OR ended_seconds > $1)",
            at,
        )
        is_bound = {row["pod"]: bool(row["is_bound"]) for row in pods}
    assert {job.job for job in jobs if job.runs} == {pod for pod, bound in is_bound.items() if bound}
    waiting = {job.job for job in jobs if job.waits or job.state is JobState.REFUSED}
    assert waiting == {pod for pod, bound in is_bound.items() if not bound}


def test_a_job_that_asks_for_too_much_time_is_refused(queues: str) -> None:
    with Run.open(queues) as run:
        sheet = job_sheet(RunMoment(run, 3600.0), "long-job-0")
    assert sheet.job.reason == "LimitTooLong"
    assert sheet.lines()[0].startswith("default/long-job-0 is refused · LimitTooLong: asks for 9h")


def test_the_list_is_chosen_from_and_ended_jobs_are_left_out(queues: str) -> None:
    with Run.open(queues) as run:
        everybody = job_list(RunMoment(run, 3600.0), JobChoice())
        inter = job_list(RunMoment(run, 3600.0), JobChoice(queue="inter"))
        over = job_list(RunMoment(run, 3600.0), JobChoice(state=JobState.FINISHED))
    assert {job.state for job in everybody.jobs}.isdisjoint({JobState.FINISHED})
    assert {job.queue for job in inter.jobs} == {"inter"}
    assert {job.state for job in over.jobs} == {JobState.FINISHED}
    running = sum(job.runs for job in everybody.jobs)
    assert everybody.line.startswith(f"running {running} · queued {len(everybody.jobs) - running} (1 refused)")


def test_names_that_are_not_there_are_told_with_the_nearest(queues: str) -> None:
    with Run.open(queues) as run:
        with pytest.raises(UserError, match="no queue “bacth”; there are batch, inter") as told:
            job_list(RunMoment(run, 3600.0), JobChoice(queue="bacth"))
        assert told.value.hint == "--queue batch"
        with pytest.raises(UserError, match="no job of a queue is called batch-jobb-1"):
            job_sheet(RunMoment(run, 3600.0), "batch-jobb-1")
        with pytest.raises(UserError, match="no account"):
            usage_table(RunMoment(run, 3600.0), 0.0, 3600.0, "account", "chemistry")


def test_who_holds_the_room_of_a_waiting_job_has_to_go_before_it_starts(queues: str) -> None:
    with Run.open(queues) as run:
        waiting = [job for job in queue_jobs(run, 3600.0) if job.waits]
        answers = [why_then(run, 3600.0, job.job) for job in waiting]
    assert len(answers) > 2
    for answer in answers:
        assert answer.slot is not None
        assert answer.holders
        assert max(holder.end for holder in answer.holders) <= answer.slot[0]
        assert {holder.node for holder in answer.holders} <= set(answer.slot[1])


def test_a_queue_is_full_while_jobs_wait_for_room(queues: str) -> None:
    with Run.open(queues) as run:
        lights = {at: {queue.name: queue.light for queue in table_then(run, at).queues} for at in (0.0, 3600.0)}
        held = table_then(run, 3600.0).queues[0].held("cpu")
        used = sum(row["cpu_milli"] for row in run.node_load(3600.0))
    assert lights[0.0] == {"batch": "free", "inter": "free"}
    assert lights[3600.0]["batch"] != "free"
    assert held <= used


@pytest.mark.parametrize("at", MOMENTS)
def test_usage_is_what_jobs_asked_for_times_how_long_they_ran(queues: str, at: float) -> None:
    with Run.open(queues) as run:
        jobs = queue_jobs(run, at)
        table = usage_table(RunMoment(run, at), 0.0, at, "user", None)
        by_hand = sum(job.story.consumed * job.total("cpu") / 1000 for job in jobs)
    assert table.total == pytest.approx(by_hand, abs=len(jobs) / MILLI)
    assert sum(row["used"] for row in table.rows(exact=True)) == pytest.approx(table.total)


def test_sums_by_day_and_by_queue_are_the_same(queues: str) -> None:
    with Run.open(queues) as run:
        totals = {
            by: usage_table(RunMoment(run, 9000.0), 600.0, 9000.0, by, None).total
            for by in ("account", "user", "queue", "day")
        }
    assert len(set(totals.values())) == 1


def test_shares_rank_whoever_used_less_higher(queues: str) -> None:
    with Run.open(queues) as run:
        rows = [row for row in share_table(RunMoment(run, 5400.0)).rows(exact=True) if row["isUser"]]
    by_use = sorted(rows, key=lambda row: row["used"])
    factors = [row["factor"] for row in by_use]
    assert factors == sorted(factors, reverse=True)
    assert math.fsum(row["norm"] for row in rows) == pytest.approx(1.0)
