"""Volumes and schedulers: pods that wait for volumes, volumes that are made where pods go."""

from __future__ import annotations

import msgspec
import pytest

from fairway.config import decode_configuration
from fairway.model import (
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    EphemeralVolumeSource,
    LabelSelector,
    ObjectMeta,
    PersistentVolumeClaimTemplate,
    Pod,
    StatefulSet,
    StatefulSetSpec,
    Volume,
    VolumeNodeResources,
    default_object,
)
from fairway.plugins.registry import REGISTRY
from fairway.sim.controllers import ControllerSettings
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import Fault, Plan, SchedulerPlan, Simulation
from fairway.testing import claim, node, pod, storage_class, volume
from fairway.trace.workload import Arrival
from tests.sim.controllers.world import LABELS, template
from tests.sim.diary import Diary, configuration, lasting, simulate

CSI = "csi.example.com"
HOSTNAME = "kubernetes.io/hostname"


def by_node(*names: str) -> list[CSINode]:
    """The driver's volumes are disks of one node."""
    drivers = (CSINodeDriver(name=CSI, topology_keys=(HOSTNAME,)),)
    return [CSINode(metadata=ObjectMeta(name=name), spec=CSINodeSpec(drivers=drivers)) for name in names]


def bound_to(simulation: Simulation, name: str = "claim") -> str:
    found = simulation.api.find("PersistentVolumeClaim", "default", name)
    assert found is not None
    text: str = found.spec.volume_name
    return text


def test_a_pod_is_bound_when_its_volume_was_made_on_its_node() -> None:
    simulation, diary = simulate(
        [node("a", cpu=1), node("b", cpu=4)],
        [(10, pod("db", cpu=2, claims="claim"))],
        objects=[storage_class(provisioner=CSI), claim(), *by_node("a", "b")],
        controllers=ControllerSettings(provision_latency=5),
    )
    assert diary.tried("db") == [10]
    assert diary.of("db") == [(15, "bound to b"), (16, "started")]
    made = simulation.api.find("PersistentVolume", "", bound_to(simulation))
    assert made is not None
    (term,) = made.spec.node_affinity.required.node_selector_terms
    assert term.match_expressions[0].values == ("b",)


def test_the_next_pod_has_to_follow_the_volume() -> None:
    # The first runs on b, the only one with room; when it is gone, a has room too, but the disk is on b.
    _, diary = simulate(
        [node("a", cpu=4), node("b", cpu=4)],
        [
            (0, lasting("filler", 50, cpu=4, node_selector={HOSTNAME: "a"})),
            (10, lasting("first", 100, cpu=2, claims="claim")),
            (200, lasting("second", 10, cpu=2, claims="claim")),
            (200, lasting("third", 10, cpu=3, claims="claim")),
        ],
        objects=[storage_class(provisioner=CSI), claim(), *by_node("a", "b")],
    )
    assert diary.of("first")[0] == (11, "bound to b")
    assert diary.of("second")[0] == (200, "bound to b")
    assert diary.of("third")[0] == (211, "bound to b")  # waits for the second rather than go to a


def test_a_pod_waits_for_an_immediate_claim_and_is_retried_when_it_is_bound() -> None:
    _, diary = simulate(
        [node("a")],
        [(10, pod("db", claims="claim"))],
        objects=[storage_class(provisioner=CSI, waits=False), claim()],
        controllers=ControllerSettings(provision_latency=30),
    )
    assert diary.attempts[0] == (10, "db", "UNSCHEDULABLE")
    assert diary.tried("db") == [10, 30]
    assert diary.of("db")[0] == (30, "bound to a")


def test_pods_share_out_local_disks() -> None:
    disks = [
        volume(f"disk-{name}", size=size, nodes=f"{HOSTNAME}={name}") for name, size in zip("abc", "123", strict=True)
    ]
    claims = [claim(f"claim-{number}", size="1") for number in range(4)]
    simulation, diary = simulate(
        [node(name) for name in "abc"],
        [(number, pod(f"p{number}", claims=f"claim-{number}")) for number in range(4)],
        objects=[storage_class(), *disks, *claims],
        end=100,
    )
    names = [bound_to(simulation, f"claim-{number}") for number in range(4)]
    assert sorted(names) == ["", "disk-a", "disk-b", "disk-c"]
    for number in range(3):
        assert diary.of(f"p{number}")[0] == (number, f"bound to {names[number].removeprefix('disk-')}")
    assert diary.of("p3") == []


def test_two_schedulers_want_the_same_disk() -> None:
    late = SchedulerSettings(view_delay=5)
    plans = [SchedulerPlan(name, configuration(name), late) for name in ("red", "blue")]
    simulation, diary = simulate(
        [node("a"), node("b")],
        [
            (10, pod("r", claims="claim-r", scheduler_name="red")),
            (10, pod("b", claims="claim-b", scheduler_name="blue")),
        ],
        plans,
        objects=[storage_class(), volume("disk"), claim("claim-r"), claim("claim-b")],
        end=100,
    )
    assert sorted([bound_to(simulation, "claim-r"), bound_to(simulation, "claim-b")]) == ["", "disk"]
    assert simulation.result.conflicts == 2  # the loser tries once more before it hears of it
    assert len([what for _, what, _ in diary.lines if what == "started"]) == 1
    messages = [message for _, _, reason, message in diary.events if reason == "BindingFailed"]
    assert all("the object has been modified" in message for message in messages)


