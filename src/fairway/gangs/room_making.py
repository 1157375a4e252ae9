"""Room for a job that waits: earmarks, evictions, and an end to what does not help.

In: a decision that names victims and promises each member its node. Out: the promises, which count as taken for all
that is not more important until the job starts, goes, or `earmark` has passed; and the evictions. A job for which room
was made three times within ten minutes and that still could not start gets no more of it until nodes change: that is
`PreemptionFutile`. Called by `job_attempts`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from fairway.cluster import Change, Cluster
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision, GroupOutcome
from fairway.model import Pod
from fairway.plugin import Notice, with_spec
from fairway.queue import QueuedGroup, SchedulingQueue
from fairway.queue.hints import Strategy
from fairway.world import World

__all__ = ["RoomMaking"]

MOST_ROUNDS: Final = 3
ROUNDS_SECONDS: Final = 600.0


@dataclass(slots=True)
class _Rounds:
    """What was done for one job."""

    entry: QueuedGroup
    times: deque[float] = field(default_factory=deque)  # when room was made
    earmarked_until: float | None = None
    futile_at: int | None = None  # where the journal of nodes stood when it was given up


class RoomMaking:
    """Makes room for jobs."""

    def __init__(
        self,
        queue: SchedulingQueue,
        profiles: Mapping[str, Profile],
        cluster: Cluster,
        world: World,
        evict: Callable[[Pod, Pod], None],
    ) -> None:
        self._queue = queue
        self._profiles = profiles
        self._cluster = cluster
        self._world = world
        self._evict = evict
        self.rounds: dict[str, _Rounds] = {}  # by the entry's uid

    def is_worth_it(self, entry: QueuedGroup) -> bool:
        """May pods have to go for this job? Not if they did, again and again, in vain."""
        rounds = self.rounds.get(entry.uid)
        if rounds is None:
            return True
        now = self._world.now()
        while rounds.times and rounds.times[0] <= now - ROUNDS_SECONDS:
            rounds.times.popleft()
        version = self._cluster.node_journal.end
        if rounds.futile_at is not None and rounds.futile_at == version:
            return False
        if rounds.futile_at is not None:  # nodes changed
            rounds.futile_at = None
            rounds.times.clear()
        if len(rounds.times) < MOST_ROUNDS:
            return True
        rounds.futile_at = version
        words = f"job {entry.key} could not start though room was made for it {MOST_ROUNDS} times in 10 minutes"
        first = next(iter(entry.members.values())).pod
        notice = Notice("PreemptionFutile", f"{words}; no more is made until nodes change")
        self._world.tell_group(entry.key, first, notice)
        return False

    def carry_out(self, entry: QueuedGroup, decision: GroupDecision) -> None:
        """Promise every member what it is promised, and ask the victims to go."""
        for member in decision.members:
            pod = member.pod
            as_important = pod if pod.spec.priority == entry.priority else with_spec(pod, priority=entry.priority)
            self._queue.nominate(as_important, member.nomination)
        for other in decision.cleared:
            self._queue.nominate(other, "")
        if decision.outcome is not GroupOutcome.PREEMPTING:
            return
        gangs, now = self._profiles[entry.profile].gangs, self._world.now()
        assert gangs is not None
        assert gangs.earmark is not None
        rounds = self.rounds.setdefault(entry.uid, _Rounds(entry))
        rounds.entry = entry
        rounds.times.append(now)
        rounds.earmarked_until = now + float(gangs.earmark)
        if decision.victims:  # of jobs that start together, one makes room for all
            self._ask_to_go(entry, decision)

    def _ask_to_go(self, entry: QueuedGroup, decision: GroupDecision) -> None:
        heirs = {member.promise: member.pod for member in reversed(decision.members) if member.promise}
        anybody = next(iter(heirs.values()), decision.members[0].pod)
        number, words = len(decision.victims), "pod has" if len(decision.victims) == 1 else "pods have"
        notice = Notice("GangPreempting", f"{number} less important {words} to make room for job {entry.key}", False)
        self._world.tell_group(entry.key, anybody, notice)
        for victim in decision.victims:
            self._evict(victim.pod, victim.preemptor or heirs.get(victim.pod.spec.node_name, anybody))

    def forget(self, entry: QueuedGroup) -> None:
        """The job has started."""
        self.rounds.pop(entry.uid, None)

    def next_time(self) -> float | None:
        """When the next earmarks end."""
        return min(
            (each.earmarked_until for each in self.rounds.values() if each.earmarked_until is not None), default=None
        )

    def end_earmarks(self) -> None:
        """Give up what was kept too long, which others may use; the job is looked at once more."""
        now = self._world.now()
        for uid, rounds in list(self.rounds.items()):
            if rounds.entry.place is None:
                del self.rounds[uid]  # it has started, or is gone
            elif rounds.earmarked_until is not None and rounds.earmarked_until <= now:
                rounds.earmarked_until = None
                self._give_up(rounds.entry)

    def _give_up(self, entry: QueuedGroup) -> None:
        changes = []
        for member in entry.members.values():
            node = self._cluster.nominations.node_of(member.uid)
            if node is not None:
                self._queue.nominate(member.pod, "")
                changes.append(Change.pod_left(with_spec(member.pod, node_name=node)))
        if changes:
            self._queue.groups.reconsider(entry.key, Strategy.IMMEDIATELY)
            self._queue.move(changes, only=lambda other: other.priority <= entry.priority)
