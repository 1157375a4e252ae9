"""Logs of jobs played on one pool of processors: a plain event loop over `fairway.plan`.

In: jobs as logs have them (submission, run time, processors, requested time), a discipline, a rule for ties. Out: when
each starts. `ends-first`: all ends of a second, all its arrivals, one pass. `each`: every event has a pass of its own,
arrivals first.
"""

import gzip
import heapq
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from fairway.plan import Calendar, Discipline, MemberClass, QueueRule, SmallestRest, WaitingJob, member_need, run_pass

ARRIVAL, END = 0, 1


class LoggedJob(NamedTuple):
    key: str
    submitted: float
    run: float
    processors: int
    limit: float
    user: str = ""


def read_log(path: Path) -> list[LoggedJob]:
    """The jobs of a log in the Standard Workload Format that is known to be whole."""
    jobs = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if not line.startswith(";"):
            fields = line.split()
            key, submitted, run, used, processors, limit, user = (fields[index] for index in (0, 1, 3, 4, 7, 8, 11))
            size = int(processors) if int(processors) > 0 else int(used)
            jobs.append(LoggedJob(key, float(submitted), float(run), size, float(limit), user))
    return jobs


def read_starts(path: Path) -> dict[str, float]:
    """Lines of a job and its start."""
    pairs = (line.split() for line in gzip.decompress(path.read_bytes()).decode().splitlines())
    return {key: float(start) for key, start in pairs}


def play(
    jobs: list[LoggedJob], processors: int, discipline: Discipline, ties: Literal["ends-first", "each"]
) -> dict[str, float]:
    """When each job starts."""
    calendar = Calendar(
        np.array([[processors]]), jobs[0].submitted, SmallestRest(np.array([1.0, 0.0]), np.arange(1)), horizon=np.inf
    )
    rules = {"": QueueRule(discipline)}
    logged = {job.key: job for job in jobs}
    rank = {"ends-first": {END: 0, ARRIVAL: 1}, "each": {ARRIVAL: 0, END: 1}}[ties]
    events = [(job.submitted, rank[ARRIVAL], index, job.key) for index, job in enumerate(jobs)]
    heapq.heapify(events)
    number, starts, waiting = len(events), dict[str, float](), dict[str, WaitingJob]()
    while events:
        now = events[0][0]
        calendar.advance(now)  # what ends now ends as it was planned, or earlier
        while events and events[0][0] == now:
            _, kind, _, key = heapq.heappop(events)
            if kind == rank[END]:
                calendar.remove(key)
            else:
                members = MemberClass(member_need([logged[key].processors]))
                waiting[key] = WaitingJob(key, (members,), logged[key].limit)
            if ties == "each":
                break
        for job, _ in run_pass(calendar, list(waiting.values()), now, rules).started:
            starts[job.key] = now
            del waiting[job.key]
            number += 1
            heapq.heappush(events, (now + logged[job.key].run, rank[END], number, job.key))
    return starts
