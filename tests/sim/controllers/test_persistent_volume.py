"""Claims and volumes: who gets which, what is made, and what becomes of it."""

from typing import Any

import msgspec
import pytest

from fairway.model import (
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    EphemeralVolumeSource,
    ObjectMeta,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimTemplate,
    StatefulSet,
    StatefulSetSpec,
    StorageClass,
    TopologySelectorLabelRequirement,
    TopologySelectorTerm,
    Volume,
)
from fairway.model.workload import StatefulSetClaimRetention
from fairway.sim.controllers import ControllerSettings
from fairway.testing import claim, node, pod, storage_class, volume
from tests.sim.controllers.world import World, template

SELECTED = "volume.kubernetes.io/selected-node"
ZONE = "topology.kubernetes.io/zone"


def fresh(made: PersistentVolume) -> PersistentVolume:
    """As a person writes it: nobody has looked at it yet."""
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, phase="Pending"))


def found_claim(world: World, name: str = "claim") -> PersistentVolumeClaim:
    found = world.api.find("PersistentVolumeClaim", "default", name)
    assert isinstance(found, PersistentVolumeClaim)
    return found


def found_volume(world: World, name: str) -> PersistentVolume:
    found = world.api.find("PersistentVolume", "", name)
    assert isinstance(found, PersistentVolume)
    return found


def selecting(made: PersistentVolumeClaim, name: str) -> PersistentVolumeClaim:
    """As the scheduler leaves it when it has chosen a node."""
    notes = made.metadata.annotations | {SELECTED: name}
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, annotations=notes))


def changed(thing: Any, **spec: Any) -> Any:
    return msgspec.structs.replace(thing, spec=msgspec.structs.replace(thing.spec, **spec))


def told(world: World) -> list[str]:
    return [reason for kind, _, reason, _ in world.reports if kind == "PersistentVolumeClaim"]


# -- volumes that are there ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        pytest.param([volume("large", size="9Gi"), volume("fits", size="5Gi")], "fits", id="the smallest that fits"),
        pytest.param([volume("small", size="4Gi")], "", id="too small"),
        pytest.param([volume("other", size="5Gi", storage_class="other")], "", id="another class"),
        pytest.param([volume("rox", size="5Gi", access="ReadOnlyMany")], "", id="another access mode"),
        pytest.param([volume("taken", size="5Gi", claim="somebody")], "", id="taken"),
        pytest.param(
            [volume("both", size="5Gi", access=("ReadWriteOnce", "ReadOnlyMany")), volume("exact", size="9Gi")],
            "exact",
            id="fewer access modes before smaller size",
        ),
        pytest.param([volume("own", size="9Gi", claim="claim"), volume("fits", size="5Gi")], "own", id="its own first"),
    ],
)
def test_a_claim_gets_the_best_volume(volumes: list[PersistentVolume], expected: str) -> None:
    world = World()
    world.create(storage_class(waits=False))
    for one in volumes:
        world.create(fresh(one))
    world.create(claim(size="5Gi"))
    world.run(10)
    assert found_claim(world).spec.volume_name == expected


def test_bound_means_bound_on_both_sides() -> None:
    world = World()
    world.create(storage_class(waits=False))
    world.create(fresh(volume("disk", size="5Gi")))
    world.run(1)
    assert found_volume(world, "disk").status.phase == "Available"
    made = world.create(claim(size="2Gi"))
    world.run(2)
    bound, disk = found_claim(world), found_volume(world, "disk")
    assert (bound.status.phase, bound.status.capacity["storage"].text) == ("Bound", "5Gi")
    assert bound.metadata.annotations["pv.kubernetes.io/bind-completed"] == "yes"
    assert disk.status.phase == "Bound"
    assert disk.spec.claim_ref is not None
    assert disk.spec.claim_ref.uid == made.metadata.uid


def test_a_bound_claim_stays_bound() -> None:
    world = World()
    world.create(storage_class(waits=False))
    world.create(fresh(volume("large", size="9Gi")))
    world.create(claim(size="2Gi"))
    world.run(1)
    world.create(fresh(volume("better", size="2Gi")))
    world.run(100)
    assert found_claim(world).spec.volume_name == "large"


