"""Jobs that wait in queues, at a moment of a run: their position, what is ahead, when they start, why not now.

In: a run whose schedulers keep queues of jobs, and a time. Out: a page of jobs, one of them with all that `fairway why`
says of it, and the tree of shares; all of it from `explain/queues`, which the commands print. Called by `routes`.
"""

from __future__ import annotations

import math
from typing import Any

from fairway.explain.queues.job_list import JobChoice, job_list
from fairway.explain.queues.past_plan import past_plan
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.queue_why import queue_why
from fairway.explain.queues.run_moment import RunMoment
from fairway.explain.queues.share_table import share_table
from fairway.web.page_error import PageError
from fairway.web.paging import PageOf, columns_of, page_begin, page_of
from fairway.web.questions import JobQuestion, JobsQuestion, MomentQuestion
from fairway.web.shapes import Document, JobColumns, ShareColumns, SharesAnswer
from fairway.web.sources import RunSource

__all__ = ["jobs_page", "one_job", "shares"]


def jobs_page(source: RunSource, question: JobsQuestion) -> PageOf[JobColumns]:
    """Those that are not over: those that run, then those that wait in the order in which they will start."""
    moment = _moment(source, question.at)
    jobs = job_list(moment, JobChoice(queue=question.queue, user=question.user)).jobs
    positions: dict[int, int] = {}
    waiting: dict[str, int] = {}
    for job in job_list(moment, JobChoice()).jobs:
        if job.waits:
            waiting[job.queue] = positions[job.number] = waiting.get(job.queue, 0) + 1
    begin = page_begin(question)
    rows = [_row(job, positions.get(job.number)) for job in jobs[begin : begin + question.limit]]
    return page_of(question, columns_of(JobColumns, rows), begin, len(rows), len(jobs))


def one_job(source: RunSource, question: JobQuestion) -> Document:
    """What it waits for, who holds its room until when, what would let it start earlier; as text, too."""
    moment = _moment(source, question.at)
    found = queue_why(moment, f"{question.namespace}/{question.name}", lambda: past_plan(moment))
    return {"text": found.lines()} | found.document()


def shares(source: RunSource, question: MomentQuestion) -> SharesAnswer:
    """Accounts and users at that time."""
    table = share_table(_moment(source, question.at))
    rows = [{**row, "is_user": row["isUser"]} for row in table.rows(exact=True)]
    return SharesAnswer(table.at, columns_of(ShareColumns, rows))


def _moment(source: RunSource, at: float | None) -> RunMoment:
    if not source.has_queues:
        what = f"the jobs of {source.id} wait in no queues"
        hint = "fairway sim SCENARIO --save RUN, with spec.batch in the scenario (docs/batch.md), records some"
        raise PageError(404, "no_queues", what, hint)
    return RunMoment(source.run, source.time(at))


def _row(job: QueueJob, position: int | None) -> dict[str, Any]:
    dates = job.dates
    return {
        "position": position,
        "job": job.job,
        "queue": job.queue,
        "state": job.state.value,
        "reason": job.reason or None,
        "user": job.user,
        "account": job.account,
        "size": job.size,
        "submitted_seconds": job.submitted,
        "started_seconds": job.story.began,
        "limit_seconds": _finite(job.limit),
        "jobs_ahead": None if dates is None else dates.ahead,
        "cpu_milli_ahead": None if dates is None else dates.ahead_cpu,
        "gpu_ahead": None if dates is None else dates.ahead_gpu,
        "likely_seconds": None if dates is None else _finite(dates.likely),
        "safe_seconds": None if dates is None else _finite(dates.safe),
        "by_limits_seconds": None if dates is None else _finite(dates.by_limits),
        "is_promised": None if dates is None else dates.is_promised,
    }


def _finite(seconds: float) -> float | None:
    return None if math.isinf(seconds) else seconds
