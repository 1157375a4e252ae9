"""A job that waits: pods that start together are one entry of the queue.

Made by `GroupEntries` for the first member that comes. A `QueuedGroup` has all that a `QueuedPod` has, so heaps, places
and wake-ups take it as they take a pod; its `pod` speaks for it: one of the class that kept it from starting. Its
members are `QueuedPod`s too, for people and for what is done pod by pod (promises, bindings, metrics); they stand in no
heap, and are wherever their job is.
"""

from __future__ import annotations

import msgspec

from fairway.model import Pod
from fairway.model.group import GroupKey
from fairway.plugin import with_spec
from fairway.queue.queued_pod import Pending, Place, QueuedPod

__all__ = ["QueuedGroup", "by_member", "group_uid"]

ACTIVE, IN_FLIGHT = Place.ACTIVE, Place.IN_FLIGHT  # looking up a member of an enum is slow


def group_uid(key: GroupKey) -> str:
    """The name of a job among uids of pods, which have no spaces."""
    return " ".join(key)


class QueuedGroup(QueuedPod, eq=False, kw_only=True, gc=False):
    """A job in the scheduler's hands. Its members do not refer back to it."""

    key: GroupKey
    name: str  # among uids of pods: `group_uid`
    max_backoff: float  # seconds
    priority: int = 0
    members: dict[str, QueuedPod] = msgspec.field(default_factory=dict)  # by uid: those that wait, as they came
    num_gated: int = 0  # of them, those that a plugin keeps out for their own sake
    is_news: bool = False  # members came or changed while it was in flight
    first_seen: float = 0.0
    num_slots: int = 0  # so many of the class that speaks for it need room before it is worth a try; 0: nobody knows

    @property
    def uid(self) -> str:
        """By which the queue knows it."""
        return self.name

    @property
    def num_ready(self) -> int:
        """How many members may be tried."""
        return len(self.members) - self.num_gated

    @property
    def ready(self) -> list[QueuedPod]:
        """The members that may be tried, in the order they came."""
        return [member for member in self.members.values() if not member.is_gated]

    def let_speak(self, pod: Pod) -> None:
        """This member is asked for the whole job, which has a priority of its own."""
        self.pod = pod if pod.spec.priority == self.priority else with_spec(pod, priority=self.priority)

    def place_of(self, member: QueuedPod) -> Place | None:
        """Where a member is: with its job, unless it is kept out by itself."""
        return Place.GATED if member.is_gated and self.place is not IN_FLIGHT else self.place

    def take_along(self, member: QueuedPod, now: float) -> None:
        """What is true of the job is true of its member."""
        member.attempts = self.attempts
        member.timestamp = self.timestamp
        member.was_flushed = self.was_flushed
        member.backoff_expiration = self.backoff_expiration
        if member.is_gated:
            return
        member.refusal = self.refusal
        member.unschedulable_plugins = self.unschedulable_plugins
        member.pending_plugins = self.pending_plugins
        member.unschedulable_count = self.unschedulable_count
        member.consecutive_errors = self.consecutive_errors
        if self.place is ACTIVE and member.initial_attempt_timestamp is None:
            member.initial_attempt_timestamp = now


def by_member(pending: Pending) -> Pending:
    """The same with members for their jobs, each where it is itself."""
    found: dict[Place, list[QueuedPod]] = {place: [] for place in Place}
    for place, entries in zip(Place, pending, strict=True):
        for queued in entries:
            if isinstance(queued, QueuedGroup):
                for member in queued.members.values():
                    found[member.place or place].append(member)
            else:
                found[place].append(queued)
    return Pending(*(tuple(found[place]) for place in Place))
