"""Volumes, claims and storage classes in one line each.

In: what matters to the test, as keywords. Out: complete API objects for `cluster(objects=...)`; a pod mounts a claim by
name with `pod(claims="data")`. A claim that names a volume is bound to it, and the volume to the claim.
"""

from __future__ import annotations

from typing import cast

from fairway.model import (
    CSIPersistentVolumeSource,
    LocalVolumeSource,
    NodeSelector,
    NodeSelectorTerm,
    ObjectMeta,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
    VolumeResourceRequirements,
    default_object,
)
from fairway.model.storage import PersistentVolumeClaimStatus
from fairway.testing import notation
from fairway.testing.notation import Amount, OneOrMore, several

__all__ = ["claim", "storage_class", "volume"]

BOUND = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}


def storage_class(name: str = "standard", *, provisioner: str = "", waits: bool = True) -> StorageClass:
    """A storage class. `waits`: volumes are bound when a pod needs them; with a provisioner they are made then."""
    made = StorageClass(
        metadata=ObjectMeta(name=name, uid=name),
        provisioner=provisioner or "kubernetes.io/no-provisioner",
        volume_binding_mode="WaitForFirstConsumer" if waits else "Immediate",
    )
    return cast(StorageClass, default_object(made))


def claim(
    name: str = "claim",
    *,
    namespace: str = "default",
    size: Amount = "1Gi",
    storage_class: str | None = "standard",
    volume: str = "",
    access: OneOrMore[str] = "ReadWriteOnce",
) -> PersistentVolumeClaim:
    """A claim; bound if it names its volume."""
    made = PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=name, namespace=namespace, uid=f"{namespace}/{name}", annotations=BOUND if volume else {}
        ),
        spec=PersistentVolumeClaimSpec(
            access_modes=tuple(several(access)),
            resources=VolumeResourceRequirements(requests=notation.quantities({"storage": size})),
            storage_class_name=storage_class,
            volume_name=volume,
        ),
        status=PersistentVolumeClaimStatus(phase="Bound" if volume else "Pending"),
    )
    return cast(PersistentVolumeClaim, default_object(made))


def volume(
    name: str = "volume",
    *,
    size: Amount = "1Gi",
    storage_class: str = "standard",
    claim: str = "",
    access: OneOrMore[str] = "ReadWriteOnce",
    nodes: OneOrMore[str | NodeSelectorTerm] = (),
    zone: str = "",
    driver: str = "",
) -> PersistentVolume:
    """A local disk, or a volume of a CSI driver. `claim` (`namespace/name`) has it, `nodes` can reach it."""
    namespace, _, claimant = claim.rpartition("/")
    namespace = namespace or "default"
    reachable = tuple(map(notation.node_term, several(nodes)))
    made = PersistentVolume(
        metadata=ObjectMeta(name=name, uid=name, labels={notation.TOPOLOGIES["zone"]: zone} if zone else {}),
        spec=PersistentVolumeSpec(
            capacity=notation.quantities({"storage": size}),
            access_modes=tuple(several(access)),
            storage_class_name=storage_class,
            claim_ref=ObjectReference(namespace=namespace, name=claimant, uid=f"{namespace}/{claimant}")
            if claimant
            else None,
            node_affinity=VolumeNodeAffinity(required=NodeSelector(node_selector_terms=reachable))
            if reachable
            else None,
            csi=CSIPersistentVolumeSource(driver=driver, volume_handle=name) if driver else None,
            local=None if driver else LocalVolumeSource(path=f"/mnt/{name}"),
        ),
        status=PersistentVolumeStatus(phase="Bound" if claimant else "Available"),
    )
    return cast(PersistentVolume, default_object(made))
