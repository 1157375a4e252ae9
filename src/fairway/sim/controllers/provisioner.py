"""The provisioner: volumes made for claims, as a storage driver would make them.

In: a claim, its class, and the node that the scheduler chose for it, if it chose one. Out: the volume, reachable from
where the driver says: the topology keys of its CSINode, else those of the class's `allowedTopologies`, with the labels
of the chosen node; a claim that waits for no pod gets one of the places by its name, as external-provisioner does. A
driver that knows no topology makes volumes that every node reaches. Called by the persistent volume controller.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import product

from fairway.cluster.volumes.csi_migration import DRIVERS, NOT_MIGRATED
from fairway.cluster.volumes.volume_columns import claim_class
from fairway.model import (
    CSINode,
    CSIPersistentVolumeSource,
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
)
from fairway.sim.api_server import ApiServer

__all__ = ["NO_PROVISIONER", "PROVISIONED_BY", "claim_reference", "provisioned_volume"]

NO_PROVISIONER = ("", "kubernetes.io/no-provisioner")
"""Provisioners of classes whose volumes people make by hand."""

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
Segment = tuple[tuple[str, str], ...]
"""A place: node labels and their values."""


def claim_reference(claim: PersistentVolumeClaim) -> ObjectReference:
    """What a volume says about the claim that has it."""
    meta = claim.metadata
    return ObjectReference(
        api_version="v1",
        kind="PersistentVolumeClaim",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )


def provisioned_volume(
    api: ApiServer, claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node | None
) -> PersistentVolume:
    """The volume that the class's driver makes for a claim, on a node if one was chosen."""
    name = f"pvc-{claim.metadata.uid}"
    provisioner = storage_class.provisioner
    driver = DRIVERS.get(provisioner) or NOT_MIGRATED.get(provisioner) or provisioner
    place = _place_of(api, storage_class, driver, node) if node is not None else None
    if node is None:
        places = _places(api, storage_class, driver)
        place = places[zlib.crc32(claim.metadata.name.encode()) % len(places)] if places else None
    size = claim.spec.resources.requests.get("storage")
    return PersistentVolume(
        metadata=ObjectMeta(name=name, annotations={PROVISIONED_BY: provisioner}),
        spec=PersistentVolumeSpec(
            capacity={} if size is None else {"storage": size},
            access_modes=claim.spec.access_modes,
            claim_ref=claim_reference(claim),
            persistent_volume_reclaim_policy=storage_class.reclaim_policy or "Delete",
            storage_class_name=claim_class(claim),
            volume_mode=claim.spec.volume_mode,
            volume_attributes_class_name=claim.spec.volume_attributes_class_name,
            node_affinity=_affinity(place) if place else None,
            csi=CSIPersistentVolumeSource(driver=driver, volume_handle=name),
        ),
        status=PersistentVolumeStatus(phase="Pending"),
    )


def _place_of(api: ApiServer, storage_class: StorageClass, driver: str, node: Node) -> Segment:
    """Where the node is, as far as it matters to the driver."""
    keys = _topology_keys(api.find("CSINode", "", node.metadata.name), driver)
    if not keys:
        keys = tuple(
            dict.fromkeys(
                line.key for term in storage_class.allowed_topologies for line in term.match_label_expressions
            )
        )
    return _segment(node, keys)


def _places(api: ApiServer, storage_class: StorageClass, driver: str) -> list[Segment]:
    """All places where the driver may make a volume, in order."""
    if storage_class.allowed_topologies:
        return sorted(
            {place for term in storage_class.allowed_topologies for place in _expanded(term.match_label_expressions)}
        )
    found = set()
    for csi_node in api.objects("CSINode"):
        node = api.find("Node", "", csi_node.metadata.name)
        if node is not None:
            found.add(_segment(node, _topology_keys(csi_node, driver)))
    return sorted(found - {()})


def _expanded(lines: Iterable[object]) -> Iterator[Segment]:
    """Every combination of the values that a term allows."""
    yield from product(*([(line.key, value) for value in line.values] for line in lines))  # type: ignore[attr-defined]


def _topology_keys(csi_node: CSINode | None, driver: str) -> tuple[str, ...]:
    drivers = () if csi_node is None else csi_node.spec.drivers
    return next((one.topology_keys for one in drivers if one.name == driver), ())


def _segment(node: Node, keys: Iterable[str]) -> Segment:
    labels = node.metadata.labels
    return tuple((key, labels[key]) for key in keys if key in labels)


def _affinity(place: Segment) -> VolumeNodeAffinity:
    lines = tuple(NodeSelectorRequirement(key=key, operator="In", values=(value,)) for key, value in place)
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=lines),)))
