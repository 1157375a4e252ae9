"""Where a pod's or a persistent volume's bytes live: the volume sources a scheduler looks at.

A source appears inline in a pod (`spec.volumes`) or in a PersistentVolume (`fairway.model.storage`); both
use these structs. Sources without any scheduling meaning (configMap, secret, emptyDir, projected, ...)
decode to a volume that has only a name.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

import msgspec

from fairway.model.meta import Int32, LabelSelector, ObjectMeta, Value
from fairway.model.quantity import Quantity

__all__ = [
    "AWSElasticBlockStoreVolumeSource",
    "AzureDiskVolumeSource",
    "AzureFileVolumeSource",
    "CSIPersistentVolumeSource",
    "CSIVolumeSource",
    "CinderVolumeSource",
    "EphemeralVolumeSource",
    "GCEPersistentDiskVolumeSource",
    "HostPathVolumeSource",
    "ISCSIVolumeSource",
    "ImageVolumeSource",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeClaimTemplate",
    "PersistentVolumeClaimVolumeSource",
    "PortworxVolumeSource",
    "RBDVolumeSource",
    "Volume",
    "VolumeResourceRequirements",
    "VsphereVirtualDiskVolumeSource",
]


class GCEPersistentDiskVolumeSource(Value, frozen=True, kw_only=True):
    """A Google Compute Engine disk."""

    pd_name: str = ""
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(Value, frozen=True, kw_only=True):
    """An AWS EBS volume."""

    volume_id: str = msgspec.field(name="volumeID", default="")
    fs_type: str = ""
    partition: Int32 = 0
    read_only: bool = False


class AzureDiskVolumeSource(Value, frozen=True, kw_only=True):
    """An Azure data disk."""

    disk_name: str = ""
    disk_uri: str = msgspec.field(name="diskURI", default="")
    kind: str | None = None
    fs_type: str | None = None
    caching_mode: str | None = None
    read_only: bool | None = None


class AzureFileVolumeSource(Value, frozen=True, kw_only=True):
    """An Azure file share."""

    secret_name: str = ""
    share_name: str = ""
    secret_namespace: str | None = None
    read_only: bool = False


class CinderVolumeSource(Value, frozen=True, kw_only=True):
    """An OpenStack Cinder volume."""

    volume_id: str = msgspec.field(name="volumeID", default="")
    fs_type: str = ""
    read_only: bool = False


class PortworxVolumeSource(Value, frozen=True, kw_only=True):
    """A Portworx volume."""

    volume_id: str = msgspec.field(name="volumeID", default="")
    fs_type: str = ""
    read_only: bool = False


class VsphereVirtualDiskVolumeSource(Value, frozen=True, kw_only=True):
    """A vSphere virtual disk."""

    volume_path: str = ""
    fs_type: str = ""
    storage_policy_name: str = ""
    storage_policy_id: str = msgspec.field(name="storagePolicyID", default="")


class ISCSIVolumeSource(Value, frozen=True, kw_only=True):
    """An iSCSI disk."""

    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    read_only: bool = False


class RBDVolumeSource(Value, frozen=True, kw_only=True):
    """A Ceph RBD image."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    pool: str = ""
    read_only: bool = False


class HostPathVolumeSource(Value, frozen=True, kw_only=True):
    """A directory of the node."""

    path: str = ""


class CSIVolumeSource(Value, frozen=True, kw_only=True):
    """An inline volume of a CSI driver, living and dying with the pod."""

    driver: str = ""
    read_only: bool | None = None
    volume_attributes: dict[str, str] = {}


class CSIPersistentVolumeSource(Value, frozen=True, kw_only=True):
    """A volume known to a CSI driver by its handle."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    volume_attributes: dict[str, str] = {}


class ImageVolumeSource(Value, frozen=True, kw_only=True):
    """A container image mounted as a volume."""

    reference: str = ""
    pull_policy: str = ""


class PersistentVolumeClaimVolumeSource(Value, frozen=True, kw_only=True):
    """A claim in the pod's namespace."""

    claim_name: str = ""
    read_only: bool = False


class VolumeResourceRequirements(Value, frozen=True, kw_only=True):
    """How much storage a claim asks for."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}


class PersistentVolumeClaimSpec(Value, frozen=True, kw_only=True):
    """What a claim asks for; `storage_class_name` is None for "the default class", "" for "no class"."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Value, frozen=True, kw_only=True):
    """The claim made for an ephemeral volume."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Value, frozen=True, kw_only=True):
    """A claim named `<pod>-<volume>`, made with the pod and owned by it."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class Volume(Value, frozen=True, kw_only=True):
    """A named volume of a pod, with at most one of the sources."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    image: ImageVolumeSource | None = None
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
