"""Coscheduling: members of a group are tried one by one, and those with a node hold it until enough have one.

In: the books of groups (`cluster.groups`), in whatever spelling, and the keys of mode `coscheduling`. Out: an order of
the queue in which groups stand where they were created; a refusal while too few members exist; a wait with the node
taken until the minimum is met; all who wait rejected when one of them can not go on.

As the plugin of that name in kubernetes-sigs/scheduler-plugins behaves (pkg/coscheduling, 2026), for comparison. Its
weakness: **room is held while the others are missing.** A group that lacks no more than `rejectPercentage` of its
members keeps its nodes until the time-out, idle; two such groups may wait for each other's nodes; and with
`lastFailureOrder: false` the oldest group is tried before everybody else, again and again, though it does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec

from fairway.cluster.groups import GroupBook
from fairway.model import Pod
from fairway.model.group import GroupSpec, Misconfigured
from fairway.plugin import (
    Action,
    Aspect,
    Attempt,
    Cluster,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PodClass,
    PostFilterResult,
    Refusal,
    Resource,
    Wait,
    Waiting,
)

__all__ = ["Coscheduling"]

ROOM_SECONDS: Final = 3.0
"""So long it is remembered that the cluster has room for a group's `minResources`."""

NOTHING_DONE: Final = PostFilterResult(Refusal(()))


