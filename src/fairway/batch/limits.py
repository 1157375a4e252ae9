"""How long a job may run: what it used of that, when it is warned, and when it is ended.

In: a `Job` with its ledger, the limits of its queue, what is seen of its controllers, the time. Out: a `TimeAccount`
(used, left, when what happens), and the actions that are due (`limit_actions`): from state alone, so that a second look
or another process finds only what is left to do. The desk calls it at `next_instant` and in a sweep every few seconds;
the time is one that never goes back (`steady_clock`). What a job asks for is read and judged here too.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from fairway.batch.actions import DEADLINE, Action, AnnotatePod, DeletePod, SetActiveDeadline, Tell
from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobOutcome, JobStanding, JobState, Refused
from fairway.model import Job, Pod
from fairway.model.batch import QueueLimits
from fairway.model.seconds import parse_seconds
from fairway.words import length_text

__all__ = [
    "KEPT_SECONDS",
    "LONGEST",
    "LimitedJob",
    "OwningJob",
    "TimeAccount",
    "deadline_actions",
    "granted_limit",
    "limit_actions",
    "limit_standing",
    "next_instant",
    "owning_job",
    "parse_time_limit",
    "stop_actions",
    "time_account",
    "time_left",
]

KEPT_SECONDS: Final = 300.0
"""How long what is booked for a job is kept for pods that its controller has to make first."""
LONGEST: Final = 10 * 366 * 86400.0
"""Ten years: whoever asks for more has miscounted zeros."""
DEFAULT_GRACE: Final = 30.0  # of pods that say nothing, as in Kubernetes


class OwningJob(NamedTuple):
    """A controller of kind Job that a member belongs to."""

    uid: str
    started: float  # since when its own deadline counts
    active_deadline: int | None = None


def owning_job(controller: Job, epoch: float) -> OwningJob:
    """A controller of kind Job; `epoch` is the time of day when the world's clock showed 0."""
    started = controller.status.start_time or controller.metadata.creation_timestamp
    seconds = 0.0 if started is None else started.timestamp() - epoch
    return OwningJob(controller.metadata.uid, seconds, controller.spec.active_deadline_seconds)


class LimitedJob(NamedTuple):
    """A job, the rules of its queue, and what is seen of it beside its pods."""

    job: BatchJob
    limits: QueueLimits  # completed
    warned_for: float | None = None  # the deadline that was told last, as its record has it
    controllers: Mapping[str, OwningJob] = {}  # by uid


@dataclass(frozen=True, slots=True)
class TimeAccount:
    """What a job has used of its time, and when what happens if it goes on; infinite: never."""

    limit: float
    used: float
    deadline: float  # its limit is reached
    warn_at: float
    end_at: float  # deadline and the queue's overTime

    @property
    def left(self) -> float:
        """Seconds until its limit."""
        return max(self.limit - self.used, 0.0)


