"""What NodeVolumeLimits refuses: nodes whose CSI drivers could not attach the pod's volumes as well."""

from __future__ import annotations

import msgspec
import pytest

from fairway.cluster import Action, Cluster, Event, Nodes, Resource, Verb
from fairway.model import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    EphemeralVolumeSource,
    GCEPersistentDiskVolumeSource,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    Volume,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
    VolumeNodeResources,
    VsphereVirtualDiskVolumeSource,
)
from fairway.plugins.node_volume_limits import NodeVolumeLimits
from fairway.testing import claim, cluster, node, pod, storage_class, volume
from tests.plugins.volume_verdicts import OK, helps, judge, verdicts

FULL = ("Unschedulable", "node(s) exceed max volume count")
DRIVER, EBS = "csi.example.com", "ebs.csi.aws.com"


def csi_node(name: str = "node", **limits: int | None) -> CSINode:
    names = {"csi": DRIVER, "ebs": EBS, "azure": "disk.csi.azure.com", "gce": "pd.csi.storage.gke.io"}
    drivers = tuple(
        CSINodeDriver(name=names[short], allocatable=None if limit is None else VolumeNodeResources(count=limit))
        for short, limit in limits.items()
    )
    return CSINode(metadata=ObjectMeta(name=name), spec=CSINodeSpec(drivers=drivers))


def attachment(name: str, volume_name: str | None, node_name: str = "node", attacher: str = DRIVER) -> VolumeAttachment:
    return VolumeAttachment(
        metadata=ObjectMeta(name=name),
        spec=VolumeAttachmentSpec(
            attacher=attacher,
            node_name=node_name,
            source=VolumeAttachmentSource(persistent_volume_name=volume_name),
        ),
    )


def disk(number: int) -> list[object]:
    """A bound claim `c<number>` and its CSI volume `v<number>`."""
    return [
        claim(f"c{number}", volume=f"v{number}"),
        volume(f"v{number}", claim=f"c{number}", driver=DRIVER),
    ]


def ebs(name: str) -> Volume:
    return Volume(name=name, aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=name))


DISKS = [thing for number in range(1, 7) for thing in disk(number)]
CLASSES = [
    storage_class("made", provisioner=DRIVER),
    storage_class("in-tree", provisioner="kubernetes.io/aws-ebs"),
    storage_class("vsphere", provisioner="kubernetes.io/vsphere-volume"),
]
UNBOUND = [
    claim("new", storage_class="made"),
    claim("newer", storage_class="made"),
    claim("prebound", storage_class="made", volume="not there yet"),
    claim("in-tree", storage_class="in-tree"),
    claim("vsphere", storage_class="vsphere"),
    claim("classless", storage_class=None),
    claim("stray", storage_class="gone"),
]


