"""Nonsense in manifests is refused with file, object, field and what is allowed."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.model import Loaded, Source, check_duplicates, decode_object, validate_object, validate_objects

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod(**spec: Any) -> dict[str, Any]:
    meta = {"name": "p", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [{"name": "c"}]} | spec}


def thing(kind: str, api_version: str = "v1", namespace: str = "", **rest: Any) -> dict[str, Any]:
    meta = {"name": "x"} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta} | rest


def asks(**requests: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "c", "resources": {"requests": requests}}])


def spread(**changes: Any) -> dict[str, Any]:
    good = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    return pod(topologySpreadConstraints=[good | changes])


STORAGE = "storage.k8s.io/v1"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": (pod() | {"metadata": {"namespace": "a"}}, "metadata.name: must not be empty"),
    "bad name": (pod() | {"metadata": {"name": "A", "namespace": "a"}}, "metadata.name: 'A' must be lower case"),
    "bad namespace": (pod() | {"metadata": {"name": "p", "namespace": "a.b"}}, "metadata.namespace: 'a.b' must be"),
    "namespace of a node": (thing("Node", namespace="a"), "metadata.namespace: a Node belongs to no namespace"),
    "no containers": (pod(containers=[]), "spec.containers: must have at least one container"),
    "nameless container": (pod(containers=[{}]), "spec.containers[0].name: must not be empty"),
    "one name for two": (
        pod(initContainers=[{"name": "c"}]),
        "spec.initContainers[0].name: 'c' is the name of another container of this pod",
    ),
    "negative": (asks(cpu="-1"), "spec.containers[0].resources.requests.cpu: -1 must not be negative"),
    "too much": (asks(memory="9E", cpu="1"), ""),
    "far too much": (asks(memory="10E"), "requests.memory: 10E is more than 64 bits can hold"),
    "far too much cpu": (asks(cpu="10P"), "requests.cpu: 10P is more than 64 bits can hold"),
    "misspelt resource": (asks(cpus="4"), "requests.cpus: is not the name of a resource; allowed: cpu, memory,"),
    "resource without a domain": (asks(gpu="1"), "requests.gpu: is not the name of a resource; allowed: cpu, memory,"),
    "odd resource": (asks(**{"é.com/x": "1"}), "requests['é.com/x']: is not the name of a resource: the prefix of"),
    "half a device": (asks(**{"example.com/gpu": "0.5"}), "requests['example.com/gpu']: 0.5 must be a whole number"),
    "more than the limit": (
        pod(containers=[{"name": "c", "resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}]),
        "spec.containers[0].resources.requests.cpu: 2 is more than the limit, 1",
    ),
    "devices are not overcommitted": (
        pod(containers=[{"name": "c", "resources": {"requests": {"a/b": "1"}, "limits": {"a/b": "2"}}}]),
        "requests['a/b']: 1 must equal the limit, 2",
    ),
    "pod-level devices": (pod(resources={"requests": {"a/b": "1"}}), "spec.resources: 'a/b' is not allowed here"),
    "overhead": (pod(overhead={"cpu": "-1m"}), "spec.overhead.cpu: -1m must not be negative"),
    "port": (pod(containers=[{"name": "c", "ports": [{}]}]), "spec.containers[0].ports[0].containerPort: 0 is not"),
    "host port": (
        pod(containers=[{"name": "c", "ports": [{"containerPort": 1, "hostPort": 65536}]}]),
        "ports[0].hostPort: 65536 is not between 1 and 65535",
    ),
    "host network": (
        pod(hostNetwork=True, containers=[{"name": "c", "ports": [{"containerPort": 1, "hostPort": 2}]}]),
        "ports[0].hostPort: must equal containerPort",
    ),
    "protocol": (
        pod(containers=[{"name": "c", "ports": [{"containerPort": 1, "protocol": "ICMP"}]}]),
        "ports[0].protocol: 'ICMP' is not one of TCP, UDP, SCTP",
    ),
    "restart policy": (
        pod(restartPolicy="Sometimes"),
        "spec.restartPolicy: 'Sometimes' is not one of Always, OnFailure",
    ),
    "preemption policy": (pod(preemptionPolicy="Always"), "spec.preemptionPolicy: 'Always' is not one of"),
    "phase": (pod() | {"status": {"phase": "Sleeping"}}, "status.phase: 'Sleeping' is not one of Pending, Running"),
    "grace": (pod(terminationGracePeriodSeconds=-1), "spec.terminationGracePeriodSeconds: -1 must not be negative"),
    "node name": (pod(nodeName="N 1"), "spec.nodeName: 'N 1' must be"),
    "node selector": (pod(nodeSelector={"a": "b c"}), "spec.nodeSelector.a: 'b c' must be"),
    "two volumes": (pod(volumes=[{"name": "v"}, {"name": "v"}]), "spec.volumes[1].name: 'v' is the name of another"),
    "toleration operator": (
        pod(tolerations=[{"key": "a", "operator": "Gt", "value": "1"}]),
        "spec.tolerations[0].operator: 'Gt' is not one of Exists, Equal",
    ),
    "toleration effect": (
        pod(tolerations=[{"key": "a", "operator": "Exists", "effect": "Never"}]),
        "spec.tolerations[0].effect: 'Never' is not one of NoSchedule, PreferNoSchedule, NoExecute",
    ),
    "toleration of all": (pod(tolerations=[{"value": "a"}]), "spec.tolerations[0].operator: must be Exists when key"),
    "toleration value": (
        pod(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]),
        "spec.tolerations[0].value: must be empty",
    ),
    "toleration seconds": (
        pod(tolerations=[{"key": "a", "operator": "Exists", "tolerationSeconds": 1}]),
        "spec.tolerations[0].effect: must be NoExecute",
    ),
    "skew": (spread(maxSkew=0), "spec.topologySpreadConstraints[0].maxSkew: 0 must be greater than zero"),
    "spread key": (spread(topologyKey=""), "topologySpreadConstraints[0].topologyKey: must not be empty"),
    "spread action": (spread(whenUnsatisfiable="Panic"), "whenUnsatisfiable: 'Panic' is not one of DoNotSchedule"),
    "spread policy": (spread(nodeTaintsPolicy="Maybe"), "nodeTaintsPolicy: 'Maybe' is not one of Honor, Ignore"),
    "min domains": (spread(minDomains=0), "minDomains: 0 must be greater than zero"),
    "soft min domains": (
        spread(minDomains=1, whenUnsatisfiable="ScheduleAnyway"),
        "minDomains: is allowed only when whenUnsatisfiable is DoNotSchedule",
    ),
    "spread keys": (spread(matchLabelKeys=["a"], labelSelector=None), "matchLabelKeys: must not be set without"),
    "spread selector": (
        spread(labelSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
        "labelSelector.matchExpressions[0].values: In needs at least one value",
    ),
    "gates": (pod(schedulingGates=[{"name": "g"}, {"name": "g"}]), "spec.schedulingGates[1].name: 'g' is there twice"),
    "node affinity": (
        pod(affinity={"nodeAffinity": {REQUIRED: {}}}),
        f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: must have at least one term",
    ),
    "node term": (
        pod(
            affinity={
                "nodeAffinity": {
                    REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Near"}]}]}
                }
            }
        ),
        f"{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator: 'Near' is not one of In, NotIn",
    ),
    "node field": (
        pod(
            affinity={
                "nodeAffinity": {
                    REQUIRED: {
                        "nodeSelectorTerms": [{"matchFields": [{"key": "x", "operator": "In", "values": ["y"]}]}]
                    }
                }
            }
        ),
        "matchFields[0].key: 'x' is not metadata.name",
    ),
    "node preference": (
        pod(
            affinity={
                "nodeAffinity": {
                    PREFERRED: [{"weight": 0, "preference": {"matchExpressions": [{"key": "a", "operator": "In"}]}}]
                }
            }
        ),
        f"{PREFERRED}[0].preference.matchExpressions[0].values: In needs at least one value",
    ),
    "weight": (
        pod(affinity={"podAffinity": {PREFERRED: [{"weight": 101, "podAffinityTerm": {"topologyKey": "z"}}]}}),
        f"spec.affinity.podAffinity.{PREFERRED}[0].weight: 101 is not between 1 and 100",
    ),
    "topology key": (
        pod(affinity={"podAntiAffinity": {REQUIRED: [{"labelSelector": {}}]}}),
        f"spec.affinity.podAntiAffinity.{REQUIRED}[0].topologyKey: must not be empty",
    ),
    "namespaces": (
        pod(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "z", "namespaces": ["A"]}]}}),
        "namespaces[0]: 'A' must be",
    ),
    "affinity keys": (
        pod(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "z", "mismatchLabelKeys": ["a"]}]}}),
        "mismatchLabelKeys: must not be set without labelSelector",
    ),
    "taint effect": (thing("Node", spec={"taints": [{"key": "a"}]}), "spec.taints[0].effect: '' is not one of"),
    "taint key": (thing("Node", spec={"taints": [{"effect": "NoExecute"}]}), "spec.taints[0].key: must not be empty"),
    "taint twice": (
        thing("Node", spec={"taints": [{"key": "a", "effect": "NoExecute"}] * 2}),
        "spec.taints[1]: the taint a:NoExecute is there twice",
    ),
    "allocatable": (thing("Node", status={"allocatable": {"cpu": "-1"}}), "status.allocatable.cpu: -1 must not be"),
    "image size": (thing("Node", status={"images": [{"sizeBytes": -1}]}), "status.images[0].sizeBytes: must not be"),
    "volume modes": (
        thing("PersistentVolume", spec={"accessModes": ["RWO"]}),
        "spec.accessModes[0]: 'RWO' is not one of",
    ),
    "local volume": (
        thing("PersistentVolume", spec={"local": {"path": "/d"}}),
        "spec.nodeAffinity: a local volume must",
    ),
    "claim modes": (thing("PersistentVolumeClaim", namespace="a"), "spec.accessModes: must have at least one of"),
    "claim size": (
        thing("PersistentVolumeClaim", namespace="a", spec=CLAIM | {"resources": {}}),
        "spec.resources.requests.storage: must be there",
    ),
    "volume mode": (
        thing("PersistentVolumeClaim", namespace="a", spec=CLAIM | {"volumeMode": "Tape"}),
        "spec.volumeMode: 'Tape' is not one of Filesystem, Block",
    ),
    "binding mode": (
        thing("StorageClass", STORAGE, provisioner="p", volumeBindingMode="Later"),
        "volumeBindingMode: 'Later' is not one of Immediate, WaitForFirstConsumer",
    ),
    "provisioner": (thing("StorageClass", STORAGE), "provisioner: must not be empty"),
    "volume count": (
        thing("CSINode", STORAGE, spec={"drivers": [{"name": "d", "allocatable": {"count": -1}}]}),
        "spec.drivers[0].allocatable.count: must not be negative",
    ),
    "capacity topology": (
        thing("CSIStorageCapacity", STORAGE, "a", nodeTopology={"matchLabels": {"a": "b c"}}),
        "nodeTopology.matchLabels.a: 'b c' must be",
    ),
    "priority": (thing("PriorityClass", "scheduling.k8s.io/v1", value=1000000001), "value: must be at most 1000000000"),
    "budget": (
        thing("PodDisruptionBudget", "policy/v1", "a", spec={"selector": {"matchExpressions": [{"key": "a"}]}}),
        "spec.selector.matchExpressions[0].operator: '' is not one of In, NotIn, Exists, DoesNotExist",
    ),
    "budget share": (
        thing("PodDisruptionBudget", "policy/v1", "a", spec={"minAvailable": "half"}),
        "spec.minAvailable: 'half' must be a number, or a percentage such as 25%",
    ),
    "budget above all": (
        thing("PodDisruptionBudget", "policy/v1", "a", spec={"maxUnavailable": "101%"}),
        "spec.maxUnavailable: '101%' must not be greater than 100%",
    ),
    "budget both ways": (
        thing("PodDisruptionBudget", "policy/v1", "a", spec={"minAvailable": 1, "maxUnavailable": 1}),
        "spec: minAvailable and maxUnavailable cannot be both set",
    ),
    "budget policy": (
        thing("PodDisruptionBudget", "policy/v1", "a", spec={"unhealthyPodEvictionPolicy": "Never"}),
        "spec.unhealthyPodEvictionPolicy: 'Never' is not one of IfHealthyBudget, AlwaysAllow",
    ),
}


@pytest.mark.parametrize(("tree", "expected"), PROBLEMS.values(), ids=PROBLEMS)
def test_problems(tree: dict[str, Any], expected: str) -> None:
    problems = [str(problem) for problem in validate_object(decode_object(tree), "f.yaml")]
    if not expected:
        assert problems == []
        return
    assert any(expected in problem for problem in problems), problems
    assert all(problem.startswith(f"f.yaml: {tree['kind']} ") for problem in problems)


GOOD = {
    "pod": pod(tolerations=[{"operator": "Exists"}], nodeSelector={"example.com/a": ""}),
    "spread": spread(minDomains=2, matchLabelKeys=["a"]),
    "node": thing("Node", spec={"taints": [{"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoSchedule"}]}),
    "claim": thing("PersistentVolumeClaim", namespace="a", spec=CLAIM),
    "system class": {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "system-node-critical"},
        "value": 2000001000,
    },
}


@pytest.mark.parametrize("tree", GOOD.values(), ids=GOOD)
def test_good_objects_have_no_problems(tree: dict[str, Any]) -> None:
    assert validate_object(decode_object(tree)) == []


def test_duplicates_name_both_places() -> None:
    first = Loaded(decode_object(pod()), Source("a.yaml"))
    again = Loaded(decode_object(pod()), Source("b.yaml", 3, 9))
    other = Loaded(decode_object(thing("Node")), Source("b.yaml"))
    (problem,) = check_duplicates([first, other, again])
    assert str(problem) == (
        "b.yaml, document 3 (line 9): Pod default/p: metadata.name: is there twice; first in a.yaml"
    )
    assert [str(one) for one in validate_objects([first, other, again])] == [str(problem)]
