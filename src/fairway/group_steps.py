"""The steps of an attempt for a whole group: who takes part, in which order, and what is decided.

In: a member that was popped from the queue, and its group. Out: the members that take part, all of them in flight now,
and a `GroupDecision`. `scheduler.py` tells what comes of it, member by member. As kube-scheduler 1.36 does:
`podGroupInfoForPod` and `frameworkForPodGroup` in schedule_one_podgroup.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairway.cluster.groups import GroupBook
from fairway.cycle import Profile
from fairway.cycle.groups.group_decision import GroupDecision
from fairway.cycle.groups.pod_group_cycle import decide_pod_group, fail_pod_group
from fairway.queue import QueuedPod, SchedulingQueue

__all__ = ["decide_group", "gather"]


def gather(queue: SchedulingQueue, group: GroupBook, popped: QueuedPod) -> list[QueuedPod]:
    """The member that was popped, and all others that wait and are not gated, wherever they wait.

    The most important first; of equals, who was ready first.
    """
    others = (queue.take(uid) for uid in group.waiting if uid != popped.uid)
    found = [popped, *(queued for queued in others if queued is not None)]
    return sorted(found, key=lambda queued: (-queued.pod.priority, _first_attempt(queued), queued.sequence))


def _first_attempt(queued: QueuedPod) -> float:
    return queued.timestamp if queued.initial_attempt_timestamp is None else queued.initial_attempt_timestamp


def decide_group(profiles: Mapping[str, Profile], group: GroupBook, members: Sequence[QueuedPod]) -> GroupDecision:
    """Where should they go? They have to name one profile all."""
    pods = [queued.pod for queued in members]
    first = members[0].profile
    other = next((queued.profile for queued in members if queued.profile != first), None)
    if other is None:
        return decide_pod_group(profiles[first], group, pods)
    words = f'should have the same .spec.schedulerName set, got: "{other}" and "{first}"'
    return fail_pod_group(profiles[first], group, pods, f"all pods in a single pod group {words}")
