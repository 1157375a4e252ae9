"""What the PodGroup of a job that waits in a queue says of it: its place, when it will likely start, and what for.

In: a job as the desk knows it. Out: one line, such as `queue batch: 4th, likely 2030-01-01T14:40:00Z, waits for
Priority: 3 before it`. The place is told where its turn is all that keeps it; the date once there is one. Called by
`live_desk`, when the reason is another, or when the dates are written.
"""

from __future__ import annotations

import math
from typing import Final

from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobState, Reason
from fairway.live.batch.record_codec import moment_text

__all__ = ["ordinal", "queued_words"]

TURN: Final = (Reason.RESOURCES, Reason.PRIORITY)
ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}


def queued_words(job: BatchJob) -> str:
    """Of a job that waits or was refused."""
    standing, dates = job.standing, job.ledger.dates
    said = f"{standing.reason}{': ' if standing.words else ''}{standing.words}"
    if standing.state is JobState.REFUSED:
        return f"queue {job.queue}: refused, {said}"
    parts = []
    if standing.reason in TURN:
        ahead = standing.detail.get("jobs", 0)
        parts.append(ordinal((ahead if isinstance(ahead, int) else 0) + 1))
        said = f"waits for {said}"
    if dates is not None and math.isfinite(dates.last.likely):
        parts.append(f"likely {moment_text(dates.last.likely)}")
    return f"queue {job.queue}: {', '.join([*parts, said])}"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if number // 10 % 10 == 1 else ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"
