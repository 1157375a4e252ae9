"""What VolumeRestrictions refuses: taken disks on a node, and ReadWriteOncePod claims in the whole cluster."""

from __future__ import annotations

import pytest

from fairway.cluster import Action, Nodes, Resource
from fairway.model import (
    AWSElasticBlockStoreVolumeSource,
    EphemeralVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    Pod,
    RBDVolumeSource,
    Volume,
)
from fairway.plugins.volume_restrictions import VolumeRestrictions
from fairway.testing import claim, cluster, node, pod
from tests.plugins.volume_verdicts import OK, helps, judge, verdicts

DISK = ("Unschedulable", "node(s) had no available disk")
CLAIM = (
    "Unschedulable",
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod",
)
NODES = (node("a"), node("b"))


def gce(name: str = "disk", read_only: bool = False) -> Volume:
    return Volume(name="v", gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name=name, read_only=read_only))


def ebs(name: str = "disk", read_only: bool = False) -> Volume:
    return Volume(
        name="v", aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id=name, read_only=read_only)
    )


def iscsi(iqn: str = "disk", read_only: bool = False, portal: str = "p", lun: int = 0) -> Volume:
    return Volume(name="v", iscsi=ISCSIVolumeSource(target_portal=portal, iqn=iqn, lun=lun, read_only=read_only))


def rbd(*monitors: str, image: str = "i", pool: str = "p", read_only: bool = False) -> Volume:
    return Volume(name="v", rbd=RBDVolumeSource(monitors=monitors, image=image, pool=pool, read_only=read_only))


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        pytest.param(gce(), gce(), DISK, id="gce: both write"),
        pytest.param(gce(read_only=True), gce(), DISK, id="gce: the other one writes"),
        pytest.param(gce(), gce(read_only=True), DISK, id="gce: this one writes"),
        pytest.param(gce(read_only=True), gce(read_only=True), OK, id="gce: both read"),
        pytest.param(gce("other"), gce(), OK, id="gce: another disk"),
        pytest.param(ebs(), ebs(), DISK, id="ebs: the same volume"),
        pytest.param(ebs(read_only=True), ebs(read_only=True), DISK, id="ebs: reading does not help"),
        pytest.param(ebs("other"), ebs(), OK, id="ebs: another volume"),
        pytest.param(ebs(), gce(), OK, id="ebs and gce of one name"),
        pytest.param(iscsi(lun=1, portal="q"), iscsi(), DISK, id="iscsi: the iqn decides"),
        pytest.param(iscsi(read_only=True), iscsi(read_only=True), OK, id="iscsi: both read"),
        pytest.param(iscsi("other"), iscsi(), OK, id="iscsi: another iqn"),
        pytest.param(rbd("m1", "m2"), rbd("m2", "m3"), DISK, id="rbd: a common monitor"),
        pytest.param(rbd("m1"), rbd("m2"), OK, id="rbd: no common monitor"),
        pytest.param(rbd("m1", image="j"), rbd("m1"), OK, id="rbd: another image"),
        pytest.param(rbd("m1", pool="q"), rbd("m1"), OK, id="rbd: another pool"),
        pytest.param(rbd("m1", read_only=True), rbd("m1", read_only=True), OK, id="rbd: both read"),
        pytest.param(rbd("m1", read_only=True), rbd("m1"), DISK, id="rbd: one writes"),
    ],
)
def test_a_disk_is_mounted_once_on_a_node(mine: Volume, theirs: Volume, expected: object) -> None:
    plugin = VolumeRestrictions(cluster(NODES, pod("there", node="a", volumes=theirs)))
    assert judge(plugin, pod(volumes=mine)) == {"a": expected, "b": OK}


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), "skip", id="no volumes"),
        pytest.param(pod(volumes=Volume(name="tmp")), "skip", id="a volume of no concern"),
        pytest.param(pod(claims="shared"), "skip", id="a claim that many may use"),
        pytest.param(pod(claims="free"), "skip", id="an exclusive claim that nobody uses"),
        pytest.param(pod(claims="taken"), {"a": CLAIM, "b": CLAIM}, id="an exclusive claim in use"),
        pytest.param(pod(claims=("taken", "free", "shared")), {"a": CLAIM, "b": CLAIM}, id="one of several claims"),
        pytest.param(pod(claims="taken", namespace="else"), "skip", id="the same name in another namespace"),
        pytest.param(
            pod(claims=("shared", "missing", "taken")),
            ("UnschedulableAndUnresolvable", 'persistentvolumeclaim "missing" not found'),
            id="a claim that does not exist",
        ),
        pytest.param(
            pod(volumes=Volume(name="taken", ephemeral=EphemeralVolumeSource())),
            "skip",
            id="ephemeral volumes name no claim",
        ),
        pytest.param(pod(claims="taken", volumes=gce()), {"a": DISK, "b": CLAIM}, id="the disk is said first"),
    ],
)
def test_exclusive_claims(incoming: Pod, expected: object) -> None:
    exclusive = "ReadWriteOncePod"
    objects = [
        claim("shared"),
        claim("free", access=exclusive),
        claim("taken", access=exclusive),
        claim("taken", access=exclusive, namespace="else"),
    ]
    there = pod("there", node="a", claims=("taken", "shared"), volumes=gce())
    plugin = VolumeRestrictions(cluster(NODES, there, objects))
    assert judge(plugin, incoming) == expected


