"""When a job that waits in a run is tried next, as its queue had it.

In: a run, a job's row, a time, and how its scheduler was configured. Out: a `NextTry`, by when it is tried at the
latest; something helpful that happens may let it be sooner. None where members are tried one by one, or nothing is
known of the queue. Called by `job_answer`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fairway.config import Configuration
from fairway.queue import Place, QueueSettings
from fairway.queue.backoff import WINDOW_SECONDS, Backoff
from fairway.queue.queued_pod import priority_order
from fairway.queue.unschedulable import FlushTimes
from fairway.record import Run

__all__ = ["NextTry", "next_try"]


class NextTry(NamedTuple):
    """By when it is tried."""

    seconds: float  # from then on, at the latest
    place: str  # where in the queue it waits


def next_try(run: Run, row: dict[str, Any], at: float, configuration: Configuration, profile: str) -> NextTry | None:
    """When the job is tried next, seen from that time of the run."""
    gangs = next((each.gangs for each in configuration.profiles if each.scheduler_name == profile), None)
    place = _place(run, row, at) if gangs is not None and gangs.mode == "fairway" else None
    if gangs is None or place is None:
        return None
    if place not in (Place.BACKOFF.value, Place.UNSCHEDULABLE.value):
        return None if place == Place.GATED.value else NextTry(0.0, place)
    times = _failures(run, row, at)
    if not times:
        return None
    if place == Place.UNSCHEDULABLE.value:
        settings = QueueSettings()
        flushes = FlushTimes(0.0, settings.flush_interval_seconds)
        end = flushes.first_after(times[-1], settings.max_unschedulable_seconds)
    else:
        initial, most = configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds
        backoff = Backoff(initial, most, priority_order, iter(()))
        rest = backoff.duration(len(times), None if gangs.max_backoff is None else float(gangs.max_backoff))
        end = (times[-1] + rest) // WINDOW_SECONDS * WINDOW_SECONDS + WINDOW_SECONDS
    return NextTry(max(end - at, 0.0), place)


def _place(run: Run, row: dict[str, Any], at: float) -> str | None:
    """Where in the queue its members were; None if nobody wrote it down."""
    moves = run.sql(
        "SELECT place FROM queue_moves m JOIN pods p USING (pod_id) WHERE p.job_id = ? AND m.time_seconds <= ?"
        " ORDER BY m.time_seconds DESC, m.rowid DESC LIMIT 1",
        row["job_id"],
        at,
    )
    return next((str(move["place"]) for move in moves if move["place"] is not None), None)


def _failures(run: Run, row: dict[str, Any], at: float) -> list[float]:
    """When attempts failed since the last that did not."""
    found: list[float] = []
    for attempt in run.sql(
        "SELECT time_seconds, outcome FROM job_decisions WHERE job_id = ? AND time_seconds <= ?"
        " ORDER BY job_decision_id",
        row["job_id"],
        at,
    ):
        found = [] if attempt["outcome"] == "scheduled" else [*found, attempt["time_seconds"]]
    return found
