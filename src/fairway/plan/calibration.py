"""How well dates held: every date that was given is kept, and judged when the job starts.

In: the estimates that jobs were given (`EstimateBook.give`), and when jobs start (`started`) or go away without
(`forget`). Out: a `Judgement` of each date, which is written down; by queue a `Calibration`, from which the next `safe`
dates are made; and an `EstimateSummary` for people. Calibration and summary count the first date of each job: one that
waits for long is given many dates, and would else count for many. Jobs that start within a minute, as they were told,
teach nothing about waiting, and are left out. Called by the desk; a restart feeds what was written down once more.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from statistics import median
from typing import Final, NamedTuple

from fairway.plan.recent_values import RecentValues
from fairway.plan.start_estimate import StartEstimate

__all__ = ["Calibration", "DateJudgement", "EstimateBook", "EstimateSummary"]

KEPT: Final = 300
ENOUGH: Final = 20
SHARE: Final = 0.97
MARGIN: Final = 600.0
"""Seconds added to the time until a date, so that a date that is near may be wrong by some minutes too."""

AT_ONCE: Final = 60.0
"""Who waits for less than this, in seconds, has not waited."""

TOLERANCE: Final = 60.0
"""A promise is kept if the job starts no more seconds later than this: whom it waits for is told to end, and ends."""


class DateJudgement(NamedTuple):
    """A date, and what came of it."""

    estimate: StartEstimate
    start: float

    @property
    def error(self) -> float:
        """By how many seconds the job started later than was likely."""
        return self.start - self.estimate.likely

    @property
    def has_waited(self) -> bool:
        """Was there anything to estimate?"""
        return max(self.start, self.estimate.likely) - self.estimate.as_of >= AT_ONCE

    @property
    def is_safe_held(self) -> bool:
        """Did the job start by its safe date?"""
        return self.start <= self.estimate.safe

    @property
    def is_by_limits_held(self) -> bool:
        """Did the job start by the date that the limits of others give?"""
        return self.start <= self.estimate.by_limits

    @property
    def is_promise_broken(self) -> bool:
        """Was it promised to start earlier than it did?"""
        return self.estimate.is_promised and self.start > self.estimate.by_limits + TOLERANCE


class EstimateSummary(NamedTuple):
    """How the first dates of recent jobs held; None: there were none to say it of."""

    num_jobs: int
    median_error: float | None  # seconds; positive: later than was likely
    median_absolute_error: float | None
    safe_held: float | None  # share of jobs
    safe_slack: float | None  # median seconds from the start to the safe date
    by_limits_held: float | None
    by_limits_slack: float | None
    num_promised: int  # jobs that were promised a date at some time
    promises_kept: float | None  # share of these


class Calibration:
    """What recent starts of a queue say about its dates."""

    def __init__(self) -> None:
        self._lateness = RecentValues(KEPT)
        self._by_limits_held: deque[bool] = deque(maxlen=KEPT)
        self._safe_held: deque[bool] = deque(maxlen=KEPT)

    def copy(self) -> Calibration:
        """Another one that may go its own way."""
        twin = Calibration()
        twin._lateness = self._lateness.copy()
        twin._by_limits_held, twin._safe_held = self._by_limits_held.copy(), self._safe_held.copy()
        return twin

    def __len__(self) -> int:
        return len(self._safe_held)

    def add(self, judgement: DateJudgement) -> None:
        """A job has started."""
        if not judgement.has_waited:
            return
        estimate = judgement.estimate
        self._safe_held.append(judgement.is_safe_held)
        self._by_limits_held.append(judgement.is_by_limits_held)
        if estimate.likely < math.inf:
            self._lateness.add(judgement.error / (estimate.likely - estimate.as_of + MARGIN))

    @property
    def safe_held(self) -> float | None:
        """The share of safe dates that held."""
        return sum(self._safe_held) / len(self._safe_held) if self._safe_held else None

    @property
    def is_by_limits_sound(self) -> bool:
        """Do dates by limits hold as often as safe ones should?"""
        return sum(self._by_limits_held) >= SHARE * len(self._by_limits_held) > 0

    def safe_date(self, as_of: float, likely: float, by_limits: float) -> float:
        """The date by which a job will have started, nearly always; not before `likely`."""
        if len(self._lateness) < ENOUGH or likely == math.inf:
            return max(likely, by_limits)
        safe = likely + self._lateness.bound(SHARE) * (likely - as_of + MARGIN)
        return max(likely, min(safe, by_limits) if self.is_by_limits_sound else safe)


class _Standing(NamedTuple):
    first: DateJudgement
    is_promised: bool
    is_promise_kept: bool


class EstimateBook:
    """The dates of jobs that wait, and how those of jobs that started held."""

    def __init__(self) -> None:
        self._given: dict[str, list[StartEstimate]] = {}
        self._calibrations: dict[str, Calibration] = {}
        self._recent: dict[str, deque[_Standing]] = {}

    def copy(self) -> EstimateBook:
        """Another one that may go its own way."""
        twin = EstimateBook()
        twin._given = {key: list(given) for key, given in self._given.items()}
        twin._calibrations = {queue: each.copy() for queue, each in self._calibrations.items()}
        twin._recent = {queue: recent.copy() for queue, recent in self._recent.items()}
        return twin

    def calibration(self, queue: str) -> Calibration:
        """That of a queue; an empty one for a queue in which nothing has started."""
        return self._calibrations.get(queue) or Calibration()

    def given(self, key: str) -> list[StartEstimate]:
        """The dates that a waiting job was given, in order."""
        return list(self._given.get(key, ()))

    def give(self, key: str, estimate: StartEstimate) -> None:
        """A job is told a date."""
        self._given.setdefault(key, []).append(estimate)

    def forget(self, key: str) -> None:
        """A job has gone without starting: its dates say nothing."""
        self._given.pop(key, None)

    def started(self, key: str, queue: str, time: float) -> list[DateJudgement]:
        """A job has started: all its dates, judged. The queue learns from the first."""
        judgements = [DateJudgement(estimate, time) for estimate in self._given.pop(key, ())]
        if judgements:
            self._calibrations.setdefault(queue, Calibration()).add(judgements[0])
            is_promised = any(judgement.estimate.is_promised for judgement in judgements)
            is_kept = not any(judgement.is_promise_broken for judgement in judgements)
            standing = _Standing(judgements[0], is_promised, is_kept)
            self._recent.setdefault(queue, deque(maxlen=KEPT)).append(standing)
        return judgements

    def summary(self, queue: str | None = None) -> EstimateSummary:
        """Of one queue, or of all of them: the last 300 jobs of each."""
        queues = self._recent if queue is None else [queue]
        standings = [standing for name in queues for standing in self._recent.get(name, ())]
        promised = [standing.is_promise_kept for standing in standings if standing.is_promised]
        return summarise((standing.first for standing in standings), promised)


def summarise(judgements: Iterable[DateJudgement], promised: list[bool]) -> EstimateSummary:
    """What judgements say together; `promised` has for each job with a promise whether it was kept."""
    waited = [judgement for judgement in judgements if judgement.has_waited]
    errors = [judgement.error for judgement in waited if judgement.estimate.likely < math.inf]
    return EstimateSummary(
        len(waited),
        _median(errors),
        _median([abs(error) for error in errors]),
        _share([judgement.is_safe_held for judgement in waited]),
        _median([judgement.estimate.safe - judgement.start for judgement in waited]),
        _share([judgement.is_by_limits_held for judgement in waited]),
        _median([judgement.estimate.by_limits - judgement.start for judgement in waited]),
        len(promised),
        _share(promised),
    )


def _median(values: list[float]) -> float | None:
    return median(values) if values else None


def _share(claims: list[bool]) -> float | None:
    return sum(claims) / len(claims) if claims else None
