"""A job as the desk knows it: what it asks for, what was granted, where it is in its life.

In: pods (or one), read by `wishes`. Out: a `Job`, which the desk keeps from the first pod to the settled end, and every
rule of this room reads: order, plan, limits, failures, charges. Times are seconds of the world's clock. A restart makes
the same jobs again from pods and from what was written of each (`JobLedger`): nothing here is known from memory alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

import msgspec

from fairway.batch.order_answer import OrderAnswer
from fairway.batch.reasons import JobOutcome, JobStanding, JobState, Reason
from fairway.batch.usage import UsageInterval
from fairway.model import Pod
from fairway.model.group import After, GroupKey
from fairway.plan import StartEstimate, WaitingJob

__all__ = [
    "BatchJob",
    "BilledJob",
    "Booking",
    "FailureDecision",
    "GivenDates",
    "Incident",
    "JobLedger",
    "JobOrders",
    "JobRecord",
    "JobWishes",
    "RunInterval",
    "Verdict",
]

UNJUDGED: Final = JobStanding(JobState.QUEUED)

Verdict = Literal["Ignore", "RestartPod", "RestartJob", "FailJob", "CompleteJob", "Requeue", "Shrink"]
IncidentKind = Literal["PodFailed", "PodEvicted", "NodeLost", "NeverStarted", "TaskDone"]


class JobWishes(msgspec.Struct, frozen=True, gc=False):
    """What a job says of itself; times of `begin` and `start_by` are those of the world's clock."""

    queue: str
    user: str
    account: str = ""  # "": as the queue says
    limit: float | None = None  # seconds; None: the queue's default; infinite: it said none, and the queue has none
    said_limit: str | None = None  # its `time-limit` as it is written; None: it says none
    expected: float | None = None  # what its user thinks it takes
    begin: float = -math.inf
    start_by: float = math.inf
    is_held: bool = False
    nice: int = 0
    requeues: bool = True
    recreates: bool = False
    on_failure: str = ""
    on_node_loss: str = ""
    is_exclusive: bool = False
    after: tuple[After, ...] = ()
    problem: str = ""  # what can not be meant, with the field; "": nothing


@dataclass(frozen=True, slots=True)
class JobOrders:
    """What operators want of a job: the spec of its record, which says how it shall be, whatever it was before."""

    hold: bool = False
    nice: int = 0
    time_limit: float | None = None  # seconds; None: as it asks
    queue: str = ""  # where it shall be; "": where it says itself
    cancel: bool = False
    requeue_before: float = -math.inf  # if it was let go before that, or then, it shall wait again


class RunInterval(msgspec.Struct, frozen=True, gc=False):
    """A stretch in which at least as many members ran as it takes: what it used, and where."""

    start: float
    end: float  # infinite: it still runs
    rate: float  # billed units a second
    nodes: tuple[str, ...] = ()
    refund: str = ""  # why it is not charged; "": it is
    is_uncertain: bool = False  # its end is not known for sure, and taken in the user's favour

    def usage(self) -> UsageInterval:
        """As `usage` weighs it."""
        return UsageInterval(self.start, self.end, self.rate)


class Incident(NamedTuple):
    """Something that happened to a pod of a job, or to all pods of a task."""

    kind: IncidentKind
    since: float
    pod: str = ""  # uid
    task: str = ""
    exit_code: int | None = None
    is_excused: bool = False  # by our own hand, or the infrastructure's: it does not count against the job


class FailureDecision(msgspec.Struct, frozen=True, gc=False):
    """What to do with a job; written down before it is done, so that whoever takes over goes on with it."""

    do: Verdict
    why: str
    pods: tuple[str, ...] = ()  # uids: of RestartPod and Shrink; otherwise all
    counts_restart: bool = False  # one more of the queue's `retries`
    counts_requeue: bool = False
    outcome: JobOutcome | None = None  # of FailJob and CompleteJob
    back_off_until: float = -math.inf
    is_excused: bool = False  # its last interval is given back
    refund: str = ""  # to what that was lost

    @property
    def ends_job(self) -> bool:
        """Does the whole job end, for good or to come again?"""
        return self.do not in ("Ignore", "RestartPod", "Shrink")


