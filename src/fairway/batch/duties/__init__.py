"""What the desk looks after besides releasing jobs: one duty, one module.

`Duty` (`duty`) says what each of them does, `duties_of` (`roster`) which there are and in which order they are asked.
"""

from fairway.batch.duties.accounting import Accounting
from fairway.batch.duties.duty import Duty, DutyDesk
from fairway.batch.duties.opening_queues import OpeningQueues
from fairway.batch.duties.ordering import Ordering
from fairway.batch.duties.roster import duties_of

__all__ = ["Accounting", "Duty", "DutyDesk", "OpeningQueues", "Ordering", "duties_of"]
