"""Plain manifests are completed as an API server completes them, and complete ones are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.model import (
    ApiObject,
    DecodeError,
    Loaded,
    Pod,
    PriorityClass,
    Source,
    convert,
    decode_object,
    default_object,
    default_objects,
    load_yaml,
    to_builtins,
)

TOLERATIONS = [
    {"key": f"node.kubernetes.io/{state}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for state in ("not-ready", "unreachable")
]


def pod(labels: dict[str, str] | None = None, **spec: Any) -> Pod:
    return convert({"metadata": {"name": "p", "labels": labels or {}}, "spec": spec}, Pod)


def completed(subject: ApiObject, **classes: PriorityClass) -> dict[str, Any]:
    once = default_object(subject, priority_classes=classes)
    assert default_object(once, priority_classes=classes) is once
    tree: dict[str, Any] = to_builtins(once)
    return tree


def test_a_bare_pod() -> None:
    assert completed(pod(containers=[{"name": "c"}])) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "containers": [{"name": "c"}],
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30,
            "tolerations": TOLERATIONS,
        },
        "status": {"phase": "Pending"},
    }


def test_what_is_said_is_kept() -> None:
    spec = completed(
        pod(schedulerName="fairway", restartPolicy="Never", terminationGracePeriodSeconds=0, preemptionPolicy="Never")
    )["spec"]
    assert (spec["schedulerName"], spec["restartPolicy"], spec["preemptionPolicy"]) == ("fairway", "Never", "Never")
    assert spec["terminationGracePeriodSeconds"] == 0


RESOURCES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "requests from limits": (
        {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}},
        {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}},
    ),
    "no limits": ({"requests": {"cpu": "1"}}, {"requests": {"cpu": "1"}}),
    "finer than thousandths": ({"requests": {"cpu": "100u"}}, {"requests": {"cpu": "1m"}}),
}


@pytest.mark.parametrize(("given", "expected"), RESOURCES.values(), ids=RESOURCES)
@pytest.mark.parametrize("part", ["containers", "initContainers"])
def test_container_resources(part: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    spec: dict[str, Any] = {part: [{"resources": given}]}
    assert completed(pod(**spec))["spec"][part][0]["resources"] == expected


POD_LEVEL: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "requests from containers, then limits": (
        {"limits": {"cpu": "4", "memory": "2Gi"}},
        {"requests": {"cpu": "1"}},
        {"limits": {"cpu": "4", "memory": "2Gi"}, "requests": {"cpu": "1", "memory": "2Gi"}},
    ),
    "requests alone stay": ({"requests": {"cpu": "4"}}, {"requests": {"memory": "1"}}, {"requests": {"cpu": "4"}}),
    "huge pages of containers": (
        {"limits": {"cpu": "4"}},
        {"limits": {"hugepages-2Mi": "4Mi"}},
        {
            "limits": {"cpu": "4", "hugepages-2Mi": "4194304"},
            "requests": {"cpu": "4", "hugepages-2Mi": "4194304"},
        },
    ),
    "nothing stays nothing": ({}, {"limits": {"cpu": "1"}}, {}),
}


@pytest.mark.parametrize(("given", "container", "expected"), POD_LEVEL.values(), ids=POD_LEVEL)
def test_pod_level_resources(given: dict[str, Any], container: dict[str, Any], expected: dict[str, Any]) -> None:
    assert completed(pod(containers=[{"resources": container}], resources=given))["spec"]["resources"] == expected


def test_ports() -> None:
    containers = [{"ports": [{"containerPort": 80}, {"containerPort": 90, "hostPort": 91, "protocol": "UDP"}]}]
    inside = completed(pod(containers=containers))["spec"]["containers"][0]["ports"]
    assert inside == [
        {"containerPort": 80, "protocol": "TCP"},
        {"containerPort": 90, "hostPort": 91, "protocol": "UDP"},
    ]
    outside = completed(pod(containers=containers, hostNetwork=True))["spec"]["containers"][0]["ports"]
    assert [port["hostPort"] for port in outside] == [80, 91]


@pytest.mark.parametrize(
    ("own", "added"),
    [
        ({"key": "gpu", "operator": "Exists"}, TOLERATIONS),
        ({"operator": "Exists"}, []),
        ({"operator": "Exists", "effect": "NoSchedule"}, TOLERATIONS),
        ({"key": "node.kubernetes.io/not-ready", "operator": "Exists"}, TOLERATIONS[1:]),
        (TOLERATIONS[1] | {"tolerationSeconds": 5}, TOLERATIONS[:1]),
    ],
    ids=["other key", "everything", "other effect", "any effect", "own seconds"],
)
def test_tolerations(own: dict[str, Any], added: list[dict[str, Any]]) -> None:
    assert completed(pod(tolerations=[own]))["spec"]["tolerations"] == [own, *added]


def priority_class(name: str, value: int, *, is_default: bool = False, policy: str | None = None) -> PriorityClass:
    meta = {"name": name}
    return convert(
        {"metadata": meta, "value": value, "globalDefault": is_default, "preemptionPolicy": policy}, PriorityClass
    )


CLASSES = {
    "high": priority_class("high", 1000, policy="Never"),
    "low": priority_class("low", -5, is_default=True),
    "mid": priority_class("mid", 5, is_default=True),
}

PRIORITIES: dict[str, tuple[dict[str, Any], tuple[str, int, str]]] = {
    "by class": ({"priorityClassName": "high"}, ("high", 1000, "Never")),
    "lowest default": ({}, ("low", -5, "PreemptLowerPriority")),
    "the system's": (
        {"priorityClassName": "system-node-critical"},
        ("system-node-critical", 2000001000, "PreemptLowerPriority"),
    ),
    "resolved before": ({"priorityClassName": "gone", "priority": 7}, ("gone", 7, "PreemptLowerPriority")),
    "own policy": ({"priority": 7, "preemptionPolicy": "Never"}, ("", 7, "Never")),
}


@pytest.mark.parametrize(("given", "expected"), PRIORITIES.values(), ids=PRIORITIES)
def test_priority(given: dict[str, Any], expected: tuple[str, int, str]) -> None:
    spec = completed(pod(**given), **CLASSES)["spec"]
    assert (spec.get("priorityClassName", ""), spec["priority"], spec["preemptionPolicy"]) == expected


def test_an_unknown_priority_class_is_an_error() -> None:
    loaded = Loaded(pod(priorityClassName="hihg"), Source("pods.yaml"))
    with pytest.raises(DecodeError) as caught:
        default_objects([loaded, Loaded(CLASSES["high"], Source("classes.yaml"))])
    assert str(caught.value) == (
        "pods.yaml: Pod p: spec.priorityClassName: there is no PriorityClass 'hihg'; "
        "there are high, system-cluster-critical, system-node-critical"
    )


def test_label_keys_are_merged_into_selectors() -> None:
    term = {"topologyKey": "zone", "matchLabelKeys": ["v", "gone"], "mismatchLabelKeys": ["t"], "labelSelector": {}}
    extra = [{"key": "v", "operator": "In", "values": ["1"]}, {"key": "t", "operator": "NotIn", "values": ["x"]}]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    spread = {"topologyKey": "zone", "maxSkew": 1, "matchLabelKeys": ["v"]}
    spec = completed(
        pod(
            {"v": "1", "t": "x"},
            affinity={
                "podAffinity": {required: [term]},
                "podAntiAffinity": {preferred: [{"weight": 1, "podAffinityTerm": term}]},
            },
            topologySpreadConstraints=[spread | {"labelSelector": {"matchLabels": {"a": "b"}}}, spread],
        )
    )["spec"]
    near = spec["affinity"]["podAffinity"][required][0]
    far = spec["affinity"]["podAntiAffinity"][preferred][0]["podAffinityTerm"]
    assert near["labelSelector"]["matchExpressions"] == far["labelSelector"]["matchExpressions"] == extra
    with_selector, without = spec["topologySpreadConstraints"]
    assert with_selector["labelSelector"] == {"matchLabels": {"a": "b"}, "matchExpressions": extra[:1]}
    assert "labelSelector" not in without


OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "node": (
        {"apiVersion": "v1", "kind": "Node", "status": {"capacity": {"cpu": "4"}}},
        {"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4"}}},
    ),
    "namespace": (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}},
        {
            "metadata": {"name": "a", "labels": {"kubernetes.io/metadata.name": "a"}},
            "status": {"phase": "Active"},
        },
    ),
    "volume": (
        {"apiVersion": "v1", "kind": "PersistentVolume"},
        {
            "spec": {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"},
            "status": {"phase": "Pending"},
        },
    ),
    "claim": (
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
        {"metadata": {"namespace": "default"}, "spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}},
    ),
    "storage class": (
        {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"},
        {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    ),
    "driver": (
        {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver"},
        {"spec": {"attachRequired": True, "storageCapacity": False, "volumeLifecycleModes": ["Persistent"]}},
    ),
    "priority class": (
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"},
        {"preemptionPolicy": "PreemptLowerPriority"},
    ),
    "replica set": (
        {"apiVersion": "apps/v1", "kind": "ReplicaSet"},
        {"metadata": {"namespace": "default"}, "spec": {"replicas": 1}},
    ),
    "replication controller": (
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "spec": {"template": {"metadata": {"labels": {"a": "b"}}}},
        },
        {
            "metadata": {"namespace": "default", "labels": {"a": "b"}},
            "spec": {"replicas": 1, "selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}}}},
        },
    ),
}


@pytest.mark.parametrize(("given", "expected"), OTHERS.values(), ids=OTHERS)
def test_other_kinds(given: dict[str, Any], expected: dict[str, Any]) -> None:
    tree = completed(decode_object(given))
    assert tree == {"apiVersion": given["apiVersion"], "kind": given["kind"]} | expected


def test_objects_that_belong_together() -> None:
    text = b"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
---
{apiVersion: v1, kind: Pod, metadata: {generateName: job-}}
---
{apiVersion: v1, kind: Pod, metadata: {generateName: job-}}
"""
    claim, storage_class, *pods = default_objects(load_yaml(text, "f.yaml"))
    assert to_builtins(claim.object)["spec"]["storageClassName"] == "fast"
    assert storage_class.source.document == 2
    assert [one.object.metadata.name for one in pods] == ["job-1", "job-2"]
