"""Storage as the volume plugins see it: volumes, claims, classes, and what CSI drivers say about nodes.

Decoded from API JSON or YAML by `fairway.model.decode`; read by the plugins VolumeBinding, VolumeZone,
VolumeRestrictions and NodeVolumeLimits. The sources themselves are in `fairway.model.volume`.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from typing import Literal

import msgspec

from fairway.model.affinity import NodeSelector
from fairway.model.meta import Int32, LabelSelector, ObjectMeta, ObjectReference, Value
from fairway.model.quantity import Quantity
from fairway.model.volume import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    CSIPersistentVolumeSource,
    GCEPersistentDiskVolumeSource,
    HostPathVolumeSource,
    ISCSIVolumeSource,
    PersistentVolumeClaimSpec,
    PortworxVolumeSource,
    RBDVolumeSource,
    VsphereVirtualDiskVolumeSource,
)

__all__ = [
    "CSIDriver",
    "CSIDriverSpec",
    "CSINode",
    "CSINodeDriver",
    "CSINodeSpec",
    "CSIStorageCapacity",
    "LocalVolumeSource",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "PersistentVolumeClaimStatus",
    "PersistentVolumeSpec",
    "PersistentVolumeStatus",
    "StorageClass",
    "TopologySelectorLabelRequirement",
    "TopologySelectorTerm",
    "VolumeAttachment",
    "VolumeAttachmentSource",
    "VolumeAttachmentSpec",
    "VolumeAttachmentStatus",
    "VolumeNodeAffinity",
    "VolumeNodeResources",
]


class VolumeNodeAffinity(Value, frozen=True, kw_only=True):
    """The nodes that can reach the volume."""

    required: NodeSelector | None = None


class LocalVolumeSource(Value, frozen=True, kw_only=True):
    """A disk of one node."""

    path: str = ""


class PersistentVolumeSpec(Value, frozen=True, kw_only=True):
    """A volume's size, terms and source."""

    capacity: dict[str, Quantity] = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    csi: CSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None
    rbd: RBDVolumeSource | None = None


class PersistentVolumeStatus(Value, frozen=True, kw_only=True):
    """Available, Bound, Released or Failed."""

    phase: str = ""


class PersistentVolume(Value, frozen=True, kw_only=True):
    """A piece of storage."""

    api_version: Literal["v1"] = msgspec.field(default_factory=lambda: "v1")
    kind: Literal["PersistentVolume"] = msgspec.field(default_factory=lambda: "PersistentVolume")
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(Value, frozen=True, kw_only=True):
    """Pending, Bound or Lost, and what was got."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: dict[str, Quantity] = {}


class PersistentVolumeClaim(Value, frozen=True, kw_only=True):
    """A request for a piece of storage."""

    api_version: Literal["v1"] = msgspec.field(default_factory=lambda: "v1")
    kind: Literal["PersistentVolumeClaim"] = msgspec.field(default_factory=lambda: "PersistentVolumeClaim")
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class TopologySelectorLabelRequirement(Value, frozen=True, kw_only=True):
    """One of the values of a node label."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Value, frozen=True, kw_only=True):
    """All requirements must hold."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class StorageClass(Value, frozen=True, kw_only=True):
    """How volumes are made, and when: Immediate or WaitForFirstConsumer."""

    api_version: Literal["storage.k8s.io/v1"] = msgspec.field(default_factory=lambda: "storage.k8s.io/v1")
    kind: Literal["StorageClass"] = msgspec.field(default_factory=lambda: "StorageClass")
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = {}
    reclaim_policy: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Value, frozen=True, kw_only=True):
    """How many volumes of a driver fit on a node; None is no limit."""

    count: Int32 | None = None


class CSINodeDriver(Value, frozen=True, kw_only=True):
    """A CSI driver on a node."""

    name: str = ""
    node_id: str = msgspec.field(name="nodeID", default="")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Value, frozen=True, kw_only=True):
    """The drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(Value, frozen=True, kw_only=True):
    """What CSI drivers say about the node of the same name."""

    api_version: Literal["storage.k8s.io/v1"] = msgspec.field(default_factory=lambda: "storage.k8s.io/v1")
    kind: Literal["CSINode"] = msgspec.field(default_factory=lambda: "CSINode")
    metadata: ObjectMeta = ObjectMeta()
    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Value, frozen=True, kw_only=True):
    """How the driver behaves."""

    attach_required: bool | None = None
    storage_capacity: bool | None = None
    volume_lifecycle_modes: tuple[str, ...] = ()
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(Value, frozen=True, kw_only=True):
    """A CSI driver installed in the cluster."""

    api_version: Literal["storage.k8s.io/v1"] = msgspec.field(default_factory=lambda: "storage.k8s.io/v1")
    kind: Literal["CSIDriver"] = msgspec.field(default_factory=lambda: "CSIDriver")
    metadata: ObjectMeta = ObjectMeta()
    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(Value, frozen=True, kw_only=True):
    """How much a driver can still provision for a class on some nodes."""

    api_version: Literal["storage.k8s.io/v1"] = msgspec.field(default_factory=lambda: "storage.k8s.io/v1")
    kind: Literal["CSIStorageCapacity"] = msgspec.field(default_factory=lambda: "CSIStorageCapacity")
    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class VolumeAttachmentSource(Value, frozen=True, kw_only=True):
    """The volume attached: a persistent one by name, or one written inline."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Value, frozen=True, kw_only=True):
    """Which volume, which driver, which node."""

    attacher: str = ""
    node_name: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()


class VolumeAttachmentStatus(Value, frozen=True, kw_only=True):
    """Whether it has happened."""

    attached: bool = False


class VolumeAttachment(Value, frozen=True, kw_only=True):
    """The wish to attach a volume to a node."""

    api_version: Literal["storage.k8s.io/v1"] = msgspec.field(default_factory=lambda: "storage.k8s.io/v1")
    kind: Literal["VolumeAttachment"] = msgspec.field(default_factory=lambda: "VolumeAttachment")
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