def test_two_claims_never_share_a_volume() -> None:
    world = World()
    world.create(storage_class(waits=False))
    for number in range(5):
        world.create(claim(f"c{number}"))
    for number in range(3):
        world.create(fresh(volume(f"v{number}")))
    world.run(1)
    names = [found_claim(world, f"c{number}").spec.volume_name for number in range(5)]
    assert sorted(names) == ["", "", "v0", "v1", "v2"]
    assert names[:3] == ["v0", "v1", "v2"]


def test_a_claim_that_found_nothing_gets_what_comes_later() -> None:
    world = World()
    world.create(storage_class(waits=False))
    world.create(claim())
    world.run(10)
    assert found_claim(world).status.phase == "Pending"
    world.create(fresh(volume("late")))
    world.run(10)
    assert found_claim(world).spec.volume_name == "late"


def test_claims_without_any_class_object_are_bound_too() -> None:
    world = World()
    world.create(claim("none", storage_class=""))
    world.create(claim("named", storage_class="manual"))
    world.run(1)
    assert told(world) == ["FailedBinding", "ProvisioningFailed"]
    world.create(fresh(volume("a", storage_class="")))
    world.create(fresh(volume("b", storage_class="manual")))
    world.run(2)
    assert found_claim(world, "none").spec.volume_name == "a"
    assert found_claim(world, "named").spec.volume_name == "b"


@pytest.mark.parametrize(
    ("disk", "phase", "reason"),
    [
        pytest.param(volume("disk"), "Bound", [], id="free"),
        pytest.param(volume("disk", claim="claim"), "Bound", [], id="pointing back"),
        pytest.param(volume("disk", claim="other"), "Pending", ["FailedBinding"], id="somebody else's"),
        pytest.param(volume("disk", size="1Mi"), "Pending", ["VolumeMismatch"], id="too small"),
        pytest.param(volume("disk", storage_class="x"), "Pending", ["VolumeMismatch"], id="another class"),
        pytest.param(volume("another"), "Pending", ["FailedBinding"], id="not there"),
    ],
)
def test_a_claim_may_name_its_volume(disk: PersistentVolume, phase: str, reason: list[str]) -> None:
    world = World()
    world.create(storage_class(waits=False))
    world.create(claim("other", storage_class="elsewhere"))
    world.create(fresh(disk))
    world.create(changed(claim(), volume_name="disk"))
    world.run(1)
    assert found_claim(world).status.phase == phase
    mine = [reason for _, name, reason, _ in world.reports if name == "default/claim"]
    assert mine == reason


def test_a_claim_whose_volume_vanished_is_lost() -> None:
    world = World()
    world.create(storage_class(waits=False))
    disk = world.create(fresh(volume("disk")))
    world.create(claim())
    world.run(1)
    world.api.remove(disk)
    world.run(2)
    assert found_claim(world).status.phase == "Lost"
    assert told(world)[-1] == "ClaimLost"


@pytest.mark.parametrize(
    ("policy", "phase"), [("Retain", "Released"), ("Recycle", "Available"), ("Delete", "")], ids=str.lower
)
def test_what_becomes_of_a_volume(policy: str, phase: str) -> None:
    world = World()
    world.create(storage_class(waits=False))
    world.create(changed(fresh(volume("disk")), persistent_volume_reclaim_policy=policy))
    made = world.create(claim())
    world.run(1)
    world.api.remove(made)
    world.run(2)
    left = world.api.find("PersistentVolume", "", "disk")
    assert ("" if left is None else left.status.phase) == phase


def test_another_claim_of_the_same_name_does_not_get_the_old_volume() -> None:
    world = World()
    world.create(storage_class(waits=False))
    world.create(fresh(volume("disk")))
    made = world.create(claim())
    world.run(1)
    world.api.remove(made)
    world.create(msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, uid="another")))
    world.run(2)
    assert found_volume(world, "disk").status.phase == "Released"
    assert found_claim(world).status.phase == "Pending"


# -- volumes that are made -------------------------------------------------------------------------------------------


def test_a_volume_is_made_after_the_latency() -> None:
    world = World(settings=ControllerSettings(provision_latency=7))
    world.create(storage_class(provisioner="csi.example.com", waits=False))
    made = world.create(claim(size="3Gi"))
    world.run(6.9)
    assert found_claim(world).status.phase == "Pending"
    world.run(7)
    bound = found_claim(world)
    assert (bound.status.phase, bound.spec.volume_name) == ("Bound", f"pvc-{made.metadata.uid}")
    disk = found_volume(world, bound.spec.volume_name)
    assert (disk.spec.capacity["storage"].text, disk.spec.storage_class_name) == ("3Gi", "standard")
    assert disk.spec.csi is not None
    assert disk.spec.csi.driver == "csi.example.com"
    assert disk.spec.node_affinity is None
    world.api.remove(bound)
    world.run(8)
    assert world.api.objects("PersistentVolume") == []  # the class's policy is Delete


