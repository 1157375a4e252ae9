"""Groups as kube-scheduler 1.36 schedules them: a member that is popped takes the others along.

In: a member that was popped from the queue, and its group. Out: a `GroupDecision`; by then each member has gone its
way, to its binding or back into the queue, by the steps that `scheduler.py` takes with any pod. `podGroupInfoForPod`,
`frameworkForPodGroup` and `submitPodGroupAlgorithmResult` in schedule_one_podgroup.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fairway.cluster.groups import GroupBook
from fairway.cycle import Decision, Hold, Outcome, Profile, Stop
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.groups.pod_group_cycle import decide_pod_group, fail_pod_group
from fairway.cycle.placing import settle
from fairway.model import Pod
from fairway.queue import QueuedPod, SchedulingQueue
from fairway.world import World

__all__ = ["MemberSteps", "PodGroups"]


class MemberSteps(Protocol):
    """What the scheduler does with one pod."""

    def skip(self, queued: QueuedPod) -> Decision:
        """It is being deleted."""

    def proceed(self, queued: QueuedPod, decision: Decision, obstacle: Stop | Hold | None) -> None:
        """It is assumed on its node."""

    def fail(self, queued: QueuedPod, decision: Decision, group: GroupBook | None = None) -> None:
        """It has no node, for now."""

    def evict(self, victim: Pod, preemptor: Pod) -> None:
        """It has to make room."""


class PodGroups:
    """Tries whole groups."""

    def __init__(
        self, queue: SchedulingQueue, profiles: Mapping[str, Profile], world: World, steps: MemberSteps
    ) -> None:
        self._queue = queue
        self._profiles = profiles
        self._world = world
        self._steps = steps

    def try_group(self, popped: QueuedPod, group: GroupBook) -> Decision | GroupDecision:
        """One attempt for all members that wait; then each goes its way."""
        skipped: Decision | None = None
        members = []
        for queued in self._gather(group, popped):
            if queued.pod.is_terminating:
                skipped = self._steps.skip(queued)
            else:
                members.append(queued)
        if not members:
            assert skipped is not None
            return skipped
        decision = self._decide(group, members)
        decision.attempt = max(queued.attempts for queued in members)
        for queued, member in zip(members, decision.members, strict=True):
            member.attempt = queued.attempts
            if member.outcome is Outcome.SCHEDULED:
                self._steps.proceed(queued, member, settle(self._profiles[queued.profile], member))
            else:
                self._steps.fail(queued, member, group)
        self._world.report_group(decision)
        for other in decision.cleared:
            self._queue.nominate(other, "")
        for victim in decision.victims:
            self._steps.evict(victim.pod, victim.preemptor or decision.members[0].pod)
        return decision

    def _gather(self, group: GroupBook, popped: QueuedPod) -> list[QueuedPod]:
        """The member that was popped, and all others that wait and are not gated, wherever they wait.

        The most important first; of equals, who was ready first.
        """
        others = (self._queue.take(uid) for uid in group.waiting if uid != popped.uid)
        found = [popped, *(queued for queued in others if queued is not None)]
        return sorted(found, key=lambda queued: (-queued.pod.priority, _first_attempt(queued), queued.sequence))

    def _decide(self, group: GroupBook, members: Sequence[QueuedPod]) -> GroupDecision:
        """Where should they go? They have to name one profile all."""
        pods = [queued.pod for queued in members]
        first = members[0].profile
        other = next((queued.profile for queued in members if queued.profile != first), None)
        if other is None:
            return decide_pod_group(self._profiles[first], group, pods)
        words = f'should have the same .spec.schedulerName set, got: "{other}" and "{first}"'
        return fail_pod_group(self._profiles[first], group, pods, f"all pods in a single pod group {words}")


def _first_attempt(queued: QueuedPod) -> float:
    return queued.timestamp if queued.initial_attempt_timestamp is None else queued.initial_attempt_timestamp
