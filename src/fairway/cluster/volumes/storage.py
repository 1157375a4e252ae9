"""Storage objects by name, and what VolumeBinding has decided about them but nobody has carried out yet.

In: volumes, claims, storage classes, CSI nodes, drivers, capacities and attachments from `Cluster.apply`; pods that
come and go, for `in_use`; reservations from VolumeBinding. Out: dictionaries by name, the indexes the volume plugins
need, and the `Change`s for the queue. Other plugins see objects as the API has them; only VolumeBinding asks
`selected_node` and `by_class`, which include what is assumed. An assumption ends when it is forgotten, or when the
object changes in the API, as in kube-scheduler 1.36.4 `volumebinding/passive_assume_cache.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from fairway.cluster.aspects import Aspect
from fairway.cluster.events import Change, Resource, Verb
from fairway.cluster.pod_class import PodClass
from fairway.cluster.volumes.volume_columns import VolumeColumns, volume_class
from fairway.cluster.volumes.volumes_in_use import VolumesInUse
from fairway.model import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

if TYPE_CHECKING:
    from fairway.cluster.cluster import Cluster

STORAGE_KINDS = (
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
)
"""The kinds that `Storage.apply` takes."""

SELECTED_NODE_ANNOTATION = "volume.kubernetes.io/selected-node"

RESOURCES = {
    "PersistentVolume": Resource.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": Resource.PERSISTENT_VOLUME_CLAIM,
    "StorageClass": Resource.STORAGE_CLASS,
    "CSINode": Resource.CSI_NODE,
    "CSIDriver": Resource.CSI_DRIVER,
    "CSIStorageCapacity": Resource.CSI_STORAGE_CAPACITY,
    "VolumeAttachment": Resource.VOLUME_ATTACHMENT,
}

T = TypeVar("T", PersistentVolumeClaim, StorageClass, CSINode, CSIDriver, CSIStorageCapacity, VolumeAttachment)


class Reservation(NamedTuple):
    """What was decided for a pod's unbound claims when it got its node. Claims are named "namespace/name"."""

    node: str
    bindings: tuple[tuple[str, str], ...]  # claims, and the volumes they are to be bound to
    provisions: tuple[str, ...]  # claims for which a volume is to be made

    @property
    def is_empty(self) -> bool:
        """Nothing had to be decided."""
        return not self.bindings and not self.provisions


