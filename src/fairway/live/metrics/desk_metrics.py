"""Metrics of queues of jobs: who waits why, what passes cost, how dates and limits were kept.

In: counts of jobs, as they stand now and as things happen to them. Out: the instruments of the families `fairway_jobs`
and the like; a series of a gauge that nobody belongs to any more says 0. `fairway.live.batch.desk_meter` is the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["DeskMetrics"]

BROKEN = ("NodesUnavailable", "Maintenance", "Reserved", "OutsideQueues", "Other")


class DeskMetrics:
    """Of the queues of one process."""

    def __init__(self, of: Callable[..., Any]) -> None:
        """`of`: the instrument of a family with these label values."""
        self._of = of
        self._jobs: set[tuple[str, str, str]] = set()  # queue, state, reason: those that were told last
        self._accounts: set[str] = set()
        for why in BROKEN:
            of("fairway_promises_broken_total", why)

    def jobs(self, counts: Mapping[tuple[str, str, str], int]) -> None:
        """So many jobs of each queue are in each state, for each reason."""
        for key in self._jobs - counts.keys():
            self._of("fairway_jobs", *key).set(0)
        for key, number in counts.items():
            self._of("fairway_jobs", *key).set(number)
        self._jobs |= counts.keys()

    def accounts(self, used: Mapping[str, float]) -> None:
        """What each account has used, settled and running, in units."""
        for name in self._accounts - used.keys():
            self._of("fairway_account_used", name).set(0)
        for name, units in used.items():
            self._of("fairway_account_used", name).set(units)
        self._accounts |= used.keys()

    def planned(self, seconds: float, num_jobs: int) -> None:
        """A pass over so many waiting jobs took so long, what was done in between aside."""
        self._of("fairway_plan_seconds").observe(seconds)
        self._of("fairway_plan_jobs").set(num_jobs)

    def started(self, queue: str, wait_seconds: float) -> None:
        """A job runs, so long after it came, or after it last had to go."""
        self._of("fairway_job_wait_seconds", queue).observe(wait_seconds)

    def estimated(self, queue: str, error_seconds: float) -> None:
        """It started so far from the first date that it was told."""
        self._of("fairway_estimate_error_seconds", queue).observe(error_seconds)

    def promise_broken(self, why: str) -> None:
        """It started later than it was promised."""
        self._of("fairway_promises_broken_total", why).inc()

    def limit_carried_out(self, late_seconds: float) -> None:
        """A job was told to end, so long after its limit."""
        self._of("fairway_limit_late_seconds").observe(late_seconds)
