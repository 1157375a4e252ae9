"""Which events may help a pod that VolumeBinding refused.

Out: `VOLUME_HINTS`, the plugin's `events`. Matches `EventsToRegister` and the functions that it names in kube-scheduler
1.36.4 `volumebinding/volume_binding.go`.
"""

from __future__ import annotations

from fairway.cluster.volumes.volume_use import volume_use
from fairway.model import Pod
from fairway.plugin import Action, Change, ClusterEvent, Hint, Resource
from fairway.plugins.volume_matching import volume_size_limit

__all__ = ["MIGRATED_PLUGINS_ANNOTATION", "VOLUME_HINTS"]

MIGRATED_PLUGINS_ANNOTATION = "storage.alpha.kubernetes.io/migrated-plugins"


def _allows_more(pod: Pod, change: Change) -> bool:
    """Is the class new, or are other nodes allowed?"""
    return change.old is None or change.old.allowed_topologies != change.new.allowed_topologies


def _is_used(pod: Pod, change: Change) -> bool:
    """Is the claim one that the pod uses?"""
    return change.new.key in volume_use(pod).claims


def _migrates(pod: Pod, change: Change) -> bool:
    """Is the CSINode new, or did in-tree plugins move to CSI drivers?"""
    if change.old is None:
        return True
    before, after = (
        node.metadata.annotations.get(MIGRATED_PLUGINS_ANNOTATION, "") for node in (change.old, change.new)
    )
    return bool(before != after)


def _stops_counting(pod: Pod, change: Change) -> bool:
    """Does a driver of the pod's own volumes no longer report its capacity?"""
    return any(
        volume.csi is not None
        and volume.csi.driver == change.new.metadata.name
        and bool(change.old.spec.storage_capacity)
        and not change.new.spec.storage_capacity
        for volume in pod.spec.volumes
    )


def _has_more_room(pod: Pod, change: Change) -> bool:
    """Is the capacity new, or larger than before?"""
    if change.old is None:
        return True
    before, after = volume_size_limit(change.old), volume_size_limit(change.new)
    return after is not None and (before is None or after.value > before.value)


CHANGED = Action.ADD | Action.UPDATE
VOLUME_HINTS = (
    Hint(ClusterEvent(Resource.STORAGE_CLASS, CHANGED), _allows_more),
    Hint(ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, CHANGED), _is_used),
    Hint(ClusterEvent(Resource.PERSISTENT_VOLUME, CHANGED)),
    Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
    Hint(ClusterEvent(Resource.CSI_NODE, CHANGED), _migrates),
    Hint(ClusterEvent(Resource.CSI_DRIVER, Action.UPDATE), _stops_counting),
    Hint(ClusterEvent(Resource.CSI_STORAGE_CAPACITY, CHANGED), _has_more_room),
)