class BilledJob(msgspec.Struct, frozen=True, gc=False):
    """Whose job it is, and what it has to say in the books. Fixed when it first starts."""

    uid: str  # of its record: one that was deleted and made anew is another, with lines of its own
    key: str  # namespace/name
    account: str
    user: str
    queue: str = ""
    amounts: Mapping[str, int] = msgspec.field(default_factory=dict)  # milli-CPU, bytes, counts


class Booking(NamedTuple):
    """Room that is kept for a job: from when on, and the node of each member, class by class as the plan has them."""

    start: float
    nodes: tuple[tuple[str, ...], ...]


class GivenDates(NamedTuple):
    """What a job was told of its start, since it last began to wait."""

    first: StartEstimate
    last: StartEstimate
    promised: float = math.inf  # the earliest date that it was promised; infinite: none


class JobLedger(msgspec.Struct, gc=False):
    """What is written down of a job, and survives a restart: one record, one write."""

    submitted: float
    granted_limit: float | None = None  # how long it may run; None: it was never let go, and nobody said otherwise
    first_limit: float | None = None  # what was granted when it was let go: extensions count from there
    answered_limit: float | None = None  # the limit that operators ask for, if they got an answer to it
    answer: OrderAnswer | None = None  # to whom something may be refused, the last one
    intervals: tuple[RunInterval, ...] = ()
    num_requeues: int = 0
    num_restarts: int = 0
    back_off_until: float = -math.inf
    back_off_why: str = ""
    ending: FailureDecision | None = None  # what was decided about its pods, until that is done
    released: float | None = None  # when it was last let go; None: it waits
    warned_for: float | None = None  # the deadline that its owner was warned of
    is_wait_told: bool = False  # was its owner told that it waits for a job that nobody knows?
    owner: str = ""  # uid of the controller that makes its pods
    owner_kind: str = ""
    pods: tuple[Pod, ...] = ()  # that we have to make anew, as they come again
    leaving: tuple[Pod, ...] = ()  # that were asked to leave, and are made anew when they have left: likewise
    is_final: bool = False
    is_settled: bool = False
    hold: str = ""  # who holds it back, by order; "": nobody
    nice: int = 0
    queue: str = ""  # where it was moved to; "": where it says itself
    taken_by: str = ""  # the queue that took it when it came; "": none did
    billed: BilledJob | None = None  # who pays; None: it never started
    eligible_since: float | None = None  # since when nothing but its turn keeps it; None: something does
    ended: float = math.inf
    dates: GivenDates | None = None
    booking: Booking | None = None  # what is promised to it, until it has nodes; None: nothing
    incidents: tuple[Incident, ...] = ()  # what happened to it, as long as rules may still come to apply


class JobRecord(msgspec.Struct, frozen=True, gc=False):
    """A job as it is written down: what a restart finds of it."""

    key: str
    uid: str
    standing: JobStanding
    ledger: JobLedger  # its own: nobody changes it
    min_count: int = 1
    size: int | None = None
    orders: JobOrders = JobOrders()
    group: GroupKey | None = None
    wishes: JobWishes | None = None
    index: str | None = None
    number: int = 0
    started: float | None = None
    members: tuple[Pod, ...] = ()  # as they were then: what has become of them since is still to be heard
    num_done: int = 0
    has_failed: bool = False
    failed: tuple[Pod, ...] = ()


