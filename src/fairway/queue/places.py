"""The places a waiting pod can be in, and the moves between them.

`SchedulingQueue` and `Wakeups` decide that a pod should move; here it turns out where to: it becomes active, or enters
the backoff, only if no plugin's `pre_enqueue` refuses it. Every pod is in one place, and an observer hears of every
move. As in kube-scheduler 1.36's backend/queue/scheduling_queue.go: `moveToActiveQ`, `moveToBackoffQ` and
`requeuePodWithQueueingStrategy`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

from fairway.cluster.events import Change
from fairway.queue.backoff import Backoff
from fairway.queue.hints import Strategy
from fairway.queue.labels import POD_ADDED, POD_UPDATED
from fairway.queue.nominator import Nominator
from fairway.queue.pod_heap import PodHeap
from fairway.queue.queued_group import QueuedGroup
from fairway.queue.queued_pod import Pending, Place, QueuedPod
from fairway.queue.rules import QueueRules, admit, common_order
from fairway.queue.settings import QueueSettings
from fairway.queue.unschedulable import UnschedulablePods

__all__ = ["ASIDE", "Observer", "Places"]

Observer = Callable[[QueuedPod, Place | None, Place | None, str, float], None]
"""Told of every move: the pod, from where, to where (None: not in the queue), upon which event, when.

A gated pod that is kept out for another reason than before stays where it is: from `GATED` to `GATED`.
"""

ACTIVE, BACKOFF = Place.ACTIVE, Place.BACKOFF  # looking up a member of an enum is slow, and these are in the hot path
ASIDE = (Place.UNSCHEDULABLE, Place.GATED)


class Places:
    """The active queue, the backoff and the pods set aside."""

    def __init__(
        self,
        rules: Mapping[str, QueueRules],
        settings: QueueSettings,
        nominator: Nominator,
        observer: Observer | None,
    ) -> None:
        self.rules = rules
        self.nominator = nominator
        self._observer = observer
        order = common_order(rules)
        tickets = count(1)
        self.active = PodHeap(order, tickets)
        self.backoff = Backoff(settings.initial_backoff_seconds, settings.max_backoff_seconds, order, tickets)
        self.aside = UnschedulablePods()
        self.resting: dict[str, QueuedGroup] = {}  # jobs in the backoff, by uid

    def counts(self) -> dict[Place, int]:
        """How many pods wait in each place."""
        num_gated = self.aside.num_gated
        return {
            Place.ACTIVE: len(self.active),
            Place.BACKOFF: len(self.backoff),
            Place.UNSCHEDULABLE: len(self.aside) - num_gated,
            Place.GATED: num_gated,
        }

    def pending(self, in_flight: tuple[QueuedPod, ...]) -> Pending:
        """All pods by place, these being in flight."""
        aside = tuple(self.aside)
        return Pending(
            active=tuple(self.active),
            backoff=tuple(self.backoff),
            unschedulable=tuple(queued for queued in aside if not queued.is_gated),
            gated=tuple(queued for queued in aside if queued.is_gated),
            in_flight=in_flight,
        )

    def requeue(self, queued: QueuedPod, strategy: Strategy, event: str, now: float) -> Place:
        """Put a pod where the strategy leads; returns where it is then."""
        if strategy is Strategy.SKIP:
            if queued.place not in ASIDE:
                self._set_aside(queued, event, now)
        elif strategy is Strategy.AFTER_BACKOFF and self.backoff.is_resting(queued, now):
            self.rest(queued, event, now)
        else:
            self.activate(queued, event, now)
        assert queued.place is not None
        return queued.place

    def activate(self, queued: QueuedPod, event: str, now: float) -> None:
        """Make a pod active unless a plugin gates it. Coming from the backoff it has been asked about already."""
        if queued.place is not BACKOFF and not admit(queued, self.rules[queued.profile]):
            self._set_aside(queued, event, now)
            return
        if queued.initial_attempt_timestamp is None:
            queued.initial_attempt_timestamp = now
        if queued.place is not None:
            self.withdraw(queued)
        self.active.push(queued)
        self.moved(queued, ACTIVE, event, now)
        if event in (POD_ADDED, POD_UPDATED):  # kube-scheduler follows the pod's status upon these two only
            self.nominator.follow(queued.pod)

    def rest(self, queued: QueuedPod, event: str, now: float) -> None:
        """Let a pod sit out its backoff unless a plugin gates it."""
        if not admit(queued, self.rules[queued.profile]):
            self._set_aside(queued, event, now)
            return
        self.withdraw(queued)
        self.backoff.push(queued)
        self.moved(queued, BACKOFF, event, now)

    def activate_rested(self, event: str, now: float) -> None:
        """Make all pods active whose backoff is over."""
        for queued in self.backoff.pop_completed(now):
            self.active.push(queued)
            self.moved(queued, ACTIVE, event, now)

    def withdraw(self, queued: QueuedPod) -> None:
        """Take a pod out of where it waits, if it waits."""
        place = queued.place
        if place is ACTIVE:
            self.active.remove(queued)
        elif place is BACKOFF:
            self.backoff.remove(queued)
        elif place in ASIDE:
            self.aside.remove(queued)

    def reorder(self, queued: QueuedPod) -> None:
        """A pod was updated: give it the turn it deserves now."""
        if queued.place is ACTIVE:
            self.active.reorder(queued)
        elif queued.place is BACKOFF:
            self.backoff.reorder(queued)

    def moved(self, queued: QueuedPod, place: Place | None, event: str, now: float) -> None:
        """Note where a pod is now."""
        before, queued.place = queued.place, place
        if type(queued) is QueuedGroup:
            self._group_moved(queued, place, event, now)
        elif self._observer is not None and (before is not place or _is_news(queued)):
            queued.told_refusal = queued.refusal
            self._observer(queued, before, place, event, now)

    def _group_moved(self, entry: QueuedGroup, place: Place | None, event: str, now: float) -> None:
        if place is BACKOFF:
            self.resting[entry.uid] = entry
        else:
            self.resting.pop(entry.uid, None)
        for member in entry.members.values():
            self.member_moved(entry, member, entry.place_of(member), event, now)

    def member_moved(self, entry: QueuedGroup, member: QueuedPod, place: Place | None, event: str, now: float) -> None:
        """Note where a member of a job is now; an observer hears of pods alone."""
        entry.take_along(member, now)
        before, member.place = member.place, place
        if self._observer is not None and before is not place:
            gate = member.gating_plugin
            if place is Place.GATED and not gate:  # not for its own sake
                member.gating_plugin = entry.gating_plugin
            self._observer(member, before, place, event, now)
            member.gating_plugin = gate

    def shut_out(self, queued: QueuedPod, event: str, now: float) -> None:
        """Something keeps it out now, wherever it waited."""
        self.withdraw(queued)
        admit(queued, self.rules[queued.profile])
        self._set_aside(queued, event, now)

    def has_slot(self, entry: QueuedGroup, change: Change) -> bool:
        """Is there room for the member that speaks for the job, where this happened?"""
        groups = self.rules[entry.profile].groups
        return groups is not None and groups.has_slot(entry, change)

    def _set_aside(self, queued: QueuedPod, event: str, now: float) -> None:
        if queued.is_gated:
            queued.was_flushed = False  # it will not be tried because of the flush
        self.aside.put(queued)
        self.moved(queued, Place.GATED if queued.is_gated else Place.UNSCHEDULABLE, event, now)


def _is_news(queued: QueuedPod) -> bool:
    """Is a pod gated for another reason than observers know?"""
    return queued.place is Place.GATED and queued.refusal != queued.told_refusal
