"""NodeVolumeLimits: no more volumes of a CSI driver than the node can attach.

A node's CSINode says how many volumes of each driver fit. Counted are the distinct volumes of the pods on it, in-tree
ones under the driver they migrated to, and what VolumeAttachments attach besides;
`fairway.cluster.volumes.volumes_in_use` keeps the counts. Rows without a CSINode, or without a limit for the driver,
are not limited. Matches kube-scheduler 1.36.4 `nodevolumelimits/csi.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairway.cluster.volumes.csi_migration import DRIVERS, NOT_MIGRATED, in_tree_plugin, migrate_inline
from fairway.cluster.volumes.volume_use import attachable_volumes, volume_use
from fairway.model import CSINode, Pod, Volume
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    Change,
    ClusterEvent,
    Code,
    Hint,
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

LIMIT_EXCEEDED = Refusal(("node(s) exceed max volume count",))


@dataclass(frozen=True, slots=True)
class NewVolumes:
    """What has to be attached for the pod: by driver, its volumes. Or what keeps us from telling."""

    by_driver: dict[str, list[str]]
    problem: Refusal | None = None  # on nodes with a CSINode
    problem_without: Refusal | None = None  # on nodes without, where in-tree volumes are not looked at


class NodeVolumeLimits(Plugin):
    """Refuses nodes that can not attach the pod's volumes."""

    annotations = ()
    reads = Aspect.NODE | Aspect.PODS | Aspect.STORAGE

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        if not self.cluster.storage.in_use.use_of(pod).is_counted:
            return SKIP
        volumes, problem = self._new_volumes(pod, has_csi_node=True)
        _, problem_without = self._new_volumes(pod, has_csi_node=False)
        by_driver: dict[str, list[str]] = {}
        for volume, driver in volumes.items():
            by_driver.setdefault(driver, []).append(volume)
        return NewVolumes(by_driver, problem, problem_without)

    def filter(self, pod: PodClass, nodes: Nodes, state: NewVolumes) -> NDArray[np.bool_]:
        in_use, rows = self.cluster.storage.in_use, nodes.rows
        in_use.refresh()
        if state.problem is not None or state.problem_without is not None:
            has_csi_node = in_use.has_csi_node[rows]
            return np.where(has_csi_node, state.problem is None, state.problem_without is None)
        fits = np.ones(len(nodes), bool)
        for driver, volumes in state.by_driver.items():
            if driver in in_use.limits:
                added = self._added(nodes, volumes)
                fits &= (added == 0) | (in_use.counts[driver][rows] + added <= in_use.limits[driver][rows])
        if in_use.problems and state.by_driver:
            fits &= [row not in in_use.problems for row in nodes.numbers.tolist()]
        return fits

    def explain(self, pod: PodClass, nodes: Nodes, state: NewVolumes) -> Refusal | Sequence[Refusal]:
        in_use = self.cluster.storage.in_use
        in_use.refresh()
        if state.problem is not None or state.problem_without is not None:
            refusals = (state.problem_without or LIMIT_EXCEEDED, state.problem or LIMIT_EXCEEDED)
            return [refusals[has_csi_node] for has_csi_node in in_use.has_csi_node[nodes.rows].astype(int)]
        if not in_use.problems:
            return LIMIT_EXCEEDED
        return [
            Refusal((in_use.problems[row],), Code.ERROR) if row in in_use.problems else LIMIT_EXCEEDED
            for row in nodes.numbers.tolist()
        ]

    def may_fail(self, state: NewVolumes) -> bool:
        in_use = self.cluster.storage.in_use
        in_use.refresh()
        refusals = (state.problem, state.problem_without)
        return bool(in_use.problems) or any(each is not None and each.code is Code.ERROR for each in refusals)

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Each volume left out in turn."""
        return fewer_volumes(pod)

    def events(self) -> Sequence[Hint]:
        return (
            Hint(ClusterEvent(Resource.CSI_NODE, Action.ADD)),
            Hint(ClusterEvent(Resource.CSI_NODE, Action.UPDATE), _raises_a_limit),
            Hint(ClusterEvent(Resource.POD, Action.DELETE), _frees_a_volume),
            Hint(ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD), _is_used),
            Hint(ClusterEvent(Resource.VOLUME_ATTACHMENT, Action.DELETE), _may_be_detached),
        )

    def _added(self, nodes: Nodes, volumes: list[str]) -> NDArray[np.int64]:
        """How many of the volumes each row's pods do not use yet. Attached but unused ones count again, as in kube."""
        added = np.full(nodes.table.num_rows, len(volumes), np.int64)
        for volume in volumes:
            added[list(self.cluster.storage.in_use.rows_with(volume))] -= 1
        return added[nodes.rows]

    def _new_volumes(self, pod: PodClass, has_csi_node: bool) -> tuple[dict[str, str], Refusal | None]:
        try:
            return attachable_volumes(self.cluster.storage, pod.pod, has_csi_node, is_new=True), None
        except KeyError as missing:
            return {}, Refusal((str(missing.args[0]),), Code.UNRESOLVABLE)
        except ValueError as problem:
            return {}, Refusal((str(problem),), Code.ERROR)


def _raises_a_limit(pod: Pod, change: Change) -> bool:
    """Does some driver take more volumes than before? No limit at all counts as 0, as in kube-scheduler."""
    before = _limits(change.old)
    return any(limit > before.get(driver, 0) for driver, limit in _limits(change.new).items())


def _limits(csi_node: CSINode) -> dict[str, int]:
    return {
        driver.name: (driver.allocatable.count or 0) if driver.allocatable is not None else 0
        for driver in csi_node.spec.drivers
    }


def _frees_a_volume(pod: Pod, change: Change) -> bool:
    """Did the deleted pod have a volume that counts, on a node or promised one?"""
    deleted: Pod = change.old
    if not deleted.spec.node_name and not deleted.status.nominated_node_name:
        return False
    return volume_use(deleted).is_counted or any(
        volume.azure_file is not None or volume.vsphere_volume is not None for volume in deleted.spec.volumes
    )


def _is_used(pod: Pod, change: Change) -> bool:
    """Is the new claim one that the pod uses?"""
    return change.new.key in volume_use(pod).claims


def _may_be_detached(pod: Pod, change: Change) -> bool:
    """Has the pod a claim, or a volume of the driver of the attachment that is gone?"""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return True
        plugin = in_tree_plugin(volume)
        if plugin and (DRIVERS[plugin] == change.old.spec.attacher or not _is_translatable(volume)):
            return True
        if volume.azure_file is not None and change.old.spec.attacher == NOT_MIGRATED["kubernetes.io/azure-file"]:
            return True
        if (
            volume.vsphere_volume is not None
            and change.old.spec.attacher == NOT_MIGRATED["kubernetes.io/vsphere-volume"]
        ):
            return True
    return False


def _is_translatable(volume: Volume) -> bool:
    try:
        return migrate_inline(volume) is not None
    except ValueError:
        return False
