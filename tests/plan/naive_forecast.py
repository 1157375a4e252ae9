"""The rules of forecasts said again, slowly: whole lists sorted anew, and a pool of CPUs played with lists alone."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairway.plan import Discipline, QueueRule
from tests.plan.naive_plan import Taking, Want, earliest_start


class Ended(NamedTuple):
    user: str
    queue: str
    limit: float
    used: float


def interpolated(values: Sequence[float], share: float) -> float:
    return float(np.quantile(np.array(values), share))


def prediction(ended: Sequence[Ended], user: str, queue: str, limit: float, expected: float | None = None) -> float:
    """The last fifty of those that are most like it, if there are five."""
    if expected is not None and expected > 0:
        return min(max(expected, 1.0), limit)
    for is_like in (
        lambda one: (one.user, one.queue) == (user, queue),
        lambda one: one.queue == queue,
        lambda one: True,
    ):
        like = [one for one in ended if is_like(one) and math.isinf(one.limit) == math.isinf(limit)]
        if len(like) >= 5:
            if math.isinf(limit):
                return max(interpolated([one.used for one in like[-50:]], 0.65), 1.0)
            shares = [min(one.used / one.limit, 1.0) for one in like[-50:]]
            return min(max(interpolated(shares, 0.65) * limit, 1.0), limit)
    return limit


def covering(values: Sequence[float], share: float) -> float:
    """The smallest of the values below which this share of one value more than there are would lie."""
    reached = [value for value in values if sum(one <= value for one in values) >= share * (len(values) + 1)]
    return min(reached, default=max(values))


class PoolJob(NamedTuple):
    key: str
    cpus: int
    limit: float
    run: float  # as predicted


class Pool:
    """CPUs, of which jobs take some until their limit, or until they end."""

    def __init__(self, cpus: int, running: Sequence[PoolJob], rule: QueueRule) -> None:
        self.capacity = np.array([[cpus]], np.int64)
        self.rule = rule
        self.now = 0.0
        self.taken = {job.key: Taking(0, (job.cpus,), 0.0, job.limit) for job in running}
        self.ends = {job.key: job.run for job in running}
        self.promises: dict[str, float] = {}
        self.starts: dict[str, float] = {}
        self.has_changed = True  # room came free that nobody counted on

    def earliest(self, job: PoolJob, duration: float) -> float | None:
        want = Want((job.cpus,), 1, (True,))
        return earliest_start(self.capacity, list(self.taken.values()), want, duration, self.now)

    def play(self, waiting: Sequence[PoolJob]) -> dict[str, float]:
        """Pass after pass until nothing happens any more."""
        left = list(waiting)
        while left:
            self.leave()
            left = self.run_pass(left)
            times = [time for one in self.taken.values() for time in (one.start, one.end)]
            later = [time for time in (*times, *self.ends.values(), *self.promises.values()) if self.now < time]
            if min(later, default=math.inf) == math.inf:
                break
            self.now = min(later)
        return self.starts

    def plan_rest(self, waiting: Sequence[PoolJob]) -> dict[str, float]:
        """One pass, and then slots in order, all as long as predicted."""
        left = self.run_pass(list(waiting))
        for key in self.promises:
            del self.taken[key]
        for key, one in self.taken.items():
            self.taken[key] = one._replace(end=min(one.end, self.ends.get(key, math.inf)))
        for job in left:
            start = self.earliest(job, job.run)
            if start is not None:
                self.taken[job.key] = Taking(0, (job.cpus,), start, start + job.run)
                self.starts[job.key] = start
        return self.starts

    def leave(self) -> None:
        for key in [key for key, end in self.ends.items() if end <= self.now]:
            self.has_changed |= self.taken[key].end > self.now
            del self.taken[key], self.ends[key]

    def run_pass(self, waiting: list[PoolJob]) -> list[PoolJob]:
        """Who still waits afterwards."""
        left = []
        num_promised = len(self.promises)
        is_stopped = False
        for job in waiting:
            promised = self.promises.pop(job.key, None)
            had_promise = promised is not None
            if had_promise:
                del self.taken[job.key]
            may_promise = self.rule.may_promise(num_promised)
            # A promise is looked at again when something has changed, and stays where it is until then.
            start = promised if had_promise and not self.has_changed else self.earliest(job, job.limit)
            if start == self.now and (had_promise or may_promise or not is_stopped):
                self.taken[job.key] = Taking(0, (job.cpus,), start, start + job.limit)
                self.ends[job.key] = start + job.run
                self.starts[job.key] = start
                num_promised -= had_promise
                continue
            left.append(job)
            if start is not None and (had_promise or may_promise):
                self.taken[job.key] = Taking(0, (job.cpus,), start, start + job.limit)
                self.promises[job.key] = start
                num_promised += not had_promise
            is_stopped |= self.rule.discipline is Discipline.FIFO
        self.has_changed = False
        return left
