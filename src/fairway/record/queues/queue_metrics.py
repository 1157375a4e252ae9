"""How queues fared: slowdowns, big jobs, dates that held, who was passed, what was given back; in all and by queue.

In: a `Run` with its tables of queues. Out: a `QueueMetrics` of all jobs in queues, and one of each queue; None of a run
without queues. What a job waited is counted from when it came to its first run; a run may be a stranger's, so nothing
is taken for granted but types. Part of `Metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fairway.batch.accounts import LineKind, RefundCause
from fairway.batch.settings import BatchSettings, read_settings
from fairway.plan.calibration import AT_ONCE, TOLERANCE
from fairway.record.distribution import Distribution
from fairway.record.load import Floats
from fairway.record.queues.share_error import share_error
from fairway.record.run import Run

__all__ = ["QueueMetrics", "RunMetrics", "queue_metrics"]

SHORTEST: Final = 10.0
BIG: Final = 0.25
"""A job is big that takes this share of the machine, of any resource."""

HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class QueueMetrics:
    """One queue, or all of them."""

    job_slowdown: Distribution
    wait_big: Distribution
    estimate_error_p50: float | None  # None: nobody was told a date, or nobody had to wait
    estimate_error_p95: float | None
    safe_held: float | None
    promises_kept: float | None
    backfilled: int
    preempted_node_hours: float
    refunded: float
    limit_late_max: float | None  # None: nobody ran into the limit


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """Of a queue: what is said of all jobs, wherever they are, is said of its jobs too."""

    jobs_started: int
    job_wait: Distribution
    utilisation_allocated: float  # the largest share of the cluster, of any resource
    fairness_error: float | None
    metrics: QueueMetrics


@dataclass(frozen=True, slots=True)
class _Job:
    number: int
    queue: str
    submitted: float
    waited: float | None  # None: it never ran
    complete_wait: float | None
    run: float
    is_over: bool
    limit: float
    share: float  # of the machine, the largest of any resource


def queue_metrics(run: Run) -> tuple[QueueMetrics, float | None, dict[str, RunMetrics]] | None:
    """Of all queues; how far shares were from what people are entitled to; and queue by queue."""
    if not run.knows_queues:
        return None
    jobs = _jobs(run)
    if not jobs:
        return None
    settings = _settings(run)
    facts = _Facts(run, jobs, settings)
    used = _used(run)
    by_queue = {}
    for name in sorted({job.queue for job in jobs}):
        mine = [job for job in jobs if job.queue == name]
        waits = [job.complete_wait for job in mine if job.complete_wait is not None]
        by_queue[name] = RunMetrics(
            len(waits),
            Distribution.of(np.array(waits)),
            used.get(name, 0.0),
            share_error(run, settings, {job.number for job in mine}),
            facts.of(mine),
        )
    return facts.of(jobs), share_error(run, settings, {job.number for job in jobs}), by_queue


def _jobs(run: Run) -> list[_Job]:
    columns = list(run.resources.values())
    sums = "".join(f', (SELECT sum("{column}") FROM nodes WHERE from_seconds = 0) AS "{column}"' for column in columns)
    whole = next(iter(run.sql(f"SELECT 1 AS one{sums}")), {})
    asked = "".join(f', sum(p."{column}") AS "{column}"' for column in columns)
    # Members that were made anew are others than those they stand for: what is there at once counts, so by name.
    rows = run.sql(
        f"""
        WITH members AS (
            SELECT coalesce(p.job_id, j.job_id) AS job_id{"".join(f', max(p."{each}") AS "{each}"' for each in columns)}
            FROM pods p LEFT JOIN jobs j ON j.pod_id = p.pod_id GROUP BY coalesce(p.job_id, j.job_id), p.pod
        ), sizes AS (SELECT job_id{asked} FROM members p WHERE job_id IS NOT NULL GROUP BY job_id),
        starts AS (SELECT job_id, min(time_seconds) AS first FROM job_states WHERE state = 'Running' GROUP BY job_id)
        SELECT j.job_id, j.queue, j.created_seconds, j.complete_seconds, j.started_seconds, j.run_seconds,
               j.limit_seconds, j.state, starts.first{"".join(f', sizes."{column}"' for column in columns)}
        FROM jobs j LEFT JOIN sizes USING (job_id) LEFT JOIN starts USING (job_id)
        WHERE j.queue IS NOT NULL ORDER BY j.job_id
        """
    )
    found = []
    for row in rows:
        share = max(((row[each] or 0) / whole[each] for each in columns if whole.get(each)), default=0.0)
        started, complete, first = row["started_seconds"], row["complete_seconds"], row["first"]
        found.append(
            _Job(
                row["job_id"],
                row["queue"],
                row["created_seconds"],
                None if first is None else max(first - row["created_seconds"], 0.0),
                None if started is None or complete is None else max(started - complete, 0.0),
                row["run_seconds"] or 0.0,
                row["state"] == "Finished",
                math.inf if row["limit_seconds"] is None else row["limit_seconds"],
                share,
            )
        )
    return found


class _Facts:
    """What tables say of each job."""

    def __init__(self, run: Run, jobs: Sequence[_Job], settings: BatchSettings | None) -> None:
        self._dates = _judged(run)
        self._passed = _backfilled(run)
        self._refunds = _refunds(run)
        self._preempted = _preempted(run)
        self._late = _lateness(run, {job.number: job for job in jobs}, settings)

    def of(self, jobs: Sequence[_Job]) -> QueueMetrics:
        """Of these jobs together."""
        numbers = [job.number for job in jobs]
        slowdowns = [
            max(1.0, (job.waited + job.run) / max(job.run, SHORTEST))
            for job in jobs
            if job.waited is not None and job.is_over
        ]
        big = [job.waited for job in jobs if job.share >= BIG and job.waited is not None]
        dates = [self._dates[number] for number in numbers if number in self._dates]
        waited = [each for each in dates if each.has_waited]
        errors = np.array([each.error for each in waited if each.error is not None])
        promised = [each.is_kept for each in dates if each.is_kept is not None]
        late = [self._late[number] for number in numbers if number in self._late]
        return QueueMetrics(
            job_slowdown=Distribution.of(np.array(slowdowns)),
            wait_big=Distribution.of(np.array(big)),
            estimate_error_p50=_percentile(errors, 50),
            estimate_error_p95=_percentile(errors, 95),
            safe_held=_share([each.is_safe_held for each in waited]),
            promises_kept=_share(promised),
            backfilled=sum(number in self._passed for number in numbers),
            preempted_node_hours=math.fsum(self._preempted.get(number, 0.0) for number in numbers),
            refunded=math.fsum(self._refunds.get(number, 0.0) for number in numbers),
            limit_late_max=max(late, default=None),
        )


@dataclass(frozen=True, slots=True)
class _Judged:
    """The first date of a job, as it turned out."""

    has_waited: bool
    error: float | None  # seconds, whichever way; None: it was told no date
    is_safe_held: bool
    is_kept: bool | None  # was every promise kept? None: there was none


def _judged(run: Run) -> dict[int, _Judged]:
    """By job that was told dates before its first run, as `fairway.plan.calibration` judges them."""
    rows = run.sql(
        """
        WITH starts AS (SELECT job_id, min(time_seconds) AS start FROM job_states WHERE state = 'Running'
                        GROUP BY job_id)
        SELECT e.job_id, s.start, arg_min(e.as_of_seconds, e.as_of_seconds) AS as_of,
               first(e.likely_seconds ORDER BY e.as_of_seconds) AS likely,
               first(e.safe_seconds ORDER BY e.as_of_seconds) AS safe,
               min(e.by_limits_seconds) FILTER (e.is_promised) AS promised, bool_or(e.is_promised) AS is_promised
        FROM estimates e JOIN starts s USING (job_id) WHERE e.as_of_seconds <= s.start GROUP BY e.job_id, s.start
        """
    )
    found = {}
    for row in rows:
        start, likely = row["start"], math.inf if row["likely"] is None else row["likely"]
        safe = math.inf if row["safe"] is None else row["safe"]
        promised = math.inf if row["promised"] is None else row["promised"]
        found[row["job_id"]] = _Judged(
            max(start, likely) - row["as_of"] >= AT_ONCE,
            abs(start - likely) if likely < math.inf else None,
            start <= safe,
            start <= promised + TOLERANCE if row["is_promised"] else None,
        )
    return found


def _backfilled(run: Run) -> set[int]:
    """Jobs that were let go while another one had been first of their queue already, and went on waiting."""
    heads: dict[str, tuple[int, float]] = {}
    found: set[int] = set()
    released: list[tuple[int, str]] = []
    time = -math.inf

    def close() -> None:
        for number, queue in released:
            if queue in heads and heads[queue][1] < time and heads[queue][0] != number:
                found.add(number)
        released.clear()

    rows = run.sql(
        "SELECT s.job_id, s.time_seconds AS time, s.state, s.reason, j.queue"
        " FROM job_states s JOIN jobs j USING (job_id) WHERE j.queue IS NOT NULL ORDER BY s.time_seconds, s.rowid"
    )
    for row in rows:
        if row["time"] > time:
            close()
            time = row["time"]
        queue, number = row["queue"], row["job_id"]
        if row["state"] == "Queued" and row["reason"] == "Resources":
            heads[queue] = (number, time)
        elif heads.get(queue, (-1, 0.0))[0] == number:
            del heads[queue]
        if row["state"] == "Starting":
            released.append((number, queue))
    close()
    return found


def _refunds(run: Run) -> dict[int, float]:
    """By job: units that were given back."""
    rows = run.sql(
        "SELECT job_id, -sum(charge_milli) AS milli FROM charges WHERE kind = $1 GROUP BY job_id", LineKind.REFUND.value
    )
    return {row["job_id"]: float(row["milli"]) / 1000 for row in rows}


def _preempted(run: Run) -> dict[int, float]:
    """By job: node-hours of runs that ended because somebody else needed the room; a node counts once."""
    rows = run.sql(
        "SELECT c.job_id, sum(c.to_seconds - c.from_seconds) AS seconds,"
        " (SELECT count(DISTINCT p.node) FROM pods p LEFT JOIN jobs j ON j.pod_id = p.pod_id"
        "  WHERE coalesce(p.job_id, j.job_id) = c.job_id AND p.node IS NOT NULL AND p.reason = 'Preempted') AS nodes"
        " FROM charges c WHERE c.kind = $1 AND c.reason = $2 GROUP BY c.job_id",
        LineKind.REFUND.value,
        RefundCause.PREEMPTED.value,
    )
    return {row["job_id"]: float(row["seconds"]) / HOUR * max(row["nodes"], 1) for row in rows}


def _lateness(run: Run, jobs: dict[int, _Job], settings: BatchSettings | None) -> dict[int, float]:
    """By job that was told to end by its limit: how many seconds too late."""
    ran: dict[int, float] = {}
    since: dict[int, float] = {}
    found: dict[int, float] = {}
    for row in run.sql("SELECT job_id, time_seconds AS time, state, reason FROM job_states ORDER BY rowid"):
        number, time = row["job_id"], row["time"]
        job = jobs.get(number)
        if row["state"] == "Running":
            since.setdefault(number, time)
        elif number in since:
            ran[number] = ran.get(number, 0.0) + time - since[number]
            del since[number]
            if row["reason"] == "TimedOut" and job is not None and job.limit < math.inf:
                spec = None if settings is None else settings.queues.get(job.queue)
                over = 0.0 if spec is None else float(spec.limits.over_time or 0.0)
                found[number] = max(ran[number] - job.limit - over, 0.0)
    return found


def _used(run: Run) -> dict[str, float]:
    """By queue: the largest share of what ready nodes had, of any resource, that its jobs held over time."""
    shares: dict[str, float] = {}
    for column in run.resources.values():
        rows = run.sql(
            f"""
            WITH there AS (SELECT sum((coalesce(to_seconds, $1) - from_seconds) * "{column}") AS amount
                           FROM nodes WHERE is_ready)
            SELECT j.queue, sum((coalesce(o.to_seconds, $1) - o.from_seconds) * o."{column}")
                            / nullif((SELECT amount FROM there), 0) AS share
            FROM occupancy o JOIN pods p USING (pod_id) JOIN jobs j ON j.job_id = p.job_id OR j.pod_id = p.pod_id
            WHERE j.queue IS NOT NULL GROUP BY j.queue
            """,
            run.end_seconds,
        )
        for row in rows:
            if row["share"] is not None:
                shares[row["queue"]] = max(shares.get(row["queue"], 0.0), float(row["share"]))
    return shares


def _settings(run: Run) -> BatchSettings | None:
    """What the first of its schedulers with queues was told; a run is a stranger's, and may say anything."""
    for scheduler in run.schedulers or ():
        if scheduler.batch is not None:
            try:
                return read_settings(scheduler.batch)
            except ValueError:
                return None
    return None


def _percentile(values: Floats, percent: float) -> float | None:
    return float(np.percentile(values, percent)) if len(values) else None


def _share(claims: Sequence[Any]) -> float | None:
    return sum(claims) / len(claims) if claims else None
