"""The worst pods that an API server accepts: each says as much of one thing as fits into an object.

In: nothing. Out: `WORST`, by name a pod as JSON-like data, just below the 1.5 MiB that etcd takes. Any user who may
create pods can send them. Used by the tests of what the engine makes of them, and by benchmarks/worst_pods.py, which
has kube-scheduler beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]
HOST = "kubernetes.io/hostname"
MOST_BYTES = 1_300_000
"""What a pod may say here; the API server adds fields of its own, and keeps who wrote which (managedFields)."""


def _pod(**spec: Any) -> Json:
    container = {"name": "c", "image": "registry.example/worst", "resources": {"requests": {"cpu": "1m"}}}
    metadata = {"namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def _as_many(entry: Callable[[int], Any], share: float = 1.0) -> Iterator[Any]:
    """Entries, as many as fit. managedFields repeat the keys of maps: `share` leaves room for that."""
    size, number = 0, 0
    while True:
        made = entry(number)
        size += len(json.dumps(made, separators=(",", ":"))) + 1
        if size > MOST_BYTES * share:
            return
        yield made
        number += 1


def _node_affinity(terms: list[Json]) -> Json:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return _pod(affinity={"nodeAffinity": required})


def _pod_terms(key: Callable[[int], str]) -> list[Json]:
    return list(
        _as_many(
            lambda number: {
                "topologyKey": key(number),
                "labelSelector": {"matchLabels": {f"l{number}": "x"}},
            }
        )
    )


def selector_keys() -> Json:
    """nodeSelector: keys that no node has."""
    return _pod(nodeSelector=dict(_as_many(lambda number: (f"k{number}", "v"), 0.5)))


def affinity_expressions() -> Json:
    """One term of node affinity with keys that no node has, all of which would be met."""
    lines = list(_as_many(lambda number: {"key": f"k{number}", "operator": "DoesNotExist"}))
    return _node_affinity([{"matchExpressions": lines}])


def affinity_terms() -> Json:
    """Node affinity with a term for each key."""
    return _node_affinity(
        list(_as_many(lambda number: {"matchExpressions": [{"key": f"k{number}", "operator": "Exists"}]}))
    )


def affinity_values() -> Json:
    """One expression with a great many values, about a label that every node has."""
    values = list(_as_many(lambda number: f"v{number}"))
    return _node_affinity([{"matchExpressions": [{"key": HOST, "operator": "NotIn", "values": values}]}])


def hostname_expressions() -> Json:
    """A great many expressions about a label that every node has."""
    lines = list(_as_many(lambda n: {"key": HOST, "operator": "NotIn", "values": [f"v{n}"]}))
    return _node_affinity([{"matchExpressions": lines}])


def labels() -> Json:
    """Labels of its own."""
    pod = _pod()
    pod["metadata"]["labels"] = dict(_as_many(lambda number: (f"k{number}", "v"), 0.5))
    return pod


def resources() -> Json:
    """Resources that no node has."""
    names = dict(_as_many(lambda number: (f"example.com/r{number}", "1"), 0.2))
    pod = _pod()
    pod["spec"]["containers"][0]["resources"] = {"requests": names, "limits": names}
    return pod


def repelling_keys() -> Json:
    """Required anti-affinity within topologies that no node has."""
    terms = _pod_terms(lambda number: f"t{number}")
    return _pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def repelling_selectors() -> Json:
    """Required anti-affinity, term after term, on the same host."""
    terms = _pod_terms(lambda _: HOST)
    return _pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def attracting_selectors() -> Json:
    """Preferred affinity, term after term, on the same host."""
    terms = [{"weight": 1, "podAffinityTerm": term} for term in _pod_terms(lambda _: HOST)]
    some = terms[: len(terms) * 3 // 4]
    return _pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": some}})


def spread_constraints() -> Json:
    """Topology spread over keys that no node has."""
    return _pod(
        topologySpreadConstraints=list(
            _as_many(
                lambda number: {
                    "maxSkew": 1,
                    "topologyKey": f"t{number}",
                    "whenUnsatisfiable": "DoNotSchedule" if number % 2 else "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {f"l{number}": "x"}},
                }
            )
        )
    )


def tolerations() -> Json:
    """Tolerations of taints that no node has."""
    return _pod(tolerations=list(_as_many(lambda number: {"key": f"k{number}", "operator": "Exists"})))


def host_ports() -> Json:
    """Ports of the host."""
    ports = list(_as_many(lambda number: {"containerPort": 1 + number, "hostPort": 1 + number, "protocol": "TCP"}, 0.9))
    pod = _pod()
    pod["spec"]["containers"][0]["ports"] = ports[:20_000]
    return pod


def volumes() -> Json:
    """Volumes that nobody mounts."""
    return _pod(volumes=list(_as_many(lambda number: {"name": f"v{number}", "emptyDir": {}}, 0.6)))


def claims() -> Json:
    """Claims that do not exist."""
    claim: Callable[[int], Json] = lambda n: {"name": f"v{n}", "persistentVolumeClaim": {"claimName": f"c{n}"}}  # noqa: E731
    return _pod(volumes=list(_as_many(claim, 0.6)))


def containers() -> Json:
    """Containers, each with an image."""
    made: Callable[[int], Json] = lambda n: {  # noqa: E731
        "name": f"c{n}",
        "image": f"registry.example/image-{n}",
        "resources": {"requests": {"cpu": "1m"}},
    }
    pod = _pod()
    pod["spec"]["containers"] = list(_as_many(made, 0.2))
    return pod


WORST: dict[str, Callable[[], Json]] = {
    made.__name__: made
    for made in (
        selector_keys,
        affinity_expressions,
        affinity_terms,
        affinity_values,
        hostname_expressions,
        labels,
        resources,
        repelling_keys,
        repelling_selectors,
        attracting_selectors,
        spread_constraints,
        tolerations,
        host_ports,
        volumes,
        claims,
        containers,
    )
}