@pytest.mark.parametrize(
    ("there", "incoming", "limit", "expected"),
    [
        pytest.param([], pod(claims="c1"), 1, OK, id="the first volume"),
        pytest.param([], pod(claims="c1"), 0, FULL, id="no volumes at all"),
        pytest.param([("c1",)], pod(claims="c2"), 2, OK, id="one more fits"),
        pytest.param([("c1",), ("c2",)], pod(claims="c3"), 2, FULL, id="one too many"),
        pytest.param([("c1", "c2"), ("c2",)], pod(claims="c3"), 3, OK, id="shared volumes count once"),
        pytest.param([("c1",), ("c2",)], pod(claims="c2"), 2, OK, id="attached already"),
        pytest.param([("c1",), ("c2",)], pod(claims="c2"), 1, OK, id="attached already, though over the limit"),
        pytest.param([("c1",)], pod(claims=("c1", "c2", "c3")), 2, FULL, id="two new ones besides"),
        pytest.param([("c1",)], pod(claims=("c2", "c3")), None, OK, id="no limit"),
        pytest.param([("c1",), ("gone",)], pod(claims="c2"), 2, OK, id="running pods may lack their claim"),
        pytest.param([("c1",)], pod(claims="new"), 1, FULL, id="a volume that is yet to be made"),
        pytest.param([("new",)], pod(claims="new"), 1, OK, id="the same one yet to be made"),
        pytest.param([("new",)], pod(claims="newer"), 1, FULL, id="another one yet to be made"),
        pytest.param([("c1",)], pod(claims="prebound"), 1, FULL, id="the class of a volume that is not there"),
        pytest.param([("c1",)], pod(claims="classless"), 1, OK, id="no class says who would make it"),
        pytest.param([("c1",)], pod(claims="stray"), 1, OK, id="an unknown class neither"),
        pytest.param([("c1",)], pod(claims="vsphere"), 1, OK, id="a class that is never counted"),
        pytest.param([("in-tree",)], pod(claims="c1"), 1, OK, id="another driver's volume"),
    ],
)
def test_volumes_of_claims(there: list[tuple[str, ...]], incoming: Pod, limit: int | None, expected: object) -> None:
    running = [pod(f"there-{number}", node="node", claims=claims) for number, claims in enumerate(there)]
    objects = [*DISKS, *CLASSES, *UNBOUND, csi_node(csi=limit)]
    plugin = NodeVolumeLimits(cluster((node(), node("bare")), running, objects))
    assert judge(plugin, incoming) == {"bare": OK, "node": expected}


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), "skip", id="no volumes"),
        pytest.param(pod(volumes=Volume(name="tmp")), "skip", id="a volume of no concern"),
        pytest.param(pod(volumes=(ebs("vol-2"), ebs("vol-3"))), {"bare": OK, "node": FULL}, id="EBS disks count"),
        pytest.param(pod(volumes=ebs("aws://zone/vol-1")), {"bare": OK, "node": OK}, id="EBS disks have two names"),
        pytest.param(pod(claims=("in-tree", "c1"), volumes=ebs("vol-2")), {"bare": OK, "node": FULL}, id="mixed"),
        pytest.param(
            pod(volumes=ebs("aws://zone/x")),
            {
                "bare": OK,
                "node": (
                    "Error",
                    "converting volume(aws://zone/x) from inline to csi: failed to translate Kubernetes ID to EBS"
                    " Volume ID Invalid format for AWS volume (aws://zone/x)",
                ),
            },
            id="EBS disk with a bad name",
        ),
        pytest.param(
            pod(volumes=Volume(name="v", azure_disk=AzureDiskVolumeSource(disk_uri="d", kind="Dedicated"))),
            {
                "bare": OK,
                "node": (
                    "Error",
                    "converting volume(v) from inline to csi: kind(Dedicated) is not supported in csi migration",
                ),
            },
            id="Azure disk of the wrong kind",
        ),
        pytest.param(
            pod(volumes=Volume(name="v", azure_disk=AzureDiskVolumeSource(disk_uri="d", kind="managed"))),
            {"bare": OK, "node": FULL},
            id="Azure disk",
        ),
        pytest.param(
            pod(volumes=Volume(name="v", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="d"))),
            {"bare": OK, "node": FULL},
            id="Compute Engine disk",
        ),
        pytest.param(
            pod(volumes=Volume(name="v", cinder=CinderVolumeSource(volume_id="d"))),
            {"bare": OK, "node": OK},
            id="a driver without a limit",
        ),
        pytest.param(
            pod(claims=("c1", "missing")),
            dict.fromkeys(
                ("bare", "node"),
                (
                    "UnschedulableAndUnresolvable",
                    'looking up PVC default/missing: persistentvolumeclaim "missing" not found',
                ),
            ),
            id="a claim that does not exist",
        ),
        pytest.param(
            pod(claims=""),
            dict.fromkeys(("bare", "node"), ("Error", "PersistentVolumeClaim had no name")),
            id="a claim without a name",
        ),
    ],
)
def test_in_tree_volumes_and_broken_ones(incoming: Pod, expected: object) -> None:
    there = pod("there", node="node", volumes=ebs("vol-1"))
    objects = [*DISKS, *CLASSES, *UNBOUND, csi_node(ebs=2, azure=0, gce=0, csi=9)]
    plugin = NodeVolumeLimits(cluster((node(), node("bare")), there, objects))
    assert judge(plugin, incoming) == expected


