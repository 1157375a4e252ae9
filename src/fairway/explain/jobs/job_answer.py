"""Why a job waits, or where it would go: for jobs of files, of a live cluster, and of a run at a time of it.

In: a trial whose cluster knows the job's members, or a run and a time. Out: a `JobAnswer`, as text, as HTML, as a
document; of a run with the attempts that were made for the job. Called by `fairway why` and by the library.
"""

from __future__ import annotations

import datetime as dt
import difflib
import html
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from fairway.cluster.groups import GroupBook
from fairway.exit_codes import USAGE
from fairway.explain.jobs.job_explanation import JobExplanation, JobPast
from fairway.explain.jobs.job_replay import group_of
from fairway.explain.jobs.job_text import headline, job_lines
from fairway.explain.jobs.job_trial import (
    find_job,
    know_members,
    no_job,
    others_of,
    place_job,
    profile_of_job,
    units,
)
from fairway.explain.jobs.next_try import next_try
from fairway.explain.jobs.other_jobs import OtherJobs, of_run
from fairway.explain.jobs.passing_room import passing_room
from fairway.explain.manifests import Manifests
from fairway.explain.run_moment import Moment, objects_seen
from fairway.explain.run_schedulers import plugin_notes, run_schedulers, scheduler_of
from fairway.explain.run_time import check_time, run_notes
from fairway.explain.trial import Trial
from fairway.model import Loaded, Pod, Source, UserError
from fairway.record import Run
from fairway.words import length_text, time_text

__all__ = [
    "JobAnswer",
    "explain_run_job",
    "job_of_pod",
    "job_of_run",
    "job_of_trial",
    "names_job_of_trial",
    "run_job_row",
]

SHOWN = 8
"""So many lines about attempts are shown; the first and the last ones."""


class JobAnswer:
    """Why a job waits, or where it goes. Prints as `fairway why` does."""

    def __init__(
        self,
        name: str,
        explanation: JobExplanation | None,
        clock: Callable[[float], str],
        story: Sequence[str] = (),
        about: dict[str, Any] | None = None,
    ) -> None:
        self.job = name
        self.explanation = explanation  # None: it was over by then
        self.story = list(story)
        self.notes: list[str] = []
        self._clock = clock
        self._about = about or {}

    @property
    def fits(self) -> bool:
        """Has it started, or could it now?"""
        return self.explanation is None or self.explanation.is_placed

    @property
    def blocking(self) -> str | None:
        """The member in the way, as `namespace/name`."""
        member = None if self.explanation is None else self.explanation.blocking
        return None if member is None else member.pod.key

    @property
    def headline(self) -> str:
        """The answer in a line."""
        return self.story[0] if self.explanation is None else headline(self.explanation)

    def lines(self) -> list[str]:
        """The text."""
        lines = [] if self.explanation is None else job_lines(self.explanation, self._clock)
        return [*lines, *(["", *self.story] if lines and self.story else self.story)]

    def document(self) -> dict[str, Any]:
        """Everything, in plain values: what `-o json` prints."""
        found = {} if self.explanation is None else self.explanation.document()
        return {"job": self.job, **self._about, **found}

    def rows(self) -> list[dict[str, Any]]:
        """The members, for tables."""
        members: list[dict[str, Any]] = self.document().get("members", [])
        return members

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return f"<why {self.headline}>"

    def _repr_html_(self) -> str:
        """In a notebook: the text, its first line in bold."""
        first, _, rest = str(self).partition("\n")
        return f'<pre style="line-height:1.3"><b>{html.escape(first)}</b>\n{html.escape(rest)}</pre>'


# -- of files and live clusters ----------------------------------------------------------------------------------------


def job_of_trial(trial: Trial, name: str, known: JobPast | None = None) -> JobAnswer:
    """A job among the pods to place, at its turn, or one that waits in the trial's cluster."""
    queue = trial.queue()
    know_members(trial, _waiting(trial))
    know_members(trial, (pod for pod, _ in queue))
    wanted = find_job(trial, name.removeprefix("job/"))
    if wanted is None:
        raise no_job(trial, name)
    others = others_of(trial)
    for group, members in units(trial, queue, others):
        if group is wanted or any(trial.cluster.groups.of(pod.metadata.uid) is wanted for pod, _ in members):
            break
        if group is None:
            trial.place(*members[0])
        else:
            place_job(trial, group, members, others)
    answer = JobAnswer(str(wanted.key), _explain(trial, wanted, known or JobPast(), others), date_text)
    answer.notes = list(trial.manifests.notes)
    return answer


