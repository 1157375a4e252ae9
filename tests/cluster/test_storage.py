"""Storage objects by name, what events they amount to, and what VolumeBinding's reservations do to them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.cluster import Action, Aspect, ClusterEvent, Event, Resource, Verb
from fairway.cluster.volumes.storage import Reservation
from fairway.model import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
)
from fairway.testing import claim, cluster, node, pod, storage_class, volume

META = ObjectMeta(name="x", namespace="ns")


def newer(thing: Any, version: str) -> Any:
    return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(thing.metadata, resource_version=version))


@pytest.mark.parametrize(
    ("thing", "resource", "where"),
    [
        pytest.param(volume("x"), Resource.PERSISTENT_VOLUME, ("volumes", "x"), id="volume"),
        pytest.param(claim("x"), Resource.PERSISTENT_VOLUME_CLAIM, ("claims", "default/x"), id="claim"),
        pytest.param(storage_class("x"), Resource.STORAGE_CLASS, ("classes", "x"), id="class"),
        pytest.param(CSINode(metadata=META), Resource.CSI_NODE, ("csi_nodes", "x"), id="CSI node"),
        pytest.param(CSIDriver(metadata=META), Resource.CSI_DRIVER, ("drivers", "x"), id="CSI driver"),
        pytest.param(
            CSIStorageCapacity(metadata=META), Resource.CSI_STORAGE_CAPACITY, ("capacities", "ns/x"), id="capacity"
        ),
        pytest.param(
            VolumeAttachment(metadata=META), Resource.VOLUME_ATTACHMENT, ("attachments", "x"), id="attachment"
        ),
    ],
)
def test_objects_are_kept_by_name_and_told_to_the_queue(thing: Any, resource: Resource, where: tuple[str, str]) -> None:
    what = cluster()
    kind, name = where
    again = newer(thing, "2")
    steps = [
        (Verb.ADDED, thing, Action.ADD, None, thing),
        (Verb.MODIFIED, again, Action.UPDATE, thing, again),
        (Verb.DELETED, again, Action.DELETE, again, None),
    ]
    for verb, told, action, old, new in steps:
        version = what.versions.of(Aspect.STORAGE)
        changes = what.apply(Event(verb, told))
        assert changes == [(ClusterEvent(resource, action), old, new)]
        assert what.versions.of(Aspect.STORAGE) > version
        assert getattr(what.storage, kind).get(name) == new


def test_other_kinds_are_refused() -> None:
    with pytest.raises(TypeError, match="a Node is not a storage object"):
        cluster().storage.apply(Verb.ADDED, node())


BOTH = Reservation("node", (("default/c", "v"),), ("default/d",))


def assumed(what: Any) -> tuple[bool, str | None]:
    """Does the volume look bound to the claim c, and which node looks selected for the claim d?"""
    storage = what.storage
    columns = storage.by_class.get("standard")
    return columns is not None and bool(columns.bound_to(claim("c"))), storage.selected_node(claim("d"))


@pytest.mark.parametrize(
    ("event", "expected", "is_kept"),
    [
        pytest.param(None, (True, "node"), True, id="nothing happens"),
        pytest.param(Event(Verb.MODIFIED, volume("v")), (True, "node"), True, id="the same volume is told again"),
        pytest.param(Event(Verb.MODIFIED, claim("d")), (True, "node"), True, id="the same claim is told again"),
        pytest.param(Event(Verb.MODIFIED, newer(volume("v"), "2")), (False, "node"), True, id="the volume changes"),
        pytest.param(Event(Verb.MODIFIED, volume("v", size="2Gi")), (False, "node"), True, id="without a version"),
        pytest.param(Event(Verb.MODIFIED, newer(claim("d"), "2")), (True, None), True, id="the claim changes"),
        pytest.param(Event(Verb.DELETED, volume("v")), (False, "node"), True, id="the volume goes"),
        pytest.param(Event(Verb.DELETED, claim("d")), (True, None), True, id="the claim goes"),
    ],
)
def test_assumptions_end_when_the_api_speaks(
    event: Event | None, expected: tuple[bool, str | None], is_kept: bool
) -> None:
    what = cluster(objects=[claim("c"), claim("d"), volume("v")])
    assert assumed(what) == (False, None)
    what.storage.reserve("pod", BOTH)
    if event is not None:
        what.apply(event)
    assert assumed(what) == expected
    assert ("pod" in what.storage.reservations) is is_kept


def test_a_reservation_is_over_when_all_of_it_came_true() -> None:
    what = cluster(objects=[claim("c"), claim("d"), volume("v")])
    what.storage.reserve("pod", BOTH)
    what.apply(Event(Verb.MODIFIED, volume("v", claim="c")))
    assert what.storage.reservations == {"pod": BOTH}
    assert assumed(what) == (True, "node")  # bound for real now
    what.apply(Event(Verb.MODIFIED, newer(claim("d"), "2")))
    assert what.storage.reservations == {}


def test_objects_themselves_are_not_touched_by_assumptions() -> None:
    what = cluster(objects=[claim("c"), claim("d"), volume("v")])
    what.storage.reserve("pod", BOTH)
    assert what.storage.volumes["v"].spec.claim_ref is None
    assert what.storage.claims["default/d"].metadata.annotations == {}


def test_forgetting_undoes_reserving_and_more_often_does_nothing() -> None:
    what = cluster(objects=[claim("c"), claim("d"), volume("v")])
    what.storage.reserve("pod", BOTH)
    what.storage.forget("pod")
    assert assumed(what) == (False, None)
    version = what.versions.of(Aspect.STORAGE)
    what.storage.forget("pod")
    what.storage.forget("stranger")
    assert what.versions.of(Aspect.STORAGE) == version


def test_the_selected_node_of_the_api_stands_until_something_is_assumed() -> None:
    annotated = claim("d")
    annotations = {"volume.kubernetes.io/selected-node": "other"}
    annotated = msgspec.structs.replace(
        annotated, metadata=msgspec.structs.replace(annotated.metadata, annotations=annotations)
    )
    what = cluster(objects=[annotated])
    assert what.storage.selected_node(annotated) == "other"
    what.storage.reserve("pod", Reservation("node", (), ("default/d",)))
    assert what.storage.selected_node(annotated) == "node"


def test_claims_are_in_use_while_a_placed_pod_names_them() -> None:
    first, second = pod("first", node="node", claims="c"), pod("second", node="node", claims="c")
    what = cluster(node(), (first, second))
    in_use = what.storage.in_use
    assert in_use.is_claim_used("default/c")
    assert not in_use.is_claim_used("default/d")
    what.apply(Event(Verb.DELETED, first))
    assert in_use.is_claim_used("default/c")
    what.apply(Event(Verb.DELETED, second))
    assert not in_use.is_claim_used("default/c")


def test_pods_of_a_node_that_is_gone_use_nothing() -> None:
    what = cluster(node(), pod(node="node", claims="c"))
    what.apply(Event(Verb.DELETED, node()))
    assert not what.storage.in_use.is_claim_used("default/c")
    what.apply(Event(Verb.ADDED, node()))
    assert what.storage.in_use.is_claim_used("default/c")


def test_attachments_of_a_node() -> None:
    def attachment(name: str, volume_name: str, node_name: str) -> VolumeAttachment:
        source = VolumeAttachmentSource(persistent_volume_name=volume_name)
        spec = VolumeAttachmentSpec(attacher="csi", node_name=node_name, source=source)
        return VolumeAttachment(metadata=ObjectMeta(name=name), spec=spec)

    volumes: list[PersistentVolume | PersistentVolumeClaim] = [volume("v1", driver="csi"), volume("v2", driver="csi")]
    what = cluster(objects=[*volumes, volume("local"), attachment("a", "v1", "n1"), attachment("b", "local", "n1")])
    assert what.storage.attached_to("n1") == {"csi/v1": "csi"}
    what.apply(Event(Verb.MODIFIED, attachment("a", "v2", "n2")))
    assert what.storage.attached_to("n1") == {}
    assert what.storage.attached_to("n2") == {"csi/v2": "csi"}
