"""When: what is free at what time, the earliest slot of a job, who starts now, and when the others will.

`FreeTimeline` (`timeline`) holds free amounts over time, `earliest_slot` (`slots`) finds room in it, a `Calendar`
(`bookings`) knows who takes what until when, and `run_pass` (`disciplines`) goes through waiting jobs in their order.
`forecast` says when each will start: from predictions of run times (`run_history`), the discipline played forward with
them (`forward`), and how such dates held (`calibration`). All of it is arithmetic on arrays: nothing here reads a
clock, a file or a cluster. Called by the desk of `batch/` and by the command `conformance`.
"""

from fairway.plan.allowances import Allowances, Share
from fairway.plan.bookings import BookingMode, Calendar, Promise
from fairway.plan.calibration import Calibration, DateJudgement, EstimateBook, EstimateSummary
from fairway.plan.disciplines import (
    Discipline,
    PassOutcome,
    QueueRule,
    Replan,
    dates,
    dates_steps,
    pass_steps,
    run_pass,
)
from fairway.plan.entrances import Entrance
from fairway.plan.forecast import Amounts, forecast, forecast_steps
from fairway.plan.forward import Effort, Outlook, Present, play_forward
from fairway.plan.obstacles import Obstacles
from fairway.plan.row_choice import ConsecutiveRows, MemberRows, RowChoice, SmallestRest
from fairway.plan.run_history import RunHistory, seconds_left
from fairway.plan.slots import MemberClass, Slot, earliest_slot
from fairway.plan.start_estimate import Basis, StartEstimate, Way, has_moved
from fairway.plan.steps import Steps, finish
from fairway.plan.timeline import FreeTimeline
from fairway.plan.waiting_job import Dependency, WaitingJob, member_need, only_at, ready_time

__all__ = [
    "Allowances",
    "Amounts",
    "Basis",
    "BookingMode",
    "Calendar",
    "Calibration",
    "ConsecutiveRows",
    "DateJudgement",
    "Dependency",
    "Discipline",
    "Effort",
    "Entrance",
    "EstimateBook",
    "EstimateSummary",
    "FreeTimeline",
    "MemberClass",
    "MemberRows",
    "Obstacles",
    "Outlook",
    "PassOutcome",
    "Present",
    "Promise",
    "QueueRule",
    "Replan",
    "RowChoice",
    "RunHistory",
    "Share",
    "Slot",
    "SmallestRest",
    "StartEstimate",
    "Steps",
    "WaitingJob",
    "Way",
    "dates",
    "dates_steps",
    "earliest_slot",
    "finish",
    "forecast",
    "forecast_steps",
    "has_moved",
    "member_need",
    "only_at",
    "pass_steps",
    "play_forward",
    "ready_time",
    "run_pass",
    "seconds_left",
]
