"""Queues at a moment: who waits and runs, what they hold of their quota, when the first one starts.

In: queues at a moment, and the light of each, if anybody looked. Out: a `QueueTable`. Called by `fairway queue`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fairway.batch.reasons import JobState
from fairway.explain.queues.job_list import date_words
from fairway.explain.queues.queue_jobs import QueueJob
from fairway.explain.queues.queue_moment import QueueMoment
from fairway.explain.queues.run_queues import check_name
from fairway.model.batch import QueueSpec
from fairway.model.quantity import thousandths, whole_units
from fairway.tables import Column
from fairway.words import amount_text

__all__ = ["QueueTable", "SeenQueue", "queue_columns", "queue_table"]

FIRST: Final = (
    Column("queue", "QUEUE"),
    Column("state", "STATE"),
    Column("policy", "POLICY"),
    Column("waiting", "WAITING", right=True),
    Column("running", "RUNNING", right=True),
)
LAST: Final = (
    Column("headStarts", "HEAD STARTS"),
    Column("light", "LIGHT"),
    Column("refused", "REFUSED", right=True, wide=True),
    Column("head", "HEAD", wide=True),
)


LATER: Final = (math.inf, math.inf)
"""Where those are who were told no date."""


@dataclass(frozen=True, slots=True)
class SeenQueue:
    """A queue at a moment."""

    name: str
    spec: QueueSpec
    jobs: Sequence[QueueJob]  # that are not over
    light: str = ""  # free, busy or full; "": nobody looked

    @property
    def waiting(self) -> list[QueueJob]:
        """Those that wait, the first to start first."""
        waiting = [job for job in self.jobs if job.waits]
        return sorted(
            waiting, key=lambda job: (*((job.dates.likely, job.dates.ahead) if job.dates else LATER), job.number)
        )

    def held(self, resource: str) -> int:
        """What its jobs hold of a resource."""
        return sum(job.total(resource) for job in self.jobs if job.runs)

    def quota(self, resource: str) -> int | None:
        """What it may always use; None: nobody says."""
        quota = self.spec.quota.get(resource)
        if quota is None:
            return None
        return thousandths(quota.nanos) if resource == "cpu" else whole_units(quota.nanos)


@dataclass(frozen=True, slots=True)
class QueueTable:
    """All queues."""

    moment: QueueMoment
    queues: Sequence[SeenQueue]
    resources: Sequence[str]  # that a quota or a job names

    def rows(self) -> list[dict[str, Any]]:
        """For people."""
        return [self._row(queue) for queue in self.queues]

    def _row(self, queue: SeenQueue) -> dict[str, Any]:
        waiting = queue.waiting
        head = waiting[0] if waiting else None
        row: dict[str, Any] = {
            "queue": queue.name,
            "state": queue.spec.state,
            "policy": "interactive" if queue.spec.is_interactive else f"{queue.spec.policy}, {queue.spec.discipline}",
            "waiting": len(waiting),
            "running": sum(job.runs for job in queue.jobs),
            "refused": sum(not job.waits and not job.runs for job in queue.jobs) or None,
            "head": None if head is None else head.job,
            "headStarts": None,
            "light": queue.light or None,
        }
        if head is not None and head.dates is not None:
            row["headStarts"] = date_words(
                head.dates, self.moment.settings, self.moment.times, is_interactive=queue.spec.is_interactive
            )
        for resource in self.resources:
            row[resource] = _of_quota(queue, resource)
        return row

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {"atSeconds": self.moment.at, "queues": [self._document(queue) for queue in self.queues]}

    def _document(self, queue: SeenQueue) -> dict[str, Any]:
        waiting = queue.waiting
        head = waiting[0] if waiting else None
        likely = None if head is None or head.dates is None or math.isinf(head.dates.likely) else head.dates.likely
        return {
            "queue": queue.name,
            "state": queue.spec.state,
            "policy": queue.spec.policy,
            "discipline": queue.spec.discipline,
            "waiting": len(waiting),
            "running": sum(job.runs for job in queue.jobs),
            "refused": sum(not job.waits and not job.runs for job in queue.jobs),
            "held": {resource: queue.held(resource) for resource in self.resources},
            "quota": {name: queue.quota(name) for name in self.resources if queue.quota(name) is not None},
            "head": None if head is None else head.job,
            "headStartsSeconds": likely,
            "light": queue.light or None,
        }


def queue_columns(table: QueueTable) -> list[Column]:
    """The columns, with one for each resource."""
    limited = {name for queue in table.queues for name in queue.spec.quota}
    amounts = [
        Column(name, f"{name.rpartition('/')[2].upper()} {'OF QUOTA' if name in limited else 'HELD'}", right=True)
        for name in table.resources
    ]
    return [*FIRST, *amounts, *LAST]


def queue_table(
    moment: QueueMoment, name: str | None = None, light: Callable[[str], str] = lambda queue: ""
) -> QueueTable:
    """All queues then, or one; `UserError` if there is none of that name."""
    settings = moment.settings
    check_name("queue", name, settings.queues, "fairway queue")
    jobs = [job for job in moment.jobs if job.state is not JobState.FINISHED]
    queues = [
        SeenQueue(key, spec, [job for job in jobs if job.queue == key], light(key))
        for key, spec in settings.queues.items()
        if name in (None, key)
    ]
    named = {resource for queue in queues for resource in queue.spec.quota}
    asked = {resource for job in jobs for each in job.members for resource in each.amounts}
    shown = [
        resource for resource in moment.resources if resource in named or (resource in asked and resource != "memory")
    ]
    return QueueTable(moment, queues, shown)


def _of_quota(queue: SeenQueue, resource: str) -> str:
    held, quota = queue.held(resource), queue.quota(resource)
    if quota is None:
        return amount_text(resource, held)
    more = f" (+{amount_text(resource, held - quota)})" if held > quota else ""
    return f"{amount_text(resource, held)}/{amount_text(resource, quota)}{more}"
