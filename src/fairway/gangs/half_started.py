"""Jobs of which fewer members run than it takes: half-started, by a binding that failed or a scheduler that died; or
broken later, when members are gone.

In: books of jobs, as they change, and time. Out: members that wait go first; when `partialBind` has passed and the job
is still short, people are told (`GangBroken`), and with `onBroken: evict` those of its pods are removed that their
controllers make again and that have not begun, so that the job begins anew. All is read from the books: a scheduler
that was just started knows as much as one that was there. Called by `job_members` and `job_attempts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairway.cluster.groups import GroupBook, Groups
from fairway.cycle import Profile
from fairway.gangs.connections import Connections
from fairway.model import Pod
from fairway.model.group import GroupKey, GroupSpec
from fairway.plugin import Notice
from fairway.queue import SchedulingQueue, profile_name
from fairway.world import World

__all__ = ["HalfStarted"]


@dataclass(slots=True)
class _Short:
    """A job that is short of members."""

    deadline: float | None = None  # None: its time begins when we first look, which is when we lead
    is_told: bool = False


class HalfStarted:
    """Watches over them."""

    def __init__(
        self,
        queue: SchedulingQueue,
        profiles: Mapping[str, Profile],
        groups: Groups,
        connections: Connections,
        world: World,
    ) -> None:
        self._queue = queue
        self._profiles = profiles
        self._groups = groups
        self._connections = connections
        self._world = world
        self.short: dict[GroupKey, _Short] = {}

    def look(self, book: GroupBook) -> None:
        """A job's book is another than before."""
        if not self._is_short(book):
            self.short.pop(book.key, None)
        elif book.key not in self.short and not book.assumed:  # those may still be bound
            self.short[book.key] = _Short()
            self._queue.groups.go_first(book.key)

    def _is_short(self, book: GroupBook) -> bool:
        if not book.bound:
            return False
        spec = self._groups.spec_of(book)
        if not isinstance(spec, GroupSpec) or len(book.bound) >= spec.min_count:
            return False
        profile = self._profiles.get(profile_name(next(iter(book.pods.values()))))
        if profile is None or not profile.starts_jobs:
            return False
        return not self._connections.has_good_ends(str(book.key))  # it does not start, it comes to its end

    def next_time(self) -> float | None:
        """When `tell` has something to do."""
        times = [each.deadline for each in self.short.values() if not each.is_told]
        if None in times:
            return self._world.now()
        return min((time for time in times if time is not None), default=None)

    def tell(self) -> None:
        """Tell of those that are short for too long."""
        now = self._world.now()
        for key, short in list(self.short.items()):
            book = self._groups.find(key)
            if book is None or not self._is_short(book):
                del self.short[key]
            elif short.deadline is None:
                short.deadline = now + self._patience(book)
            elif short.deadline <= now and not short.is_told:
                short.is_told = True
                self._give_up(book)

    def _patience(self, book: GroupBook) -> float:
        gangs = self._profile(book).gangs
        assert gangs is not None
        assert gangs.partial_bind is not None
        return float(gangs.partial_bind)

    def _profile(self, book: GroupBook) -> Profile:
        return self._profiles[profile_name(next(iter(book.pods.values())))]

    def _give_up(self, book: GroupBook) -> None:
        spec, gangs = self._groups.spec_of(book), self._profile(book).gangs
        assert isinstance(spec, GroupSpec)
        assert gangs is not None
        words = f"job {book.key}: {len(book.bound)} of the {spec.min_count} members that it takes run"
        first = book.pods[next(iter(book.bound))]
        self._world.tell_group(book.key, first, Notice("GangBroken", words))
        for uid in book.waiting:
            self._queue.nominate(book.pods[uid], "")
        if gangs.on_broken == "evict":
            for uid in list(book.bound):
                if _begins_anew(book.pods[uid]):
                    self._world.remove(book.pods[uid], words)


def _begins_anew(pod: Pod) -> bool:
    """Will somebody make it again, and has it done nothing yet?"""
    if pod.metadata.controller is None or pod.is_terminating:
        return False
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return not any(
        each.started or each.restart_count or each.state.running is not None or each.state.terminated is not None
        for each in containers
    )