def test_a_volume_that_is_there_is_preferred_to_one_that_is_made() -> None:
    world = World()
    world.create(storage_class(provisioner="csi.example.com", waits=False))
    world.create(fresh(volume("disk")))
    world.create(claim())
    world.run(10)
    assert found_claim(world).spec.volume_name == "disk"


def test_a_claim_of_a_waiting_class_waits_for_the_scheduler() -> None:
    world = World(nodes=(node("n1", zone="a"),))
    world.create(storage_class(provisioner="csi.example.com"))
    world.create(fresh(volume("disk")))
    made = world.create(claim())
    world.run(100)
    assert found_claim(world).status.phase == "Pending"
    assert told(world) == ["WaitForFirstConsumer"]
    world.api.update(selecting(made, "n1"))
    world.run(101)
    assert found_claim(world).spec.volume_name == f"pvc-{made.metadata.uid}"


def test_a_node_that_is_gone_has_to_be_chosen_anew() -> None:
    world = World()
    world.create(storage_class(provisioner="csi.example.com"))
    world.create(selecting(claim(), "gone"))
    world.run(10)
    assert SELECTED not in found_claim(world).metadata.annotations
    assert found_claim(world).status.phase == "Pending"
    assert told(world)[0] == "ProvisioningFailed"


def csi_node(name: str, *keys: str) -> CSINode:
    driver = CSINodeDriver(name="csi.example.com", node_id=name, topology_keys=keys)
    return CSINode(metadata=ObjectMeta(name=name), spec=CSINodeSpec(drivers=(driver,)))


def allowing(made: StorageClass, *zones: str) -> StorageClass:
    line = TopologySelectorLabelRequirement(key=ZONE, values=zones)
    return msgspec.structs.replace(made, allowed_topologies=(TopologySelectorTerm(match_label_expressions=(line,)),))


def places(world: World, name: str = "claim") -> list[tuple[str, tuple[str, ...]]]:
    affinity = found_volume(world, found_claim(world, name).spec.volume_name).spec.node_affinity
    if affinity is None or affinity.required is None:
        return []
    (term,) = affinity.required.node_selector_terms
    return [(line.key, line.values) for line in term.match_expressions]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        pytest.param([], [], id="a driver without topology"),
        pytest.param([csi_node("n1", ZONE)], [(ZONE, ("a",))], id="by zone"),
        pytest.param([csi_node("n1", "kubernetes.io/hostname")], [("kubernetes.io/hostname", ("n1",))], id="by node"),
    ],
)
def test_a_volume_is_made_where_the_node_is(objects: list[Any], expected: list[Any]) -> None:
    world = World(nodes=(node("n1", zone="a"), node("n2", zone="b")))
    world.create(storage_class(provisioner="csi.example.com"))
    for thing in objects:
        world.create(thing)
    world.create(selecting(claim(), "n1"))
    world.run(10)
    assert places(world) == expected


def test_where_no_node_was_chosen_the_name_decides_among_what_is_allowed() -> None:
    world = World(nodes=(node("n1", zone="a"), node("n2", zone="b")))
    world.create(allowing(storage_class(provisioner="csi.example.com", waits=False), "a", "b"))
    for number in range(20):
        world.create(claim(f"c{number}"))
    world.run(10)
    zones = [places(world, f"c{number}")[0][1][0] for number in range(20)]
    assert set(zones) == {"a", "b"}


# -- claims of templates ---------------------------------------------------------------------------------------------


