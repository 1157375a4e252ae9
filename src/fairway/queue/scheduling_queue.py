"""Who is next: pods between their arrival and their binding.

`scheduler.py` adds pending pods, pops the next one to try, and says how it went (`done`, `requeue_failed`); `move` gets
what the cluster makes of each event. Every pod known here is in exactly one `Place`. Synchronous, on a given clock that
never runs backwards: `tick` does what has become due, `next_wakeup` says when that will be. Decides as kube-scheduler
1.36 does (pkg/scheduler/backend/queue/scheduling_queue.go), with its default gates; where its order is left to chance,
first come, first served.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count

from fairway.cluster.changes import pod_changes
from fairway.cluster.events import Change, ClusterEvent
from fairway.cluster.intents.nominations import Nominations as ClusterNominations
from fairway.model import Pod
from fairway.plugin import Refusal
from fairway.queue import labels
from fairway.queue.group_entries import GroupEntries
from fairway.queue.hints import EVERYTHING, Hints, Strategy
from fairway.queue.in_flight import InFlight
from fairway.queue.nominator import Nominations, Nominator
from fairway.queue.places import ASIDE, Observer, Places
from fairway.queue.queued_group import QueuedGroup, by_member
from fairway.queue.queued_pod import Pending, Place, QueuedPod
from fairway.queue.rules import QueueRules, profile_name
from fairway.queue.settings import Clock, QueueSettings
from fairway.queue.wakeups import Wakeups

__all__ = ["SchedulingQueue"]

IN_FLIGHT = Place.IN_FLIGHT  # looking up a member of an enum is slow, and this one is in the hot path


class SchedulingQueue:
    """The scheduling queue of all profiles."""

    def __init__(
        self,
        rules: Mapping[str, QueueRules],
        clock: Clock,
        *,
        settings: QueueSettings | None = None,
        nominations: Nominations | None = None,
        observer: Observer | None = None,
    ) -> None:
        """`rules` by scheduler name; `nominations` are the cluster's, which counts promised pods on their nodes."""
        settings = settings or QueueSettings()
        self._rules = dict(rules)
        self._clock = clock
        self._nominator = Nominator(ClusterNominations() if nominations is None else nominations)
        self._sequence = count()
        self._pods: dict[str, QueuedPod] = {}  # every pod in any place, by uid
        self._places = Places(self._rules, settings, self._nominator, observer)
        self._in_flight = InFlight()
        self._wakeups = Wakeups(Hints(self._rules), self._places, self._in_flight, settings, clock.now())
        self.groups = GroupEntries(self._pods, self._places, self._in_flight, self._wakeups, clock, self._sequence)

    # -- looking ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def __iter__(self) -> Iterator[QueuedPod]:
        """All pods, as of now, in no order that means anything."""
        return iter(list(self._pods.values()))

    def find(self, uid: str) -> QueuedPod | None:
        """The pod with that uid, wherever it is."""
        return self._pods.get(uid)

    def refusal_of(self, queued: QueuedPod) -> Refusal | None:
        """Why it is kept out of the queue: for its own sake, or for that of its job."""
        if queued.group and not queued.is_gated and queued.place is Place.GATED:
            return self.groups[queued.group].refusal
        return queued.refusal

    def serves(self, pod: Pod) -> bool:
        """Does a profile of this scheduler answer for the pod?"""
        return profile_name(pod) in self._rules

    def waits_for(self, event: ClusterEvent) -> bool:
        """Would such an event be worth a look at some pod that was set aside?"""
        return self._wakeups.concerns(event)

    def counts(self) -> dict[Place, int]:
        """How many pods are in each place."""
        counts = {**self._places.counts(), IN_FLIGHT: len(self._in_flight)}
        for entry in self.groups:  # each counted as one so far
            for place, sign in ((entry.place, -1), *((member.place, 1) for member in entry.members.values())):
                if place is not None:
                    counts[place] += sign
        return counts

    def pending(self) -> Pending:
        """All pods by place, each in its order. Sorts: for people, not for every cycle."""
        flying = tuple(self._pods.get(uid) or self.groups[uid] for uid in self._in_flight)
        pending = self._places.pending(flying)
        return by_member(pending) if len(self.groups) else pending

    # -- pods come, change and go ----------------------------------------------------------------------------------

    def add(self, pod: Pod) -> None:
        """A pod without a node has appeared. One that is known already counts as updated."""
        self.update(None, pod)

    def update(self, old: Pod | None, new: Pod) -> None:
        """A pod without a node has changed; `old` defaults to the last version known here."""
        uid = new.metadata.uid
        if old is not None and old.metadata.uid != uid:  # another pod of the same name
            self.delete(old)
            self.add(new)
            return
        queued = self._pods.get(uid)
        if queued is None:
            self._enqueue(new, labels.POD_ADDED if old is None else labels.POD_UPDATED)
            return
        if queued.group:
            self.groups.add(self.groups[queued.group].key, new)
            return
        old = old or queued.latest or queued.pod
        if queued.place is IN_FLIGHT:
            queued.latest, queued.is_deleted = new, False
            for event in pod_changes(old, new):
                self._in_flight.record(Change(event, old, new))
            return
        queued.pod = new
        self._nominator.update(old, new)
        if queued.place in ASIDE:
            self._wakeups.by_update(queued, old, self._clock.now())
        else:
            self._places.reorder(queued)

    def delete(self, pod: Pod) -> None:
        """The pod is gone, or has a node now. If it is in flight, it will not come back."""
        uid = pod.metadata.uid
        self._nominator.remove(uid)
        queued = self._pods.get(uid)
        if queued is None:
            return
        if queued.place is IN_FLIGHT:
            queued.is_deleted = True
            return
        if queued.group:
            self.groups.drop(queued, labels.POD_DELETED)
            return
        self._places.withdraw(queued)
        del self._pods[uid]
        self._places.moved(queued, None, labels.POD_DELETED, self._clock.now())

    def nominate(self, pod: Pod, node_name: str | None) -> None:
        """Promise the pod a node, "" for none; None promises what its status says. Only pods known here get one."""
        queued = self._pods.get(pod.metadata.uid)
        if queued is None or queued.is_deleted:
            self._nominator.remove(pod.metadata.uid)
        elif node_name is None:
            self._nominator.follow(pod)
        else:
            self._nominator.override(pod, node_name)

    def _enqueue(self, pod: Pod, event: str) -> None:
        uid, profile = pod.metadata.uid, profile_name(pod)
        if not uid:
            raise ValueError(f"pod {pod.key} has no uid")
        if profile not in self._rules:
            raise ValueError(f"pod {pod.key} is for scheduler {profile!r}; here are {', '.join(sorted(self._rules))}")
        now = self._clock.now()
        queued = QueuedPod(pod=pod, profile=profile, timestamp=now, sequence=next(self._sequence))
        self._pods[uid] = queued
        self._places.activate(queued, event, now)

    # -- attempts --------------------------------------------------------------------------------------------------

    def pop(self) -> QueuedPod | None:
        """The next pod to try, now in flight; None if none is ready now. Then call `done` or `requeue_failed`."""
        now = self._clock.now()
        self._wakeups.by_time(now)
        places = self._places
        queued, event = places.active.pop(), labels.POPPED
        if queued is None:
            queued, event = places.backoff.pop(), labels.POPPED_EARLY
            if queued is None:
                return None
        self._launch(queued, event, now)
        return queued

    def take_group(self, entry: QueuedGroup) -> bool:
        """Pop this very job, whatever its turn or backoff. False: it may not be tried."""
        if entry.place is IN_FLIGHT:
            return False
        self.groups.activate(entry.uid)
        if entry.place is not Place.ACTIVE:
            return False
        self._places.withdraw(entry)
        self._launch(entry, labels.POPPED, self._clock.now())
        return True

    def take(self, uid: str) -> QueuedPod | None:
        """Pop this very pod, whatever its turn or backoff; None if it is gated, in flight or unknown."""
        queued = self._pods.get(uid)
        if queued is None or queued.place is IN_FLIGHT:
            return None
        self.activate((queued.pod,))
        if queued.place is not Place.ACTIVE:
            return None
        self._places.withdraw(queued)
        self._launch(queued, labels.POPPED, self._clock.now())
        return queued

    def done(self, uid: str) -> None:
        """The pod needs no more attempts, as far as we know. Nothing to do if it is not in flight."""
        queued = self._pods.get(uid)
        if queued is not None and queued.place is IN_FLIGHT:
            if queued.group:
                self.groups.drop(queued, labels.DONE)
                return
            self._in_flight.finish(uid)
            del self._pods[uid]
            self._places.moved(queued, None, labels.DONE, self._clock.now())

    def requeue_failed(
        self,
        queued: QueuedPod,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
        error: bool = False,
        rests: bool = False,
    ) -> Place | None:
        """The attempt failed: these plugins refused the pod or, if there are none or on `error`, something broke.

        With `rests` it comes again after its backoff, and not before: members of groups wait for each other, of which
        no event tells (`determineSchedulingHintForInFlightPod` in kube-scheduler 1.36, which then tries them again and
        again while nothing else is ready; a clock that stands still meanwhile would never get on).
        Returns where the pod is now; None if it was deleted meanwhile. After `done` (when binding fails) this takes the
        pod back as well, but then the caller has to know that it still exists.
        """
        uid = queued.uid
        known = self._pods.get(uid)
        if known is not None and (known is not queued or known.place is not IN_FLIGHT):
            return known.place
        if queued.is_deleted:
            self.done(uid)
            return None
        if queued.latest is not None:
            queued.pod, queued.latest = queued.latest, None
        now = self._clock.now()
        refused = frozenset() if error else frozenset(unschedulable_plugins)
        waits = frozenset() if error else frozenset(pending_plugins)
        queued.note_failure(refused, waits, now, next(self._sequence))
        queued.rests = rests
        strategy = Strategy.AFTER_BACKOFF
        if known is not None:
            if (refused or waits) and not rests:
                strategy = self._wakeups.in_flight(queued)
            self._in_flight.finish(uid)
        self._pods[uid] = queued
        return self._places.requeue(queued, strategy, labels.ATTEMPT_FAILED, now)

    def _launch(self, queued: QueuedPod, event: str, now: float) -> None:
        queued.attempts += 1
        self._in_flight.start(queued.uid)
        self._places.moved(queued, IN_FLIGHT, event, now)

    # -- things happen ---------------------------------------------------------------------------------------------

    def move(self, changes: Iterable[Change], only: Callable[[Pod], bool] | None = None) -> None:
        """These changes happened: move the pods they may help (of those that `only` lets through)."""
        if not self._pods:  # nobody to wake
            return
        now = self._clock.now()
        for change in changes:
            self._wakeups.by_change(change, only, now)

    def activate(self, pods: Iterable[Pod]) -> None:
        """A plugin wants these pods tried again without waiting; one in flight, when it comes back."""
        now = self._clock.now()
        for pod in pods:
            queued = self._pods.get(pod.metadata.uid)
            if queued is None or queued.place is Place.ACTIVE:
                continue
            if queued.group:
                self.groups.activate(queued.group)
                continue
            if queued.place is IN_FLIGHT:
                self._in_flight.record(Change(EVERYTHING, None, pod))
            else:
                self._places.activate(queued, labels.ACTIVATED, now)

    def tick(self) -> None:
        """Do what has become due: end backoffs, try pods that have waited too long. `pop` does this by itself."""
        self._wakeups.by_time(self._clock.now())

    def next_wakeup(self) -> float | None:
        """When there is something to pop or to flush: now, or then unless something happens before; None: never."""
        if not self._pods:
            return None
        now = self._clock.now()
        if self._places.active.size or self._places.backoff.is_poppable:
            return now
        time = self._wakeups.next_time()
        return None if time is None else max(time, now)  # what is overdue is due now
