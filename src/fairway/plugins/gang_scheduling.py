"""GangScheduling: pods of a gang wait until enough of them exist, and are bound when enough of them have a node.

In: the books of groups (`cluster.groups`). Out: a gate before the queue (no object of the group, too few members), and
at the end a wait until the number is met, whereupon all members that wait go. kube-scheduler 1.36,
plugins/gangscheduling/gangscheduling.go, whose words these are; it knows Kubernetes' own PodGroups, and here groups in
every spelling are treated so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.model import AnyPodGroup, CoschedulingPodGroup, Pod, PodGroup, VolcanoPodGroup
from fairway.model.group import GroupSpec, Misconfigured, Spelling
from fairway.plugin import (
    Action,
    Aspect,
    Change,
    ClusterEvent,
    Code,
    Hint,
    Plugin,
    PodClass,
    Refusal,
    Resource,
    Wait,
)

PERMIT_SECONDS: Final = 5 * 60.0
TOO_FEW: Final = Refusal(("waiting for minCount pods from a gang to appear in scheduling queue",), Code.UNRESOLVABLE)
WAIT: Final = Wait(PERMIT_SECONDS, ("waiting for minCount pods from a gang to be scheduled",))
SPELLINGS: Final = {
    PodGroup: Spelling.KUBE,
    CoschedulingPodGroup: Spelling.COSCHEDULING,
    VolcanoPodGroup: Spelling.VOLCANO,
}


class GangScheduling(Plugin):
    """Holds the pods of a gang together."""

    annotations = ()
    reads = Aspect(0)

    def pre_enqueue(self, pod: Pod) -> Refusal | None:
        """Is the group known, and are there enough members?"""
        groups = self.cluster.groups
        group = groups.of(pod.metadata.uid) or groups.observe(pod)
        if group is None:
            return None
        spec = groups.spec_of(group)
        if spec is None:
            words = f'waiting for pods\'s pod group "{group.key.name}" to appear in scheduling queue'
            return Refusal((words,), Code.UNRESOLVABLE)
        if isinstance(spec, Misconfigured):
            return Refusal((spec.message,), Code.UNRESOLVABLE)
        return TOO_FEW if len(group) < spec.min_count else None

    def permit(self, pod: Pod, pod_class: PodClass, row: int) -> Refusal | Wait | None:
        """Have enough members a node? Then those that wait go too."""
        groups = self.cluster.groups
        group = groups.of(pod.metadata.uid)
        if group is None:
            return None
        spec = groups.spec_of(group)
        if not isinstance(spec, GroupSpec):  # it was taken away, or changed, after the pod was let in
            words = spec.message if spec is not None else f'podgroup.scheduling.k8s.io "{group.key.name}" not found'
            return Refusal((f"failed to get podGroup {group.key}: {words}",), Code.ERROR)
        if not spec.is_gang:
            return None
        if group.num_scheduled < spec.min_count:
            return WAIT
        for uid in list(group.assumed):
            self.cluster.held.allow(uid, self.name)
        return None

    def events(self) -> Sequence[Hint]:
        """Another member came, waiting or bound; or the group's object.

        In kube-scheduler neither says anything else later; in other spellings they do, and mistakes are put right.
        """
        return (
            Hint(ClusterEvent(Resource.POD, Action.ADD), self._is_member),
            Hint(ClusterEvent(Resource.POD_GROUP, Action.ADD), self._is_object),
            Hint(ClusterEvent(Resource.UNSCHEDULED_POD, Action.UPDATE), self._says_otherwise),
            Hint(ClusterEvent(Resource.POD_GROUP, Action.UPDATE), self._is_changed),
        )

    def _is_member(self, pod: Pod, change: Change) -> bool:
        groups = self.cluster.groups
        group, other = groups.of(pod.metadata.uid), groups.of(change.new.metadata.uid)
        return group is not None and group is other

    def _is_object(self, pod: Pod, change: Change) -> bool:
        group, item = self.cluster.groups.of(pod.metadata.uid), change.new
        if group is None:
            return False
        return group.key == (_spelling(item), item.metadata.namespace, item.metadata.name)

    def _says_otherwise(self, pod: Pod, change: Change) -> bool:
        return change.old.metadata.annotations != change.new.metadata.annotations and self._is_member(pod, change)

    def _is_changed(self, pod: Pod, change: Change) -> bool:
        return change.old.spec != change.new.spec and self._is_object(pod, change)


def _spelling(item: AnyPodGroup) -> Spelling:
    return SPELLINGS[type(item)]
