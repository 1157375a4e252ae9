"""Logs of jobs played on one pool of processors, with a date for every job that has to wait when it comes.

In: jobs with their users, a discipline, a rule for ties. Out: for each job that did not start at once, its estimate at
submission and its start; and whether promises were kept. All jobs are in one queue, as in `pool_log`. Also made-up
logs.
"""

import heapq
import math
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from fairway.plan import (
    Calendar,
    DateJudgement,
    Discipline,
    EstimateBook,
    MemberClass,
    Present,
    QueueRule,
    RunHistory,
    SmallestRest,
    StartEstimate,
    WaitingJob,
    forecast,
    member_need,
    run_pass,
    seconds_left,
)
from tests.plan.pool_log import ARRIVAL, END, LoggedJob


class EstimatedLog(NamedTuple):
    judgements: dict[str, DateJudgement]  # of the estimate at submission, for jobs that did not start at once
    promises_kept: list[bool]  # for each job that was ever promised a date


class _Machine:
    def __init__(self, jobs: list[LoggedJob], processors: int, discipline: Discipline) -> None:
        choice = SmallestRest(np.array([1.0, 0.0]), np.arange(1))
        self.calendar = Calendar(np.array([[processors]]), jobs[0].submitted, choice, horizon=np.inf)
        self.rules = {"": QueueRule(discipline)}
        self.logged = {job.key: job for job in jobs}
        self.waiting: dict[str, WaitingJob] = {}
        self.running: dict[str, float] = {}  # since when
        self.history = RunHistory()
        self.book = EstimateBook()
        self.promised: dict[str, float] = {}  # the earliest date that each was promised
        self.log = EstimatedLog({}, [])

    def arrive(self, key: str) -> None:
        job = self.logged[key]
        self.waiting[key] = WaitingJob(key, (MemberClass(member_need([job.processors])),), job.limit)

    def end(self, key: str) -> None:
        job = self.logged[key]
        self.calendar.remove(key)
        del self.running[key]
        self.history.add(job.user, "", job.limit, job.run)

    def run_pass(self, now: float) -> Iterator[str]:
        for job, _ in run_pass(self.calendar, list(self.waiting.values()), now, self.rules).started:
            del self.waiting[job.key]
            self.running[job.key] = now
            first = self.book.started(job.key, "", now)[:1]
            self.log.judgements.update((job.key, judgement) for judgement in first)
            if (date := self.promised.pop(job.key, None)) is not None:
                self.log.promises_kept.append(now <= date)
            yield job.key
        for key, promise in self.calendar.promises.items():
            self.promised[key] = min(promise.slot.start, self.promised.get(key, math.inf))

    def estimate(self, key: str) -> StartEstimate:
        runs = {name: self._prediction(name) for name in self.waiting}
        ends = {name: self._end(name, since) for name, since in self.running.items()}
        present = Present(self.calendar, list(self.waiting.values()), self.rules, runs, ends)
        return forecast(present, self.book, wanted=[key])[key]

    def _prediction(self, key: str) -> float:
        job = self.logged[key]
        return self.history.predict(job.user, "", job.limit)

    def _end(self, key: str, since: float) -> float:
        now = self.calendar.now
        return now + seconds_left(now - since, self._prediction(key), self.logged[key].limit)


def play_estimated(
    jobs: list[LoggedJob],
    processors: int,
    discipline: Discipline,
    ties: Literal["ends-first", "each"],
    every: int = 1,
) -> EstimatedLog:
    """Play the log; every job, or every third or so, that does not start in its first pass is told a date."""
    machine = _Machine(jobs, processors, discipline)
    rank = {"ends-first": {END: 0, ARRIVAL: 1}, "each": {ARRIVAL: 0, END: 1}}[ties]
    events = [(job.submitted, rank[ARRIVAL], index, job.key) for index, job in enumerate(jobs)]
    heapq.heapify(events)
    places = {job.key: index for index, job in enumerate(jobs)}
    number = len(events)
    while events:
        now = events[0][0]
        machine.calendar.advance(now)
        arrived = []
        while events and events[0][0] == now:
            _, kind, _, key = heapq.heappop(events)
            if kind == rank[END]:
                machine.end(key)
            else:
                machine.arrive(key)
                arrived.append(key)
            if ties == "each":
                break
        for key in machine.run_pass(now):
            number += 1
            heapq.heappush(events, (now + machine.logged[key].run, rank[END], number, key))
        for key in arrived:
            if key in machine.waiting and places[key] % every == 0:
                machine.book.give(key, machine.estimate(key))
    return machine.log


def made_up_log(seed: int, processors: int = 128, num_jobs: int = 1500, load: float = 0.95) -> list[LoggedJob]:
    """Jobs of some dozen users. Sizes from 1 to half the machine, most of them small; run times of minutes to hours.

    Each asks for 1 to 10 times what it needs, and everybody for about as much too much as the last time. They arrive
    so that the machine would be busy for `load` of the time.
    """
    generator = np.random.default_rng(seed)
    users = generator.integers(0, 30, num_jobs)
    sizes = np.floor(2 ** generator.uniform(0, np.log2(processors), num_jobs)).clip(1, processors // 2)
    runs = np.ceil(generator.lognormal(np.log(600), 1.2, num_jobs)).clip(30, 12 * 3600)
    factors = (generator.uniform(1, 10, 30)[users] * generator.uniform(0.7, 1.4, num_jobs)).clip(1, 10)
    limits = np.ceil(runs * factors)
    gaps = generator.exponential(1.0, num_jobs)
    arrivals = np.floor(np.cumsum(gaps * (sizes * runs).sum() / processors / load / gaps.sum()))
    columns = (arrivals.tolist(), runs.tolist(), sizes.astype(int).tolist(), limits.tolist(), users.tolist())
    return [
        LoggedJob(f"job-{index}", arrival, run, size, limit, f"user-{user}")
        for index, (arrival, run, size, limit, user) in enumerate(zip(*columns, strict=True))
    ]


def waited(log: EstimatedLog, jobs: list[LoggedJob], skip: int = 50) -> list[DateJudgement]:
    """Those of jobs that waited for a minute or more, without the first jobs of the log."""
    judgements = (log.judgements.get(job.key) for job in jobs[skip:])
    return [one for one in judgements if one is not None and one.start - one.estimate.as_of >= 60]
