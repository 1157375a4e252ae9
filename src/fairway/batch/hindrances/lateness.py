"""Jobs that are of no use any more if they start late: would they?

In: the waiting jobs in their order, the calendar after a pass. Out: a standing `TooLate` for each job whose `start-by`
is over, or before its date in the plan by limits. Who was refused stays so until it, its queue or the nodes change: an
answer that came and went with those before it would tell its owner nothing. Called by `standings`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobStanding, JobState, Refused
from fairway.plan import Calendar, Steps, dates_steps
from fairway.words import length_text

__all__ = ["too_late"]


def too_late(calendar: Calendar, jobs: Sequence[BatchJob], now: float) -> Steps[dict[str, JobStanding]]:
    """By key: who of the waiting jobs would start too late; found in steps."""
    soon = [index for index, job in enumerate(jobs) if job.wishes.start_by < math.inf]
    if not soon:
        return {}
    last = soon[-1]
    plans = [job.plan for job in jobs[: last + 1] if job.plan is not None]
    slots = yield from dates_steps(calendar, plans)
    late = {}
    for job in jobs[: last + 1]:
        start_by, slot = job.wishes.start_by, slots.get(job.key)
        planned = calendar.now + calendar.horizon if slot is None else slot.start
        if start_by < planned:
            words = f"was to start within {length_text(max(start_by - job.ledger.submitted, 0.0))} of coming; "
            words += "its date is " + (
                "later than the plan looks ahead" if slot is None else _later(planned - start_by)
            )
            detail = {"start_by": start_by, "planned": None if slot is None else planned}
            late[job.key] = JobStanding(JobState.REFUSED, Refused.TOO_LATE, detail, words)
    return late


def _later(seconds: float) -> str:
    return f"its date is {length_text(seconds)} later"
