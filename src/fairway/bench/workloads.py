"""Clusters and pods to measure with, made up from a seed.

In: how many nodes, how many pods, and a mix (see `MIXES`). Out: the API JSON of every object, just as a user's own
would come in, so that decoding can be measured too. There is room for twenty pods a node of any mix.
Called by the command `bench` and by `benchmarks/run.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from fairway.model.meta import EPOCH

__all__ = ["MIXES", "ZONES", "BenchWorkload", "Mix", "bound_pods", "make_workload"]

ZONES: Final = 10
NUM_APPS: Final = 20
SIZES: Final = (("32", "128Gi"), ("48", "192Gi"), ("64", "256Gi"))  # cpu, memory
PODS_PER_NODE: Final = 110
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"

Json = dict[str, Any]


class BenchWorkload(NamedTuple):
    """What a benchmark starts from, and what comes then; each item the JSON of one API object."""

    objects: list[bytes]
    pods: list[bytes]
    newcomers: list[bytes]  # pods of classes that `pods` does not have, to time the first of a class


class Mix(NamedTuple):
    """A kind of workload."""

    summary: str
    make_pod: Callable[[int, np.random.Generator], Json]


def make_workload(num_nodes: int, num_pods: int, mix: str, seed: int = 0, num_newcomers: int = 20) -> BenchWorkload:
    """Nodes, pods, and the services the pods belong to."""
    generator = np.random.default_rng(seed)
    objects = [*_namespaces(), *(_node(number, mix) for number in range(num_nodes))]
    if mix == "mixed":
        objects += [_service(app) for app in range(NUM_APPS)]
    make_pod = MIXES[mix].make_pod
    pods = [make_pod(number, generator) for number in range(num_pods)]
    newcomers = []
    for number in range(num_newcomers):
        newcomer = make_pod(num_pods + number, generator)
        newcomer["metadata"]["labels"]["newcomer"] = f"n{number}"
        newcomer["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{101 + number}m"
        newcomers.append(newcomer)
    encode = msgspec.json.encode
    return BenchWorkload(list(map(encode, objects)), list(map(encode, pods)), list(map(encode, newcomers)))


def bound_pods(num_nodes: int, num_pods: int, mix: str, seed: int = 0) -> Iterator[bytes]:
    """Pods of a mix that run already, dealt out to the nodes in turn; one at a time, for very many."""
    generator = np.random.default_rng(seed)
    make_pod = MIXES[mix].make_pod
    for number in range(num_pods):
        pod = make_pod(number, generator)
        pod["metadata"]["uid"] = f"bound-uid-{number}"
        pod["spec"]["nodeName"] = f"node-{number % num_nodes:05}"
        pod["status"] = {"phase": "Running", "startTime": EPOCH}
        yield msgspec.json.encode(pod)


def _namespaces() -> Iterator[Json]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"team": "a"}}}


def _node(number: int, mix: str) -> Json:
    name = f"node-{number:05}"
    cpu, memory = SIZES[number % len(SIZES)]
    node: Json = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "uid": f"node-uid-{number}",
            "labels": {
                HOSTNAME: name,
                ZONE: f"zone-{number % ZONES}",
                "topology.kubernetes.io/region": "region-1",
                "kubernetes.io/arch": "amd64" if number % 4 else "arm64",
                "disk": "ssd" if number % 2 else "hdd",
                "pool": f"pool-{number // 7 % 5}",
            },
        },
        "spec": {},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "ephemeral-storage": "500Gi", "pods": str(PODS_PER_NODE)},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    if mix == "mixed" and number // ZONES % 10 == 0:  # a tenth of the nodes, in every zone
        node["spec"]["taints"] = [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}]
    elif mix == "mixed" and number // ZONES % 10 == 1:
        node["spec"]["taints"] = [{"key": "spot", "value": "true", "effect": "PreferNoSchedule"}]
    return node


def _service(app: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"app-{app}", "namespace": "default", "uid": f"service-uid-{app}"},
        "spec": {"selector": {"app": f"app-{app}"}},
    }


def _pod(number: int, app: int, cpu: str = "100m", memory: str = "256Mi", **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number:06}",
            "namespace": "default",
            "uid": f"pod-uid-{number}",
            "creationTimestamp": EPOCH,
            "labels": {"app": f"app-{app}"},
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": f"app-{app}",
                    "uid": f"set-uid-{app}",
                    "controller": True,
                }
            ],
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            "containers": [
                {
                    "name": "main",
                    "image": f"registry.example/app-{app}:1",
                    "resources": {"requests": {"cpu": cpu, "memory": memory}},
                }
            ],
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{key}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for key in ("not-ready", "unreachable")
            ],
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def _plain(number: int, generator: np.random.Generator) -> Json:
    return _pod(number, 0, "500m", "1Gi")


def _classes(number: int, generator: np.random.Generator) -> Json:
    app = int(generator.integers(NUM_APPS))
    return _pod(number, app, f"{100 + 50 * app}m", f"{256 + 96 * app}Mi")


def _spread(number: int, generator: np.random.Generator) -> Json:
    app = int(generator.integers(NUM_APPS))
    return _pod(number, app, topologySpreadConstraints=[_constraint(app, ZONE, 1, "DoNotSchedule")])


def _anti_affinity(number: int, generator: np.random.Generator) -> Json:
    app = number % NUM_APPS
    terms = [{"topologyKey": HOSTNAME, **_of_app(app)}]
    return _pod(number, app, affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def _affinity(number: int, generator: np.random.Generator) -> Json:
    app = int(generator.integers(NUM_APPS))
    return _pod(number, app, affinity={"podAffinity": _near(app), "nodeAffinity": _prefers(app)})


def _mixed(number: int, generator: np.random.Generator) -> Json:
    """One of ten kinds; the app decides which, so that pods of an app are of one class, or of a few."""
    app = int(generator.integers(NUM_APPS))
    pod = _pod(number, app, f"{100 + 20 * app}m", f"{256 + 32 * app}Mi")
    spec = pod["spec"]
    container = spec["containers"][0]
    match app % 10:
        case 0:
            container["resources"]["requests"] = {"cpu": "500m", "memory": "1Gi"}
        case 1:
            size = int(generator.integers(5))
            container["resources"]["requests"] = {"cpu": f"{100 + 50 * size}m", "memory": f"{256 + 128 * size}Mi"}
        case 2:
            spec["tolerations"].append({"key": "dedicated", "operator": "Equal", "value": "batch"})
        case 3:
            spec["nodeSelector"] = {"disk": "ssd"}
        case 4:
            spec["affinity"] = {"nodeAffinity": _prefers(app)}
        case 5:
            spec["topologySpreadConstraints"] = [_constraint(app, ZONE, 2, "DoNotSchedule")]
        case 6:
            keys = (ZONE, HOSTNAME)
            spec["topologySpreadConstraints"] = [_constraint(app, key, 1, "ScheduleAnyway") for key in keys]
        case 7:
            terms = [{"topologyKey": HOSTNAME, **_of_app(app)}]
            rule = {"preferredDuringSchedulingIgnoredDuringExecution": _weighted(terms)}
            if generator.integers(3) == 0:
                rule = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
            spec["affinity"] = {"podAntiAffinity": rule}
        case 8:
            spec["affinity"] = {"podAffinity": _near(app)}
        case _ if generator.integers(4) == 0:
            container["ports"] = [{"containerPort": 8080, "hostPort": 8080 + app, "protocol": "TCP"}]
    return pod


def _of_app(app: int) -> Json:
    return {"labelSelector": {"matchLabels": {"app": f"app-{app}"}}}


def _constraint(app: int, key: str, max_skew: int, when: str) -> Json:
    return {"topologyKey": key, "maxSkew": max_skew, "whenUnsatisfiable": when, **_of_app(app)}


def _weighted(terms: list[Json]) -> list[Json]:
    return [{"weight": 50, "podAffinityTerm": term} for term in terms]


def _near(app: int) -> Json:
    """Preferably in a zone where pods of the next app are."""
    term = {"topologyKey": ZONE, **_of_app((app + 1) % NUM_APPS)}
    return {"preferredDuringSchedulingIgnoredDuringExecution": _weighted([term])}


def _prefers(app: int) -> Json:
    """Preferably on a fast disk, and in a pool of the app's own."""

    def wish(weight: int, key: str, value: str) -> Json:
        return {
            "weight": weight,
            "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]},
        }

    wishes = [wish(10, "disk", "ssd"), wish(5, "pool", f"pool-{app % 5}")]
    return {"preferredDuringSchedulingIgnoredDuringExecution": wishes}


MIXES: Final[dict[str, Mix]] = {
    "plain": Mix("one class of pods: 500m CPU, 1Gi memory", _plain),
    "classes": Mix("20 classes that differ in their requests", _classes),
    "spread": Mix("20 apps, each spread over the zones (DoNotSchedule, maxSkew 1)", _spread),
    "antiaffinity": Mix("20 apps, no two pods of an app on one node (required anti-affinity)", _anti_affinity),
    "affinity": Mix("20 apps that prefer zones of another app, a disk and a pool", _affinity),
    "mixed": Mix(
        "20 apps with a service each, of ten kinds: plain, several sizes, tolerations (a tenth of the nodes is "
        "tainted), node selectors, preferred node affinity, hard and soft spreading, anti-affinity, preferred "
        "affinity, host ports",
        _mixed,
    ),
}
"""The mixes by name. All: nodes of three sizes in 10 zones, 110 pods each."""
