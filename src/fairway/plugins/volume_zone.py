"""VolumeZone: a volume that lives in a zone or region is used there.

The zone and region labels of the persistent volumes that a pod's claims are bound to must agree with those of the
node. Nodes without any such label are left alone. Unbound claims are passed over if they wait for their first
consumer, and keep the pod from being scheduled otherwise. Matches kube-scheduler 1.36.4 `volumezone/volume_zone.go`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairway.cluster.volumes.volume_columns import claim_class
from fairway.model import PersistentVolume, PersistentVolumeClaim, Pod
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

ZONE_CONFLICT = Refusal(("node(s) had no available volume zone",), Code.UNRESOLVABLE)

SUCCESSORS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Label keys of old, and those that nodes have today."""

TOPOLOGY_KEYS = (*SUCCESSORS, *SUCCESSORS.values())
SEPARATOR = "__"
"""A volume in several zones has them all in one label."""


class VolumeLabel(NamedTuple):
    """One label of a volume: the node must have one of the values."""

    key: str
    values: frozenset[str]


class VolumeZone(Plugin):
    """Refuses nodes in another zone or region than a volume of the pod."""

    annotations = ()
    reads = Aspect.NODE | Aspect.STORAGE

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        storage = self.cluster.storage
        wanted: list[VolumeLabel] = []
        for key in storage.in_use.use_of(pod).named_claims:
            name = key.partition("/")[2]
            if not name:
                return _refusal("PersistentVolumeClaim had no name")
            claim = storage.claims.get(key)
            if claim is None:
                return _refusal(f'persistentvolumeclaim "{name}" not found')
            if not claim.spec.volume_name:
                refusal = self._refuse_unbound(claim)
                if refusal is not None:
                    return refusal
                continue
            volume = storage.volumes.get(claim.spec.volume_name)
            if volume is None:
                return _refusal(f'persistentvolume "{claim.spec.volume_name}" not found')
            wanted += _topologies(volume)
        return wanted or SKIP

    def filter(self, pod: PodClass, nodes: Nodes, state: list[VolumeLabel]) -> NDArray[np.bool_]:
        labels = nodes.table.labels
        matches = np.ones(len(nodes), bool)
        for key, values in state:
            column = labels.column(key)
            listed = _listed(column.values.find, len(column.values), values)[column.ids[nodes.rows]]
            if key in SUCCESSORS:
                successor = labels.column(SUCCESSORS[key])
                also = _listed(successor.values.find, len(successor.values), values)[successor.ids[nodes.rows]]
                listed = np.where(column.ids[nodes.rows] < 0, also, listed)
            matches &= listed
        is_labelled = np.zeros(len(nodes), bool)
        for key in TOPOLOGY_KEYS:
            is_labelled |= labels.column(key).ids[nodes.rows] >= 0
        return matches | ~is_labelled

    def explain(self, pod: PodClass, nodes: Nodes, state: list[VolumeLabel]) -> Refusal:
        return ZONE_CONFLICT

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its pre-filter it looks the volumes up when it filters: what refused the pod refuses nodes."""
        return LateVolumeZone(self.cluster, self.args) if point == "filter" else self

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Each volume left out in turn."""
        return fewer_volumes(pod)

    def events(self) -> Sequence[Hint]:
        return (
            Hint(ClusterEvent(Resource.STORAGE_CLASS, Action.ADD), _waits_for_consumer),
            Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL)),
            Hint(ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE), _is_named),
            Hint(ClusterEvent(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE), _moved),
        )

    def _refuse_unbound(self, claim: PersistentVolumeClaim) -> Refusal | None:
        """None if the claim's volume will be found or made where the pod goes."""
        class_name = claim_class(claim)
        if not class_name:
            return _refusal("PersistentVolumeClaim had no pv name and storageClass name")
        storage_class = self.cluster.storage.classes.get(class_name)
        if storage_class is None:
            return _refusal(f'storageclass.storage.k8s.io "{class_name}" not found')
        if storage_class.volume_binding_mode is None:
            return _refusal(f'VolumeBindingMode not set for StorageClass "{class_name}"')
        if storage_class.volume_binding_mode == "WaitForFirstConsumer":
            return None
        return _refusal("PersistentVolume had no name")


class LateVolumeZone(VolumeZone):
    """Takes part in filter alone, not in preFilter."""

    name = VolumeZone.name

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any:
        found = super().pre_filter(pod, nodes)
        return [found] if isinstance(found, Refusal) else found

    def filter(self, pod: PodClass, nodes: Nodes, state: list[Any]) -> NDArray[np.bool_]:
        return np.zeros(len(nodes), bool) if isinstance(state[0], Refusal) else super().filter(pod, nodes, state)

    def explain(self, pod: PodClass, nodes: Nodes, state: list[Any]) -> Refusal:
        return state[0] if isinstance(state[0], Refusal) else super().explain(pod, nodes, state)


def _refusal(words: str) -> Refusal:
    return Refusal((words,), Code.UNRESOLVABLE)


def _listed(find: Any, count: int, values: frozenset[str]) -> NDArray[np.bool_]:
    """Which of a label column's values are among these; the last entry is for rows without the label."""
    table = np.zeros(count + 1, bool)
    table[[number for value in values if (number := find(value)) >= 0]] = True
    return table


def _topologies(volume: PersistentVolume) -> list[VolumeLabel]:
    """The zone and region labels of a volume; one with an empty entry says nothing."""
    labels = []
    for key in TOPOLOGY_KEYS:
        if key in volume.metadata.labels:
            values = frozenset(part.strip() for part in volume.metadata.labels[key].split(SEPARATOR))
            if "" not in values:
                labels.append(VolumeLabel(key, values))
    return labels


def _waits_for_consumer(pod: Pod, change: Change) -> bool:
    """Does the new class leave unbound claims to the scheduler?"""
    return bool(change.new.volume_binding_mode == "WaitForFirstConsumer")


def _is_named(pod: Pod, change: Change) -> bool:
    """Is the claim one that the pod names?"""
    claim = change.new.metadata
    return claim.namespace == pod.metadata.namespace and any(
        volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name == claim.name
        for volume in pod.spec.volumes
    )


def _moved(pod: Pod, change: Change) -> bool:
    """Is the volume new, or in another zone or region than before?"""
    return change.old is None or _topologies(change.old) != _topologies(change.new)
