"""The jobs of queues as people and programs read them: a table, a line below it, a document.

In: queues at a moment, and which jobs are meant. Out: a `JobList`. Called by `fairway jobs`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairway.batch.reasons import JobState
from fairway.batch.settings import BatchSettings
from fairway.explain.queues.date_record import held_document, jobs_line
from fairway.explain.queues.queue_jobs import QueueJob, ToldDates
from fairway.explain.queues.queue_moment import QueueMoment, TimeWords
from fairway.explain.queues.run_queues import check_name
from fairway.plan import Way
from fairway.plan.calibration import EstimateSummary
from fairway.plan.forecast import MAX_JOBS
from fairway.tables import Column
from fairway.words import count_text, length_text, nodes_text

__all__ = [
    "COLUMNS",
    "EXACT_COLUMNS",
    "JobChoice",
    "JobList",
    "date_words",
    "exact_row",
    "job_document",
    "job_list",
    "read_dates",
    "start_words",
]

COLUMNS: Final = (
    Column("queue", "QUEUE"),
    Column("job", "JOB"),
    Column("state", "STATE"),
    Column("reason", "REASON"),
    Column("start", "START"),
    Column("limit", "LIMIT", right=True),
    Column("left", "LEFT", right=True),
    Column("size", "SIZE"),
    Column("user", "USER", wide=True),
    Column("account", "ACCOUNT", wide=True),
    Column("submitted", "SUBMITTED", right=True, wide=True),
    Column("ahead", "AHEAD", right=True, wide=True),
    Column("priority", "PRIORITY", right=True, wide=True),
    Column("requeues", "REQUEUES", right=True, wide=True),
)
EXACT: Final = (
    "queue", "job", "state", "reason", "user", "account", "submittedSeconds", "startedSeconds", "likelySeconds",
    "safeSeconds", "byLimitsSeconds", "isPromised", "limitSeconds", "leftSeconds", "ahead", "priority", "requeues",
    "nodes", "message",
)  # fmt: skip
EXACT_COLUMNS: Final = tuple(Column(key, key) for key in EXACT)


@dataclass(frozen=True, slots=True)
class JobChoice:
    """Which jobs are meant; None: all. Ended ones only if their state is asked for."""

    queue: str | None = None
    user: str | None = None
    state: JobState | None = None
    namespace: str | None = None

    def takes(self, job: QueueJob) -> bool:
        """Is this one meant?"""
        if job.state is not self.state and (self.state is not None or job.state is JobState.FINISHED):
            return False
        return (
            self.queue in (None, job.queue)
            and self.user in (None, job.user)
            and self.namespace in (None, job.job.partition("/")[0])
        )


@dataclass(frozen=True, slots=True)
class JobList:
    """Jobs at a moment."""

    moment: QueueMoment
    jobs: Sequence[QueueJob]  # those that are meant, those that run first
    summary: EstimateSummary

    def rows(self) -> list[dict[str, Any]]:
        """For people."""
        return [self._row(job) for job in self.jobs]

    def exact_rows(self) -> list[dict[str, Any]]:
        """For programs."""
        return [exact_row(job) for job in self.jobs]

    def document(self) -> dict[str, Any]:
        """All of it, in plain values."""
        jobs = [job_document(job) for job in self.jobs]
        return {"atSeconds": self.moment.at, "jobs": jobs, "dates": held_document(self.summary)}

    @property
    def line(self) -> str:
        """How many there are in all queues, and how dates held."""
        return jobs_line(self.moment.jobs, self.summary)

    def _row(self, job: QueueJob) -> dict[str, Any]:
        dates = job.dates
        return {
            "queue": job.queue,
            "job": job.job,
            "state": job.state.lower(),
            "reason": job.reason or None,
            "start": start_words(job, self.moment.settings, self.moment.times),
            "limit": "none" if job.limit == math.inf else length_text(job.limit),
            "left": length_text(round(job.left)) if job.runs and job.limit < math.inf else None,
            "size": job.size,
            "user": job.user,
            "account": job.account or None,
            "submitted": self.moment.times.clock(job.submitted),
            "ahead": None if dates is None else dates.ahead,
            "priority": None if dates is None else dates.priority,
            "requeues": job.story.num_requeues or None,
        }


def job_list(moment: QueueMoment, choice: JobChoice) -> JobList:
    """The jobs that are meant; `UserError` for a queue or user that is not there."""
    settings, jobs = moment.settings, moment.jobs
    check_name("queue", choice.queue, settings.queues, "--queue")
    check_name("user", choice.user, {job.user for job in jobs}, "--user")
    check_name("namespace", choice.namespace, {job.job.partition("/")[0] for job in jobs}, "-n")
    chosen = sorted(filter(choice.takes, jobs), key=lambda job: _place(job, settings))
    return JobList(moment, chosen, moment.dates.summary(choice.queue))


def _place(job: QueueJob, settings: BatchSettings) -> tuple[Any, ...]:
    """Queues by name, those that run before those that wait; these in the order in which they will start."""
    states = (JobState.RUNNING, JobState.ENDING, JobState.STARTING, JobState.QUEUED, JobState.REFUSED)
    place = states.index(job.state) if job.state in states else len(states)
    began = job.story.began if job.runs and job.story.began is not None else 0.0
    dates = job.dates
    likely, ahead = (math.inf, MAX_JOBS) if dates is None else (dates.likely, dates.ahead)
    return (-(settings.queues[job.queue].tier or 0) if job.queue in settings.queues else 0, job.queue, place, began,
            likely, ahead, job.number)  # fmt: skip


def start_words(job: QueueJob, settings: BatchSettings, times: TimeWords) -> str | None:
    """When it starts, or did."""
    if job.waits and job.dates is not None:
        spec = settings.queues.get(job.queue)
        return date_words(job.dates, settings, times, is_interactive=spec is not None and spec.is_interactive)
    began = job.story.began
    if began is None:
        return None
    if job.runs:
        return f"{times.clock(began)} on {nodes_text(len(job.nodes))}"
    return times.clock(began)


def date_words(dates: ToldDates, settings: BatchSettings, times: TimeWords, *, is_interactive: bool) -> str:
    """The dates in a few words."""
    rough = " ~" if dates.is_rough else ""
    if is_interactive and dates.is_promised and dates.by_limits < math.inf:
        return f"by {times.clock(dates.by_limits)} (promised){rough}"
    if dates.likely == math.inf:
        if dates.way == Way.NONE:
            return f"after {count_text(settings.max_jobs)} others"
        return f"later than {length_text(settings.horizon)}"
    safe = "" if dates.safe == math.inf else f" · safe {times.clock(dates.safe)}"
    return f"{times.clock(dates.likely)}{safe}{rough}"


def _number(seconds: float | None) -> float | None:
    return None if seconds is None or math.isinf(seconds) else seconds


def exact_row(job: QueueJob) -> dict[str, Any]:
    """A job as a row for programs."""
    document = job_document(job)
    dates = document.get("dates") or {}
    ahead = dates.get("ahead")
    known = {key: dates.get(key) for key in ("likelySeconds", "safeSeconds", "byLimitsSeconds", "isPromised")}
    return document | known | {"ahead": ahead and ahead["jobs"], "priority": dates.get("priority")}


def job_document(job: QueueJob) -> dict[str, Any]:
    """A job in plain values."""
    change = job.story.now
    document: dict[str, Any] = {
        "job": job.job,
        "queue": job.queue,
        "user": job.user,
        "account": job.account,
        "state": job.state.value,
        "reason": job.reason or None,
        "detail": dict(change.detail),
        "message": change.message,
        "sinceSeconds": change.time,
        "submittedSeconds": job.submitted,
        "startedSeconds": job.story.began,
        "limitSeconds": _number(job.limit),
        "leftSeconds": _number(job.left) if job.runs else None,
        "members": [{"count": each.count, "requests": dict(each.amounts)} for each in job.members],
        "nodes": list(job.nodes),
        "requeues": job.story.num_requeues,
    }
    if job.dates is not None:
        document["dates"] = dates_document(job.dates)
    return document


def read_dates(document: Mapping[str, Any]) -> ToldDates:
    """Dates again from plain values."""
    ahead = document["ahead"]
    likely, safe, by_limits = (
        math.inf if document[name] is None else float(document[name])
        for name in ("likelySeconds", "safeSeconds", "byLimitsSeconds")
    )
    return ToldDates(
        float(document["asOfSeconds"]),
        likely,
        safe,
        by_limits,
        bool(document["isPromised"]),
        bool(document["isRough"]),
        str(document["way"]),
        int(ahead["jobs"]),
        int(ahead["cpuMilli"]),
        int(ahead["gpu"]),
        tuple(document["nodes"]),
        int(document["priority"]),
        dict(document["factors"]),
    )


def dates_document(dates: ToldDates) -> dict[str, Any]:
    """Dates in plain values; null is later than the plan looks ahead."""
    factors: Mapping[str, float] = dates.factors
    return {
        "asOfSeconds": dates.as_of,
        "likelySeconds": _number(dates.likely),
        "safeSeconds": _number(dates.safe),
        "byLimitsSeconds": _number(dates.by_limits),
        "isPromised": dates.is_promised,
        "isRough": dates.is_rough,
        "way": dates.way,
        "ahead": {"jobs": dates.ahead, "cpuMilli": dates.ahead_cpu, "gpu": dates.ahead_gpu},
        "nodes": list(dates.nodes),
        "priority": dates.priority,
        "factors": dict(factors),
    }