class CoschedulingArgs(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The keys of the mode; times in seconds."""

    permit_waiting: float = 60.0
    reject_percentage: int = 10
    group_backoff: float = 0.0
    last_failure_order: bool = True


class GroupMemory:
    """What is kept in mind about a group while it has members. Times are seconds since 1970."""

    __slots__ = ("backs_off_until", "failed_at", "has_room_until")

    def __init__(self) -> None:
        self.failed_at: float | None = None
        self.backs_off_until = 0.0
        self.has_room_until = 0.0


class Coscheduling(Plugin):
    """Holds members back, on their nodes, until enough of their group have one."""

    annotations = ()
    reads = Aspect(0)

    Args: ClassVar[type[msgspec.Struct]] = CoschedulingArgs

    def __init__(self, cluster: Cluster, args: CoschedulingArgs | None = None) -> None:
        super().__init__(cluster, args)
        cluster.clock.keep()

    # -- the queue ---------------------------------------------------------------------------------------------------

    def queue_sort(self, waiting: Waiting) -> tuple[int, float, str]:
        """The priority; when the group was created, or failed last (a lone pod: was first tried); then the name."""
        pod = waiting.pod
        first = waiting.initial_attempt_timestamp
        since = self.cluster.clock.start + (waiting.timestamp if first is None else first)
        group = self.cluster.groups.of(pod.metadata.uid)
        if group is not None:
            failed_at = _memory(group).failed_at if self.args.last_failure_order else None
            since = self._created(group, since) if failed_at is None else failed_at
        return -pod.priority, since, pod.key

    def _created(self, group: GroupBook, default: float) -> float:
        """That of its object; of a group without one, its first member's."""
        item = self.cluster.groups.object_of(group.key) or next(iter(group.pods.values()))
        created = item.metadata.creation_timestamp
        return default if created is None else created.timestamp()

    def events(self) -> Sequence[Hint]:
        """A pod was added, any; or a group's object was added or changed."""
        return (
            Hint(ClusterEvent(Resource.POD, Action.ADD)),
            Hint(ClusterEvent(Resource.POD_GROUP, Action.ADD)),
            Hint(ClusterEvent(Resource.POD_GROUP, Action.UPDATE)),
        )

    # -- before the filters ------------------------------------------------------------------------------------------

    def class_key(self, pod: Pod) -> str | None:
        """What speaks against trying the pod now; pods of which different things are true share no answers."""
        group = self.cluster.groups.of(pod.metadata.uid)
        return None if group is None else self._objection(group)

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Refusal | None:
        """Refuse it on all nodes, if something does."""
        words = pod.extra.get(self.name)
        return None if words is None else Refusal((str(words),), Code.UNRESOLVABLE)

    def _objection(self, group: GroupBook) -> str | None:
        groups, memory, now = self.cluster.groups, _memory(group), self.cluster.clock.seconds
        spec = groups.spec_of(group)
        if not isinstance(spec, GroupSpec):
            return groups.missing_words(group) if spec is None else spec.message
        if now < memory.backs_off_until:
            return f"podGroup {group.key} failed recently"
        if len(group) < spec.min_count:
            words = f"current pods number: {len(group)}, minMember of group: {spec.min_count}"
            return f"pre-filter pod cannot find enough sibling pods, {words}"
        if group.num_ready < spec.min_count:
            return "pre-filter pod cannot proceed due to gated pods in the same PodGroup"
        if spec.min_resources and memory.has_room_until <= now:
            if (short := self._short_of(group, spec)) is not None:
                return f"the cluster has not enough {short} left for podGroup {group.key}"
            memory.has_room_until = now + ROOM_SECONDS
        return None

    def _short_of(self, group: GroupBook, spec: GroupSpec) -> str | None:
        """What all nodes together have too little of, were the group's own pods not there."""
        placed = [self.cluster.pods.by_uid[uid] for uid in (*group.assumed, *group.bound)]
        nodes = self.cluster.view()
        for resource, needed in {**spec.min_resources, "pods": spec.min_count}.items():
            own = sum(1 if resource == "pods" else each.pod_class.requests.get(resource, 0) for each in placed)
            if int(nodes.free(resource).sum()) + own < needed:
                return resource
        return None

    # -- after them --------------------------------------------------------------------------------------------------

    def post_filter(self, attempt: Attempt) -> PostFilterResult:
        """A member fits nowhere: all who wait for it are rejected, unless so few are missing that they may come yet."""
        group = self.cluster.groups.of(attempt.pod.metadata.uid)
        spec = None if group is None else self.cluster.groups.spec_of(group)
        if group is None or not isinstance(spec, GroupSpec):
            return NOTHING_DONE
        missing = spec.min_count - group.num_scheduled
        if missing <= 0 or missing * 100 <= self.args.reject_percentage * spec.min_count:
            return NOTHING_DONE
        self._reject_all(group, "optimistic rejection in PostFilter")
        memory, now = _memory(group), self.cluster.clock.seconds
        if len(group) >= spec.min_count and memory.backs_off_until <= now:  # one that lasts is not made longer
            memory.backs_off_until = now + self.args.group_backoff
        memory.has_room_until, memory.failed_at = 0.0, now
        pod = attempt.pod.metadata.name
        words = f"PodGroup {group.key} gets rejected due to Pod {pod} is unschedulable even after PostFilter"
        return PostFilterResult(Refusal((words,)))

    def unreserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """A member gives its node back: its wait was too long, or its binding failed. The others do so too."""
        group = self.cluster.groups.named_by(pod)
        if group is None:
            return
        self._reject_all(group, "rejection in Unreserve")
        memory = _memory(group)
        memory.has_room_until, memory.failed_at = 0.0, self.cluster.clock.seconds

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | Wait | None:
        """Do enough members have a node, this one among them? Then those that wait go too."""
        groups = self.cluster.groups
        group = groups.of(pod.metadata.uid)
        if group is None:
            return None
        spec = groups.spec_of(group)
        if not isinstance(spec, GroupSpec):  # it was taken away, or changed, while the pod was tried
            words = spec.message if isinstance(spec, Misconfigured) else "PodGroup not found"
            return Refusal((words,))
        if group.num_scheduled >= spec.min_count:
            _memory(group).failed_at = None
            for uid in list(group.assumed):
                self.cluster.held.allow(uid, self.name)
            return None
        if group.num_scheduled == 1:
            self.cluster.activations.ask(other for uid, other in group.pods.items() if uid != pod.metadata.uid)
        return Wait(spec.timeout_seconds or self.args.permit_waiting)

    def _reject_all(self, group: GroupBook, reason: str) -> None:
        for uid in list(group.assumed):
            self.cluster.held.reject(uid, self.name, reason)


def _memory(group: GroupBook) -> GroupMemory:
    if not isinstance(group.remembered, GroupMemory):
        group.remembered = GroupMemory()
    return group.remembered
