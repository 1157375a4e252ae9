"""The jobs of queues at one moment of a run: where each stands, what it asks for, when it starts.

In: an open run and a time. Out: a `QueueJob` for each that had come by then, in the order in which they came. All of
it is read from the run's tables, by the same code for any moment. Called by the answers of this room.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fairway.batch.members_alike import MembersAlike, alike, size_words
from fairway.batch.reasons import JobState
from fairway.exit_codes import USAGE
from fairway.explain.queues.job_story import JobStory, StateChange
from fairway.explain.queues.run_queues import few
from fairway.model import UserError
from fairway.record import Run
from fairway.words import time_text

__all__ = ["QueueJob", "ToldDates", "find_queue_job", "queue_jobs", "three_dates"]


class ToldDates(NamedTuple):
    """When a job will start, as it was told last; infinite: later than the plan looks ahead."""

    as_of: float
    likely: float
    safe: float
    by_limits: float
    is_promised: bool
    is_rough: bool
    way: str
    ahead: int
    ahead_cpu: int
    ahead_gpu: int
    nodes: tuple[str, ...]
    priority: int
    factors: Mapping[str, float]

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> ToldDates:
        """From a row of `estimates`."""
        return cls(
            float(row["as_of_seconds"]),
            *three_dates(row),
            bool(row["is_promised"]),
            bool(row["is_rough"]),
            str(row["way"]),
            row["ahead"],
            row["ahead_cpu_milli"],
            row["ahead_gpu"],
            tuple(json.loads(row["nodes"])) if row["nodes"] else (),
            row["queue_priority"],
            json.loads(row["factors"]) if row["factors"] else {},
        )


def three_dates(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Likely, safe and by limits, of a row of `estimates`; infinite where the plan did not look as far."""
    likely, safe, by_limits = (
        math.inf if row[name] is None else float(row[name])
        for name in ("likely_seconds", "safe_seconds", "by_limits_seconds")
    )
    return likely, safe, by_limits


@dataclass(frozen=True, slots=True)
class QueueJob:
    """One job of a queue, at a moment."""

    number: int  # in the run
    job: str  # namespace/name
    queue: str
    user: str
    account: str
    submitted: float
    limit: float  # seconds; infinite: none
    story: JobStory
    members: Sequence[MembersAlike]
    nodes: tuple[str, ...]  # that its members are on
    dates: ToldDates | None  # None: it was told none, or does not wait

    @property
    def state(self) -> JobState:
        """Where it is in its life."""
        return self.story.now.state

    @property
    def reason(self) -> str:
        """Why it waits or is refused, or how it ended; "": nothing is to be said."""
        return self.story.now.reason

    @property
    def waits(self) -> bool:
        """Is it waiting for its turn?"""
        return self.state is JobState.QUEUED

    @property
    def runs(self) -> bool:
        """Does it hold nodes?"""
        return self.state in (JobState.STARTING, JobState.RUNNING, JobState.ENDING)

    @property
    def left(self) -> float:
        """How much longer it may run, in seconds."""
        return max(self.limit - self.story.consumed, 0.0)

    @property
    def size(self) -> str:
        """What it asks for, in words."""
        return size_words(self.members)

    def total(self, resource: str) -> int:
        """What all its members ask for."""
        return sum(each.count * each.amounts.get(resource, 0) for each in self.members)


def queue_jobs(run: Run, at: float) -> list[QueueJob]:
    """Those that had come by then, ended ones among them."""
    stories: dict[int, list[StateChange]] = {}
    for row in run.job_states.where("time_seconds <= ?", at):
        stories.setdefault(row["job_id"], []).append(StateChange.of_row(row))
    dates = _dates(run, at)
    members, nodes = _members(run, at)
    found = []
    for row in run.jobs.where("queue IS NOT NULL AND created_seconds <= ?", at):
        number = row["job_id"]
        if number not in stories:
            continue  # it has only just come, and nobody has looked at it
        story = JobStory(at, stories[number])
        found.append(
            QueueJob(
                number,
                row["job"],
                story.now.queue or row["queue"],
                row["user_name"],
                row["account"] or "",
                row["created_seconds"],
                _limit(story, row["limit_seconds"]),
                story,
                members.get(number, ()),
                nodes.get(number, ()),
                dates.get(number) if story.now.state is JobState.QUEUED else None,
            )
        )
    return found


def _limit(story: JobStory, at_last: float | None) -> float:
    """How long it might run then; in runs that say only how long at last, that."""
    then = story.now.limit
    if then is not None:
        return then
    return math.inf if at_last is None else at_last


def _dates(run: Run, at: float) -> dict[int, ToldDates]:
    """The last dates of each job."""
    return {row["job_id"]: ToldDates.of_row(row) for row in run.estimates.where("as_of_seconds <= ?", at)}


def _members(run: Run, at: float) -> tuple[dict[int, list[MembersAlike]], dict[int, tuple[str, ...]]]:
    """What members ask for and the nodes they are on; of a job without members, what those it had last asked for."""
    columns = run.resources
    amounts = "".join(f', p."{column}"' for column in columns.values())
    rows = run.sql(
        f"""
        SELECT coalesce(p.job_id, j.job_id) AS job_id, p.created_seconds, coalesce(p.ended_seconds, 'inf') AS ended,
               CASE WHEN p.bound_seconds <= $1 THEN p.node END AS node{amounts}
        FROM pods p LEFT JOIN jobs j ON j.pod_id = p.pod_id
        WHERE coalesce(p.job_id, j.job_id) IN (SELECT job_id FROM jobs WHERE queue IS NOT NULL)
          AND p.created_seconds <= $1 ORDER BY p.pod_id
        """,
        at,
    )
    of_job: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        of_job.setdefault(row["job_id"], []).append(row)
    members, nodes = {}, {}
    for number, pods in of_job.items():
        latest = max(pod["created_seconds"] for pod in pods)
        there = [pod for pod in pods if pod["ended"] > at] or [pod for pod in pods if pod["ended"] >= latest]
        members[number] = alike([{name: pod[column] or 0 for name, column in columns.items()} for pod in there])
        nodes[number] = tuple(sorted({pod["node"] for pod in there if pod["node"]}))
    return members, nodes


def find_queue_job(jobs: Sequence[QueueJob], name: str, at: float) -> QueueJob:
    """The job meant, by `namespace/name` or by name; of several one after the other, the latest."""
    name = name.removeprefix("job/")
    found = [job for job in jobs if name == job.job or job.job.endswith(f"/{name}")]
    keys = sorted({job.job for job in found})
    if len(keys) > 1:
        raise UserError(f"there are {len(keys)} jobs called {name}", f"say which: {few(keys)}", USAGE)
    if found:
        return found[-1]
    known = sorted({job.job for job in jobs})
    words = sorted({word for key in known for word in (key, key.partition("/")[2])})
    close = difflib.get_close_matches(name, words, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {few(known)}" if known else ""
    raise UserError(f"no job of a queue is called {name} by {time_text(at)}", hint or "no job has come by then", USAGE)