def test_a_claim_counts_once_however_many_use_it_and_preemption_adjusts_that() -> None:
    users = [pod("first", node="a", claims="taken"), pod("second", node="b", claims="taken")]
    what = cluster(NODES, users, [claim("taken", access="ReadWriteOncePod")])
    plugin, incoming = VolumeRestrictions(what), pod(claims="taken")
    pod_class = what.classify(incoming)
    state = plugin.pre_filter(pod_class, Nodes(what))
    assert set(verdicts(plugin, incoming, state).values()) == {CLAIM}
    first = what.pods.by_uid[users[0].metadata.uid]
    plugin.remove_pod(pod_class, state, first.pod, first.pod_class, first.row)
    assert verdicts(plugin, incoming, state) == {"a": OK, "b": OK}
    plugin.add_pod(pod_class, state, first.pod, first.pod_class, first.row)
    assert set(verdicts(plugin, incoming, state).values()) == {CLAIM}


def test_a_disk_is_free_again_when_its_pod_is_imagined_away() -> None:
    there = pod("there", node="a", volumes=gce())
    what = cluster(NODES, there)
    plugin, incoming = VolumeRestrictions(what), pod(volumes=gce())
    state = plugin.pre_filter(what.classify(incoming), Nodes(what))
    with what.what_if():
        what.remove(there.metadata.uid)
        assert verdicts(plugin, incoming, state) == {"a": OK, "b": OK}
    assert verdicts(plugin, incoming, state) == {"a": DISK, "b": OK}


@pytest.mark.parametrize(
    ("deleted", "expected"),
    [
        pytest.param(pod("x", node="a", claims="data"), True, id="the same claim"),
        pytest.param(pod("x", node="a", claims="other"), False, id="another claim"),
        pytest.param(pod("x", node="a", volumes=gce(read_only=True)), True, id="the same disk"),
        pytest.param(pod("x", node="a", volumes=gce("other")), False, id="another disk"),
        pytest.param(pod("x", node="a", claims="data", namespace="else"), False, id="another namespace"),
    ],
)
def test_deleted_pods_help_if_they_free_something(deleted: Pod, expected: bool) -> None:
    plugin = VolumeRestrictions(cluster())
    waiting = pod(claims="data", volumes=gce())
    assert helps(plugin, waiting, Resource.ASSIGNED_POD, Action.DELETE, old=deleted) is expected


def test_new_nodes_and_the_pods_own_claims_help() -> None:
    plugin, waiting = VolumeRestrictions(cluster()), pod(claims="data")
    claims = Resource.PERSISTENT_VOLUME_CLAIM
    assert helps(plugin, waiting, Resource.NODE, Action.ADD, new=node())
    assert not helps(plugin, waiting, Resource.NODE, Action.UPDATE_NODE_LABEL, old=node(), new=node())
    assert helps(plugin, waiting, claims, Action.ADD, new=claim("data"))
    assert not helps(plugin, waiting, claims, Action.ADD, new=claim("data", namespace="else"))
    assert not helps(plugin, waiting, claims, Action.UPDATE, old=claim("data"), new=claim("data"))
