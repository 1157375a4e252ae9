"""Jobs that stay incomplete: people are told, once a job; it goes on waiting, and holds nothing.

In: entries as they come into the queue, and time. Out: an event `GangIncomplete` for each that is still kept out when
`incompleteAfter` has passed since its first member came. Called by `job_members`.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from fairway.cluster import Cluster
from fairway.cycle import Profile
from fairway.model.group import GroupKey
from fairway.plugin import Notice
from fairway.queue import QueuedGroup, SchedulingQueue
from fairway.queue.queued_group import group_uid
from fairway.world import World

__all__ = ["LateJobs"]


class LateJobs:
    """Who is waited for, and until when."""

    def __init__(self, queue: SchedulingQueue, cluster: Cluster, profiles: Mapping[str, Profile], world: World) -> None:
        self._queue = queue
        self._cluster = cluster
        self._profiles = profiles
        self._world = world
        self.deadlines: list[tuple[float, str]] = []  # a heap, with the entries' uids
        self._watched: dict[str, QueuedGroup] = {}

    def watch(self, entry: QueuedGroup) -> None:
        """An entry has a member more; the first time, its time begins."""
        if self._watched.get(entry.uid) is entry:
            return
        gangs = self._profiles[entry.profile].gangs
        assert gangs is not None
        assert gangs.incomplete_after is not None
        self._watched[entry.uid] = entry
        heapq.heappush(self.deadlines, (entry.first_seen + float(gangs.incomplete_after), entry.uid))

    def forget(self, key: GroupKey) -> None:
        """It has no pods any more, and nobody is waited for."""
        self._watched.pop(group_uid(key), None)

    def next_time(self) -> float | None:
        """When `tell` has something to look at."""
        return self.deadlines[0][0] if self.deadlines else None

    def tell(self, now: float) -> None:
        """Tell people of those whose time is up."""
        while self.deadlines and self.deadlines[0][0] <= now:
            deadline, uid = heapq.heappop(self.deadlines)
            entry = self._watched.get(uid)
            if entry is None or entry.place is None:
                self._watched.pop(uid, None)  # it has started, or is gone
            elif entry.first_seen + self._patience(entry) > deadline:
                continue  # another of that name, whose time is not up
            elif entry.is_gated and entry.refusal is not None:
                del self._watched[uid]
                first = next(iter(entry.members.values())).pod
                self._world.tell_group(entry.key, first, Notice("GangIncomplete", ", ".join(entry.refusal.reasons)))

    def _patience(self, entry: QueuedGroup) -> float:
        gangs = self._profiles[entry.profile].gangs
        assert gangs is not None
        assert gangs.incomplete_after is not None
        return float(gangs.incomplete_after)
