"""VolumeRestrictions: no two pods get in each other's way over a disk or a claim that only one may use.

Disks that pods name themselves (Compute Engine, EBS, iSCSI, RBD) may be mounted once on a node, or by several pods
that all only read. A claim with access mode ReadWriteOncePod may be used by one pod in the whole cluster; how many
such claims are taken is counted before filtering and adjusted as preemption tries pods away. Matches kube-scheduler
1.36.4 `volumerestrictions/volume_restrictions.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairway.cluster.volumes.volume_use import Disk, volume_use
from fairway.model import Pod
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    Change,
    ClusterEvent,
    Code,
    Hint,
    Locality,
    Nodes,
    Plugin,
    PodClass,
    Refusal,
    Refused,
    Relaxation,
    Resource,
)
from fairway.plugins.fewer_volumes import fewer_volumes

if TYPE_CHECKING:
    from numpy.typing import NDArray

DISK_CONFLICT = Refusal(("node(s) had no available disk",))
CLAIM_CONFLICT = Refusal(
    (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode"
        " already in-use by another pod",
    )
)

NOT_COUNTED = Refusal(('cannot read "PreFilterVolumeRestrictions" from cycleState',), Code.ERROR)


@dataclass(slots=True)
class WantedVolumes:
    """What the pod wants for itself."""

    disks: tuple[Disk, ...]
    exclusive_claims: frozenset[str]  # names of claims that only one pod may use
    conflicts: int  # how many of them are taken


class VolumeRestrictions(Plugin):
    """Refuses nodes where a disk is taken, and all nodes while a ReadWriteOncePod claim is."""

    annotations = ()
    locality = Locality.CLUSTER
    reads = Aspect.PODS | Aspect.STORAGE

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        storage = self.cluster.storage
        use = storage.in_use.use_of(pod)
        if not use.named_claims and not use.disks:
            return SKIP
        exclusive = set()
        for key in use.named_claims:
            claim = storage.claims.get(key)
            if claim is None:
                name = key.partition("/")[2]
                return Refusal((f'persistentvolumeclaim "{name}" not found',), Code.UNRESOLVABLE)
            if "ReadWriteOncePod" in claim.spec.access_modes:
                exclusive.add(claim.metadata.name)
        conflicts = sum(storage.in_use.is_claim_used(f"{pod.namespace}/{name}") for name in exclusive)
        if not use.disks and not conflicts:
            return SKIP
        return WantedVolumes(use.disks, frozenset(exclusive), conflicts)

    def filter(self, pod: PodClass, nodes: Nodes, state: WantedVolumes) -> NDArray[np.bool_]:
        if state.conflicts > 0:
            return np.zeros(len(nodes), bool)
        return ~self._disk_conflicts(nodes, state)

    def explain(self, pod: PodClass, nodes: Nodes, state: WantedVolumes) -> Sequence[Refusal]:
        return [DISK_CONFLICT if taken else CLAIM_CONFLICT for taken in self._disk_conflicts(nodes, state)]

    def add_pod(self, pod: PodClass, state: WantedVolumes, other: Pod, other_class: PodClass, row: int) -> None:
        state.conflicts += _count_named(state, other)

    def remove_pod(self, pod: PodClass, state: WantedVolumes, other: Pod, other_class: PodClass, row: int) -> None:
        state.conflicts -= _count_named(state, other)

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its pre-filter it still knows which disks are taken, and fails everywhere else."""
        return DisksOnly(self.cluster, self.args) if point == "filter" else self

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Each volume left out in turn."""
        return fewer_volumes(pod)

    def events(self) -> Sequence[Hint]:
        return (
            Hint(ClusterEvent(Resource.POD, Action.DELETE), _frees_something),
            Hint(ClusterEvent(Resource.NODE, Action.ADD)),
            Hint(ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD), _is_named),
        )

    def _disk_conflicts(self, nodes: Nodes, state: WantedVolumes) -> NDArray[np.bool_]:
        taken = np.zeros(nodes.table.num_rows, bool)
        for disk in state.disks:
            taken[list(self.cluster.storage.in_use.rows_in_conflict(disk))] = True
        return taken[nodes.rows]


class DisksOnly(VolumeRestrictions):
    """Takes part in filter alone, not in preFilter."""

    name = VolumeRestrictions.name

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> WantedVolumes:
        return WantedVolumes(self.cluster.storage.in_use.use_of(pod).disks, frozenset(), 1)

    def explain(self, pod: PodClass, nodes: Nodes, state: WantedVolumes) -> Sequence[Refusal]:
        return [DISK_CONFLICT if taken else NOT_COUNTED for taken in self._disk_conflicts(nodes, state)]

    def may_fail(self, state: WantedVolumes) -> bool:
        return True


def _count_named(state: WantedVolumes, other: Pod) -> int:
    """How many of the exclusive claims a pod names. Like kube-scheduler, without a look at its namespace."""
    return sum(
        volume.persistent_volume_claim is not None
        and volume.persistent_volume_claim.claim_name in state.exclusive_claims
        for volume in other.spec.volumes
    )


def _frees_something(pod: Pod, change: Change) -> bool:
    """Did the deleted pod use a disk or claim that this one wants?"""
    deleted: Pod = change.old
    if deleted.metadata.namespace != pod.metadata.namespace:
        return False
    mine, theirs = volume_use(pod), volume_use(deleted)
    return not set(mine.named_claims).isdisjoint(theirs.named_claims) or any(
        disk.key == other.key and not (disk.is_shared and other.is_shared)
        for disk in mine.disks
        for other in theirs.disks
    )


def _is_named(pod: Pod, change: Change) -> bool:
    """Is the new claim one that the pod names?"""
    return change.new.key in volume_use(pod).named_claims
