"""When will it start? Three dates for every waiting job.

In: the `Present`, with predictions of run times (`run_history`), and how dates held so far (`calibration`). Out: a
`StartEstimate` for each job. `by_limits` is its slot in the plan by limits (`dates`), `likely` its start when the
discipline is played forward with predicted run times (`forward`), `safe` is later than that by as much as jobs of this
queue were late. Called by the desk in a pass of its own; the calendar is left as it is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from fairway.plan.calibration import Calibration, EstimateBook
from fairway.plan.disciplines import dates_steps
from fairway.plan.forward import USUAL, Effort, Outlook, Present, play_steps
from fairway.plan.slots import Slot
from fairway.plan.start_estimate import Basis, StartEstimate, Way
from fairway.plan.steps import Steps, finish
from fairway.plan.waiting_job import WaitingJob

__all__ = ["MAX_JOBS", "Amounts", "forecast", "forecast_steps"]

MAX_JOBS: Final = 1000
"""Jobs behind so many others are told just that."""


class Amounts(NamedTuple):
    """Which columns of the calendar are counted for those ahead; None: there is none."""

    cpu: int | None = None
    gpu: int | None = None


NO_AMOUNTS: Final = Amounts()
NO_PROMISES: Final = MappingProxyType(dict[str, bool]())


def forecast(
    present: Present,
    book: EstimateBook,
    *,
    promised: Mapping[str, bool] = NO_PROMISES,
    wanted: Collection[str] | None = None,
    amounts: Amounts = NO_AMOUNTS,
    max_jobs: int = MAX_JOBS,
    effort: Effort = USUAL,
) -> dict[str, StartEstimate]:
    """Dates of all the jobs, or of those `wanted`.

    Promised are those that the calendar has a promise for, unless `promised` knows better: by key, whose date by limits
    binds for another reason, and whose does not, because others are planned before it.
    """
    steps = forecast_steps(
        present, book, promised=promised, wanted=wanted, amounts=amounts, max_jobs=max_jobs, effort=effort
    )
    return finish(steps)


def forecast_steps(
    present: Present,
    book: EstimateBook,
    *,
    promised: Mapping[str, bool] = NO_PROMISES,
    wanted: Collection[str] | None = None,
    amounts: Amounts = NO_AMOUNTS,
    max_jobs: int = MAX_JOBS,
    effort: Effort = USUAL,
) -> Steps[dict[str, StartEstimate]]:
    """The same in steps; the calendar may change in between, and the dates are those of the first step."""
    calendar, jobs = present.calendar.copy(), present.jobs
    seen = replace(present, calendar=calendar, jobs=jobs[:max_jobs])
    yield
    by_limits = yield from dates_steps(calendar, seen.jobs, present.times)
    outlook = yield from play_steps(seen, wanted, effort)
    ahead = _Ahead(amounts)
    estimates = {}
    for index, job in enumerate(jobs):
        if wanted is None or job.key in wanted:
            if index < max_jobs:
                is_promised = promised.get(job.key, job.key in calendar.promises)
                found = _dates(calendar.now, job.key, by_limits.get(job.key), outlook, is_promised=is_promised)
            else:
                found = _Dates(Way.NONE, math.inf, math.inf, (), is_promised=False)
            estimates[job.key] = _estimate(calendar.now, found, book.calibration(job.queue), ahead.of(job))
        ahead.add(job)
    return estimates


class _Dates(NamedTuple):
    way: Way
    likely: float
    by_limits: float
    rows: tuple[int, ...]
    is_promised: bool


def _dates(now: float, key: str, limit_slot: Slot | None, outlook: Outlook, *, is_promised: bool) -> _Dates:
    by_limits = _date(now, limit_slot)
    slot = outlook.slots.get(key)
    if slot is None:
        return _Dates(Way.LIMITS, by_limits, by_limits, _rows(limit_slot), is_promised)
    way = Way.PLANNED if key in outlook.planned else Way.PLAYED
    likely = _date(now, slot)
    if is_promised:
        return _Dates(way, min(likely, by_limits), by_limits, _rows(limit_slot), is_promised)
    return _Dates(way, likely, by_limits, _rows(slot), is_promised)


def _estimate(now: float, found: _Dates, calibration: Calibration, ahead: tuple[int, int, int]) -> StartEstimate:
    way, likely, by_limits, rows, is_promised = found
    safe = calibration.safe_date(now, likely, by_limits)
    if is_promised:
        safe = min(safe, by_limits)
    basis = Basis(way, len(calibration), calibration.safe_held)
    return StartEstimate(now, likely, safe, by_limits, is_promised, basis, *ahead, rows)


def _date(now: float, slot: Slot | None) -> float:
    return max(slot.start, now) if slot is not None else math.inf


def _rows(slot: Slot | None) -> tuple[int, ...]:
    if slot is None:
        return ()
    return tuple(sorted({row for placement in slot.placements for row in placement.rows.tolist()}))


class _Ahead:
    """Who is ahead in each queue, and what they want, as jobs are gone through in their order."""

    def __init__(self, amounts: Amounts) -> None:
        self._amounts = amounts
        self._totals: dict[str, tuple[int, int, int]] = {}

    def of(self, job: WaitingJob) -> tuple[int, int, int]:
        return self._totals.get(job.queue, (0, 0, 0))

    def add(self, job: WaitingJob) -> None:
        jobs, cpu, gpu = self.of(job)
        cpu_more, gpu_more = (
            0 if column is None else sum(int(one.need[column]) * one.count for one in job.classes)
            for column in self._amounts
        )
        self._totals[job.queue] = (jobs + 1, cpu + cpu_more, gpu + gpu_more)
