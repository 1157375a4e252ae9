"""Queues in runs: where jobs stood, what each row of a job says of its queue, plans and lines of the books."""

from __future__ import annotations

import json
import math
from pathlib import Path

import duckdb

from fairway.batch.accounts import ChargeLine, LineKind
from fairway.batch.batch_world import PassReport
from fairway.batch.job import BatchJob, BilledJob
from fairway.batch.reasons import JobOutcome, JobStanding, JobState, Reason
from fairway.batch.settings import BatchSettings
from fairway.model import Pod
from fairway.model.batch import QueueLimits, QueueSpec
from fairway.model.group import GroupKey, Spelling
from fairway.plan import Basis, StartEstimate, Way
from fairway.record import Run, RunWriter
from fairway.record.vocabulary import PlanKind, PodEnd
from fairway.record.writing.anonymous_rows import anonymise_run
from fairway.testing import node, pod
from fairway.testing.group_builders import member, members, pod_group
from tests.batch.jobs import interval, job_of
from tests.record.job_runs import recorded
from tests.record.runs import SCHEDULER, writer
from tests.sim.diary import lasting

NAMED = {"fairway.dev/queue": "batch", "fairway.dev/time-limit": "1h"}


def two_jobs(path: Path) -> Run:
    """One node, two jobs that fill it one after the other: 30 s and 40 s long, the second comes at 10."""
    queues = BatchSettings({"batch": QueueSpec(limits=QueueLimits(max=None)).completed()})
    first, second = (
        lasting(name, seconds, cpu=4, labels={"fairway.dev/queue": "batch"}) for name, seconds in (("a", 30), ("b", 40))
    )
    return recorded(path, [node("n", cpu=4)], [(0, first), (10, second), (10, pod("free"))], batch=queues, end=200)


def standings(run: Run, job: str) -> list[tuple[float, str, str | None]]:
    rows = run.sql("SELECT s.* FROM job_states s JOIN jobs USING (job_id) WHERE job = ? ORDER BY s.rowid", job)
    return [(row["time_seconds"], row["state"], row["reason"]) for row in rows]


def test_a_lone_pod_of_a_queue_is_a_job(tmp_path: Path) -> None:
    with two_jobs(tmp_path / "run") as run:
        first, second = run.jobs.rows()  # `free` is in no queue, and no job
        assert (first["job"], first["spelling"], first["pod_id"]) == ("default/a", "pod", 0)
        assert (second["created_seconds"], second["complete_seconds"]) == (10.0, 10.0)
        assert (second["started_seconds"], second["ended_seconds"], second["ended"]) == (31.0, 72.0, "Succeeded")
        assert (second["queue"], second["account"], second["limit_seconds"]) == ("batch", "", 3600.0)
        assert (second["state"], second["reason"], second["requeues"]) == ("Finished", "Succeeded", 0)
        assert (second["run_seconds"], second["charge_milli"]) == (40.0, 160_000)
        assert [row["job_id"] for row in run.pods.rows()] == [None] * 3


def test_every_change_of_state_or_reason_is_a_row(tmp_path: Path) -> None:
    with two_jobs(tmp_path / "run") as run:
        assert standings(run, "default/b") == [
            (10.0, "Queued", "Planning"),
            (10.0, "Queued", "Resources"),
            (31.0, "Starting", None),
            (32.0, "Running", None),
            (72.0, "Finished", "Succeeded"),
        ]
        assert [row["message"] for row in run.job_states.where("reason = 'Resources'")] != [None]


def test_plans_tell_of_those_who_waited(tmp_path: Path) -> None:
    with two_jobs(tmp_path / "run") as run:
        rows = [row for row in run.plans.rows() if row["kind"] == "pass"]
        assert all(row["num_jobs"] and row["scheduler"] == SCHEDULER and row["cpu_seconds"] >= 0 for row in rows)
        assert [(row["time_seconds"], row["num_released"]) for row in rows if row["num_released"]] == [(0, 1), (31, 1)]


# -- the writer by itself ----------------------------------------------------------------------------------------------


def told(run: RunWriter, t: float, job: BatchJob, state: JobState, reason: Reason | JobOutcome | None = None) -> None:
    job.standing = JobStanding(state, reason, {"jobs": t}, f"at {t}")
    run.job_stands(t, job, "physics", math.inf)


def gang_of(pods: list[Pod]) -> BatchJob:
    job = job_of(key="default/train", members=pods)
    job.group = GroupKey(Spelling.KUBE, "default", "train")
    return job