def parse_time_limit(text: str, field: str = "fairway.dev/time-limit") -> float:
    """The seconds that are asked for; `ValueError` names the field and what is allowed."""
    try:
        seconds = parse_seconds(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= LONGEST:  # neither is nan
        allowed = "allowed is more than 0 and up to ten years, such as 90s, 15m, 1h30m or 2d"
        raise ValueError(f"{field}: {text!r} is no time that a job may run for; {allowed}")
    return seconds


def granted_limit(job: BatchJob, limits: QueueLimits) -> float:
    """How long the job may run: as was granted, else as it asks, else as its queue says; infinite: for ever.

    Whoever releases a job writes this down (`granted_limit` of its ledger): later changes of the queue are for others.
    """
    if job.ledger.granted_limit is not None:
        return job.ledger.granted_limit
    if job.wishes.limit is not None:
        return job.wishes.limit
    return math.inf if limits.default is None else float(limits.default)


def limit_standing(job: BatchJob, limits: QueueLimits, now: float) -> JobStanding | None:
    """Why a job that waits can not run: it asks for too much time, or has used it up; None: nothing is wrong."""
    limit, used = granted_limit(job, limits), job.consumed(now)
    if job.ledger.granted_limit is None and limits.max is not None and limit > limits.max:
        most = float(limits.max)
        words = f"asks for {_length(limit)}, queue {job.queue} allows at most {_length(most)}"
        return JobStanding(JobState.REFUSED, Refused.LIMIT_TOO_LONG, {"asked": _number(limit), "max": most}, words)
    if used >= limit:
        words = f"has run for {_length(used)} of {_length(limit)}; what is made anew has no time left"
        return JobStanding(JobState.REFUSED, Refused.TIME_USED_UP, {"used": used, "limit": limit}, words)
    return None


def time_account(job: BatchJob, limits: QueueLimits, now: float) -> TimeAccount:
    """The time of a job. Its deadline depends on intervals alone, not on when one looks."""
    limit = granted_limit(job, limits)
    deadline = _deadline(job, limit)
    return TimeAccount(
        limit=limit,
        used=job.consumed(now),
        deadline=deadline,
        warn_at=deadline - limits.warn_before,
        end_at=deadline + limits.over_time,
    )


def time_left(job: BatchJob, limits: QueueLimits, now: float) -> float:
    """For how long the plan keeps room for the job, were it to start now: until its limit, and the queue's overTime."""
    return max(granted_limit(job, limits) - job.consumed(now), 0.0) + limits.over_time


def limit_actions(jobs: Iterable[LimitedJob], now: float, epoch: float = 0.0) -> list[tuple[float, Action]]:
    """What is due by now and not yet true, each with when it was due, in that order.

    `epoch` is the time of day when the world's clock showed 0, in seconds since 1970; deadlines on pods are by it.
    """
    due = []
    for limited in jobs:
        account = time_account(limited.job, limited.limits, now)
        if now >= account.end_at:
            due += [(account.end_at, action) for action in _endings(limited, account, now)]
        else:
            due += [(account.warn_at, action) for action in _warnings(limited, account, now, epoch)]
    due.sort(key=lambda item: item[0])  # stable: those of one job stay together
    return due


def next_instant(jobs: Iterable[LimitedJob], now: float) -> float:
    """When `limit_actions` has something new to say, if nothing changes; infinite: never."""
    accounts = [time_account(limited.job, limited.limits, now) for limited in jobs]
    instants = (time for account in accounts for time in (account.warn_at, account.end_at))
    return min((time for time in instants if time > now), default=math.inf)


def _deadline(job: BatchJob, limit: float) -> float:
    starts = [each.start for each in job.ledger.intervals if each.end == math.inf]
    if not starts:
        return math.inf
    ended = math.fsum([max(each.end - each.start, 0.0) for each in job.ledger.intervals if each.end < math.inf])
    return min(starts) + (limit - ended)


def _warnings(limited: LimitedJob, account: TimeAccount, now: float, epoch: float) -> list[Action]:
    """The event once for each deadline; the annotation from the first warning on, and current ever after."""
    job = limited.job
    is_near = now >= account.warn_at
    if account.deadline == math.inf:
        return []
    text = _moment_text(epoch + account.deadline)
    actions: list[Action] = []
    # A record holds whole seconds.
    if is_near and (limited.warned_for is None or abs(limited.warned_for - account.deadline) >= 1):
        left = _length(max(account.deadline - now, 0.0))
        actions.append(Tell(job.key, "TimeLimitNear", f"its limit of {_length(account.limit)} is reached in {left}"))
    for uid, pod in job.members.items():
        told = pod.metadata.annotations.get(DEADLINE)
        if told != text and (is_near or told is not None) and not pod.is_terminating:
            actions.append(AnnotatePod(uid, DEADLINE, text))
    return actions


def _endings(limited: LimitedJob, account: TimeAccount, now: float) -> list[Action]:
    why = f"its limit of {_length(account.limit)} is reached"
    grace = float(limited.limits.kill_grace)
    return stop_actions(limited.job.members.values(), limited.controllers, grace, why, now)


def stop_actions(
    pods: Iterable[Pod],
    controllers: Mapping[str, OwningJob],
    grace: float,
    why: str,
    now: float,
    cause: JobOutcome = JobOutcome.TIMED_OUT,
) -> list[Action]:
    """What lets these pods end for good: a controller of kind Job fails and ends its pods, others are deleted."""
    actions: list[Action] = []
    failed: set[str] = set()
    for pod in pods:
        owner = pod.metadata.controller
        controller = controllers.get(owner.uid) if owner is not None else None
        if controller is None:
            if not pod.is_terminating:
                own = pod.spec.termination_grace_period_seconds
                least = min(DEFAULT_GRACE if own is None else float(own), grace)
                actions.append(DeletePod(pod.metadata.uid, least, why, cause=cause.value))
        elif controller.uid not in failed:
            failed.add(controller.uid)
            actions += deadline_actions(controller, now)
    return actions


def deadline_actions(controller: OwningJob, now: float) -> list[Action]:
    """What lets a controller of kind Job end and fail; nothing, if it has to already."""
    # Whole seconds, rounded down: what has passed has then passed for the Job controller as well.
    passed = max(int(now - controller.started), 1)
    if controller.active_deadline is None or controller.active_deadline > passed:
        return [SetActiveDeadline(controller.uid, passed)]
    return []


def _length(seconds: float) -> str:
    return "no end" if seconds == math.inf else length_text(seconds)


def _number(seconds: float) -> float | None:
    return None if seconds == math.inf else seconds  # JSON has no infinity


def _moment_text(seconds: float) -> str:
    # Rounded down: a program that reads it has no second more than it says.
    return dt.datetime.fromtimestamp(math.floor(seconds), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
