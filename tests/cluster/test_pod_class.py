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
from fairway.testing.fingerprint import differences, fingerprint

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
        {"annotations": {"alibabacloud.com/gpu-milli": "500"}},
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


X, Y, OWN = {"example.com/x": "1"}, {"other.org/y": "1"}, {"fairway.dev/duration": "5s"}


@pytest.mark.parametrize(
    ("read", "annotations", "splits"),
    [
        pytest.param((), X, False, id="nobody reads it"),
        pytest.param(("example.com/x",), X, True, id="by its name"),
        pytest.param(("example.com/",), X, True, id="by its prefix"),
        pytest.param(("example.com/x", "example.com/z"), Y, False, id="others are read"),
        pytest.param(None, Y, True, id="any may be read"),
        pytest.param(None, OWN, False, id="any but ours, which tell the future"),
        pytest.param(("fairway.dev/duration",), OWN, True, id="ours, by its name"),
    ],
)
def test_annotations_that_somebody_reads_split_a_class(
    read: tuple[str, ...] | None, annotations: dict[str, str], splits: bool
) -> None:
    made = Cluster()
    made.read_annotations(read)
    found = made.classify(pod(annotations=annotations))
    assert (found is not made.classify(pod())) is splits
    assert found.annotations == (annotations if splits else {})


def test_what_somebody_begins_to_read_splits_the_classes_of_pods_that_are_there() -> None:
    on_a = [pod(name, node="a", cpu=1, annotations=said) for name, said in (("p", X), ("q", {}), ("r", X))]
    made = cluster([node("a", cpu=8)], on_a)
    before = fingerprint(made)
    assert len({placed.pod_class for placed in made.pods.by_uid.values()}) == 1
    made.read_annotations(("example.com/x",))
    read = [placed.pod_class.annotations for placed in made.pods.on_row(0)]
    assert read == [X, {}, X]
    assert differences(before, fingerprint(made)) == []


def test_annotations_that_nobody_reads_are_not_kept_but_with_a_pod_that_is_a_class_of_its_own() -> None:
    made = Cluster()
    assert made.classify(pod(annotations=X)).pod.metadata.annotations == {}
    assert made.classify(pod(annotations=X), apart=True).pod.metadata.annotations == X


def test_what_plugins_add_splits_a_class() -> None:
    made = Cluster()
    plain = made.classify(pod("a"))
    granted = made.classify(pod("a"), extra=(("limit", 3),))
    assert granted is not plain
    assert (plain.extra, granted.extra) == ({}, {"limit": 3})
    assert made.classify(pod("b"), extra=(("limit", 3),)) is granted
    assert made.classify(pod("b"), extra=(("limit", 4),)) is not granted


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
