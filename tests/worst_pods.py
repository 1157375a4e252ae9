"""The worst pods that an API server accepts: each says as much of one thing as fits into an object.

In: a tag, a word of small letters, that makes a pod unlike those with other tags. Out: `WORST`, by name what makes a
pod as JSON-like data, just below the 1.5 MiB that etcd takes. Any user who may create pods can send them. Used by the
tests of what the engine makes of them, and by benchmarks/worst_pods.py, which has kube-scheduler beside it.
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


def _pod_terms(tag: str, key: Callable[[int], str]) -> list[Json]:
    return list(
        _as_many(
            lambda number: {
                "topologyKey": key(number),
                "labelSelector": {"matchLabels": {f"{tag}l{number}": "x"}},
            }
        )
    )


def selector_keys(tag: str) -> Json:
    """nodeSelector: keys that no node has."""
    return _pod(nodeSelector=dict(_as_many(lambda number: (f"{tag}k{number}", "v"), 0.5)))


def affinity_expressions(tag: str) -> Json:
    """One term of node affinity with keys that no node has, all of which would be met."""
    lines = list(_as_many(lambda number: {"key": f"{tag}k{number}", "operator": "DoesNotExist"}))
    return _node_affinity([{"matchExpressions": lines}])


def affinity_terms(tag: str) -> Json:
    """Node affinity with a term for each key."""
    return _node_affinity(
        list(_as_many(lambda number: {"matchExpressions": [{"key": f"{tag}k{number}", "operator": "Exists"}]}))
    )


def affinity_values(tag: str) -> Json:
    """One expression with a great many values, about a label that every node has."""
    values = list(_as_many(lambda number: f"{tag}v{number}"))
    return _node_affinity([{"matchExpressions": [{"key": HOST, "operator": "NotIn", "values": values}]}])


def hostname_expressions(tag: str) -> Json:
    """A great many expressions about a label that every node has."""
    lines = list(_as_many(lambda n: {"key": HOST, "operator": "NotIn", "values": [f"{tag}v{n}"]}))
    return _node_affinity([{"matchExpressions": lines}])


def labels(tag: str) -> Json:
    """Labels of its own."""
    pod = _pod()
    pod["metadata"]["labels"] = dict(_as_many(lambda number: (f"{tag}k{number}", "v"), 0.5))
    return pod


def resources(tag: str) -> Json:
    """Resources that no node has."""
    names = dict(_as_many(lambda number: (f"example.com/{tag}r{number}", "1"), 0.2))
    pod = _pod()
    pod["spec"]["containers"][0]["resources"] = {"requests": names, "limits": names}
    return pod


def repelling_keys(tag: str) -> Json:
    """Required anti-affinity within topologies that no node has."""
    terms = _pod_terms(tag, lambda number: f"{tag}t{number}")
    return _pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def repelling_selectors(tag: str) -> Json:
    """Required anti-affinity, term after term, on the same host."""
    terms = _pod_terms(tag, lambda _: HOST)
    return _pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}})


def attracting_selectors(tag: str) -> Json:
    """Preferred affinity, term after term, on the same host."""
    terms = [{"weight": 1, "podAffinityTerm": term} for term in _pod_terms(tag, lambda _: HOST)]
    some = terms[: len(terms) * 3 // 4]
    return _pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": some}})


def spread_constraints(tag: str) -> Json:
    """Topology spread over keys that no node has."""
    return _pod(
        topologySpreadConstraints=list(
            _as_many(
                lambda number: {
                    "maxSkew": 1,
                    "topologyKey": f"{tag}t{number}",
                    "whenUnsatisfiable": "DoNotSchedule" if number % 2 else "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {f"{tag}l{number}": "x"}},
                }
            )
        )
    )


def tolerations(tag: str) -> Json:
    """Tolerations of taints that no node has."""
    return _pod(tolerations=list(_as_many(lambda number: {"key": f"{tag}k{number}", "operator": "Exists"})))


def host_ports(tag: str) -> Json:
    """Ports of the host."""
    ports = list(_as_many(lambda number: {"containerPort": 1 + number, "hostPort": 1 + number, "protocol": "TCP"}, 0.9))
    pod = _pod()
    pod["spec"]["containers"][0]["ports"] = ports[:20_000]
    return pod


def volumes(tag: str) -> Json:
    """Volumes that nobody mounts."""
    return _pod(volumes=list(_as_many(lambda number: {"name": f"{tag}v{number}", "emptyDir": {}}, 0.6)))


def claims(tag: str) -> Json:
    """Claims that do not exist."""

    def claim(number: int) -> Json:
        return {"name": f"{tag}v{number}", "persistentVolumeClaim": {"claimName": f"{tag}c{number}"}}

    return _pod(volumes=list(_as_many(claim, 0.6)))


def containers(tag: str) -> Json:
    """Containers, each with an image."""

    def container(number: int) -> Json:
        requests = {"requests": {"cpu": "1m"}}
        return {"name": f"{tag}c{number}", "image": f"registry.example/{tag}-{number}", "resources": requests}

    pod = _pod()
    pod["spec"]["containers"] = list(_as_many(container, 0.2))
    return pod


WORST: dict[str, Callable[[str], Json]] = {
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
