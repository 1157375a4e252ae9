"""What a pod's volumes amount to: claims, disks, and volumes that some CSI driver has to attach.

In: a pod, and `Storage` to look its claims up in. Out: its `VolumeUse`, which follows from the pod alone, and
`attachable_volumes`, which depends on what its claims are bound to now. Called by `volumes_in_use` for pods on nodes
and by the plugins VolumeRestrictions and NodeVolumeLimits for pods that look for one. Matches kube-scheduler 1.36.4
`nodevolumelimits/csi.go` and `volumerestrictions/volume_restrictions.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fairway.cluster.volumes.csi_migration import DRIVERS, NOT_MIGRATED, in_tree_plugin, migrate_inline, migrate_volume
from fairway.cluster.volumes.volume_columns import claim_class
from fairway.model import CSINode, PersistentVolumeClaim, Pod, Volume

if TYPE_CHECKING:
    from fairway.cluster.volumes.storage import Storage

NOWHERE = ("", "")


class Disk(NamedTuple):
    """A disk that a pod names itself and that can not be in two places; `key` is equal for equal disks."""

    key: tuple[str, ...]
    is_shared: bool  # mounted read-only: any number of such pods get along


class VolumeUse(NamedTuple):
    """What follows from a pod's volumes alone."""

    claims: tuple[str, ...]  # "namespace/name" of every claim, of generic ephemeral volumes too
    named_claims: tuple[str, ...]  # those that the pod names itself
    disks: tuple[Disk, ...]
    is_counted: bool  # some volume may count against the limit of a CSI driver


NO_USE = VolumeUse((), (), (), False)


def volume_use(pod: Pod) -> VolumeUse:
    """What a pod uses; `NO_USE` itself if that is nothing."""
    claims, named, disks, is_counted = [], [], [], False
    for volume in pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is None:
            disks += _disks(volume)
            is_counted = is_counted or bool(in_tree_plugin(volume))
        else:
            claims.append(f"{pod.metadata.namespace}/{name}")
            if volume.persistent_volume_claim is not None:
                named.append(claims[-1])
    if not claims and not disks and not is_counted:
        return NO_USE
    return VolumeUse(tuple(claims), tuple(named), tuple(disks), is_counted or bool(claims))


def claim_name(pod: Pod, volume: Volume) -> str | None:
    """The claim behind a volume, of a generic ephemeral one too; None if there is none."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral is not None else None


def ownership_problem(pod: Pod, claim: PersistentVolumeClaim) -> str | None:
    """What is wrong with the claim of a generic ephemeral volume: somebody else's claim had the name already."""
    owner = claim.metadata.controller
    if owner is not None and owner.uid == pod.metadata.uid:
        return None
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"


def attachable_volumes(storage: Storage, pod: Pod, has_csi_node: bool, is_new: bool) -> dict[str, str]:
    """The volumes to attach for a pod, `driver/handle`, each with its driver.

    Claims that do not exist are passed over for a pod that is running already, and a `KeyError` for a new one. A claim
    without a name, an ephemeral volume's claim that is not its own, and an untranslatable volume are a `ValueError`.
    """
    found = {}
    for volume in pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is None:
            try:
                migrated = migrate_inline(volume) if has_csi_node else None
            except ValueError as problem:
                raise ValueError(f"converting volume({volume.name}) from inline to csi: {problem}") from problem
            if migrated is not None:
                found[f"{migrated.driver}/{migrated.handle}"] = migrated.driver
            continue
        if not name:
            raise ValueError("PersistentVolumeClaim had no name")
        key = f"{pod.metadata.namespace}/{name}"
        claim = storage.claims.get(key)
        if claim is None:
            if is_new:
                raise KeyError(f'looking up PVC {key}: persistentvolumeclaim "{name}" not found')
            continue
        if volume.ephemeral is not None and (not_mine := ownership_problem(pod, claim)):
            raise ValueError(not_mine)
        driver, handle = _driver_and_handle(storage, claim, has_csi_node)
        if driver and handle:
            found[f"{driver}/{handle}"] = driver
    return found


def volume_limits(csi_node: CSINode | None) -> dict[str, int]:
    """How many volumes of each driver a node takes; drivers without a limit are left out."""
    if csi_node is None:
        return {}
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def _driver_and_handle(storage: Storage, claim: PersistentVolumeClaim, has_csi_node: bool) -> tuple[str, str]:
    volume = storage.volumes.get(claim.spec.volume_name) if claim.spec.volume_name else None
    if volume is None:
        return _driver_to_be(storage, claim, has_csi_node)
    if volume.spec.csi is not None:
        return volume.spec.csi.driver, volume.spec.csi.volume_handle
    try:
        migrated = migrate_volume(volume) if has_csi_node else None
    except ValueError:
        return NOWHERE
    return NOWHERE if migrated is None else (migrated.driver, migrated.handle)


def _driver_to_be(storage: Storage, claim: PersistentVolumeClaim, has_csi_node: bool) -> tuple[str, str]:
    """For a claim that has no volume yet: whoever will make one. The handle only has to be unlike all others."""
    storage_class = storage.classes.get(claim_class(claim))
    if storage_class is None:
        return NOWHERE
    provisioner = storage_class.provisioner
    handle = f"not yet made for {claim.key}"
    if provisioner in NOT_MIGRATED:
        return NOWHERE
    if provisioner in DRIVERS:
        return (DRIVERS[provisioner], handle) if has_csi_node else NOWHERE
    return provisioner, handle


def _disks(volume: Volume) -> list[Disk]:
    if (gce := volume.gce_persistent_disk) is not None:
        return [Disk(("gce", gce.pd_name), gce.read_only)]
    if (ebs := volume.aws_elastic_block_store) is not None:
        return [Disk(("ebs", ebs.volume_id), False)]
    if (iscsi := volume.iscsi) is not None:
        return [Disk(("iscsi", iscsi.iqn), iscsi.read_only)]
    if (rbd := volume.rbd) is not None:
        # Equal images have one monitor in common, so each monitor is a disk of its own.
        return [Disk(("rbd", monitor, rbd.pool, rbd.image), rbd.read_only) for monitor in rbd.monitors]
    return []
