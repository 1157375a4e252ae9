"""Jobs in the queue: their entries, and the members that come, change and go.

In: members, from `gangs.job_members`, each with the name of its job; and how an attempt for a job ended. Out: one entry
a job, in one place of the queue, while any of its members waits. Whether a job may be tried at all is asked of
`GroupRules` (`QueueRules.groups`), whenever something about it changes. Part of `SchedulingQueue`, whose places these
are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairway.cluster.changes import pod_changes
from fairway.model import Pod
from fairway.model.group import GroupKey
from fairway.queue import labels
from fairway.queue.hints import Strategy
from fairway.queue.in_flight import InFlight
from fairway.queue.places import ASIDE, Places
from fairway.queue.queued_group import QueuedGroup, group_uid
from fairway.queue.queued_pod import Place, QueuedPod
from fairway.queue.rules import GroupRules, admit, profile_name
from fairway.queue.settings import Clock
from fairway.queue.wakeups import Wakeups

__all__ = ["GroupEntries"]

GATED, IN_FLIGHT = Place.GATED, Place.IN_FLIGHT  # looking up a member of an enum is slow


class GroupEntries:
    """The jobs that wait, by name."""

    def __init__(
        self,
        pods: dict[str, QueuedPod],
        places: Places,
        in_flight: InFlight,
        wakeups: Wakeups,
        clock: Clock,
        sequence: Iterator[int],
    ) -> None:
        """`pods` are all that the queue knows, by uid."""
        self._pods = pods
        self._places = places
        self._in_flight = in_flight
        self._wakeups = wakeups
        self._clock = clock
        self._sequence = sequence
        self._entries: dict[str, QueuedGroup] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[QueuedGroup]:
        return iter(list(self._entries.values()))

    def __getitem__(self, uid: str) -> QueuedGroup:
        return self._entries[uid]

    def find_uid(self, uid: str) -> QueuedGroup | None:
        """The entry of that name, if it is there."""
        return self._entries.get(uid)

    def find(self, key: GroupKey) -> QueuedGroup | None:
        """The entry of a job, if members of it wait."""
        return self._entries.get(group_uid(key))

    # -- members -----------------------------------------------------------------------------------------------------

    def add(self, key: GroupKey, pod: Pod) -> QueuedGroup:
        """A member came, or changed, or came back from an attempt."""
        entry = self._entries.get(group_uid(key))
        if entry is not None and pod.metadata.uid in entry.members:
            self._update(entry, entry.members[pod.metadata.uid], pod)
            return entry
        if entry is None:
            entry = self._make(key, pod)
        queued = QueuedPod(
            pod=pod, profile=profile_name(pod), timestamp=self._clock.now(), sequence=next(self._sequence)
        )
        self.take_back(entry, queued)
        return entry

    def _make(self, key: GroupKey, pod: Pod) -> QueuedGroup:
        now, profile = self._clock.now(), profile_name(pod)
        entry = QueuedGroup(
            key=key,
            name=group_uid(key),
            pod=pod,
            profile=profile,
            timestamp=now,
            sequence=next(self._sequence),
            max_backoff=self._groups(profile).max_backoff,
            priority=pod.priority,
            rests=True,
            first_seen=now,
        )
        self._entries[entry.uid] = entry
        return entry

    def take_back(self, entry: QueuedGroup, queued: QueuedPod, strategy: Strategy = Strategy.IMMEDIATELY) -> None:
        """A member that is in no entry joins its job's."""
        uid, now = queued.uid, self._clock.now()
        queued.group = entry.uid
        entry.members[uid] = queued
        entry.num_slots = 0  # it is another job now
        entry.num_gated += not admit(queued, self._places.rules[queued.profile])
        self._pods[uid] = queued
        if queued.pod.status.nominated_node_name:
            self._places.nominator.follow(queued.pod)
        self._reconsider(entry, labels.POD_ADDED, strategy)
        if queued.place is None:  # its job stays where it is
            self._places.member_moved(entry, queued, entry.place_of(queued), labels.POD_ADDED, now)

    def come_back(self, key: GroupKey, queued: QueuedPod, num_errors: int) -> QueuedGroup:
        """A member that had left for its node has none after all; after so many errors its job rests first."""
        is_error = num_errors > 0
        entry = self._entries.get(group_uid(key)) or self._make(key, queued.pod)
        queued.place, queued.is_deleted = None, False
        entry.attempts = max(entry.attempts, queued.attempts)
        if is_error and entry.place is not IN_FLIGHT:
            now = self._clock.now()
            entry.consecutive_errors = num_errors
            entry.timestamp, entry.backoff_expiration = now, None
            if entry.place is Place.ACTIVE:
                self._places.withdraw(entry)
                entry.place = None
        self.take_back(entry, queued, Strategy.AFTER_BACKOFF if is_error else Strategy.IMMEDIATELY)
        return entry

    def _update(self, entry: QueuedGroup, queued: QueuedPod, pod: Pod) -> None:
        old = queued.latest or queued.pod
        if entry.place is IN_FLIGHT:
            queued.latest, queued.is_deleted = pod, False
            entry.is_news = entry.is_news or bool(pod_changes(old, pod))
            return
        queued.pod = pod
        entry.num_slots = 0
        self._places.nominator.update(old, pod)
        if entry.pod.metadata.uid == pod.metadata.uid:
            entry.let_speak(pod)
        self._admit_again(entry, queued)
        changed = bool(pod_changes(old, pod))
        self._reconsider(entry, labels.POD_UPDATED, Strategy.AFTER_BACKOFF if changed else Strategy.SKIP)

    def _admit_again(self, entry: QueuedGroup, queued: QueuedPod) -> None:
        was_gated = queued.is_gated
        is_gated = not admit(queued, self._places.rules[queued.profile])
        entry.num_gated += is_gated - was_gated
        if was_gated != is_gated and queued.place is not None:
            place = entry.place_of(queued)
            self._places.member_moved(entry, queued, place, labels.POD_UPDATED, self._clock.now())

    def drop(self, queued: QueuedPod, event: str) -> None:
        """A member is gone from the queue; the entry goes with its last."""
        entry = self._entries[queued.group]
        del entry.members[queued.uid]
        entry.num_gated -= queued.is_gated
        self._pods.pop(queued.uid, None)
        self._places.member_moved(entry, queued, None, event, self._clock.now())
        if entry.place is IN_FLIGHT:
            return  # it ends with the attempt
        if not entry.members:
            self._remove(entry)
            return
        if entry.pod.metadata.uid == queued.uid:
            entry.let_speak(next(iter(entry.members.values())).pod)
        self._reconsider(entry, event, Strategy.SKIP)

    def _remove(self, entry: QueuedGroup) -> None:
        self._places.withdraw(entry)
        del self._entries[entry.uid]
        self._places.moved(entry, None, labels.DONE, self._clock.now())

    # -- the job as a whole ------------------------------------------------------------------------------------------

    def reconsider(self, key: GroupKey, strategy: Strategy = Strategy.SKIP) -> None:
        """Something about the job changed that is no member of it; `strategy`: what that is worth to one set aside."""
        entry = self.find(key)
        if entry is not None:
            entry.num_slots = 0
            self._reconsider(entry, labels.JOB_CHANGED, strategy)

    def _reconsider(self, entry: QueuedGroup, event: str, strategy: Strategy) -> None:
        """May it be tried now, and is it worth it?"""
        if entry.place is IN_FLIGHT:
            entry.is_news = entry.is_news or strategy is not Strategy.SKIP
            return
        now = self._clock.now()
        groups = self._groups(entry.profile)
        priority = groups.priority(entry)
        if priority != entry.priority:
            entry.priority = priority
            entry.let_speak(entry.pod)
            self._places.reorder(entry)
        refusal = groups.gate(entry)
        if refusal is not None:
            if entry.place is GATED:
                entry.refusal = refusal
            else:
                self._places.shut_out(entry, event, now)
        elif entry.place is None or entry.is_gated:
            worth = Strategy.AFTER_BACKOFF if strategy is Strategy.SKIP else strategy
            self._places.requeue(entry, worth, event, now)
        elif entry.place in ASIDE or (entry.place is Place.BACKOFF and strategy is Strategy.IMMEDIATELY):
            self._places.requeue(entry, strategy, event, now)

    def activate(self, uid: str) -> None:
        """It shall be tried without waiting; if it is in flight, when it comes back."""
        entry = self._entries[uid]
        if entry.place is IN_FLIGHT:
            entry.is_news = True
        elif entry.place is not Place.ACTIVE:
            self._places.activate(entry, labels.ACTIVATED, self._clock.now())

    def go_first(self, key: GroupKey) -> None:
        """Of its priority it is the next to be tried, at once."""
        entry = self.find(key)
        if entry is not None and entry.place is not IN_FLIGHT:
            self._places.withdraw(entry)
            entry.timestamp, entry.place = float("-inf"), None
            self._places.activate(entry, labels.ACTIVATED, self._clock.now())

    def end(self, entry: QueuedGroup) -> None:
        """Its attempt is over, and those who got a node have left: the others, if any, are tried at once."""
        self._in_flight.finish(entry.uid)
        self._catch_up(entry)
        entry.place = None
        if not entry.members:
            del self._entries[entry.uid]
            return
        now = self._clock.now()
        entry.timestamp, entry.sequence = now, next(self._sequence)
        entry.unschedulable_count = entry.consecutive_errors = 0
        entry.backoff_expiration = None
        if entry.pod.metadata.uid not in entry.members:
            entry.let_speak(next(iter(entry.members.values())).pod)
        self._places.activate(entry, labels.ATTEMPT_FAILED, now)

    def requeue_failed(
        self,
        entry: QueuedGroup,
        pod: Pod,
        unschedulable_plugins: Iterable[str] = (),
        pending_plugins: Iterable[str] = (),
        error: bool = False,
        num_slots: int = 0,
    ) -> None:
        """The attempt failed for this member's sake, whom these plugins refused; or something broke.

        `num_slots`: so many like this member need room at once, at least; 0: nobody knows.
        """
        now = self._clock.now()
        refused = frozenset() if error else frozenset(unschedulable_plugins)
        waits = frozenset() if error else frozenset(pending_plugins)
        entry.note_failure(refused, waits, now, next(self._sequence))
        entry.num_slots = num_slots
        is_news = entry.is_news
        self._catch_up(entry)
        strategy = Strategy.AFTER_BACKOFF
        if not entry.members:
            self._in_flight.finish(entry.uid)
            del self._entries[entry.uid]
            return
        speaker = entry.members.get(pod.metadata.uid)
        entry.let_speak((speaker or next(iter(entry.members.values()))).pod)
        if is_news:
            strategy = Strategy.IMMEDIATELY
        elif refused or waits:
            strategy = self._wakeups.in_flight(entry)
        self._in_flight.finish(entry.uid)
        self._places.requeue(entry, strategy, labels.ATTEMPT_FAILED, now)

    def _catch_up(self, entry: QueuedGroup) -> None:
        """What happened to members while they were in flight."""
        entry.is_news = False
        for queued in list(entry.members.values()):
            if queued.is_deleted:
                self.drop(queued, labels.POD_DELETED)
            elif queued.latest is not None:
                queued.pod, queued.latest = queued.latest, None
                self._admit_again(entry, queued)

    def _groups(self, profile: str) -> GroupRules:
        groups = self._places.rules[profile].groups
        assert groups is not None
        return groups
