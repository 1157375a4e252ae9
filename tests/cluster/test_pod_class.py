"""Pods that no plugin could tell apart share a class; any difference a plugin may see splits them."""

import gc
from typing import Any

import msgspec
import pytest

from fairway.cluster import PODS, Cluster, HostPort
from fairway.model import (
    Container,
    ContainerPort,
    ContainerStatus,
    EphemeralVolumeSource,
    OwnerReference,
    PersistentVolumeClaimTemplate,
    Pod,
    ResourceRequirements,
    Volume,
    parse_quantity,
)
from fairway.testing import cluster, near, node, pod

SCRATCH = Volume(name="scratch", ephemeral=EphemeralVolumeSource(volume_claim_template=PersistentVolumeClaimTemplate()))


def with_status(made: Pod, **status: Any) -> Pod:
    return msgspec.structs.replace(made, status=msgspec.structs.replace(made.status, **status))


def test_what_pods_do_not_share_does_not_split_a_class() -> None:
    made = Cluster()
    first = made.classify(pod("a", cpu=1))
    assert made.classify(pod("b", cpu=1)) is first
    assert made.classify(with_status(pod("c", cpu=1), phase="Running", message="x", nominated_node_name="n")) is first
    again = pod("a", cpu=1)
    meta = msgspec.structs.replace(again.metadata, resource_version="9", generation=3)
    assert made.classify(msgspec.structs.replace(again, metadata=meta)) is first


@pytest.mark.parametrize(
    "other",
    [
        {"namespace": "other"},
        {"labels": {"x": "1"}},
        {"annotations": {"x": "1"}},
        {"owner": "ReplicaSet/web"},
        {"cpu": 2},
        {"priority": 1},
        {"tolerates": "gpu"},
        {"node_selector": {"disk": "ssd"}},
        {"affinity": near("app=web")},
        {"ports": 80},
        {"images": "app:v2"},
        {"claims": "data"},
        {"gates": "wait"},
        {"scheduler_name": "mine"},
        {"node": "n1"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_a_plugin_may_see_splits_a_class(other: dict[str, Any]) -> None:
    made = Cluster()
    assert made.classify(pod(**other)) is not made.classify(pod())
    assert made.classify(pod(**other)) is made.classify(pod(**other))


def test_the_node_of_a_bound_pod_does_not_split_a_class() -> None:
    made = Cluster()
    waiting = made.classify(pod("a", cpu=1))
    assert made.classify(pod("b", cpu=1, node="n1"), bound=True) is waiting
    assert made.classify(pod("b", cpu=1, node="n1")) is not waiting


def test_only_the_controller_among_the_owners_counts() -> None:
    made = Cluster()
    cousin = OwnerReference(api_version="v1", kind="ConfigMap", name="x", uid="x")
    plain = pod("a")
    owned = msgspec.structs.replace(plain, metadata=msgspec.structs.replace(plain.metadata, owner_references=(cousin,)))
    assert made.classify(owned) is made.classify(plain)


def test_a_pod_can_be_a_class_of_its_own() -> None:
    made = Cluster()
    assert made.classify(pod("a"), apart=True) is not made.classify(pod("b"), apart=True)
    assert made.classify(pod("a"), apart=True) is made.classify(pod("a"), apart=True)


def test_claims_of_ephemeral_volumes_are_the_pods_own() -> None:
    made = Cluster()
    one, other = made.classify(pod("a", volumes=SCRATCH)), made.classify(pod("b", volumes=SCRATCH))
    assert one is not other
    assert (one.claims, other.claims) == (("default/a-scratch",), ("default/b-scratch",))
    assert made.classify(pod("a", namespace="x", claims=("data", "logs"))).claims == ("x/data", "x/logs")


@pytest.mark.parametrize("field", ["container_statuses", "init_container_statuses"])
def test_a_resize_under_way_splits_a_class(field: str) -> None:
    sidecar = Container(name="side", restart_policy="Always")
    plain = pod("a", init_containers=sidecar)
    name = "side" if field.startswith("init") else "c1"
    given = ResourceRequirements(requests={"cpu": parse_quantity("2")})
    resized = with_status(plain, **{field: (ContainerStatus(name=name, resources=given),)})
    made = Cluster()
    assert made.classify(plain).requests.get("cpu", 0) == 0
    assert made.classify(resized).requests["cpu"] == 2000
    larger = ResourceRequirements(requests={"cpu": parse_quantity("3")})
    assert made.classify(
        with_status(plain, **{field: (ContainerStatus(name=name, resources=larger),)})
    ) is not made.classify(resized)


def test_requests_become_columns_and_each_pod_takes_one_place() -> None:
    made = cluster(node("a", resources={"example.com/gpu": 1}))
    found = made.classify(pod(cpu="250m", memory=0, requests={"example.com/gpu": 2}))
    amounts = dict(zip(found.columns.tolist(), found.amounts.tolist(), strict=True))
    assert amounts == {0: 250, PODS: 1, made.nodes.resource_column("example.com/gpu"): 2}
    plain = made.classify(pod())
    assert (plain.columns.tolist(), plain.amounts.tolist()) == ([PODS], [1])


def test_scoring_counts_a_little_for_those_who_ask_for_nothing() -> None:
    found = Cluster().classify(pod())
    assert (found.resident_cpu, found.resident_memory) == (100, 200 * 2**20)
    assert (found.scoring["cpu"], found.scoring["memory"]) == (100, 200 * 2**20)
    asking = Cluster().classify(pod(cpu=1, memory="1Gi"))
    assert (asking.resident_cpu, asking.resident_memory) == (1000, 2**30)


def test_host_ports_of_containers_and_sidecars_count() -> None:
    def listening(port: int, policy: str | None) -> Container:
        return Container(
            name=f"c{port}", restart_policy=policy, ports=(ContainerPort(container_port=1, host_port=port),)
        )

    made = pod(ports=(80, "10.0.0.1:53/UDP"), init_containers=(listening(81, "Always"), listening(82, None)))
    assert Cluster().classify(made).ports == (
        HostPort("0.0.0.0", "TCP", 80),
        HostPort("10.0.0.1", "UDP", 53),
        HostPort("0.0.0.0", "TCP", 81),
    )
    bare = pod(images=Container(ports=(ContainerPort(container_port=80),)))
    assert Cluster().classify(bare).ports == ()


def test_label_sets_are_shared_among_classes() -> None:
    made = Cluster()
    one, other = made.classify(pod(labels={"x": "1"}, cpu=1)), made.classify(pod(labels={"x": "1"}, cpu=2))
    assert one.label_set is other.label_set
    assert made.classify(pod(labels={"x": "1"}, namespace="other")).label_set is not one.label_set


def test_a_class_lives_as_long_as_somebody_refers_to_it() -> None:
    made = cluster(node("a"))
    made.classify(pod("p", cpu=1)).kept["note"] = "old"
    gc.collect()
    assert made.classify(pod("p", cpu=1)).kept == {}
    made.assume(pod("p", cpu=1), made.classify(pod("p", cpu=1)), 0)
    made.classify(pod("q", cpu=1)).kept["note"] = "kept"
    gc.collect()
    assert made.classify(pod("r", cpu=1)).kept == {"note": "kept"}


def test_a_class_is_known_by_one_of_its_pods() -> None:
    assert Cluster().classify(pod("a", namespace="b")).name == "b/a"