def ephemeral_claim(owner: str) -> PersistentVolumeClaim:
    bare = claim("mine-v", storage_class="made")
    owners = (OwnerReference(kind="Pod", name="mine", uid=owner, controller=True),)
    return msgspec.structs.replace(bare, metadata=msgspec.structs.replace(bare.metadata, owner_references=owners))


@pytest.mark.parametrize(
    ("owner", "limit", "expected"),
    [
        pytest.param("default/mine", 1, OK, id="fits"),
        pytest.param("default/mine", 0, FULL, id="does not fit"),
        pytest.param(
            "else",
            9,
            ("Error", "PVC default/mine-v was not created for pod default/mine (pod is not owner)"),
            id="not its",
        ),
    ],
)
def test_generic_ephemeral_volumes(owner: str, limit: int, expected: object) -> None:
    mine = Volume(name="v", ephemeral=EphemeralVolumeSource())
    objects = [*CLASSES, ephemeral_claim(owner), csi_node(csi=limit)]
    plugin = NodeVolumeLimits(cluster(node(), objects=objects))
    assert judge(plugin, pod("mine", volumes=mine)) == {"node": expected}


def test_a_running_pod_with_a_stolen_claim_breaks_its_node_for_pods_with_volumes() -> None:
    running = pod("mine", node="node", volumes=Volume(name="v", ephemeral=EphemeralVolumeSource()))
    objects = [*DISKS, *CLASSES, ephemeral_claim("else"), csi_node(csi=9)]
    plugin = NodeVolumeLimits(cluster((node(), node("other")), running, objects))
    problem = ("Error", "PVC default/mine-v was not created for pod default/mine (pod is not owner)")
    assert judge(plugin, pod(claims="c1")) == {"node": problem, "other": OK}
    assert judge(plugin, pod(volumes=Volume(name="v", azure_file=AzureFileVolumeSource()))) == "skip"


@pytest.mark.parametrize(
    ("attachments", "expected"),
    [
        pytest.param([attachment("a", "v5"), attachment("b", "v6")], FULL, id="attached besides"),
        pytest.param([attachment("a", "v5"), attachment("b", "v5")], OK, id="one volume twice"),
        pytest.param([attachment("a", "v1"), attachment("b", "v5")], OK, id="of a pod that is counted already"),
        pytest.param([attachment("a", "v2"), attachment("b", "v5")], FULL, id="the new volume itself counts again"),
        pytest.param([attachment("a", "v5", "else"), attachment("b", "v6", "else")], OK, id="to another node"),
        pytest.param([attachment("a", "v5", attacher=EBS), attachment("b", "v6")], OK, id="by another driver"),
        pytest.param([attachment("a", None), attachment("b", "v6")], OK, id="of no volume"),
        pytest.param([attachment("a", "gone"), attachment("b", "v6")], OK, id="of an unknown volume"),
        pytest.param([attachment("a", "v5", attacher=""), attachment("b", "v6")], OK, id="by nobody"),
    ],
)
def test_attachments_count_too(attachments: list[VolumeAttachment], expected: object) -> None:
    what = cluster(node(), pod("there", node="node", claims="c1"), [*DISKS, csi_node(csi=3), *attachments])
    assert judge(NodeVolumeLimits(what), pod(claims="c2")) == {"node": expected}


