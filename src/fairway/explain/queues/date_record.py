"""How dates held: every date that jobs of a run were told, judged by when they started.

In: an open run and a time. Out: an `EstimateBook` as the desk had it then, fed again from the run's tables: its summary
is what people are told, its calibration makes the next safe dates. Called by the answers of this room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairway.batch.reasons import JobState
from fairway.explain.queues.queue_jobs import QueueJob, three_dates
from fairway.plan import RunHistory
from fairway.plan.calibration import EstimateBook, EstimateSummary
from fairway.plan.start_estimate import Basis, StartEstimate, Way
from fairway.record import Run
from fairway.words import count_text, length_text

__all__ = ["date_record", "held_document", "held_words", "jobs_line", "run_history"]


def date_record(run: Run, at: float, jobs: Sequence[QueueJob]) -> EstimateBook:
    """The dates of jobs that wait, and how those of jobs that started by then held."""
    book = EstimateBook()
    given: dict[int, list[StartEstimate]] = {}
    for row in run.estimates.where("as_of_seconds <= ?", at):
        given.setdefault(row["job_id"], []).append(_estimate(row))
    for start, job in sorted(_starts(jobs), key=lambda item: (item[0], item[1].number)):
        told = given.get(job.number, [])
        given[job.number] = [estimate for estimate in told if estimate.as_of > start]  # for when it comes again
        for estimate in told:
            if estimate.as_of <= start:
                book.give(job.job, estimate)
        book.started(job.job, job.queue, start)
    for job in jobs:
        if job.waits:
            for estimate in given.pop(job.number, ()):
                book.give(job.job, estimate)
    return book


def run_history(jobs: Sequence[QueueJob]) -> RunHistory:
    """What jobs that ended by then used of their limits, in the order of their ends."""
    history = RunHistory()
    ended = [job for job in jobs if job.story.runs and not job.waits and not job.runs]
    for job in sorted(ended, key=lambda job: (job.story.runs[-1][1], job.number)):
        history.add(job.user, job.queue, job.limit, job.story.consumed)
    return history


def held_words(summary: EstimateSummary) -> str:
    """How the dates of recent jobs held, in words; "": there were none."""
    if summary.median_absolute_error is None or summary.safe_held is None:
        return ""
    likely = f"likely ±{length_text(round(summary.median_absolute_error / 60) * 60 or 60)} (median)"
    return f"dates: {likely}, safe held {summary.safe_held:.0%} of the last {summary.num_jobs}"


def held_document(summary: EstimateSummary) -> dict[str, Any]:
    """The same, and all of it, in plain values; what can not be said of any job is left out."""
    said = {
        "jobs": summary.num_jobs,
        "medianErrorSeconds": summary.median_error,
        "medianAbsoluteErrorSeconds": summary.median_absolute_error,
        "safeHeld": summary.safe_held,
        "safeSlackSeconds": summary.safe_slack,
        "byLimitsHeld": summary.by_limits_held,
        "byLimitsSlackSeconds": summary.by_limits_slack,
        "jobsPromised": summary.num_promised,
        "promisesKept": summary.promises_kept,
    }
    return {key: value for key, value in said.items() if value is not None}


def jobs_line(jobs: Sequence[QueueJob], summary: EstimateSummary) -> str:
    """How many jobs run and wait, and how dates held."""
    states = [job.state for job in jobs]
    refused = states.count(JobState.REFUSED)
    waiting = states.count(JobState.QUEUED) + refused
    parts = [f"running {count_text(sum(job.runs for job in jobs))}", f"queued {count_text(waiting)}"]
    parts[1] += f" ({count_text(refused)} refused)" if refused else ""
    return " · ".join([*parts, *filter(None, [held_words(summary)])])


def _starts(jobs: Sequence[QueueJob]) -> Iterator[tuple[float, QueueJob]]:
    """Every time that a job began to run: one that comes again is told anew, and judged again."""
    for job in jobs:
        for start, _ in job.story.runs:
            yield start, job


def _estimate(row: dict[str, Any]) -> StartEstimate:
    basis = Basis(Way(row["way"]), row["num_starts"], row["safe_held"])
    ahead = (row["ahead"], row["ahead_cpu_milli"], row["ahead_gpu"])
    return StartEstimate(float(row["as_of_seconds"]), *three_dates(row), bool(row["is_promised"]), basis, *ahead)
