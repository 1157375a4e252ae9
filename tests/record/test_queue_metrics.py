"""Metrics of queues, held against plain loops over what a run keeps."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairway.explain.queues.date_record import date_record
from fairway.explain.queues.queue_jobs import QueueJob, queue_jobs
from fairway.record import Run
from fairway.record.metric_definitions import DEFINITIONS, QUEUE_METRICS, definition_of
from tests.explain.queues.queue_runs import queue_run


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(queue_run(tmp_path_factory.mktemp("queues"), are_tiers_equal=True))


def naive(run: Run, jobs: list[QueueJob]) -> dict[str, Any]:
    """What can be counted job by job, from each one's story."""
    slowdowns, big = [], []
    for job in jobs:
        if job.story.first_start is None:
            continue
        wait, ran = job.story.first_start - job.submitted, job.story.consumed
        if job.state == "Finished":
            slowdowns.append(max(1.0, (wait + ran) / max(ran, 10.0)))
        if job.total("cpu") >= 48_000 / 4:
            big.append(wait)
    judged = []
    for job in jobs:
        told = list(run.estimates.where("job_id = ?", job.number))
        if told and job.story.first_start is not None and told[0]["as_of_seconds"] <= job.story.first_start:
            judged.append((job.story.first_start, told))
    waited = [
        (start, told[0])
        for start, told in judged
        if max(start, told[0]["likely_seconds"]) - told[0]["as_of_seconds"] >= 60
    ]
    promised = [
        all(start <= each["by_limits_seconds"] + 60 for each in told if each["is_promised"])
        for start, told in judged
        if any(each["is_promised"] for each in told)
    ]
    return {
        "job_slowdown_mean": float(np.mean(slowdowns)),
        "wait_big_count": len(big),
        "wait_big_max": max(big, default=math.nan),
        "estimate_error_p50": float(np.median([abs(start - each["likely_seconds"]) for start, each in waited])),
        "safe_held": float(np.mean([start <= each["safe_seconds"] for start, each in waited])),
        "promises_kept": float(np.mean(promised)),
    }


def test_they_are_what_a_plain_count_finds_in_all_and_by_queue(path: Path) -> None:
    with Run.open(path) as run:
        flat = run.metrics().flat()
        jobs = queue_jobs(run, run.end_seconds)
        for name, value in naive(run, jobs).items():
            assert flat[name] == pytest.approx(value), name
        mine = [job for job in jobs if job.queue == "batch"]
        for name, value in naive(run, mine).items():
            assert flat[f"queue_batch_{name}"] == pytest.approx(value), name
        summary = date_record(run, run.end_seconds, jobs).summary()
        assert flat["safe_held"] == pytest.approx(summary.safe_held)
        assert flat["estimate_error_p50"] == pytest.approx(summary.median_absolute_error)
        assert 0 < flat["backfilled"] < len(jobs)
        assert flat["job_wait_count"] == flat["queue_batch_job_wait_count"] + flat["queue_inter_job_wait_count"]
        held = [flat[f"queue_{name}_utilisation_allocated"] for name in ("batch", "inter")]
        assert sum(held) == pytest.approx(flat["utilisation_allocated_cpu"])


def test_each_is_defined(path: Path) -> None:
    with Run.open(path) as run:
        flat = run.metrics().flat()
    found = {definition_of(name) for name in flat}
    assert None not in found
    missing = {*QUEUE_METRICS, *(one for one in DEFINITIONS if one.name.startswith("queue_"))} - found
    # Nobody was ended at a limit there, and no account waited for its share.
    assert {one.name.removeprefix("queue_{}_") for one in missing} == {"limit_late_max", "fairness_error"}
    assert definition_of("queue_batch_safe_held") != definition_of("safe_held")