def counted(what: Cluster) -> object:
    return judge(NodeVolumeLimits(what), pod(claims="c1"))["node"]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(Event(Verb.MODIFIED, csi_node(csi=3)), OK, id="the limit rises"),
        pytest.param(Event(Verb.DELETED, csi_node(csi=2)), OK, id="the limit goes"),
        pytest.param(Event(Verb.DELETED, claim("c2", volume="v2")), OK, id="a claim goes"),
        pytest.param(
            Event(Verb.MODIFIED, claim("c2", volume="v3")), OK, id="a claim is bound to the volume of another"
        ),
        pytest.param(Event(Verb.DELETED, volume("v2", claim="c2", driver=DRIVER)), OK, id="a volume goes"),
        pytest.param(Event(Verb.MODIFIED, volume("v2", claim="c2", driver=EBS)), OK, id="a volume moves"),
        pytest.param(Event(Verb.DELETED, pod("two", node="node", claims="c2")), OK, id="a pod goes"),
        pytest.param(
            Event(Verb.MODIFIED, storage_class("standard", provisioner=DRIVER)), FULL, id="nothing to do with it"
        ),
    ],
)
def test_counts_follow_events(event: Event, expected: object) -> None:
    running = [pod("two", node="node", claims="c2"), pod("three", node="node", claims="c3")]
    what = cluster(node(), running, [*DISKS, csi_node(csi=2)])
    assert counted(what) == FULL
    what.apply(event)
    assert counted(what) == expected


def test_counts_follow_volumes_that_are_made_for_running_pods() -> None:
    running = [pod("two", node="node", claims="new"), pod("three", node="node", claims="c3")]
    what = cluster(node(), running, [*DISKS, claim("new", storage_class="made"), csi_node(csi=2)])
    assert counted(what) == OK
    what.apply(Event(Verb.ADDED, storage_class("made", provisioner=DRIVER)))
    assert counted(what) == FULL
    what.apply(Event(Verb.ADDED, volume("fresh", claim="new", driver=EBS)))
    what.apply(Event(Verb.MODIFIED, claim("new", storage_class="made", volume="fresh")))
    assert counted(what) == OK


def test_a_volume_counts_anew_when_the_pod_that_had_it_is_gone() -> None:
    first = pod("first", node="node", claims="c1")
    what = cluster(node(), [first, pod("second", node="node", claims="c2")], [*DISKS, csi_node(csi=1)])
    assert counted(what) == OK
    what.apply(Event(Verb.DELETED, first))
    assert counted(what) == FULL


def test_attachments_come_and_go() -> None:
    what = cluster(node(), pod("two", node="node", claims="c2"), [*DISKS, csi_node(csi=2)])
    assert counted(what) == OK
    what.apply(Event(Verb.ADDED, attachment("a", "v5")))
    assert counted(what) == FULL
    what.apply(Event(Verb.MODIFIED, attachment("a", "v5", "else")))
    assert counted(what) == OK
    what.apply(Event(Verb.MODIFIED, attachment("a", "v5")))
    what.apply(Event(Verb.DELETED, volume("v5", claim="c5", driver=DRIVER)))
    assert counted(what) == OK


def test_a_row_that_another_node_takes_over_has_that_nodes_limits() -> None:
    what = cluster(node("first"), objects=[*DISKS, csi_node("first", csi=0), csi_node("second", csi=1)])
    plugin = NodeVolumeLimits(what)
    assert judge(plugin, pod(claims="c1")) == {"first": FULL}
    what.apply(Event(Verb.DELETED, node("first")))
    what.apply(Event(Verb.ADDED, node("second")))
    assert judge(plugin, pod(claims="c1")) == {"second": OK}


