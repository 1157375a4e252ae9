"""How jobs fared: how many started, how long complete ones waited, how far apart members came, and what was held.

In: a `Run` with its tables `jobs`, `pods` and `holds`. Out: a `JobMetrics`, parts of `Metrics`; None of a run without
jobs, or of one that does not say who belongs together. Room counts as held in part while permit plugins keep it for a
member of a job that has not started: a node once, however many members it is kept for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairway.record.distribution import Distribution
from fairway.record.load import Floats, Spans
from fairway.record.placement import busy_stretches
from fairway.record.run import Run
from fairway.record.vocabulary import BlockedNote, DeadlockNote, PoolNote

__all__ = ["JobCounts", "JobMetrics", "JobTimes", "held_nodes", "job_metrics"]

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class JobCounts:
    """What became of the jobs."""

    created: int
    started: int


@dataclass(frozen=True, slots=True)
class JobTimes:
    """How long it took them."""

    wait: Distribution  # seconds, from complete to started
    start_spread: Distribution  # seconds, from the first member's binding to the last one it takes
    attempts: int


@dataclass(frozen=True, slots=True)
class JobMetrics:
    """Jobs in numbers."""

    jobs: JobCounts
    times: JobTimes
    partial_hold: dict[str, float]  # node_hours, and by resource amounts times seconds
    deadlocks: int | None  # None: nobody looked, or nobody wrote it down
    deadlock_seconds: float | None
    pooled_seconds: float | None  # None: no gang was ever in a pool (mode `pfnet`)
    blocked_ahead_seconds: float | None  # None: nobody looked (`record: {gangs: true}`)


def job_metrics(run: Run) -> JobMetrics | None:
    """Work out the metrics of a run."""
    if not run.knows_jobs or not len(run.jobs):
        return None
    rows = run.sql(
        "SELECT j.started_seconds AS started, j.complete_seconds AS complete, j.num_attempts AS attempts,"
        " (SELECT min(p.bound_seconds) FROM pods p WHERE p.job_id = j.job_id) AS first, j.spelling <> 'pod' AS is_group"
        " FROM jobs j ORDER BY j.job_id"
    ).numpy()
    started, complete, first = (_floats(rows[name]) for name in ("started", "complete", "first"))
    has_started = ~np.isnan(started)
    waits = np.maximum(started - complete, 0.0)[has_started]
    spreads = (started - first)[has_started & ~np.isnan(first)]
    times = JobTimes(Distribution.of(waits), Distribution.of(spreads), int(np.sum(rows["attempts"])))
    counts = JobCounts(len(started), int(has_started.sum()))
    if not rows["is_group"].any():  # one pod, one job: nobody waits for members
        return JobMetrics(counts, times, {}, None, None, None, None)
    return JobMetrics(counts, times, _partial_holds(run), *_deadlocks(run), _pooled(run), _blocked_ahead(run))


def _deadlocks(run: Run) -> tuple[int | None, float | None]:
    """How many there were, and for how long in all, schedulers each for itself."""
    if run.origin != "simulated" or not _kept(run).get("events", True):
        return None, None  # nobody looked, or nobody wrote it down
    return _stretches(run, DeadlockNote.BEGUN, DeadlockNote.OVER)


def _pooled(run: Run) -> float | None:
    """How long gangs that were ready waited for any pod to get a node, all of them together."""
    number, seconds = _stretches(run, PoolNote.BEGUN, PoolNote.OVER) if run.origin == "simulated" else (0, 0.0)
    return seconds if number else None


def _blocked_ahead(run: Run) -> float | None:
    """How long jobs fitted and were not tried, all of them together. What was seen was so since the look before."""
    kept = _kept(run)
    if run.origin != "simulated" or not kept.get("events", True) or not kept.get("gangs", False):
        return None
    return _stretches(run, BlockedNote.BEGUN, BlockedNote.OVER)[1]


def _kept(run: Run) -> dict[str, Any]:
    return (run.scenario.get("spec") or {}).get("record") or {}


def _stretches(run: Run, begin: str, end: str) -> tuple[int, float]:
    """How many stretches of time events tell the begin and end of, each subject for itself; and how long in all."""
    since: dict[str, float] = {}
    number, seconds = 0, 0.0
    for row in run.events.where(f"reason IN ('{begin}', '{end}')"):
        if row["reason"] == begin:
            since[row["subject"]], number = row["time_seconds"], number + 1
        else:
            seconds += row["time_seconds"] - since.pop(row["subject"], row["time_seconds"])
    return number, seconds + sum(run.end_seconds - begun for begun in since.values())


def held_nodes(run: Run) -> tuple[Floats, Floats]:
    """When the number of nodes changed that were kept for members of jobs that had not started, and to what."""
    _, begins, ends = _held_stretches(run)[1]
    times, places = np.unique(np.concatenate([[0.0], begins, ends, [run.end_seconds]]), return_inverse=True)
    changes = np.concatenate([[0.0], np.ones(len(begins)), -np.ones(len(ends)), [0.0]])
    return times, np.cumsum(np.bincount(places, changes, len(times)))


def _partial_holds(run: Run) -> dict[str, float]:
    """What was kept for members of jobs that had not started."""
    spans, (_, begins, ends) = _held_stretches(run)
    found = {"node_hours": float(np.sum(ends - begins)) / HOUR}
    return found | dict(zip(run.resources, spans.integral().tolist(), strict=True))


def _held_stretches(run: Run) -> tuple[Spans, tuple[Any, Floats, Floats]]:
    """What was kept so, pod by pod; and node by node, from when to when."""
    columns = list(run.resources.values())
    amounts = "".join(f', h."{column}"' for column in columns)
    rows = run.sql(
        f"SELECT h.node_id, h.from_seconds AS begun, least(coalesce(h.to_seconds, $1), coalesce(j.started_seconds, $1))"
        f" AS over{amounts} FROM holds h JOIN jobs j USING (job_id) WHERE h.why = 'permit'"
        " AND h.from_seconds < least(coalesce(h.to_seconds, $1), coalesce(j.started_seconds, $1))"
        " ORDER BY h.from_seconds, h.pod_id",
        run.end_seconds,
    ).numpy()
    begun, over = _floats(rows["begun"]), _floats(rows["over"])
    held = np.empty((len(begun), len(columns)))
    for number, column in enumerate(columns):
        held[:, number] = rows[column]
    spans = Spans(rows["node_id"].astype(np.int32), begun, over, held)
    return spans, busy_stretches(spans, np.ones(len(begun), np.bool_))


def _floats(cells: Floats) -> Floats:
    return np.asarray(cells, np.float64)
