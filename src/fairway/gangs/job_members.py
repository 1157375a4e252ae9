"""Members of jobs, in mode `fairway`: each to the entry of its job, and whatever changes a job to that job.

In: events that `scheduler.py` hands on: members that come, change and go, objects and controllers that speak of groups.
Out: entries of the queue that are as they should be (`queue.groups`). `attempts` tells what becomes of an entry.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairway.cluster import Event, Verb
from fairway.cluster.groups import GROUP_KINDS, GroupBook, Groups
from fairway.cycle import Decision, Profile
from fairway.gangs.connections import Connections
from fairway.gangs.half_started import HalfStarted
from fairway.gangs.job_attempts import JobAttempts, Shared
from fairway.gangs.late_jobs import LateJobs
from fairway.model import Pod
from fairway.model.group import GroupKey, GroupSpec
from fairway.model.group_reading import GroupController
from fairway.queue import Place, QueuedPod, SchedulingQueue, profile_name
from fairway.queue.hints import Strategy
from fairway.world import World

__all__ = ["JobMembers", "job_members"]

DELETED = Verb.DELETED  # looking up a member of an enum is slow, and every pod's events come by here


def job_members(
    queue: SchedulingQueue, profiles: Mapping[str, Profile], connections: Connections, world: World, shared: Shared
) -> JobMembers | None:
    """None if no profile starts jobs."""
    if not any(profile.starts_jobs for profile in profiles.values()):
        return None
    return JobMembers(queue, profiles, connections, world, shared)


class JobMembers:
    """The members of all jobs."""

    def __init__(
        self,
        queue: SchedulingQueue,
        profiles: Mapping[str, Profile],
        connections: Connections,
        world: World,
        shared: Shared,
    ) -> None:
        self._queue = queue
        self._profiles = profiles
        self._cluster = cluster = next(iter(profiles.values())).cluster
        self._connections = connections
        connections.entries = queue.groups
        self._world = world
        self._late = LateJobs(queue, cluster, profiles, world)
        self._half = HalfStarted(queue, profiles, cluster.groups, connections, world)
        self.attempts = JobAttempts(queue, profiles, connections, world, shared)

    def takes(self, pod: Pod, book: GroupBook) -> bool:
        """Is the pod queued with its job, rather than alone?"""
        profile = self._profiles[profile_name(pod)]
        if profile.gangs is None or profile.gangs.mode != "fairway":
            return False
        spec = self._cluster.groups.spec_of(book)
        if isinstance(spec, GroupSpec) and spec.near:
            profile.heed_near_jobs()
        queued = self._queue.find(pod.metadata.uid)
        if queued is not None and queued.group:
            return True
        return not is_alone(book, self._cluster.groups)

    def observe(self, pod: Pod, book: GroupBook) -> None:
        """A member that waits came or changed."""
        if pod.is_terminating:
            self._queue.delete(pod)
            self.changed(book)
            return
        for uid in book.waiting if self._queue.groups.find(book.key) is None else (pod.metadata.uid,):
            queued = self._queue.find(uid)
            if queued is not None and not queued.group:  # it was alone until now
                self._queue.delete(queued.pod)
                if uid not in self._queue:
                    self._add(book, queued.latest or queued.pod)
        self._add(book, pod)

    def _add(self, book: GroupBook, pod: Pod) -> None:
        entry = self._queue.groups.add(book.key, pod)
        self._late.watch(entry)
        self.attempts.notices.look(book)
        if not entry.attempts and book.key in self._half.short:
            self._queue.groups.go_first(book.key)
        self._tell_dependents(book.key)

    def saw(self, event: Event) -> None:
        """The cluster has taken in what happened, to a pod with a node or to anything else.

        Need not be called for pods while none ever belonged to a job (`Groups.are_used`).
        """
        item, groups = event.object, self._cluster.groups
        if isinstance(item, Pod):
            if (book := groups.by_uid.get(item.metadata.uid)) is not None:
                self.attempts.look_after_held()
                self.changed(book)
            elif (event.verb is DELETED or item.is_finished) and (found := groups.membership(item)) is not None:
                self.attempts.look_after_held()
                self._connections.ended(found.key, item, event.verb is DELETED)
                if (book := groups.find(found.key)) is not None:
                    self._half.look(book)
                else:
                    self.attempts.forget(found.key)
                self._queue.groups.reconsider(found.key)
                self._tell_dependents(found.key)
                if book is None:
                    self._forget(found.key)
        elif isinstance(item, GROUP_KINDS):
            self._changed_key(groups.key_of(item))
        elif isinstance(item, GroupController):
            self._saw_controller(item)

    def _forget(self, key: GroupKey) -> None:
        """A job has no pods any more, and everybody knows."""
        self._connections.forget(key)
        self._late.forget(key)

    def _changed_key(self, key: GroupKey) -> None:
        book = self._cluster.groups.find(key)
        if book is None:
            self.attempts.tried.pop(key, None)
        else:  # its condition, which we write, is no news
            self.changed(book, is_news=self.attempts.tried.get(key) != self._cluster.groups.spec_of(book))

    def _saw_controller(self, item: GroupController) -> None:
        """Its pods may wait already, and hear of it only now that they start together."""
        groups = self._cluster.groups
        if not groups.asks(item):
            return
        for queued in self._queue:
            pod = queued.latest or queued.pod
            if not queued.group and groups.of(queued.uid) is None and queued.place is not Place.IN_FLIGHT:
                book = groups.observe(pod)
                if book is not None and self.takes(pod, book):
                    self.observe(pod, book)
        for book in groups.made_by(item):
            self._changed_key(book.key)

    def saw_foreign(self, pod: Pod, gone: bool) -> None:
        """A pod that waits for another scheduler may be a member all the same, which is a mistake to be told."""
        book = self._cluster.groups.observe(pod, gone)
        if book is not None:
            self.changed(book)

    def left(self, book: GroupBook) -> None:
        """A member that had no node is gone."""
        self.attempts.look_after_held()
        is_gone = not book.pods
        if is_gone:
            self.attempts.forget(book.key)
        self.changed(book)
        if is_gone:
            self._forget(book.key)

    def changed(self, book: GroupBook, is_news: bool = False) -> None:
        """A job's book or object is another than before; `is_news`: it may start otherwise than it would have."""
        self._connections.saw(book)
        self._half.look(book)
        self.attempts.notices.look(book)
        if self.attempts.failed and not book.assumed and book.key not in self._half.short and book.bound:
            self.attempts.failed.pop(book.key, None)
        self._queue.groups.reconsider(book.key, Strategy.IMMEDIATELY if is_news else Strategy.SKIP)
        self._tell_dependents(book.key)

    def _tell_dependents(self, key: GroupKey) -> None:
        """What happens to a job may let others in, or keep them out."""
        for other in self._connections.dependents(key):
            if other != key:
                self._queue.groups.reconsider(other)

    def binding_failed(self, queued: QueuedPod, decision: Decision) -> None:
        """One of many was not bound, and its room is given back."""
        book = self._cluster.groups.of(queued.uid)
        if book is not None:  # else it is gone, or has ended
            self.attempts.binding_failed(queued, decision, book)
            self.changed(book)

    def counts(self) -> tuple[dict[str, int], int]:
        """By place: how many jobs wait there; and how many are short of members."""
        counts = {place.value: 0 for place in Place}
        for entry in self._queue.groups:
            if entry.place is not None:
                counts[entry.place.value] += 1
        return counts, len(self._half.short)

    def next_wakeup(self) -> float | None:
        """When there is something to do or to say without a new event."""
        if not (self._late.deadlines or self.attempts.room.rounds or self._half.short):
            return None
        times = (self._late.next_time(), self.attempts.room.next_time(), self._half.next_time())
        return min((time for time in times if time is not None), default=None)

    def tick(self) -> None:
        """Time has passed."""
        if self._late.deadlines:
            self._late.tell(self._world.now())
        if self.attempts.room.rounds:
            self.attempts.room.end_earmarks()
        if self._half.short:
            self._half.tell()


def is_alone(book: GroupBook, groups: Groups) -> bool:
    """Is the job one pod, of which nothing is asked that is not asked of a pod that belongs to no job?"""
    if len(book) > 1:
        return False
    spec = groups.spec_of(book)
    if not isinstance(spec, GroupSpec) or len(book.schedulers) > 1:
        return False
    return spec.min_count <= 1 and spec.topology is None and not spec.together and not spec.after