def test_volumes_are_free_again_when_their_pod_is_imagined_away() -> None:
    there = pod("there", node="node", claims=("c1", "c2"))
    what = cluster(node(), there, [*DISKS, csi_node(csi=2)])
    plugin, incoming = NodeVolumeLimits(what), pod(claims=("c2", "c3"))
    state = plugin.pre_filter(what.classify(incoming), Nodes(what))
    assert verdicts(plugin, incoming, state) == {"node": FULL}
    with what.what_if():
        what.remove(there.metadata.uid)
        assert verdicts(plugin, incoming, state) == {"node": OK}
    assert verdicts(plugin, incoming, state) == {"node": FULL}


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        pytest.param(pod(node="node", claims="c1"), True, id="a claim"),
        pytest.param(pod(nominated_node="node", claims="c1"), True, id="a claim, nominated"),
        pytest.param(pod(claims="c1"), False, id="was nowhere"),
        pytest.param(pod(node="node"), False, id="no volumes"),
        pytest.param(pod(node="node", volumes=Volume(name="tmp")), False, id="a volume of no concern"),
        pytest.param(pod(node="node", volumes=ebs("vol-1")), True, id="an in-tree disk"),
        pytest.param(
            pod(node="node", volumes=Volume(name="v", vsphere_volume=VsphereVirtualDiskVolumeSource())),
            True,
            id="an in-tree disk that is not counted",
        ),
    ],
)
def test_deleted_pods_help_if_they_had_volumes(deleted: Pod, expected: bool) -> None:
    plugin = NodeVolumeLimits(cluster())
    assert helps(plugin, pod(claims="c1"), Resource.ASSIGNED_POD, Action.DELETE, old=deleted) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(csi_node(csi=1), csi_node(csi=2), True, id="more"),
        pytest.param(csi_node(csi=2), csi_node(csi=1), False, id="fewer"),
        pytest.param(csi_node(csi=2), csi_node(csi=2, ebs=1), True, id="a new driver"),
        pytest.param(csi_node(csi=2), csi_node(csi=2, ebs=None), False, id="a new driver without a limit"),
        pytest.param(csi_node(csi=None), csi_node(csi=1), True, id="a limit where there was none"),
    ],
)
def test_csi_nodes_help_if_a_limit_rises(old: CSINode, new: CSINode, expected: bool) -> None:
    plugin = NodeVolumeLimits(cluster())
    assert helps(plugin, pod(claims="c1"), Resource.CSI_NODE, Action.UPDATE, old=old, new=new) is expected
    assert helps(plugin, pod(claims="c1"), Resource.CSI_NODE, Action.ADD, new=new)


@pytest.mark.parametrize(
    ("waiting", "attacher", "expected"),
    [
        pytest.param(pod(claims="c1"), "any", True, id="a claim"),
        pytest.param(pod(volumes=ebs("vol-1")), EBS, True, id="its driver"),
        pytest.param(pod(volumes=ebs("vol-1")), DRIVER, False, id="another driver"),
        pytest.param(pod(volumes=ebs("aws://zone/x")), DRIVER, True, id="who knows"),
        pytest.param(
            pod(volumes=Volume(name="v", azure_file=AzureFileVolumeSource())), "file.csi.azure.com", True, id="a share"
        ),
        pytest.param(pod(volumes=Volume(name="tmp")), EBS, False, id="a volume of no concern"),
    ],
)
def test_detached_volumes_help(waiting: Pod, attacher: str, expected: bool) -> None:
    plugin, gone = NodeVolumeLimits(cluster()), attachment("a", "v1", attacher=attacher)
    assert helps(plugin, waiting, Resource.VOLUME_ATTACHMENT, Action.DELETE, old=gone) is expected


def test_new_claims_help_the_pods_that_use_them() -> None:
    plugin, claims = NodeVolumeLimits(cluster()), Resource.PERSISTENT_VOLUME_CLAIM
    ephemeral = pod("mine", volumes=Volume(name="v", ephemeral=EphemeralVolumeSource()))
    assert helps(plugin, pod(claims="c1"), claims, Action.ADD, new=claim("c1"))
    assert helps(plugin, ephemeral, claims, Action.ADD, new=claim("mine-v"))
    assert not helps(plugin, ephemeral, claims, Action.ADD, new=claim("mine-v", namespace="else"))
    assert not helps(plugin, pod(claims="c1"), claims, Action.ADD, new=claim("c2"))


def test_drivers_that_no_node_has_any_more_are_forgotten() -> None:
    what = cluster((node(), node("other")), objects=[*DISKS, csi_node(csi=1), csi_node("other", ebs=1)])
    in_use = what.storage.in_use
    in_use.refresh()
    assert set(in_use.counts) == set(in_use.limits) == {DRIVER, EBS}
    what.apply(Event(Verb.DELETED, csi_node(csi=1)))
    in_use.refresh()
    assert set(in_use.counts) == set(in_use.limits) == {EBS}
