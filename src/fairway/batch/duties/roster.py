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
from fairway.batch.duties.missing_jobs import MissingJobs
from fairway.batch.duties.opening_queues import OpeningQueues
from fairway.batch.duties.ordering import Ordering
from fairway.batch.duties.suspended_jobs import SuspendedJobs

__all__ = ["duties_of"]


def duties_of(
    desk: DutyDesk, opening: OpeningQueues, accounting: Accounting, ordering: Ordering, *others: Duty
) -> tuple[Duty, ...]:
    """All of them: queues as they are now; who has to leave, so that others see the room; what was decided, last."""
    lost = LostNodes(desk)
    first = (opening, ordering, ordering.limits, SuspendedJobs(desk), FailingJobs(desk, lost), accounting)
    return (*first, *others, MissingJobs(desk), EndingJobs(desk, lost))
