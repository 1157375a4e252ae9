"""Which duties a desk has.

In: a desk that attends a scheduler. Out: its duties in the order in which they hear of what happens and are asked.
Called by the desk once.
"""

from __future__ import annotations

from fairway.batch.duties.accounting import Accounting
from fairway.batch.duties.duty import Duty, DutyDesk
from fairway.batch.duties.ending_jobs import EndingJobs
from fairway.batch.duties.failing_jobs import FailingJobs
from fairway.batch.duties.lost_nodes import LostNodes
from fairway.batch.duties.ordering import Ordering

__all__ = ["duties_of"]


def duties_of(desk: DutyDesk, accounting: Accounting, ordering: Ordering, *others: Duty) -> tuple[Duty, ...]:
    """All of them: who has to leave first, so that others see the room that is left; what was decided, last."""
    lost = LostNodes(desk.epoch)
    return (ordering, ordering.limits, FailingJobs(desk, lost), accounting, *others, EndingJobs(desk, lost))