class Storage:
    """Everything the volume plugins look up."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.volumes: dict[str, PersistentVolume] = {}
        self.claims: dict[str, PersistentVolumeClaim] = {}  # by "namespace/name", as are capacities
        self.classes: dict[str, StorageClass] = {}
        self.csi_nodes: dict[str, CSINode] = {}
        self.drivers: dict[str, CSIDriver] = {}
        self.capacities: dict[str, CSIStorageCapacity] = {}
        self.attachments: dict[str, VolumeAttachment] = {}
        self.by_class: dict[str, VolumeColumns] = {}
        self.in_use = VolumesInUse(cluster, self)
        self.reservations: dict[str, Reservation] = {}  # by the pod's uid, until nothing of it is assumed any more
        self._claim_refs: dict[str, tuple[str, ObjectReference]] = {}  # volume -> who assumed it, for which claim
        self._selected: dict[str, tuple[str, str]] = {}  # claim -> who assumed it, for which node
        self._claims_of_volume: dict[str, set[str]] = {}
        self._attachments_of_node: dict[str, set[str]] = {}
        self._attachments_of_volume: dict[str, set[str]] = {}

    # -- what happens ------------------------------------------------------------------------------------------------

    def apply(self, verb: Verb, thing: Any) -> list[Change]:
        """Take in one storage object; returns what it may mean to waiting pods."""
        gone = verb is Verb.DELETED
        before = self._put(thing, gone)
        resource = RESOURCES[thing.kind]
        return [Change.of(resource, before, thing, gone)]

    def pod_added(self, row: int, pod_class: PodClass) -> None:
        """A pod of that class now runs on the row."""
        self.in_use.pod_added(row, pod_class)

    def pod_removed(self, row: int, pod_class: PodClass) -> None:
        """A pod of that class no longer runs on the row."""
        self.in_use.pod_removed(row, pod_class)

    # -- what is assumed ---------------------------------------------------------------------------------------------

    def reserve(self, uid: str, reservation: Reservation) -> None:
        """Assume that what was decided for the pod will come true."""
        if reservation.is_empty:
            return
        self.reservations[uid] = reservation
        for key, name in reservation.bindings:
            claim = self.claims[key].metadata
            ref = ObjectReference(
                api_version="v1",
                kind="PersistentVolumeClaim",
                namespace=claim.namespace,
                name=claim.name,
                uid=claim.uid,
                resource_version=claim.resource_version,
            )
            self._claim_refs[name] = (uid, ref)
            self._write(self.volumes[name])
        for key in reservation.provisions:
            self._selected[key] = (uid, reservation.node)
        self._cluster.versions.bump(Aspect.STORAGE)

    def forget(self, uid: str) -> None:
        """Take back what `reserve` assumed for the pod; nothing happens if there is nothing."""
        reservation = self.reservations.pop(uid, None)
        if reservation is None:
            return
        for _, name in reservation.bindings:
            if self._claim_refs.pop(name, None) is not None and name in self.volumes:
                self._write(self.volumes[name])
        for key in reservation.provisions:
            self._selected.pop(key, None)
        self._cluster.versions.bump(Aspect.STORAGE)

    def selected_node(self, claim: PersistentVolumeClaim) -> str | None:
        """The node chosen for the volume that is to be made for this claim, if one was."""
        assumed = self._selected.get(claim.key)
        return claim.metadata.annotations.get(SELECTED_NODE_ANNOTATION) if assumed is None else assumed[1]

    # -- what is asked -----------------------------------------------------------------------------------------------

    def attached_to(self, node: str) -> dict[str, str]:
        """CSI volumes that VolumeAttachments attach to a node, `driver/handle`, each with its driver."""
        found = {}
        for name in self._attachments_of_node.get(node, ()):
            spec = self.attachments[name].spec
            volume = self.volumes.get(spec.source.persistent_volume_name or "")
            if spec.attacher and volume is not None and volume.spec.csi is not None:
                found[f"{spec.attacher}/{volume.spec.csi.volume_handle}"] = spec.attacher
        return found

    # -- inside ------------------------------------------------------------------------------------------------------

    def _put(self, thing: Any, gone: bool) -> Any:
        match thing:
            case PersistentVolume():
                return self._put_volume(thing, gone)
            case PersistentVolumeClaim():
                return self._put_claim(thing, gone)
            case StorageClass():
                self.in_use.everything_changed()
                return _put(self.classes, thing.metadata.name, thing, gone)
            case CSINode():
                self.in_use.node_changed(thing.metadata.name)
                return _put(self.csi_nodes, thing.metadata.name, thing, gone)
            case CSIDriver():
                return _put(self.drivers, thing.metadata.name, thing, gone)
            case CSIStorageCapacity():
                return _put(self.capacities, f"{thing.metadata.namespace}/{thing.metadata.name}", thing, gone)
            case VolumeAttachment():
                return self._put_attachment(thing, gone)
        raise TypeError(f"a {type(thing).__name__} is not a storage object")

    def _put_volume(self, volume: PersistentVolume, gone: bool) -> PersistentVolume | None:
        name = volume.metadata.name
        before = self.volumes.pop(name, None)
        if before is not None and (gone or volume_class(before) != volume_class(volume)):
            columns = self.by_class[volume_class(before)]
            columns.drop(name)
            if not columns.slot_of:
                del self.by_class[volume_class(before)]
        if before is not None and (gone or _is_newer(volume, before)):
            self._expire(self._claim_refs, name)
        if not gone:
            self.volumes[name] = volume
            self._write(volume)
        for key in self._claims_of_volume.get(name, ()):
            self.in_use.claim_changed(key)
        for attachment in self._attachments_of_volume.get(name, ()):
            self.in_use.node_changed(self.attachments[attachment].spec.node_name)
        return before

    def _put_claim(self, claim: PersistentVolumeClaim, gone: bool) -> PersistentVolumeClaim | None:
        key = claim.key
        before = _put(self.claims, key, claim, gone)
        if before is not None and (gone or _is_newer(claim, before)):
            self._expire(self._selected, key)
        if before is not None and before.spec.volume_name:
            _discard(self._claims_of_volume, before.spec.volume_name, key)
        if not gone and claim.spec.volume_name:
            self._claims_of_volume.setdefault(claim.spec.volume_name, set()).add(key)
        self.in_use.claim_changed(key)
        return before

    def _put_attachment(self, attachment: VolumeAttachment, gone: bool) -> VolumeAttachment | None:
        name = attachment.metadata.name
        before = _put(self.attachments, name, attachment, gone)
        for old in () if before is None else (before.spec,):
            _discard(self._attachments_of_node, old.node_name, name)
            if old.source.persistent_volume_name:
                _discard(self._attachments_of_volume, old.source.persistent_volume_name, name)
            self.in_use.node_changed(old.node_name)
        if not gone:
            spec = attachment.spec
            self._attachments_of_node.setdefault(spec.node_name, set()).add(name)
            if spec.source.persistent_volume_name:
                self._attachments_of_volume.setdefault(spec.source.persistent_volume_name, set()).add(name)
            self.in_use.node_changed(spec.node_name)
        return before

    def _write(self, volume: PersistentVolume) -> None:
        """Bring the columns of the volume's class up to date."""
        columns = self.by_class.setdefault(volume_class(volume), VolumeColumns())
        assumed = self._claim_refs.get(volume.metadata.name)
        columns.put(volume, volume.spec.claim_ref if assumed is None else assumed[1])

    def _expire(self, assumed: dict[str, tuple[str, Any]], name: str) -> None:
        """The API has spoken about an object: nothing is assumed about it any more."""
        uid, _ = assumed.pop(name, ("", None))
        reservation = self.reservations.get(uid)
        if reservation is not None and not (
            any(name in self._claim_refs for _, name in reservation.bindings)
            or any(key in self._selected for key in reservation.provisions)
        ):
            del self.reservations[uid]


def _put(things: dict[str, T], key: str, thing: T, gone: bool) -> T | None:
    before = things.pop(key, None)
    if not gone:
        things[key] = thing
    return before


def _is_newer(new: PersistentVolume | PersistentVolumeClaim, old: PersistentVolume | PersistentVolumeClaim) -> bool:
    """Is this a change, and not the same object told again?"""
    return new.metadata.resource_version != old.metadata.resource_version or new != old


def _discard(index: dict[str, set[str]], key: str, name: str) -> None:
    names = index.get(key)
    if names is not None:
        names.discard(name)
        if not names:
            del index[key]
