"""What VolumeBinding refuses, what it decides for unbound claims, and what it remembers of that."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.cluster import Action, Aspect, Cluster, Event, Nodes, Resource, Verb
from fairway.cluster.volumes.storage import Reservation
from fairway.model import (
    AWSElasticBlockStoreVolumeSource,
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSIStorageCapacity,
    CSIVolumeSource,
    EphemeralVolumeSource,
    LabelSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
    OwnerReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
    Volume,
    parse_quantity,
)
from fairway.plugins.volume_binding import VolumeBinding
from fairway.testing import claim, cluster, node, pod, storage_class, volume
from fairway.testing.builders import DELETED_AT
from tests.plugins.volume_verdicts import OK, helps, judge

UNRESOLVABLE = "UnschedulableAndUnresolvable"
FAR = "node(s) didn't match PersistentVolume's node affinity"
NONE = "node(s) didn't find available persistent volumes to bind"
SPACE = "node(s) did not have enough free storage"
LOST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
ZONE = "topology.kubernetes.io/zone"
DRIVER = "csi.example.com"
NODES = (node("a", zone="z1"), node("b", zone="z2"), node("c"))
CLASSES = (
    storage_class("static"),
    storage_class("made", provisioner=DRIVER),
    storage_class("now", waits=False),
)


def no(*reasons: str) -> tuple[str, ...]:
    return (UNRESOLVABLE, *reasons)


def changed(thing: Any, path: str, **fields: Any) -> Any:
    """A copy with other fields in its `spec`, `metadata` or `status`, or, without a path, in itself."""
    if not path:
        return msgspec.structs.replace(thing, **fields)
    part = msgspec.structs.replace(getattr(thing, path), **fields)
    return msgspec.structs.replace(thing, **{path: part})


def owned(made: PersistentVolumeClaim, uid: str) -> PersistentVolumeClaim:
    owner = OwnerReference(kind="Pod", name="pod", uid=uid, controller=True)
    owned_claim: PersistentVolumeClaim = changed(made, "metadata", owner_references=(owner,))
    return owned_claim


EPHEMERAL = Volume(name="scratch", ephemeral=EphemeralVolumeSource())


@pytest.mark.parametrize(
    ("incoming", "objects", "expected"),
    [
        pytest.param(pod(), [], "skip", id="no volumes"),
        pytest.param(pod(volumes=Volume(name="tmp")), [], "skip", id="no claims"),
        pytest.param(pod(claims="c"), [], 'persistentvolumeclaim "c" not found', id="no such claim"),
        pytest.param(
            pod(volumes=EPHEMERAL),
            [],
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "pod-scratch"',
            id="no claim for an ephemeral volume yet",
        ),
        pytest.param(
            pod(volumes=EPHEMERAL),
            [owned(claim("pod-scratch"), "else")],
            "PVC default/pod-scratch was not created for pod default/pod (pod is not owner)",
            id="somebody else's claim",
        ),
        pytest.param(
            pod(volumes=EPHEMERAL),
            [owned(claim("pod-scratch", storage_class="made"), "default/pod")],
            {"a": OK, "b": OK, "c": OK},
            id="an ephemeral volume",
        ),
        pytest.param(
            pod(claims="c"),
            [changed(claim("c", volume="v"), "status", phase="Lost")],
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
            id="a lost claim",
        ),
        pytest.param(
            pod(claims="c"),
            [changed(claim("c"), "metadata", deletion_timestamp=DELETED_AT)],
            'persistentvolumeclaim "c" is being deleted',
            id="a claim that is going",
        ),
        pytest.param(
            pod(claims=("late", "c")),
            [claim("c", storage_class="now"), claim("late", storage_class="static")],
            "pod has unbound immediate PersistentVolumeClaims",
            id="should have been bound",
        ),
        pytest.param(
            pod(claims="c"),
            [claim("c", storage_class="unknown")],
            "pod has unbound immediate PersistentVolumeClaims",
            id="an unknown class",
        ),
        pytest.param(
            pod(claims="c"),
            [claim("c", storage_class=None)],
            "pod has unbound immediate PersistentVolumeClaims",
            id="no class",
        ),
        pytest.param(
            pod(claims="c"),
            [changed(claim("c", storage_class="static", volume="v"), "metadata", annotations={}), volume("v")],
            "pod has unbound immediate PersistentVolumeClaims",
            id="bound by hand, not confirmed yet",
        ),
        pytest.param(
            pod(claims="c"),
            [claim("c", storage_class="odd"), changed(storage_class("odd"), "", volume_binding_mode=None)],
            ("Error", 'VolumeBindingMode not set for StorageClass "odd"'),
            id="a class without a mode",
        ),
    ],
)
def test_before_any_node_is_looked_at(incoming: Pod, objects: list[Any], expected: object) -> None:
    plugin = VolumeBinding(cluster(NODES, objects=[*CLASSES, *objects]))
    wanted = no(expected) if isinstance(expected, str) and expected != "skip" else expected
    assert judge(plugin, incoming) == wanted


def field(name: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_fields=(NodeSelectorRequirement(key="metadata.name", operator="In", values=(name,)),))


BROKEN = NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key=ZONE, operator="In", values=()),))


@pytest.mark.parametrize(
    ("volumes", "a", "b", "c"),
    [
        pytest.param([volume("v1")], OK, OK, OK, id="a volume that all can reach"),
        pytest.param([volume("v1", nodes=f"{ZONE}=z1")], OK, no(FAR), no(FAR), id="in a zone"),
        pytest.param([volume("v1", nodes=(f"{ZONE}=z1", f"{ZONE}=z2"))], OK, OK, no(FAR), id="in two zones"),
        pytest.param([volume("v1", nodes=f"!{ZONE}")], no(FAR), no(FAR), OK, id="outside of zones"),
        pytest.param([volume("v1", nodes=field("a"))], OK, OK, OK, id="names of nodes are not looked at"),
        pytest.param([volume("v1", nodes=BROKEN)], no(FAR), no(FAR), no(FAR), id="an affinity that means nothing"),
        pytest.param([volume("v1", nodes=NodeSelectorTerm())], no(FAR), no(FAR), no(FAR), id="an empty term"),
        pytest.param([], no(LOST), no(LOST), no(LOST), id="the volume is gone"),
        pytest.param(
            [volume("v1", nodes=f"{ZONE}=z1"), volume("v2", nodes=f"{ZONE}=z2")],
            no(FAR),
            no(FAR),
            no(FAR),
            id="two volumes in different zones",
        ),
        pytest.param(
            [volume("v1", nodes=f"{ZONE}=z1"), None], no(LOST), no(FAR), no(FAR), id="the first trouble is told"
        ),
    ],
)
def test_bound_claims(volumes: list[PersistentVolume | None], a: object, b: object, c: object) -> None:
    names = [f"v{number}" for number in range(1, max(len(volumes), 1) + 1)]
    claims = [claim(f"c{name}", volume=name) for name in names]
    what = cluster(NODES, objects=[*CLASSES, *claims, *(one for one in volumes if one is not None)])
    incoming = pod(claims=[one.metadata.name for one in claims])
    assert judge(VolumeBinding(what), incoming) == {"a": a, "b": b, "c": c}


def ebs(name: str = "vol-1", **labels: str) -> PersistentVolume:
    source = AWSElasticBlockStoreVolumeSource(volume_id=name)
    made = changed(volume("v", nodes=f"{ZONE}=z1"), "spec", local=None, aws_elastic_block_store=source)
    made = changed(made, "metadata", labels=labels)
    assert isinstance(made, PersistentVolume)
    return made


@pytest.mark.parametrize(
    ("disk", "plugins", "expected"),
    [
        pytest.param(ebs(), "", {"a": OK, "b": no(FAR)}, id="not migrated: the zone label decides"),
        pytest.param(
            ebs(),
            "kubernetes.io/gce-pd,kubernetes.io/aws-ebs",
            {"a": no(FAR), "b": OK},
            id="migrated: the driver's does",
        ),
        pytest.param(ebs(), "kubernetes.io/gce-pd", {"a": OK, "b": no(FAR)}, id="something else migrated"),
        pytest.param(
            ebs("aws://z1/x"),
            "kubernetes.io/aws-ebs",
            dict.fromkeys(
                "ab",
                (
                    "Error",
                    "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID"
                    " Invalid format for AWS volume (aws://z1/x)",
                ),
            ),
            id="a name that can not be translated",
        ),
    ],
)
def test_bound_in_tree_volumes(disk: PersistentVolume, plugins: str, expected: object) -> None:
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": plugins}
    csi_nodes = [CSINode(metadata=ObjectMeta(name=name, annotations=annotations)) for name in "ab"]
    nodes = (node("a", zone="z1"), node("b", labels={"topology.ebs.csi.aws.com/zone": "z1"}))
    what = cluster(nodes, objects=[disk, claim("c", volume="v"), *csi_nodes])
    assert judge(VolumeBinding(what), pod(claims="c")) == expected


def reserved(what: Cluster, incoming: Pod, name: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """What is decided for the claims (named without their namespace) if the pod goes to that node."""
    plugin = VolumeBinding(what)
    pod_class = what.classify(incoming)
    assert plugin.reserve(incoming, pod_class, what.nodes.row_of[name]) is None
    found = what.storage.reservations.get(incoming.metadata.uid, Reservation(name, (), ()))
    assert found.node == name
    plugin.unreserve(incoming, pod_class, what.nodes.row_of[name])
    short = {key.removeprefix("default/"): chosen for key, chosen in found.bindings}
    return short, tuple(key.removeprefix("default/") for key in found.provisions)


def static(name: str, size: str = "1Gi", **fields: Any) -> PersistentVolume:
    return volume(name, size=size, storage_class="static", **fields)


def wanted(name: str = "c", size: str = "1Gi", **fields: Any) -> PersistentVolumeClaim:
    return claim(name, size=size, storage_class="static", **fields)


BLOCK = changed(static("v"), "spec", volume_mode="Block")
GOLD = changed(static("v"), "spec", volume_attributes_class_name="gold")
RED = changed(static("v"), "metadata", labels={"colour": "red"})


@pytest.mark.parametrize(
    ("mine", "volumes", "chosen"),
    [
        pytest.param(wanted(), [], None, id="no volumes"),
        pytest.param(wanted(), [static("v")], "v", id="one that fits"),
        pytest.param(wanted(size="2Gi"), [static("v")], None, id="too small"),
        pytest.param(wanted(size="1073741824500m"), [static("v")], None, id="too small by half a byte"),
        pytest.param(wanted(), [static("v", "4Gi"), static("w", "2Gi"), static("x", "3Gi")], "w", id="the smallest"),
        pytest.param(wanted(), [static("v", nodes="!x"), static("w", "500Mi")], "v", id="within reach by any label"),
        pytest.param(wanted(), [static("v", nodes=f"{ZONE}=z2"), static("w", "9Gi")], "w", id="within reach"),
        pytest.param(wanted(), [volume("v", storage_class="made")], None, id="another class"),
        pytest.param(
            wanted(),
            [changed(static("v"), "metadata", annotations={"volume.beta.kubernetes.io/storage-class": "made"})],
            None,
            id="another class by annotation",
        ),
        pytest.param(wanted(), [static("v", claim="else")], None, id="somebody else's"),
        pytest.param(wanted(), [changed(static("v"), "status", phase="Released")], None, id="not available"),
        pytest.param(wanted(), [changed(static("v"), "metadata", deletion_timestamp=DELETED_AT)], None, id="going"),
        pytest.param(wanted(access="ReadWriteMany"), [static("v")], None, id="access mode it does not have"),
        pytest.param(
            wanted(access="ReadWriteMany"),
            [static("v", access=("ReadWriteOnce", "ReadWriteMany"))],
            "v",
            id="two modes",
        ),
        pytest.param(wanted(), [BLOCK], None, id="a block device for a file system"),
        pytest.param(changed(wanted(), "spec", volume_mode="Block"), [BLOCK], "v", id="a block device"),
        pytest.param(wanted(), [GOLD], None, id="attributes not asked for"),
        pytest.param(changed(wanted(), "spec", volume_attributes_class_name="gold"), [GOLD], "v", id="attributes"),
        pytest.param(
            changed(wanted(), "spec", selector=LabelSelector(match_labels={"colour": "red"})),
            [static("w", "500Mi"), RED],
            "v",
            id="selected",
        ),
        pytest.param(
            changed(wanted(), "spec", selector=LabelSelector(match_labels={"colour": "blue"})),
            [RED],
            None,
            id="not selected",
        ),
        pytest.param(wanted(), [static("v", "9Gi", claim="c"), static("w")], "v", id="points at the claim"),
        pytest.param(
            wanted(), [static("v", claim="c", nodes=f"{ZONE}=z2"), static("w")], None, id="points at it, out of reach"
        ),
        pytest.param(
            wanted(size="2Gi"), [static("v", claim="c"), static("w", "3Gi")], "w", id="points at it, too small"
        ),
        pytest.param(
            changed(wanted(), "metadata", uid="reborn"),
            [static("v", claim="c"), static("w")],
            "w",
            id="meant its forebear",
        ),
    ],
)
def test_free_volumes_for_a_claim(
    mine: PersistentVolumeClaim, volumes: list[PersistentVolume], chosen: str | None
) -> None:
    what = cluster(node("a", zone="z1"), objects=[*CLASSES, mine, *volumes])
    assert judge(VolumeBinding(what), pod(claims="c")) == {"a": no(NONE) if chosen is None else OK}
    if chosen is not None:
        assert reserved(what, pod(claims="c"), "a") == ({"c": chosen}, ())


@pytest.mark.parametrize(
    ("claims", "volumes", "chosen"),
    [
        pytest.param(
            [wanted("c1", "2Gi"), wanted("c2", "1Gi")],
            [static("v", "2Gi"), static("w", "3Gi")],
            {"c1": "w", "c2": "v"},
            id="small claims choose first",
        ),
        pytest.param([wanted("c1"), wanted("c2")], [static("v")], None, id="no volume twice"),
        pytest.param(
            [wanted("c1"), wanted("c2"), wanted("c3")],
            [static(name, size, nodes=f"{ZONE}=z1") for name, size in (("v", "1Gi"), ("w", "2Gi"), ("x", "3Gi"))],
            {"c1": "v", "c2": "w", "c3": "x"},
            id="three of one zone",
        ),
        pytest.param(
            [wanted("c1"), wanted("c2"), wanted("c3")],
            [static("v", "3Gi", nodes=f"{ZONE}=z1"), static("w", "2Gi"), static("x", "1Gi", nodes=f"{ZONE}!=z2")],
            {"c1": "x", "c2": "w", "c3": "v"},
            id="of all kinds of reach",
        ),
    ],
)
def test_several_claims(
    claims: list[PersistentVolumeClaim], volumes: list[PersistentVolume], chosen: dict[str, str] | None
) -> None:
    what = cluster(node("a", zone="z1"), objects=[*CLASSES, *claims, *volumes])
    incoming = pod(claims=[one.metadata.name for one in claims])
    assert judge(VolumeBinding(what), incoming) == {"a": no(NONE) if chosen is None else OK}
    if chosen is not None:
        assert reserved(what, incoming, "a") == (chosen, ())


def test_a_claim_mounted_twice_is_matched_twice() -> None:
    twice = pod(volumes=[changed(v, "", name=f"v{n}") for n in range(2) for v in pod(claims="c").spec.volumes])
    what = cluster(node("a"), objects=[*CLASSES, wanted("c"), static("v")])
    assert judge(VolumeBinding(what), twice) == {"a": no(NONE)}
    what.apply(Event(Verb.ADDED, static("w", "2Gi")))
    assert judge(VolumeBinding(what), twice) == {"a": OK}


def topology(*zones: str) -> TopologySelectorTerm:
    line = TopologySelectorLabelRequirement(key=ZONE, values=zones)
    return TopologySelectorTerm(match_label_expressions=(line,))


def room(name: str, size: str | None = None, largest: str | None = None, **labels: str) -> CSIStorageCapacity:
    return CSIStorageCapacity(
        metadata=ObjectMeta(name=name, namespace="kube-system"),
        storage_class_name="made",
        capacity=None if size is None else parse_quantity(size),
        maximum_volume_size=None if largest is None else parse_quantity(largest),
        node_topology=LabelSelector(match_labels={ZONE: labels["zone"]} if labels else {}),
    )


COUNTS = CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=CSIDriverSpec(storage_capacity=True))
NOT_COUNTS = CSIDriver(metadata=ObjectMeta(name=DRIVER), spec=CSIDriverSpec(storage_capacity=False))


@pytest.mark.parametrize(
    ("objects", "a", "b", "c"),
    [
        pytest.param([], OK, OK, OK, id="anywhere"),
        pytest.param(
            [changed(CLASSES[1], "", allowed_topologies=(topology("z1"),))], OK, no(NONE), no(NONE), id="a zone"
        ),
        pytest.param(
            [changed(CLASSES[1], "", allowed_topologies=(topology("z1"), topology("z2")))],
            OK,
            OK,
            no(NONE),
            id="two zones",
        ),
        pytest.param(
            [changed(CLASSES[1], "", allowed_topologies=(TopologySelectorTerm(),))],
            *3 * (no(NONE),),
            id="an empty term",
        ),
        pytest.param([changed(CLASSES[1], "", provisioner="")], *3 * (no(NONE),), id="nobody makes them"),
        pytest.param([NOT_COUNTS], OK, OK, OK, id="a driver that does not count"),
        pytest.param([COUNTS], *3 * (no(SPACE),), id="no capacity known"),
        pytest.param([COUNTS, room("r", "1Gi")], OK, OK, OK, id="capacity for all"),
        pytest.param([COUNTS, room("r", "1Gi", zone="z1")], OK, no(SPACE), no(SPACE), id="capacity in a zone"),
        pytest.param(
            [COUNTS, room("r", "1Mi"), room("s", "2Gi", zone="z2")], no(SPACE), OK, no(SPACE), id="one has enough"
        ),
        pytest.param([COUNTS, room("r", "9Gi", largest="1Mi")], *3 * (no(SPACE),), id="not in one piece"),
        pytest.param([COUNTS, room("r", None)], *3 * (no(SPACE),), id="capacity without a number"),
        pytest.param(
            [COUNTS, changed(room("r", "9Gi"), "", node_topology=None)], *3 * (no(SPACE),), id="reaches no node"
        ),
        pytest.param(
            [COUNTS, changed(room("r", "9Gi"), "", storage_class_name="else")], *3 * (no(SPACE),), id="of another class"
        ),
    ],
)
def test_volumes_that_are_yet_to_be_made(objects: list[Any], a: object, b: object, c: object) -> None:
    classes = {one.metadata.name: one for one in (*CLASSES, *objects) if isinstance(one, StorageClass)}
    others = [one for one in objects if not isinstance(one, StorageClass)]
    what = cluster(NODES, objects=[*classes.values(), *others, claim("c", storage_class="made")])
    assert judge(VolumeBinding(what), pod(claims="c")) == {"a": a, "b": b, "c": c}
    if a == OK:
        assert reserved(what, pod(claims="c"), "a") == ({}, ("c",))


def test_a_volume_that_is_there_is_preferred_to_a_new_one() -> None:
    there = volume("v", storage_class="made", nodes=f"{ZONE}=z1")
    what = cluster(NODES, objects=[*CLASSES, there, claim("c", storage_class="made")])
    assert reserved(what, pod(claims="c"), "a") == ({"c": "v"}, ())
    assert reserved(what, pod(claims="c"), "b") == ({}, ("c",))


def test_reasons_of_bound_and_unbound_claims_add_up() -> None:
    objects = [claim("c", volume="v"), volume("v", nodes=f"{ZONE}=z1"), wanted("d"), static("w", nodes=f"{ZONE}=z1")]
    plugin = VolumeBinding(cluster(NODES, objects=[*CLASSES, *objects]))
    assert judge(plugin, pod(claims=("c", "d"))) == {"a": OK, "b": no(FAR, NONE), "c": no(FAR, NONE)}
    objects += [COUNTS, claim("e", storage_class="made")]
    plugin = VolumeBinding(cluster(NODES, objects=[*CLASSES, *objects]))
    assert judge(plugin, pod(claims=("c", "e"))) == {"a": no(SPACE), "b": no(FAR, SPACE), "c": no(FAR, SPACE)}


@pytest.mark.parametrize(
    ("selected", "expected"),
    [
        pytest.param({"c": "a"}, {"a": OK, "b": no(NONE), "c": no(NONE)}, id="one node"),
        pytest.param({"c": "gone"}, dict.fromkeys("abc", no(NONE)), id="a node that is gone"),
        pytest.param({"c": "a", "d": "b"}, dict.fromkeys("abc", no(NONE)), id="two nodes"),
        pytest.param({"c": "a", "d": "a"}, {"a": OK, "b": no(NONE), "c": no(NONE)}, id="one node twice"),
    ],
)
def test_claims_whose_node_was_selected_before(selected: dict[str, str], expected: object) -> None:
    claims = [
        changed(
            claim(name, storage_class="made"), "metadata", annotations={"volume.kubernetes.io/selected-node": node_name}
        )
        for name, node_name in selected.items()
    ]
    what = cluster(NODES, objects=[*CLASSES, *claims])
    assert judge(VolumeBinding(what), pod(claims=list(selected))) == expected


def test_the_next_pod_does_not_count_on_what_was_reserved() -> None:
    what = cluster(
        NODES, objects=[*CLASSES, wanted("c1"), wanted("c2"), static("v"), static("w", "2Gi", nodes=f"{ZONE}=z1")]
    )
    plugin = VolumeBinding(what)
    first, second = pod("first", claims="c1"), pod("second", claims="c2")
    assert judge(plugin, second) == {"a": OK, "b": OK, "c": OK}
    version = what.versions.of(Aspect.STORAGE)
    assert plugin.reserve(first, what.classify(first), what.nodes.row_of["b"]) is None
    assert what.versions.of(Aspect.STORAGE) > version
    assert what.storage.reservations[first.metadata.uid].bindings == (("default/c1", "v"),)
    assert judge(plugin, second) == {"a": OK, "b": no(NONE), "c": no(NONE)}
    assert judge(plugin, pod("also", claims="c1")) == {"a": OK, "b": OK, "c": OK}
    plugin.unreserve(first, what.classify(first), what.nodes.row_of["b"])
    assert judge(plugin, second) == {"a": OK, "b": OK, "c": OK}
    plugin.unreserve(first, what.classify(first), what.nodes.row_of["b"])  # nothing left to take back


def test_pods_that_share_a_claim_follow_the_node_that_was_reserved_for_it() -> None:
    what = cluster(NODES, objects=[*CLASSES, claim("c", storage_class="made")])
    plugin, first = VolumeBinding(what), pod("first", claims="c")
    plugin.reserve(first, what.classify(first), what.nodes.row_of["b"])
    assert judge(plugin, pod("second", claims="c")) == {"a": no(NONE), "b": OK, "c": no(NONE)}


def test_bound_claims_and_pods_without_any_reserve_nothing() -> None:
    what = cluster(NODES, objects=[claim("c", volume="v"), volume("v")])
    plugin, version = VolumeBinding(what), what.versions.of(Aspect.STORAGE)
    for incoming in (pod("with", claims="c"), pod("without")):
        assert plugin.reserve(incoming, what.classify(incoming), 0) is None
    assert not what.storage.reservations
    assert what.versions.of(Aspect.STORAGE) == version


def test_a_claim_that_vanished_refuses_the_reservation() -> None:
    what = cluster(NODES, objects=[*CLASSES, claim("c", storage_class="made")])
    plugin, incoming = VolumeBinding(what), pod(claims="c")
    pod_class = what.classify(incoming)
    plugin.pre_filter(pod_class, Nodes(what))
    what.apply(Event(Verb.DELETED, claim("c", storage_class="made")))
    refusal = plugin.reserve(incoming, pod_class, 0)
    assert refusal is not None
    assert refusal.reasons == ('persistentvolumeclaim "c" not found',)


def migrated(plugins: str) -> CSINode:
    annotations = {"storage.alpha.kubernetes.io/migrated-plugins": plugins}
    return CSINode(metadata=ObjectMeta(name="a", annotations=annotations))


INLINE = pod(claims="c", volumes=Volume(name="v", csi=CSIVolumeSource(driver=DRIVER)))


@pytest.mark.parametrize(
    ("waiting", "resource", "old", "new", "expected"),
    [
        pytest.param(pod(claims="c"), Resource.STORAGE_CLASS, None, CLASSES[0], True, id="a new class"),
        pytest.param(pod(claims="c"), Resource.STORAGE_CLASS, CLASSES[0], CLASSES[0], False, id="the same class"),
        pytest.param(
            pod(claims="c"),
            Resource.STORAGE_CLASS,
            CLASSES[1],
            changed(CLASSES[1], "", allowed_topologies=(topology("z1"),)),
            True,
            id="a class that allows other nodes",
        ),
        pytest.param(pod(claims="c"), Resource.PERSISTENT_VOLUME_CLAIM, None, claim("c"), True, id="its claim"),
        pytest.param(
            pod(claims="c"), Resource.PERSISTENT_VOLUME_CLAIM, claim("c"), claim("c"), True, id="its claim again"
        ),
        pytest.param(pod(claims="c"), Resource.PERSISTENT_VOLUME_CLAIM, None, claim("d"), False, id="another claim"),
        pytest.param(
            pod(claims="c"), Resource.PERSISTENT_VOLUME_CLAIM, None, claim("c", namespace="else"), False, id="elsewhere"
        ),
        pytest.param(
            pod(volumes=EPHEMERAL), Resource.PERSISTENT_VOLUME_CLAIM, None, claim("pod-scratch"), True, id="made for it"
        ),
        pytest.param(pod(claims="c"), Resource.PERSISTENT_VOLUME, None, volume(), True, id="any volume"),
        pytest.param(pod(claims="c"), Resource.NODE, None, node(), True, id="a new node"),
        pytest.param(pod(claims="c"), Resource.CSI_NODE, None, migrated(""), True, id="a new CSINode"),
        pytest.param(pod(claims="c"), Resource.CSI_NODE, migrated("x"), migrated("y"), True, id="plugins migrated"),
        pytest.param(pod(claims="c"), Resource.CSI_NODE, migrated("x"), migrated("x"), False, id="no plugin migrated"),
        pytest.param(pod(claims="c"), Resource.CSI_STORAGE_CAPACITY, None, room("r", "1Gi"), True, id="new capacity"),
        pytest.param(
            pod(claims="c"), Resource.CSI_STORAGE_CAPACITY, room("r", "1Gi"), room("r", "2Gi"), True, id="more capacity"
        ),
        pytest.param(
            pod(claims="c"),
            Resource.CSI_STORAGE_CAPACITY,
            room("r", "2Gi"),
            room("r", "1Gi"),
            False,
            id="less capacity",
        ),
        pytest.param(
            pod(claims="c"),
            Resource.CSI_STORAGE_CAPACITY,
            room("r"),
            room("r", "1Gi"),
            True,
            id="capacity told at last",
        ),
        pytest.param(
            pod(claims="c"),
            Resource.CSI_STORAGE_CAPACITY,
            room("r", "1Gi"),
            room("r"),
            False,
            id="capacity no longer told",
        ),
        pytest.param(INLINE, Resource.CSI_DRIVER, COUNTS, NOT_COUNTS, True, id="its driver stops counting"),
        pytest.param(INLINE, Resource.CSI_DRIVER, NOT_COUNTS, COUNTS, False, id="its driver starts counting"),
        pytest.param(
            pod(claims="c"), Resource.CSI_DRIVER, COUNTS, NOT_COUNTS, False, id="another driver stops counting"
        ),
    ],
)
def test_which_events_help(waiting: Pod, resource: Resource, old: Any, new: Any, expected: bool) -> None:
    action = Action.ADD if old is None else Action.UPDATE
    assert helps(VolumeBinding(cluster()), waiting, resource, action, old=old, new=new) is expected


def test_which_events_do_not_concern_it() -> None:
    plugin, waiting = VolumeBinding(cluster()), pod(claims="c")
    assert not helps(plugin, waiting, Resource.NODE, Action.UPDATE_NODE_TAINT, old=node(), new=node())
    assert not helps(plugin, waiting, Resource.CSI_DRIVER, Action.ADD, new=COUNTS)
    assert not helps(plugin, waiting, Resource.ASSIGNED_POD, Action.DELETE, old=pod(node="a", claims="c"))