@dataclass(slots=True, eq=False)
class BatchJob:
    """One job of a queue."""

    key: str  # namespace/name of its group, else of its pod
    uid: str  # of its group's first member, else of its pod: what makes it another job than a later one of that name
    group: GroupKey | None  # None: a lone pod
    wishes: JobWishes
    ledger: JobLedger
    min_count: int = 1
    size: int | None = None
    orders: JobOrders = JobOrders()  # what operators want of it
    index: str | None = None  # of its pod, if its controller numbers them
    number: int = 0  # jobs are numbered as they come
    members: dict[str, Pod] = field(default_factory=dict)  # by uid: those that live, with a node or without
    running: set[str] = field(default_factory=set)  # uids of those that run
    has_failed: bool = False  # has any member?
    num_done: int = 0  # members that ended well, since it last started
    failed: dict[str, Pod] = field(default_factory=dict)  # by name: members that failed and nobody made anew yet
    has_no_maker: bool = False  # its controller is gone or done: nobody makes its pods anew
    started: float | None = None  # since when it runs, this time
    priority_class: int = 0  # the value of its pods' PriorityClass
    standing: JobStanding = UNJUDGED
    priority: int = 0
    plan: WaitingJob | None = None  # as the plan sees it; None: has to be made anew
    judged: WaitingJob | None = None  # the plan that was last asked whether it can be carried out at all
    refusal: JobStanding | None = None  # why it can not; None: it can
    is_released: bool = False  # its pods may enter the active queue
    is_clear: bool = False  # nothing but room and its turn keeps it, and nothing will until the job itself changes
    clear_spec: object = None  # how its members started together when that was found out; None: it is a lone pod
    num_ahead: int = -1  # how many of its queue were before it in the last pass
    num_vain: int = 0  # attempts in vain since it was last placed or changed
    is_vain: bool = False  # plugins refused it, and nothing has happened since that may help
    imagined: tuple[Pod, ...] = ()  # members that its controller makes when it may, as they will be

    @property
    def state(self) -> JobState:
        """Where it is in its life."""
        return self.standing.state

    @property
    def queue(self) -> str:
        """The queue it is in, by order or by its own wish."""
        return self.ledger.queue or self.wishes.queue

    @property
    def has_ended(self) -> bool:
        """Is it over for good?"""
        return self.standing.state is JobState.FINISHED

    @property
    def is_waiting(self) -> bool:
        """Was it not let go yet?"""
        return self.started is None and not self.is_released and self.standing.state is not JobState.FINISHED

    @property
    def is_counting(self) -> bool:
        """Does its time run?"""
        return bool(self.ledger.intervals) and self.ledger.intervals[-1].end == math.inf

    @property
    def is_ending(self) -> bool:
        """Was it decided that all of it ends?"""
        return self.ledger.ending is not None and self.ledger.ending.ends_job

    @property
    def goes_on(self) -> bool:
        """Does any member have a node that it need not leave?"""
        return any(pod.spec.node_name and not pod.is_terminating for pod in self.members.values())

    @property
    def comes_again(self) -> bool:
        """Does anybody make its pods anew?"""
        return self.wishes.recreates or (bool(self.ledger.owner) and not self.has_no_maker)

    @property
    def waiting(self) -> list[Pod]:
        """Members without a node; those that are to come are the last."""
        there = [pod for pod in self.members.values() if not pod.spec.node_name]
        return [*there, *self.imagined] if self.imagined else there

    @property
    def pods(self) -> list[Pod]:
        """All members, there or to come."""
        return [*self.members.values(), *self.imagined]

    @property
    def eligible_since(self) -> float | None:
        """Since when nothing but its turn keeps it; None: something does."""
        return self.ledger.eligible_since

    @eligible_since.setter
    def eligible_since(self, time: float | None) -> None:
        self.ledger.eligible_since = time

    def record(self) -> JobRecord:
        """As it is to be written down now."""
        return JobRecord(
            self.key,
            self.uid,
            self.standing,
            copy(self.ledger),
            self.min_count,
            self.size,
            self.orders,
            self.group,
            self.wishes,
            self.index,
            self.number,
            self.started,
            tuple(self.members.values()),
            self.num_done,
            self.has_failed,
            tuple(self.failed.values()),
        )

    @property
    def gate(self) -> str:
        """Why its pods may not be tried yet; "": they may."""
        may_start = self.is_released if self.started is None else self.goes_on
        if may_start and not self.is_ending:
            return ""
        reason, words = self.standing.reason or Reason.PLANNING, self.standing.words
        return f"queue {self.queue}: {reason}{': ' if words else ''}{words}"

    @property
    def own_times(self) -> tuple[float, float, float]:
        """When it may begin, when it is of no use any more, and when it has rested."""
        return self.wishes.begin, self.wishes.start_by, self.ledger.back_off_until

    def consumed(self, now: float) -> float:
        """Seconds in which at least as many ran as it takes."""
        intervals = self.ledger.intervals
        return math.fsum([max(min(each.end, now) - each.start, 0.0) for each in intervals]) if intervals else 0.0
