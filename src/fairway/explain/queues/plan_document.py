"""The plan of a scheduler as programs read it: who is promised what, who waits, what is closed.

In: a `StartPlan` and what is closed. Out: plain values; times are seconds since 1970, null is later than the plan looks
ahead. Called by `queue_answers`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from fairway.batch.closings import Closing
from fairway.explain.queues.job_list import dates_document
from fairway.explain.queues.start_plan import StartPlan, slot_rows

__all__ = ["plan_document"]


def plan_document(plan: StartPlan, closings: Iterable[Closing]) -> dict[str, Any]:
    """All of it."""
    promises = plan.calendar.promises
    waiting = []
    for job, planned in plan.waiting:
        promise = promises.get(planned.key)
        booked = None
        if promise is not None:
            slot = promise.slot
            booked = {
                "startSeconds": slot.start,
                "endSeconds": _number(slot.end),
                "nodes": list(plan.node_names(slot_rows(slot))),
            }
        waiting.append(
            {
                "job": job.job,
                "queue": job.queue,
                "durationSeconds": _number(planned.duration),
                "members": sum(each.count for each in planned.classes),
                "booked": booked,
                "dates": None if job.dates is None else dates_document(job.dates),
            }
        )
    closed = [
        {
            "kind": each.kind,
            "name": each.name,
            "startSeconds": _number(each.start),
            "endSeconds": _number(each.end),
            "nodes": sorted(plan.names[row] for row in each.rows.tolist()),
        }
        for each in closings
    ]
    return {
        "atSeconds": plan.at,
        "horizonSeconds": plan.settings.horizon,
        "waiting": waiting,
        "closed": closed,
    }


def _number(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None
