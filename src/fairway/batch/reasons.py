"""Why a job waits, and why one is refused: two closed lists, and what each word is about.

In: nothing. Out: `Reason`, in the order in which they are told (the first that holds counts), `Refused`, and a
`Standing`: a job's state, its one word, and the numbers behind it. Used by the desk, the records and the commands.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["JobOutcome", "JobStanding", "JobState", "Reason", "Refused"]


class JobState(enum.StrEnum):
    """Where a job is in its life."""

    QUEUED = "Queued"  # waits, for one reason
    REFUSED = "Refused"  # can not run as asked; judged anew when it, its queue, its account or the nodes change
    STARTING = "Starting"  # released or placed; fewer than it takes run
    RUNNING = "Running"  # at least as many run as it takes
    ENDING = "Ending"  # told to end; grace runs
    FINISHED = "Finished"


class JobOutcome(enum.StrEnum):
    """How a job ended."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TIMED_OUT = "TimedOut"
    CANCELLED = "Cancelled"
    NODE_FAILED = "NodeFailed"


class Reason(enum.StrEnum):
    """Why a job is queued: of several that hold, the first here is told."""

    MISCONFIGURED = "Misconfigured"
    HELD = "Held"
    GATED = "Gated"
    GANG_INCOMPLETE = "GangIncomplete"
    DEPENDENCY = "Dependency"
    BEGIN_TIME = "BeginTime"
    QUEUE_STOPPED = "QueueStopped"
    ACCOUNT_STOPPED = "AccountStopped"
    QUOTA_EXCEEDED = "QuotaExceeded"
    BACK_OFF = "BackOff"
    PREEMPTING = "Preempting"
    MAINTENANCE = "Maintenance"
    RESERVED = "Reserved"
    NODES_UNAVAILABLE = "NodesUnavailable"
    PLACEMENT = "Placement"
    RESOURCES = "Resources"
    PRIORITY = "Priority"
    PLANNING = "Planning"


class Refused(enum.StrEnum):
    """Why a job can not run as asked."""

    NEVER_FITS = "NeverFits"
    LIMIT_TOO_LONG = "LimitTooLong"
    OVER_MAXIMUM = "OverMaximum"
    QUEUE_UNKNOWN = "QueueUnknown"
    QUEUE_CLOSED = "QueueClosed"
    ACCOUNT_UNKNOWN = "AccountUnknown"
    ACCOUNT_NOT_ALLOWED = "AccountNotAllowed"
    DEPENDENCY_FAILED = "DependencyFailed"
    DEPENDENCY_CYCLE = "DependencyCycle"
    TOO_LATE = "TooLate"
    TIME_USED_UP = "TimeUsedUp"


class JobStanding(NamedTuple):
    """A job's state in one word more, and what that word is about."""

    state: JobState
    reason: Reason | Refused | JobOutcome | None = None
    detail: Mapping[str, object] = {}  # numbers, names and times; JSON as it stands
    words: str = ""  # the detail as a sentence
