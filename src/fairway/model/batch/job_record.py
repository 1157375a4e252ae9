"""A job's record: what operators order of a job, and what everybody may read of it.

A `JobRecordSpec` is what a JobRecord's `spec` says: how operators want the job to be. Its `status` is written by the
scheduler alone: `JobRecordStatus` has what people read and columns show; beside it stands the `ledger`, which is for
the scheduler that comes after (`fairway.live.batch`). The statuses of the other kinds are here as well.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from typing import Annotated, Any

import msgspec

from fairway.model.meta import Value

__all__ = [
    "AccountStatus",
    "ClosingObjectStatus",
    "JobPlan",
    "JobRecordSpec",
    "JobRecordStatus",
    "ObjectCondition",
    "QueueStatus",
    "RecordedInterval",
    "RecordedMembers",
]


class ObjectCondition(Value, frozen=True, kw_only=True):
    """A condition, as every object of Kubernetes may have it."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


class JobRecordSpec(Value, frozen=True, kw_only=True):
    """What operators want of a job."""

    hold: bool = False
    nice: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    time_limit: str = ""  # such as 12h; "": as it asks
    queue: str = ""  # where it shall be; "": where it says itself
    cancel: bool = False
    requeue_before: str = ""  # RFC 3339: if it was let go before that, it shall wait again


class RecordedInterval(Value, frozen=True, kw_only=True):
    """A stretch in which the job ran."""

    from_: str = msgspec.field(name="from")
    to: str = ""  # "": it still runs
    rate: float = 0.0  # billed units a second
    nodes: tuple[str, ...] = ()
    refund: str = ""  # why it is not charged
    uncertain: bool = False  # nobody saw its end


class RecordedMembers(Value, frozen=True, kw_only=True):
    """Members that ask for the same."""

    count: int
    requests: dict[str, str] = {}  # of each


class JobPlan(Value, frozen=True, kw_only=True):
    """When it will start, and how sure that is."""

    as_of: str = ""
    likely: str = ""
    safe: str = ""
    by_limits: str = ""
    is_promised: bool = False
    is_rough: bool = False  # plugins that the plan does not see have refused it before
    basis: str = ""
    ahead: dict[str, Any] = {}  # jobs, cpu, gpu
    nodes: tuple[str, ...] = ()


class OrderAnswerStatus(Value, frozen=True, kw_only=True):
    """What whoever wanted something of the job that may be refused was told last."""

    about: str = ""  # timeLimit, requeueBefore
    asked: str = ""  # a span of time, or a time
    granted: bool = False
    by_owner: bool = False
    message: str = ""
    longest: str = ""  # of a limit that is refused: the longest that would have been granted
    time: str = ""


class JobRecordStatus(Value, frozen=True, kw_only=True):
    """What people read of a job."""

    state: str = ""
    reason: str = ""
    message: str = ""  # the reason as a sentence
    detail: dict[str, Any] = {}
    since: str = ""  # when it came into this state, for this reason
    queue: str = ""
    account: str = ""
    user: str = ""
    size: str = ""  # such as 4 × 8 gpu
    members: tuple[RecordedMembers, ...] = ()
    submitted: str = ""
    started: str = ""
    ended: str = ""
    start: str = ""  # when it began to run, or likely will
    priority: int = 0
    factors: dict[str, Any] = {}
    plan: JobPlan | None = None
    limit: str = ""  # as granted, else as asked for
    deadline: str = ""  # of one that runs
    nodes: int = 0
    intervals: tuple[RecordedInterval, ...] = ()
    requeues: int = 0
    restarts: int = 0
    answer: OrderAnswerStatus | None = None
    charge: float = 0.0  # units; of a job that is over
    final: bool = False  # its intervals will not change any more
    settled: bool = False  # its account has the charge
    conditions: tuple[ObjectCondition, ...] = ()


class QueueStatus(Value, frozen=True, kw_only=True):
    """What people read of a queue."""

    waiting: int = 0
    running: int = 0
    state: str = ""  # as it is now: Open again when the time has come that was said
    state_until: str = ""
    head_starts: str = ""  # when the first of those that wait likely starts
    scheduler: str = ""  # where the scheduler that leads answers questions: an https URL
    fingerprint: str = ""  # SHA-256 of its certificate, so that nobody else is asked
    conditions: tuple[ObjectCondition, ...] = ()


class AccountStatus(Value, frozen=True, kw_only=True):
    """What people read of an account; beside it stands the `book`."""

    used: str = ""  # units, settled and running
    factor: str = ""  # of its users, the best
    conditions: tuple[ObjectCondition, ...] = ()


class ClosingObjectStatus(Value, frozen=True, kw_only=True):
    """What is written of a window or a reservation."""

    phase: str = ""
    start: str = ""
    end: str = ""
    nodes: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    num_nodes: int = 0
    num_jobs: int = 0
    message: str = ""
    used: str = ""
    conditions: tuple[ObjectCondition, ...] = ()
