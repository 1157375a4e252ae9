"""What VolumeZone refuses: nodes in another zone or region than the pod's volumes, and claims without a volume."""

from __future__ import annotations

import msgspec
import pytest

from fairway.cluster import Action, Resource
from fairway.cluster.volumes.storage import Reservation
from fairway.model import EphemeralVolumeSource, PersistentVolume, Pod, Volume
from fairway.plugins.volume_zone import VolumeZone
from fairway.testing import claim, cluster, node, pod, storage_class, volume
from tests.plugins.volume_verdicts import OK, helps, judge

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
CONFLICT = ("UnschedulableAndUnresolvable", "node(s) had no available volume zone")


def labelled(**labels: str) -> PersistentVolume:
    keys = {"zone": ZONE, "region": REGION, "beta_zone": BETA_ZONE, "beta_region": BETA_REGION}
    bare = volume("disk", claim="data")
    values = {keys[name]: value for name, value in labels.items()}
    return msgspec.structs.replace(bare, metadata=msgspec.structs.replace(bare.metadata, labels=values))


@pytest.mark.parametrize(
    ("disk", "expected"),
    [
        pytest.param(labelled(), "skip", id="a volume that could be anywhere"),
        pytest.param(labelled(zone="z1"), {"z1": OK, "z2": CONFLICT, "beta": CONFLICT}, id="a zone"),
        pytest.param(labelled(zone="z1__z2"), {"z1": OK, "z2": OK, "beta": CONFLICT}, id="two zones"),
        pytest.param(labelled(zone="z1__ z2 "), {"z1": OK, "z2": OK, "beta": CONFLICT}, id="blanks around a zone"),
        pytest.param(labelled(zone="z1__"), "skip", id="an empty zone spoils the label"),
        pytest.param(labelled(zone=""), "skip", id="an empty label"),
        pytest.param(labelled(beta_zone="z1"), {"z1": OK, "z2": CONFLICT, "beta": OK}, id="an old key, a new node"),
        pytest.param(labelled(region="r2"), {"z1": CONFLICT, "z2": OK, "beta": CONFLICT}, id="a region"),
        pytest.param(
            labelled(zone="z2", region="r1"), {"z1": CONFLICT, "z2": CONFLICT, "beta": CONFLICT}, id="both must agree"
        ),
        pytest.param(
            labelled(beta_zone="z2", beta_region="r2"), {"z1": CONFLICT, "z2": OK, "beta": CONFLICT}, id="old keys both"
        ),
    ],
)
def test_nodes_must_be_where_the_volume_is(disk: PersistentVolume, expected: object) -> None:
    nodes = (
        node("z1", zone="z1", region="r1"),
        node("z2", zone="z2", region="r2"),
        node("beta", labels={BETA_ZONE: "z1", BETA_REGION: "r1"}),
        node("nowhere"),
    )
    plugin = VolumeZone(cluster(nodes, objects=[disk, claim("data", volume="disk")]))
    found = judge(plugin, pod(claims="data"))
    assert found == (expected if isinstance(expected, str) else {"nowhere": OK, **expected})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), "skip", id="no volumes"),
        pytest.param(pod(volumes=Volume(name="v", ephemeral=EphemeralVolumeSource())), "skip", id="ephemeral volume"),
        pytest.param(pod(claims="waiting"), "skip", id="waits for its first consumer"),
        pytest.param(pod(claims=""), "PersistentVolumeClaim had no name", id="no name"),
        pytest.param(pod(claims="gone"), 'persistentvolumeclaim "gone" not found', id="no such claim"),
        pytest.param(pod(claims="lost"), 'persistentvolume "gone" not found', id="no such volume"),
        pytest.param(pod(claims="immediate"), "PersistentVolume had no name", id="not bound yet"),
        pytest.param(
            pod(claims="classless"), "PersistentVolumeClaim had no pv name and storageClass name", id="no class at all"
        ),
        pytest.param(pod(claims="stray"), 'storageclass.storage.k8s.io "gone" not found', id="no such class"),
        pytest.param(pod(claims="odd"), 'VolumeBindingMode not set for StorageClass "odd"', id="class without a mode"),
    ],
)
def test_claims_without_a_volume(incoming: Pod, expected: str) -> None:
    odd = msgspec.structs.replace(storage_class("odd"), volume_binding_mode=None)
    objects = [
        storage_class("waits"),
        storage_class("now", waits=False),
        odd,
        claim("waiting", storage_class="waits"),
        claim("lost", volume="gone"),
        claim("immediate", storage_class="now"),
        claim("classless", storage_class=None),
        claim("stray", storage_class="gone"),
        claim("odd", storage_class="odd"),
    ]
    plugin = VolumeZone(cluster(node(), objects=objects))
    wanted = expected if expected == "skip" else ("UnschedulableAndUnresolvable", expected)
    assert judge(plugin, incoming) == wanted


def test_what_is_assumed_about_claims_is_not_seen() -> None:
    what = cluster(node(zone="z1"), objects=[storage_class(), claim("data"), volume("disk", zone="z9")])
    what.storage.reserve("some pod", Reservation("node", (("default/data", "disk"),), ()))
    assert judge(VolumeZone(what), pod(claims="data")) == "skip"


def test_which_events_help() -> None:
    plugin, waiting = VolumeZone(cluster()), pod(claims="data")
    classes, claims, volumes = Resource.STORAGE_CLASS, Resource.PERSISTENT_VOLUME_CLAIM, Resource.PERSISTENT_VOLUME
    assert helps(plugin, waiting, classes, Action.ADD, new=storage_class())
    assert not helps(plugin, waiting, classes, Action.ADD, new=storage_class(waits=False))
    assert not helps(plugin, waiting, classes, Action.UPDATE, old=storage_class(), new=storage_class())
    assert helps(plugin, waiting, claims, Action.ADD, new=claim("data"))
    assert helps(plugin, waiting, claims, Action.UPDATE, old=claim("data"), new=claim("data", volume="disk"))
    assert not helps(plugin, waiting, claims, Action.ADD, new=claim("other"))
    assert not helps(plugin, waiting, claims, Action.ADD, new=claim("data", namespace="else"))
    assert helps(plugin, waiting, volumes, Action.ADD, new=labelled())
    assert helps(plugin, waiting, volumes, Action.UPDATE, old=labelled(zone="z1"), new=labelled(zone="z2"))
    assert not helps(plugin, waiting, volumes, Action.UPDATE, old=labelled(zone="z1__"), new=labelled())
    assert helps(plugin, waiting, Resource.NODE, Action.UPDATE_NODE_LABEL, old=node(), new=node())
    assert not helps(plugin, waiting, Resource.NODE, Action.UPDATE_NODE_TAINT, old=node(), new=node())