def test_a_job_that_its_queue_keeps_is_one_row_however_often_its_members_come_again(tmp_path: Path) -> None:
    pods = members(2, cpu=1)
    again = [member(f"again-{number}", cpu=1) for number in range(2)]
    job = gang_of(pods)
    with writer(tmp_path / "run") as run:
        run.node_added(0, node("a"))
        run.object_applied(0, pod_group("train", 2))
        for round_, some in enumerate((pods, again)):
            for one in some:
                run.pod_created(10 * round_, one, SCHEDULER)
            told(run, 10 * round_, job, JobState.QUEUED, Reason.PRIORITY)
            for one in some:
                run.bound(10 * round_ + 1, one.metadata.uid, "a")
            for one in some:
                run.ended(10 * round_ + 5, one.metadata.uid, PodEnd.PREEMPTED if some is pods else PodEnd.SUCCEEDED)
            job.ledger.num_requeues = 1
        told(run, 15, job, JobState.FINISHED, JobOutcome.SUCCEEDED)
        run.close(20)
    with Run.open(tmp_path / "run") as opened:
        (row,) = opened.jobs.rows()
        assert (row["started_seconds"], row["ended_seconds"], row["requeues"]) == (1.0, 15.0, 1)
        assert row["ended"] == "Succeeded"  # the last time
        assert {one["job_id"] for one in opened.pods.rows()} == {0}


def test_a_job_whose_queue_is_done_with_it_ends_with_its_last_member(tmp_path: Path) -> None:
    pods = members(2, cpu=1)
    job = gang_of(pods)
    with writer(tmp_path / "run") as run:
        run.node_added(0, node("a"))
        run.object_applied(0, pod_group("train", 2))
        for one in pods:
            run.pod_created(0, one, SCHEDULER)
        told(run, 1, job, JobState.FINISHED, JobOutcome.FAILED)
        for t, one in enumerate(pods, 2):
            run.ended(t, one.metadata.uid, PodEnd.DELETED)
        run.close(20)
    with Run.open(tmp_path / "run") as opened:
        (row,) = opened.jobs.rows()
        assert (row["state"], row["ended_seconds"], row["ended"]) == ("Finished", 3.0, "Deleted")


def test_dates_and_lines_of_the_books_are_kept_as_they_were_told(tmp_path: Path) -> None:
    one = pod("acme-payroll", cpu=1)
    job = job_of(interval(2, 12, rate=3.0), key=one.key, members=[one])
    job.uid, job.priority = one.metadata.uid, 4711
    basis = Basis(Way.PLAYED, 30, 0.97)
    billed = BilledJob(job.uid, job.key, "physics", "ada", "batch", {"cpu": 1000})
    with writer(tmp_path / "run") as run:
        run.node_added(0, node("acme"))
        run.pod_created(0, one, SCHEDULER)
        told(run, 0, job, JobState.QUEUED, Reason.RESOURCES)
        run.job_dated(job, StartEstimate(0, 5, 9, math.inf, True, basis, 3, 4000, 2), ["acme"], {"age": 0.5})
        run.planned(1, SCHEDULER, PlanKind.FORECAST, PassReport(1, 0, 1, 0.25))
        run.planned(2, SCHEDULER, PlanKind.PASS, PassReport(0, 0, 0, 0.25))
        told(run, 12, job, JobState.FINISHED, JobOutcome.TIMED_OUT)
        run.charged(ChargeLine(billed, 0, 2, 12, 3.0, 30_000, LineKind.RUN))  # settled when it is over
        run.close(20)
    with Run.open(tmp_path / "run") as opened:
        (estimate,) = opened.estimates.rows()
        dates = [estimate[f"{name}_seconds"] for name in ("as_of", "likely", "safe", "by_limits")]
        assert dates == [0.0, 5.0, 9.0, None]
        assert (estimate["ahead"], estimate["ahead_cpu_milli"], estimate["ahead_gpu"]) == (3, 4000, 2)
        assert (estimate["way"], estimate["num_starts"], estimate["safe_held"]) == ("played", 30, 0.97)
        assert (json.loads(estimate["nodes"]), json.loads(estimate["factors"])) == (["acme"], {"age": 0.5})
        assert estimate["queue_priority"] == 4711
        assert [(row["kind"], row["num_promised"]) for row in opened.plans.rows()] == [("forecast", 1)]
        (line,) = opened.charges.rows()
        assert (line["account"], line["charge_milli"], line["cpu_milli"], line["reason"]) == (
            "physics",
            30_000,
            1000,
            None,
        )
        (row,) = opened.jobs.rows()
        assert (row["reason"], row["run_seconds"], row["charge_milli"]) == ("TimedOut", 10.0, 30_000)
        assert row["limit_seconds"] is None
    anonymise_run(tmp_path / "run", tmp_path / "nobody")
    with duckdb.connect(str(tmp_path / "nobody"), read_only=True) as nobody:
        text = "".join(str(nobody.execute(f"FROM {name}").fetchall()) for name in opened_tables())
    assert not any(word in text for word in ("acme", "payroll", "physics", "ada", "batch"))


def opened_tables() -> tuple[str, ...]:
    return ("jobs", "job_states", "estimates", "plans", "charges")
