"""A job that runs on some rows, and what may be asked for it; the rule said again, a minute at a time."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fairway.batch.closings import Closing
from fairway.batch.extension import ExtensionRequest, ExtensionTerms, RunningUse
from fairway.model.batch import ExtensionRules, QueueLimits
from fairway.model.duration import Duration
from fairway.plan import Calendar, Promise, member_need

HOUR = 3600.0


def running(
    calendar: Calendar, rows: Sequence[int] = (0,), cpus: int = 1, limit: float = HOUR, key: str = "long"
) -> RunningUse:
    """A job that started now; it is in the calendar."""
    use = RunningUse(key, [(np.array(rows), member_need([cpus]))], calendar.now + limit)
    for where, amounts in use.takings:
        calendar.occupy(key, where, amounts, use.end)
    return use


def request(
    use: RunningUse, more: float, limit: float = HOUR, consumed: float = 0.0, priority: int = 0, **others: object
) -> ExtensionRequest:
    """So much more time is asked for."""
    return ExtensionRequest(use, limit, limit + more, consumed, limit, priority, **others)  # type: ignore[arg-type]


def terms(
    *,
    most: float | None = None,
    extension: float = math.inf,
    delays: str = "none",
    by_owner: bool = True,
    affordable: Callable[[], float] = lambda: math.inf,
    closings: Sequence[Closing] = (),
    priorities: Mapping[str, int] | None = None,
) -> ExtensionTerms:
    """Rules that allow everything but what is said."""
    rules = ExtensionRules(max=Duration(extension), delays=delays, by_owner=by_owner)  # type: ignore[arg-type]
    limits = QueueLimits(default=Duration(HOUR), max=None if most is None else Duration(most))
    return ExtensionTerms(limits, rules, affordable, closings, priorities or {})


def closed(calendar: Calendar, name: str, start: float, end: float, rows: Sequence[int] = (0,)) -> Closing:
    """A window; it is in the calendar."""
    closing = Closing(f"window/{name}", "maintenance", name, np.array(rows), start, end)
    calendar.close(closing.key, closing.rows, start, end)
    return closing


def is_possible(
    capacity: int,
    others: Sequence[tuple[int, int, float]],  # row, CPUs, until when
    promises: Sequence[Promise],
    closings: Sequence[Closing],
    use: RunningUse,
    more: float,
) -> bool:
    """May the job stay for so much longer? Looks at every moment at which anything begins."""
    end = use.end + more
    moments = {use.end, *(promise.slot.start for promise in promises), *(closing.start for closing in closings)}
    for rows, amounts in use.takings:
        for row in rows.tolist():
            for moment in sorted(time for time in moments if use.end <= time < end):
                if any(row in closing.rows and closing.start <= moment < closing.end for closing in closings):
                    return False
                there = [taken_of(promise, row) for promise in promises if _is_within(promise, moment)]
                taken = sum(cpus for where, cpus, until in others if where == row and moment < until) + sum(there)
                if sum(there) and taken + int(amounts[0]) > capacity:
                    return False
    return True


def _is_within(promise: Promise, moment: float) -> bool:
    return promise.slot.start <= moment < promise.slot.end


def taken_of(promise: Promise, row: int) -> int:
    """The CPUs of a row that a slot takes."""
    return sum(
        int(count * members.need[0])
        for placement, members in zip(promise.slot.placements, promise.job.classes, strict=True)
        for where, count in zip(placement.rows.tolist(), placement.counts.tolist(), strict=True)
        if where == row
    )