def test_stateful_pods_get_claims_that_outlive_them() -> None:
    world = World()
    made = claim("data", storage_class=None)
    world.create(
        msgspec.structs.replace(
            storage_class(provisioner="csi.example.com", waits=False),
            metadata=ObjectMeta(name="standard", annotations={"storageclass.kubernetes.io/is-default-class": "true"}),
        )
    )
    db = world.create(
        StatefulSet(
            metadata=ObjectMeta(name="db", namespace="default"),
            spec=StatefulSetSpec(replicas=2, template=template(), volume_claim_templates=(made,)),
        )
    )
    world.run(10)
    names = sorted(one.metadata.name for one in world.api.objects("PersistentVolumeClaim"))
    assert names == ["data-db-0", "data-db-1"]
    before = found_claim(world, "data-db-1")
    assert (before.status.phase, before.spec.storage_class_name) == ("Bound", "standard")
    world.change(db, replicas=1)
    world.run(20)
    world.change(db, replicas=2)
    world.run(30)
    assert found_claim(world, "data-db-1").spec.volume_name == before.spec.volume_name
    assert len(world.api.objects("PersistentVolume")) == 2


@pytest.mark.parametrize(
    ("retention", "after_scaling", "after_deletion"),
    [
        pytest.param(None, ["data-db-0", "data-db-1"], ["data-db-0", "data-db-1"], id="kept without a word"),
        pytest.param({"when_scaled": "Delete"}, ["data-db-0"], ["data-db-0"], id="deleted when scaled"),
        pytest.param({"when_deleted": "Delete"}, ["data-db-0", "data-db-1"], ["data-db-1"], id="deleted with the set"),
    ],
)
def test_claims_of_stateful_pods_are_kept_or_not(
    retention: dict[str, str] | None, after_scaling: list[str], after_deletion: list[str]
) -> None:
    world = World()
    world.create(storage_class(provisioner="csi.example.com", waits=False))
    policy = None if retention is None else StatefulSetClaimRetention(**retention)
    db = world.create(
        StatefulSet(
            metadata=ObjectMeta(name="db", namespace="default"),
            spec=StatefulSetSpec(
                replicas=2,
                template=template(),
                volume_claim_templates=(claim("data"),),
                persistent_volume_claim_retention_policy=policy,
            ),
        )
    )

    def names() -> list[str]:
        return sorted(one.metadata.name for one in world.api.objects("PersistentVolumeClaim"))

    world.run(10)
    changed = world.change(db, replicas=1)
    world.run(10)
    assert names() == ["data-db-0", "data-db-1"]  # the pod is on its way out, and still has it
    world.run(20)
    assert names() == after_scaling
    world.api.remove(changed)
    world.run(30)
    assert world.pods == []
    assert names() == after_deletion


def scratch(size: str = "1Gi") -> Volume:
    spec = claim(size=size).spec
    kept = ObjectMeta(labels={"kept": "no"})
    template_ = PersistentVolumeClaimTemplate(metadata=kept, spec=spec)
    return Volume(name="scratch", ephemeral=EphemeralVolumeSource(volume_claim_template=template_))


def test_ephemeral_claims_live_and_die_with_their_pod() -> None:
    world = World()
    world.create(storage_class(provisioner="csi.example.com", waits=False))
    made = world.create(pod("web", volumes=scratch(), annotations={"fairway.dev/duration": "50"}))
    world.run(10)
    own = found_claim(world, "web-scratch")
    assert own.metadata.labels == {"kept": "no"}
    assert own.metadata.controller is not None
    assert (own.metadata.controller.uid, own.status.phase) == (made.metadata.uid, "Bound")
    world.run(100)
    assert world.pods == []
    assert world.api.objects("PersistentVolumeClaim") == []
    assert world.api.objects("PersistentVolume") == []


def test_a_claim_that_is_not_the_pods_own_is_left_alone() -> None:
    world = World()
    world.create(storage_class(waits=False))
    world.create(claim("web-scratch"))
    made = world.create(pod("web", volumes=scratch()))
    world.run(10)
    problem = "PVC default/web-scratch was not created for pod default/web (pod is not owner)"
    assert ("Pod", "default/web", "FailedBinding", f"ephemeral volume scratch: {problem}") in world.reports
    world.api.delete(made)
    world.run(20)
    assert found_claim(world, "web-scratch").metadata.owner_references == ()


def test_a_volume_of_a_real_cluster_keeps_its_claim() -> None:
    world = World()
    world.create(storage_class(waits=False))
    world.create(volume("disk", claim="claim"))
    world.create(claim(volume="disk"))
    world.run(10)
    reference = found_volume(world, "disk").spec.claim_ref
    assert isinstance(reference, ObjectReference)
    assert (found_claim(world).status.phase, reference.name) == ("Bound", "claim")
