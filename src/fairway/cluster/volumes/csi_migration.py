"""In-tree volumes as their CSI drivers know them.

In: a volume written into a pod, or a persistent volume, of a kind that Kubernetes once served itself (EBS, Compute
Engine and Azure disks, Cinder, Portworx). Out: the driver that serves it now, the handle under which that driver
counts it, and the node affinity in the driver's own topology labels. Matches `k8s.io/csi-translation-lib` v0.36.4, of
which only these five are switched on in kube-scheduler 1.36.4. Called where attached volumes are counted and by
VolumeBinding.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from fairway.model import (
    AzureDiskVolumeSource,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeSpec,
    Volume,
    VolumeNodeAffinity,
)

DRIVERS = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}
"""In-tree plugins whose volumes are served by a CSI driver, and that driver."""

NOT_MIGRATED = {
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""In-tree plugins that have a driver, but whose volumes kube-scheduler never takes for migrated, nor counts."""

TOPOLOGY_KEYS = {
    "kubernetes.io/aws-ebs": "topology.ebs.csi.aws.com/zone",
    "kubernetes.io/gce-pd": "topology.gke.io/zone",
    "kubernetes.io/cinder": "topology.cinder.csi.openstack.org/zone",
}
"""The node label in which a driver keeps the zone; Azure and Portworx leave the affinity of a volume as it is."""

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
ZONE_SEPARATOR = "__"
UNSPECIFIED = "UNSPECIFIED"
EBS_VOLUME = re.compile(r"vol-[^/]*")


class Migrated(NamedTuple):
    """A volume in the words of its CSI driver."""

    driver: str
    handle: str
    node_affinity: VolumeNodeAffinity | None = None


def in_tree_plugin(source: Volume | PersistentVolumeSpec) -> str:
    """The migrated in-tree plugin of a volume, "" for all other volumes."""
    if source.aws_elastic_block_store is not None:
        return "kubernetes.io/aws-ebs"
    if source.gce_persistent_disk is not None:
        return "kubernetes.io/gce-pd"
    if source.azure_disk is not None:
        return "kubernetes.io/azure-disk"
    if source.cinder is not None:
        return "kubernetes.io/cinder"
    if source.portworx_volume is not None:
        return "kubernetes.io/portworx-volume"
    return ""


def migrate_inline(volume: Volume) -> Migrated | None:
    """A pod's own volume, or None if it is not of a migrated kind; `ValueError` if it can not be translated."""
    plugin = in_tree_plugin(volume)
    if not plugin:
        return None
    handle = _disk(volume)
    if volume.gce_persistent_disk is not None:
        handle = f"projects/{UNSPECIFIED}/zones/{UNSPECIFIED}/disks/{handle}"
    return Migrated(DRIVERS[plugin], handle)


def migrate_volume(volume: PersistentVolume) -> Migrated | None:
    """A persistent volume, or None if it is not of a migrated kind; `ValueError` if it can not be translated."""
    plugin = in_tree_plugin(volume.spec)
    if not plugin:
        return None
    handle = _disk(volume.spec)
    if volume.spec.gce_persistent_disk is not None:
        handle = _gce_handle(handle, volume.metadata.labels)
    key = TOPOLOGY_KEYS.get(plugin)
    affinity = volume.spec.node_affinity if key is None else _driver_affinity(volume, key)
    return Migrated(DRIVERS[plugin], handle, affinity)


def _disk(source: Volume | PersistentVolumeSpec) -> str:
    """What the cloud calls the disk."""
    if source.aws_elastic_block_store is not None:
        return _ebs_handle(source.aws_elastic_block_store.volume_id)
    if source.gce_persistent_disk is not None:
        return source.gce_persistent_disk.pd_name
    if source.azure_disk is not None:
        return _azure_handle(source.azure_disk)
    if source.cinder is not None:
        return source.cinder.volume_id
    return source.portworx_volume.volume_id if source.portworx_volume is not None else ""


def _ebs_handle(name: str) -> str:
    """The bare volume of `aws://<zone>/<volume>`."""
    if not name.startswith("aws://"):
        return name
    volume = unquote(urlsplit(name).path).strip("/")
    if not EBS_VOLUME.fullmatch(volume):
        raise ValueError(f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({name})")
    return volume


def _azure_handle(disk: AzureDiskVolumeSource) -> str:
    if disk.kind is not None and disk.kind.lower() != "managed":
        raise ValueError(f"kind({disk.kind}) is not supported in csi migration")
    return disk.disk_uri


def _gce_handle(disk: str, labels: dict[str, str]) -> str:
    zones = (labels.get(BETA_ZONE) or labels.get(ZONE, "")).split(ZONE_SEPARATOR)
    if len(zones) == 1:
        return f"projects/{UNSPECIFIED}/zones/{zones[0] or UNSPECIFIED}/disks/{disk}"
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise ValueError(
                "failed to get region from zones: zone in unexpected format,"
                f" expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        found = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise ValueError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{found}]"
        )
    return f"projects/{UNSPECIFIED}/regions/{regions.pop()}/disks/{disk}"


def _driver_affinity(volume: PersistentVolume, driver_key: str) -> VolumeNodeAffinity | None:
    """The volume's node affinity with the zone under the driver's key, taken from its labels if need be."""
    required = volume.spec.node_affinity.required if volume.spec.node_affinity is not None else None
    terms = required.node_selector_terms if required is not None else ()
    labels = volume.metadata.labels
    zone, region = _topology_keys(terms, labels)
    if _values(terms, zone):
        terms = _renamed(terms, zone, driver_key)
    elif zones := tuple(sorted({part.strip() for part in labels.get(zone, "").split(ZONE_SEPARATOR)} - {""})):
        line = NodeSelectorRequirement(key=driver_key, operator="In", values=zones)
        terms = tuple(
            msgspec.structs.replace(term, match_expressions=(*term.match_expressions, line))
            for term in terms or (NodeSelectorTerm(),)
        )
    if region == BETA_REGION and _values(terms, region):
        terms = _renamed(terms, region, REGION)
    if not terms:
        return volume.spec.node_affinity
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))


def _topology_keys(terms: tuple[NodeSelectorTerm, ...], labels: dict[str, str]) -> tuple[str, str]:
    """The zone and region labels this volume speaks of: its affinity decides before its labels, new before old."""
    used = {line.key for term in terms for line in term.match_expressions}
    for source in (used, labels):
        if ZONE in source:
            return ZONE, REGION
        if BETA_ZONE in source:
            return BETA_ZONE, BETA_REGION
    return ZONE, REGION


def _values(terms: tuple[NodeSelectorTerm, ...], key: str) -> bool:
    return any(line.key == key and line.values for term in terms for line in term.match_expressions)


def _renamed(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        msgspec.structs.replace(
            term,
            match_expressions=tuple(
                msgspec.structs.replace(line, key=new) if line.key == old else line for line in term.match_expressions
            ),
        )
        for term in terms
    )
