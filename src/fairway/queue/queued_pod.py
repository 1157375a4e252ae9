"""A pod that waits, and everything the queue remembers about it.

Made by `SchedulingQueue.add`, handed out by `pop`, handed back to `requeue_failed`: one object for the pod's whole
time with the scheduler. The cycle reads it, the queue alone writes it. The fields are those of kube-scheduler 1.36's
`QueuedPodInfo` (pkg/scheduler/framework/types.go); times are seconds of the queue's clock.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from fairway.model import Pod
    from fairway.plugin import Notice, Refusal

__all__ = ["Pending", "Place", "QueuedPod", "SortKey", "priority_order"]


class Place(enum.Enum):
    """Where a pod is; the values are the names kube-scheduler's metrics use, where it has one."""

    ACTIVE = "active"  # may be popped
    BACKOFF = "backoff"  # tried in vain; popped when nothing else is ready, or active again after a while
    UNSCHEDULABLE = "unschedulable"  # waits for an event that helps, or for the flush
    GATED = "gated"  # a plugin's `pre_enqueue` keeps it out
    IN_FLIGHT = "in_flight"  # popped: being scheduled or bound


class QueuedPod(msgspec.Struct, eq=False, kw_only=True, gc=False):
    """A pod in the scheduler's hands. It refers to nothing that refers back, so the garbage collector may ignore it."""

    pod: Pod
    profile: str  # the scheduler name whose rules apply
    timestamp: float  # when it came, or came back after an attempt
    sequence: int  # renewed with the timestamp: first come, first served where timestamps are equal
    place: Place | None = None  # None: the queue has let go of it
    attempts: int = 0  # how often it was popped
    initial_attempt_timestamp: float | None = None  # when it first became active

    unschedulable_plugins: frozenset[str] = frozenset()  # who refused it in the last attempt, or gated it since
    pending_plugins: frozenset[str] = frozenset()  # who said that they will tell when to try again
    unschedulable_count: int = 0  # attempts that plugins refused
    consecutive_errors: int = 0  # attempts in a row that broke instead
    backoff_expiration: float | None = None  # start of the one-second window in which the backoff ends; None: unknown

    gating_plugin: str = ""  # whose `pre_enqueue` refused it; "" when it is not gated
    refusal: Refusal | None = None  # and in which words
    told_refusal: Refusal | None = None  # the words that observers heard when it was last said to be gated
    was_flushed: bool = False  # it is active only because it had waited too long, not because anything happened
    flush_timestamp: float = -math.inf  # when that was

    told: frozenset[Notice] = frozenset()  # what plugins had to say about it, and people know
    rests: bool = False  # it sits its backoff out, though nothing else be ready
    latest: Pod | None = None  # the newest version that arrived while it is in flight
    is_deleted: bool = False  # it was deleted, or bound by somebody else, while it is in flight
    group: str = ""  # the entry of its job, which it waits in; "": it waits for itself
    ticket: int = 0  # which entry of a `PodHeap` is its own; 0: none

    @property
    def uid(self) -> str:
        """The pod's uid, by which the queue knows it."""
        return self.pod.metadata.uid

    @property
    def is_gated(self) -> bool:
        """True while a plugin's `pre_enqueue` keeps it out."""
        return self.gating_plugin != ""

    @property
    def last_tried(self) -> float:
        """From when on its time among the unschedulable pods counts."""
        return max(self.timestamp, self.flush_timestamp)

    def note_failure(self, unschedulable: frozenset[str], pending: frozenset[str], now: float, sequence: int) -> None:
        """An attempt failed: remember who refused the pod; if nobody did, something broke. The backoff starts anew."""
        self.unschedulable_plugins = unschedulable
        self.pending_plugins = pending
        if unschedulable or pending:
            self.unschedulable_count += 1
            self.consecutive_errors = 0
        else:
            self.consecutive_errors += 1
        self.gating_plugin = ""
        self.refusal = None
        self.was_flushed = False
        self.flush_timestamp = -math.inf
        self.backoff_expiration = None
        self.timestamp = now
        self.sequence = sequence


class Pending(NamedTuple):
    """All pods in the scheduler's hands, by place."""

    active: tuple[QueuedPod, ...]  # in the order of their turns
    backoff: tuple[QueuedPod, ...]  # likewise; pods whose attempt broke come last
    unschedulable: tuple[QueuedPod, ...]  # longest untried first
    gated: tuple[QueuedPod, ...]  # likewise
    in_flight: tuple[QueuedPod, ...]  # longest in flight first


SortKey = Callable[[QueuedPod], tuple[Any, ...]]
"""The order of the active queue: the pod with the smallest key is next. A key has the same length for every pod."""


def priority_order(queued: QueuedPod) -> tuple[int, float]:
    """Highest priority first, then longest waiting: kube-scheduler's PrioritySort."""
    return -(queued.pod.spec.priority or 0), queued.timestamp
