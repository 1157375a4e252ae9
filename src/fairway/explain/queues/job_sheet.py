"""All about one job of a queue, at a moment: where it stands and why, its dates, its order, what it costs.

In: queues at a moment, a job's name. Out: a `JobSheet`, as lines and as a document. Called by `fairway jobs JOB`, and
by `fairway why` for the first lines of its answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from fairway.batch.reasons import JobState, Reason
from fairway.explain.queues.job_list import date_words, exact_row, job_document
from fairway.explain.queues.job_story import StateChange
from fairway.explain.queues.queue_jobs import QueueJob, ToldDates, find_queue_job
from fairway.explain.queues.queue_moment import QueueMoment, TimeWords
from fairway.explain.queues.run_queues import few
from fairway.explain.queues.usage_table import budget_words, job_charge
from fairway.words import count_text, length_text, nodes_text

__all__ = ["JobSheet", "job_sheet", "standing_line"]

SHOWN: Final = 8
"""So many changes of its state are shown: the last ones."""

FACTORS: Final = {"age": "age", "size": "size", "fair_share": "fair share", "queue": "queue", "class_": "class"}


@dataclass(frozen=True, slots=True)
class JobSheet:
    """One job, and those around it."""

    moment: QueueMoment
    job: QueueJob
    charge: float  # units, by then
    budget: str  # how its account stands; "": it has none

    def exact_rows(self) -> list[dict[str, Any]]:
        """For programs."""
        return [exact_row(self.job)]

    def document(self) -> dict[str, Any]:
        """All of it, in plain values."""
        changes = [
            {
                "timeSeconds": each.time,
                "state": each.state.value,
                "reason": each.reason or None,
                "message": each.message,
            }
            for each in self.job.story.changes
        ]
        return {"atSeconds": self.moment.at} | job_document(self.job) | {"charge": self.charge, "states": changes}

    def lines(self, *, with_story: bool = True) -> list[str]:
        """The text."""
        lines = [standing_line(self.job, self.moment.times), *(f"  {name:<9}{words}" for name, words in self._parts())]
        return [*lines, *self._story()] if with_story else lines

    def _clock(self, seconds: float) -> str:
        return self.moment.times.clock(seconds)

    def _parts(self) -> Iterator[tuple[str, str]]:
        job = self.job
        if job.dates is not None:
            yield "starts", self._dates(job.dates)
            yield "ahead", self._around(job.dates)
            if job.dates.factors and job.queue in self.moment.settings.queues:
                yield "priority", self._priority(job.dates)
        elif job.runs and job.story.began is not None:
            where = f" on {nodes_text(len(job.nodes))}: {few(list(job.nodes))}" if job.nodes else ""
            yield (
                "runs",
                f"since {self._clock(job.story.began)}, {length_text(self.moment.at - job.story.began)}{where}",
            )
            if job.limit < math.inf:
                end = self._clock(self.moment.at + job.left)
                yield "ends", f"at the latest {end}, in {length_text(round(job.left))}"
        yield "limit", " · ".join(self._limit())
        if job.story.num_requeues:
            times = "once" if job.story.num_requeues == 1 else f"{job.story.num_requeues} times"
            yield "requeued", f"{times}; ran for {length_text(job.story.consumed)} in all"

    def _dates(self, dates: ToldDates) -> str:
        spec = self.moment.settings.queues.get(self.job.queue)
        is_interactive = spec is not None and spec.is_interactive
        likely = date_words(dates, self.moment.settings, self.moment.times, is_interactive=is_interactive)
        likely = f"likely {likely}" if likely[0].isdigit() else likely
        bound = ""
        if dates.by_limits < math.inf and not likely.startswith("by "):
            promise = " (promised: nothing that comes later can pass it)" if dates.is_promised else ""
            bound = f" · by limits {self._clock(dates.by_limits)}{promise}"
        return f"{likely}{bound}   as of {self._clock(dates.as_of)}"

    def _around(self, dates: ToldDates) -> str:
        ahead = f"{_jobs_text(dates.ahead)}" + (f", {count_text(dates.ahead_cpu // 1000)} cpu" if dates.ahead else "")
        ahead += f", {count_text(dates.ahead_gpu)} gpu" if dates.ahead_gpu else ""
        behind = [
            job.dates
            for job in self.moment.jobs
            if job.dates is not None and job.queue == self.job.queue and job.dates.ahead > dates.ahead
        ]
        if not behind:
            return f"{ahead} · nobody behind it"
        before = sum(each.likely < dates.likely for each in behind)
        passing = f", {count_text(before)} of which may start before it" if before else ""
        return f"{ahead} · behind it {_jobs_text(len(behind))}{passing}"

    def _priority(self, dates: ToldDates) -> str:
        weights = self.moment.settings.queues[self.job.queue].weights
        parts = {name: getattr(weights, name) * dates.factors.get(name, 0.0) for name in FACTORS}
        nice = math.floor(math.fsum(parts.values())) - dates.priority
        shown = [f"{FACTORS[name]} {count_text(round(part))}" for name, part in parts.items() if getattr(weights, name)]
        return f"{count_text(dates.priority)} = {' · '.join([*shown, f'nice {count_text(nice)}'])}"

    def _limit(self) -> Iterator[str]:
        job = self.job
        yield "none" if job.limit == math.inf else length_text(job.limit)
        yield f"asks for {job.size}"
        whose = f"{job.account}/{job.user}" if job.account else f"user {job.user}"
        yield f"account {whose}" if job.account else whose
        if self.charge:
            yield f"cost {count_text(round(self.charge))} units{' so far' if job.runs else ''}"
        if self.budget:
            yield self.budget

    def _story(self) -> list[str]:
        changes = self.job.story.changes
        shown = changes[-SHOWN:]
        left_out = f"  ({len(changes) - len(shown)} earlier ones left out)" if len(shown) < len(changes) else ""
        return [
            "",
            *([left_out] if left_out else []),
            *(f"  {self._clock(each.time)}  {_change_words(each)}" for each in shown),
        ]


def job_sheet(moment: QueueMoment, name: str) -> JobSheet:
    """The job then; `UserError` if there is none."""
    job = find_queue_job(moment.jobs, name, moment.at)
    return JobSheet(moment, job, job_charge(moment, job), budget_words(moment, job))


def standing_line(job: QueueJob, times: TimeWords) -> str:
    """Where it stands, in a line."""
    change, story = job.story.now, job.story
    message = change.message
    if change.reason == Reason.PRIORITY and job.dates is not None:  # how many are before it changes all the time
        message = f"{_jobs_text(job.dates.ahead)} before it"
    why = f" · {change.reason}{': ' if message else ''}{message}" if change.reason else ""
    match job.state:
        case JobState.QUEUED:
            return f"{job.job} is queued for {length_text(story.at - story.waits_since)}{why}"
        case JobState.REFUSED:
            return f"{job.job} is refused{why}"
        case JobState.FINISHED:
            ran = f", ran for {length_text(story.consumed)}" if story.runs else ", never ran"
            return f"{job.job} is over since {times.clock(change.time)}{ran}{why}"
        case _:
            return f"{job.job} is {job.state.lower()}{why}"


def _change_words(change: StateChange) -> str:
    words = ": ".join(filter(None, [change.reason, change.message]))
    return f"{change.state}{' · ' if words else ''}{words}"


def _jobs_text(number: int) -> str:
    return f"{count_text(number)} job{'' if number == 1 else 's'}"