def test_a_node_that_goes_while_its_volume_is_made_is_replaced_by_another() -> None:
    simulation, diary = simulate(
        [node("a", cpu=4), node("b", cpu=2)],
        [(10, pod("db", cpu=2, claims="claim")), (10.5, pod("other", cpu=4))],
        objects=[storage_class(provisioner=CSI), claim(), *by_node("a", "b")],
        controllers=ControllerSettings(provision_latency=5),
        faults=[Fault(9, "b", "cordon", seconds=2), Fault(12, "a", "remove")],
        end=100,
    )
    assert diary.of("db")[0][1] == "bound to b"
    assert simulation.result.conflicts == 1
    assert bound_to(simulation)


def test_a_pod_deleted_while_it_waits_for_its_volume_leaves_nothing_behind() -> None:
    simulation, diary = deleted_while_waiting()
    assert [what for _, what, who in diary.lines if who == "db"] == ["Deleted"]
    assert diary.of("next")[0] == (12, "bound to a")  # the room is free at once
    assert simulation.result.conflicts == 0


def deleted_while_waiting() -> tuple[Simulation, Diary]:
    diary = Diary()
    arrivals = [Arrival(10, pod("db", cpu=4, claims="claim")), Arrival(11, pod("next", cpu=4))]
    plan = Plan(
        [node("a", cpu=4)],
        [storage_class(provisioner=CSI), claim()],
        arrivals,
        [SchedulerPlan("default-scheduler", configuration())],
        kubelet=KubeletSettings(start_latency=1),
        controllers=ControllerSettings(provision_latency=60),
        end=200,
    )
    simulation = Simulation(plan, diary)

    def delete() -> None:
        waiting = simulation.api.pod("default/db")
        assert waiting is not None
        simulation.api.delete(waiting)

    simulation.timeline.at(12, delete)
    simulation.run()
    return simulation, diary


def test_a_volume_that_is_never_made_gives_the_pod_back_after_ten_minutes() -> None:
    _, diary = simulate(
        [node("a")],
        [(0, pod("db", claims="claim"))],
        objects=[storage_class(provisioner=CSI), claim()],
        controllers=ControllerSettings(provision_latency=100_000),
        end=700,
    )
    failed = [(time, message) for time, _, reason, message in diary.events if reason == "BindingFailed"]
    assert [time for time, _ in failed] == [600]
    assert failed[0][1].startswith('running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded')


def test_or_after_as_long_as_the_configuration_says() -> None:
    patient = {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 45}}
    tree = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [patient]}],
    }
    diary = Diary()
    plan = Plan(
        nodes=[node("a")],
        objects=[storage_class(provisioner=CSI), claim()],
        arrivals=[Arrival(0, pod("db", claims="claim"))],
        schedulers=[
            SchedulerPlan("default-scheduler", decode_configuration(tree, "a test", REGISTRY), SchedulerSettings())
        ],
        controllers=ControllerSettings(provision_latency=100_000),
        end=60,
    )
    Simulation(plan, diary).run()
    assert [time for time, _, reason, _ in diary.events if reason == "BindingFailed"] == [45]


def scratch() -> Volume:
    template_ = PersistentVolumeClaimTemplate(spec=claim().spec)
    return Volume(name="scratch", ephemeral=EphemeralVolumeSource(volume_claim_template=template_))


@pytest.mark.parametrize("waits", [True, False], ids=["on demand", "immediate"])
def test_pods_with_ephemeral_volumes_run_and_clean_up(waits: bool) -> None:
    simulation, diary = simulate(
        [node("a", cpu=2), node("b", cpu=2)],
        [(float(number), lasting(f"p{number}", 20, cpu=1, volumes=scratch())) for number in range(12)],
        objects=[storage_class(provisioner=CSI, waits=waits), *by_node("a", "b")],
    )
    assert simulation.result.succeeded == 12
    assert diary.of("p0")[0][0] == 1
    assert simulation.api.objects("PersistentVolumeClaim") == []
    assert simulation.api.objects("PersistentVolume") == []


def test_a_stateful_set_keeps_its_disks_across_a_drain() -> None:
    stateful = StatefulSet(
        metadata=ObjectMeta(name="db", namespace="default"),
        spec=StatefulSetSpec(
            replicas=2,
            selector=LabelSelector(match_labels=LABELS),
            template=template(),
            volume_claim_templates=(claim("data"),),
        ),
    )
    simulation, _ = simulate(
        [node("a"), node("b")],
        [],
        objects=[storage_class(provisioner=CSI), default_object(stateful), *by_node("a", "b")],
        faults=[Fault(50, "a", "drain", seconds=50)],
        end=300,
    )
    pods: list[Pod] = simulation.api.objects("Pod")
    assert sorted(one.metadata.name for one in pods) == ["db-0", "db-1"]
    assert {one.status.phase for one in pods} == {"Running"}
    for one in pods:
        disk = simulation.api.find("PersistentVolume", "", bound_to(simulation, f"data-{one.metadata.name}"))
        assert disk is not None
        (term,) = disk.spec.node_affinity.required.node_selector_terms
        assert term.match_expressions[0].values == (one.spec.node_name,)
    assert len(simulation.api.objects("PersistentVolume")) == 2


def test_volumes_of_one_node_are_limited_as_its_driver_says() -> None:
    limited = by_node("a")[0]
    (driver,) = limited.spec.drivers
    counted = msgspec.structs.replace(driver, allocatable=VolumeNodeResources(count=2))
    limited = msgspec.structs.replace(limited, spec=CSINodeSpec(drivers=(counted,)))
    _, diary = simulate(
        [node("a")],
        [(float(number), lasting(f"p{number}", 100, claims=f"c{number}")) for number in range(3)],
        objects=[storage_class(provisioner=CSI), limited, *(claim(f"c{number}") for number in range(3))],
    )
    assert [diary.of(f"p{number}")[0][0] for number in range(2)] == [1, 2]
    assert diary.of("p2")[0][0] > 100  # when the first has gone