def names_job_of_trial(trial: Trial, name: str) -> bool:
    """Is a job of the trial called so, and no pod?"""
    trial = trial.again()  # a queue is made once
    pods = [*(pod for pod, _ in trial.queue()), *_waiting(trial)]
    if any(name in (pod.key, pod.metadata.name) for pod in pods):
        return False
    know_members(trial, pods)
    return find_job(trial, name) is not None


def job_of_pod(
    trial: Trial, pod: Pod, known: JobPast | None = None, others: OtherJobs | None = None
) -> JobExplanation | None:
    """The job that a pod of the trial belongs to, explained; None if it belongs to none."""
    know_members(trial, [*_waiting(trial), pod])
    group = trial.cluster.groups.of(pod.metadata.uid)
    return None if group is None else _explain(trial, group, known or JobPast(), others or others_of(trial))


def _waiting(trial: Trial) -> list[Pod]:
    objects = trial.manifests.objects
    return [one for one in objects if isinstance(one, Pod) and not one.spec.node_name and not one.is_finished]


def _explain(trial: Trial, group: GroupBook, known: JobPast, others: OtherJobs) -> JobExplanation:
    profile = profile_of_job(trial, group)
    assert profile is not None
    return JobExplanation(profile, group, known, others)


def date_text(seconds: float) -> str:
    """A time of the real clock."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M")


# -- of runs -----------------------------------------------------------------------------------------------------------


def run_job_row(run: Run, name: str, at: float | None = None) -> dict[str, Any] | None:
    """The job meant; of several with one name, one after the other, the latest created by then. None: no such job."""
    name = name.removeprefix("job/")
    found = list(run.jobs.where("spelling <> 'pod' AND (job = $1 OR ends_with(job, '/' || $1))", name))
    keys = sorted({row["job"] for row in found})
    if len(keys) > 1:
        raise UserError(f"there are {len(keys)} jobs called {name}", f"say which: {', '.join(keys[:10])}", USAGE)
    by_then = [row for row in found if at is None or row["created_seconds"] <= at]
    return (by_then or found)[-1] if found else None


def job_of_run(run: Run, name: str, at: float | None = None) -> JobAnswer:
    """A job of a run, at a time or its end."""
    row = run_job_row(run, name, at)
    if row is None:
        raise _no_run_job(run, name)
    time = check_time(run, at)
    if time < row["created_seconds"]:
        raise UserError(
            f"there is no job {row['job']} yet at {time_text(time)}",
            f"its first member was created at {time_text(row['created_seconds'])}",
            USAGE,
        )
    story = [_story_line(row, run.end_seconds), *_attempt_lines(run, row, time)]
    about = {"run": str(run.path), "atSeconds": time, "story": _story_document(run, row, time)}
    explanation = None
    if row["ended_seconds"] is None or time < row["ended_seconds"]:
        explanation = explain_run_job(run, row, Moment(time))
        if explanation is not None and (passing := passing_room(run, row, time, explanation)) is not None:
            story.insert(1, f"  {passing.line}")
            about["passingRoom"] = passing.document()
    answer = JobAnswer(row["job"], explanation, lambda until: time_text(max(until - run.began, 0.0)), story, about)
    answer.notes = [*run_notes(run), *plugin_notes(run_schedulers(run))]
    return answer


def _no_run_job(run: Run, name: str) -> UserError:
    if not run.knows_jobs:
        what = f"{run.path} does not say which pods belong together: it was written by an older version"
        return UserError(what, "record or simulate it anew", USAGE)
    known = [row["job"] for row in run.sql("SELECT DISTINCT job FROM jobs WHERE spelling <> 'pod' ORDER BY job")]
    close = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(known[:10])}"
    return UserError(f"the run has no job called {name}", hint if known else "it has no jobs at all", USAGE)


def explain_run_job(run: Run, row: dict[str, Any], moment: Moment) -> JobExplanation | None:
    """The job on the cluster as it was; None if its scheduler knows no jobs, or if it has no members then."""
    schedulers = run_schedulers(run)
    members = run.sql("SELECT any_value(scheduler) AS name FROM pods WHERE job_id = ?", row["job_id"])
    name = next(iter(members))["name"]
    scheduler = scheduler_of(schedulers, name or "")
    if scheduler is None:
        return None
    source = Source(str(run.path))
    at = moment.at
    seen = [Loaded(thing, source) for thing in objects_seen(run, moment, scheduler.recorded)]
    trial = Trial(Manifests(seen, [], []), scheduler.configuration, None, run.began + at)
    know_members(trial, _waiting(trial))
    group = group_of(trial.cluster, row)
    if group is None:
        return None
    tried = run.sql(
        "SELECT count(*) AS num FROM job_decisions WHERE job_id = ? AND time_seconds <= ?", row["job_id"], at
    )
    attempts = next(iter(tried))["num"] or None
    begun = row["complete_seconds"] if row["complete_seconds"] is not None else row["created_seconds"]
    is_started = row["started_seconds"] is not None and row["started_seconds"] <= at
    waited = None if is_started else max(at - begun, 0.0)
    next_one = None if is_started else next_try(run, row, at, scheduler.configuration, name)
    past = JobPast(waited, attempts, row["started_seconds"] if is_started else None, next_one)
    return _explain(trial, group, past, of_run(run, trial.cluster, at))


def _story_line(row: dict[str, Any], end: float) -> str:
    """What became of it, in all of the run."""
    parts = [f"in the run: first member at {time_text(row['created_seconds'])}"]
    if row["complete_seconds"] is not None:
        parts.append(f"complete at {time_text(row['complete_seconds'])}")
    if row["started_seconds"] is not None:
        waited = row["started_seconds"] - row["complete_seconds"]
        parts.append(
            f"started at {time_text(row['started_seconds'])}" + (f", {length_text(waited)} later" if waited else "")
        )
    elif row["ended_seconds"] is None:
        parts.append(f"not started by {time_text(end)}")
    if row["ended_seconds"] is not None:
        parts.append(f"{row['ended']} at {time_text(row['ended_seconds'])}")
    return " · ".join(parts)


def _attempts(run: Run, row: dict[str, Any], at: float) -> list[dict[str, Any]]:
    return list(
        run.sql(
            "SELECT d.*, p.pod AS blocking FROM job_decisions d LEFT JOIN pods p ON p.pod_id = d.blocking_pod_id"
            " WHERE d.job_id = ? AND d.time_seconds <= ? ORDER BY d.job_decision_id",
            row["job_id"],
            at,
        )
    )


def _attempt_words(row: dict[str, Any]) -> str:
    where = f" in {row['domain']}" if row["domain"] else ""
    if row["outcome"] == "scheduled":
        return f"{row['num_placed']} of {row['num_members']} members placed{where}"
    parts = [row["outcome"]]
    if row["missing"] is not None:
        parts.append(f"{row['missing']} too few fit{where}")
    if row["blocking"] is not None:
        lack = f"is short of {row['resource']}" if row["resource"] else "fits nowhere"
        parts.append(f"{row['blocking'].partition('/')[2]} {lack}")
    if row["num_victims"]:
        parts.append(f"evicts {row['num_victims']}")
    return " · ".join(parts)


def _attempt_lines(run: Run, row: dict[str, Any], at: float) -> list[str]:
    """Equal attempts in one line; of too many lines, the first and the last."""
    lines = []
    for words, some in groupby(_attempts(run, row, at), key=_attempt_words):
        alike = list(some)
        first, last = alike[0], alike[-1]
        numbers = f"attempt {first['attempt']}"
        if len(alike) > 1:
            numbers = f"attempts {first['attempt']}–{last['attempt']}, until {time_text(last['time_seconds'])}"
        lines.append(f"  {time_text(first['time_seconds'])}  {numbers}: {words}")
    if len(lines) > SHOWN:
        left = len(lines) - SHOWN
        lines = [*lines[: SHOWN // 2], f"  {left} more lines about attempts (-o json has all)", *lines[-SHOWN // 2 :]]
    return lines


def _story_document(run: Run, row: dict[str, Any], at: float) -> dict[str, Any]:
    return {
        "createdSeconds": row["created_seconds"],
        "completeSeconds": row["complete_seconds"],
        "startedSeconds": row["started_seconds"],
        "endedSeconds": row["ended_seconds"],
        "ended": row["ended"],
        "priority": row["priority"],
        "user": row["user_name"],
        "numAttempts": row["num_attempts"],
        "attempts": [
            {
                "attempt": one["attempt"],
                "timeSeconds": one["time_seconds"],
                "outcome": one["outcome"],
                "members": one["num_members"],
                "placed": one["num_placed"],
                "missing": one["missing"],
                "blocking": one["blocking"],
                "resource": one["resource"],
                "domain": one["domain"],
                "evicts": one["num_victims"],
                "message": one["message"],
            }
            for one in _attempts(run, row, at)
        ],
    }
