"""What operators say about jobs: queues, accounts, maintenance windows and reservations, of fairway.dev/v1alpha1.

Each kind is a struct with its object's fields; scenario files hold their `spec`s. What can not be meant is told by
`problems` of each module. `fairway.batch` reads them; nothing here knows of pods.
"""

from fairway.model.batch.account import AccountSpec, BudgetSpec, UserShares, account_problems
from fairway.model.batch.node_choice import NodeChoice
from fairway.model.batch.queue import (
    ExtensionRules,
    FailureRule,
    FailureRules,
    PreemptionRules,
    QueueLimits,
    QueueSpec,
    UserLimits,
    WeightSpec,
    queue_problems,
)
from fairway.model.batch.reservation import ReservationFor, ReservationSpec, reservation_problems
from fairway.model.batch.window import WindowSpec, window_problems

__all__ = [
    "AccountSpec",
    "BudgetSpec",
    "ExtensionRules",
    "FailureRule",
    "FailureRules",
    "NodeChoice",
    "PreemptionRules",
    "QueueLimits",
    "QueueSpec",
    "ReservationFor",
    "ReservationSpec",
    "UserLimits",
    "UserShares",
    "WeightSpec",
    "WindowSpec",
    "account_problems",
    "queue_problems",
    "reservation_problems",
    "window_problems",
]
