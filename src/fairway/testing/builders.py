"""Pods, nodes and clusters in one line each.

In: what matters to the test, as keywords, in short forms (`fairway.testing.notation`). Out: complete API objects, with
everything else as an API server would fill it in, and clusters with them loaded. Unnamed things are called "pod" and
"node"; things that live in one cluster need names of their own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeVar, cast

import msgspec

from fairway.cluster import Cluster
from fairway.model import (
    Affinity,
    Container,
    ContainerImage,
    ContainerPort,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSchedulingGate,
    PodSpec,
    PodStatus,
    PreferredSchedulingTerm,
    ResourceRequirements,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    Volume,
    WeightedPodAffinityTerm,
    default_object,
    object_name,
)
from fairway.testing import notation
from fairway.testing.notation import Amount, OneOrMore, several

__all__ = ["cluster", "node", "pod"]

AffinityTerm: TypeAlias = str | PodAffinityTerm | WeightedPodAffinityTerm
A = TypeVar("A", bound=PodAffinity)

DELETED_AT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    uid: str = "",
    cpu: Amount | None = None,
    memory: Amount | None = None,
    requests: Mapping[str, Amount] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    node: str = "",
    priority: int = 0,
    tolerates: OneOrMore[str | Toleration] = (),
    node_selector: Mapping[str, str] | None = None,
    node_affinity: OneOrMore[str | NodeSelectorTerm] = (),
    prefers_nodes: Mapping[str, int] | None = None,
    affinity: OneOrMore[AffinityTerm] = (),
    anti_affinity: OneOrMore[AffinityTerm] = (),
    spread: OneOrMore[str | TopologySpreadConstraint] = (),
    ports: OneOrMore[int | str | ContainerPort] = (),
    images: OneOrMore[str | Container] = (),
    init_containers: OneOrMore[str | Container] = (),
    claims: OneOrMore[str] = (),
    volumes: OneOrMore[Volume] = (),
    owner: str | OwnerReference | None = None,
    gates: OneOrMore[str] = (),
    terminating: bool = False,
    phase: str = "",
    nominated_node: str = "",
    started: dt.datetime | None = None,
    **spec: Any,
) -> Pod:
    """A pod; it asks for nothing unless told to. Further keywords are fields of `PodSpec`.

    >>> pod(cpu="2", memory="1Gi", tolerates="gpu", spread="zone", anti_affinity="node", ports=8080)  # doctest: +SKIP

    `tolerates` reads `key`, `key=value:Effect`; `node_affinity` a label selector (several: any of them);
    `prefers_nodes` selectors with weights; `affinity` and `anti_affinity` a topology ("node", "zone") shared with pods
    of the same labels, or `near(...)`; `spread` a topology; `ports` host ports; `images` one container each, of which
    the first makes the requests; `owner` `Kind/name`.
    """
    labels = dict(labels or {})
    amounts = notation.quantities({"cpu": cpu, "memory": memory, **(requests or {})})
    containers = [notation.container(image) for image in several(images)] or [Container()]
    containers[0] = msgspec.structs.replace(
        containers[0],
        resources=ResourceRequirements(requests=amounts) if amounts else containers[0].resources,
        ports=(*containers[0].ports, *map(notation.host_port, several(ports))),
    )
    made = Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"{namespace}/{name}",
            labels=labels,
            annotations=dict(annotations or {}),
            owner_references=() if owner is None else (notation.controller(owner),),
            deletion_timestamp=DELETED_AT if terminating else None,
        ),
        spec=PodSpec(
            containers=_named("c", containers),
            init_containers=_named("init", [notation.container(image) for image in several(init_containers)]),
            node_name=node,
            priority=priority,
            tolerations=tuple(map(notation.toleration, several(tolerates))),
            node_selector=dict(node_selector or {}),
            affinity=_affinity(node_affinity, prefers_nodes or {}, affinity, anti_affinity, labels),
            topology_spread_constraints=tuple(notation.spread_constraint(one, labels) for one in several(spread)),
            volumes=(*map(_claimed, several(claims)), *several(volumes)),
            scheduling_gates=tuple(PodSchedulingGate(name=gate) for gate in several(gates)),
            **spec,
        ),
        status=PodStatus(
            phase=phase or ("Running" if node else "Pending"), nominated_node_name=nominated_node, start_time=started
        ),
    )
    return cast(Pod, default_object(made))


def node(
    name: str = "node",
    *,
    uid: str = "",
    cpu: Amount = 8,
    memory: Amount = "32Gi",
    pods: Amount = 110,
    resources: Mapping[str, Amount] | None = None,
    zone: str = "",
    region: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: OneOrMore[str | Taint] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    features: OneOrMore[str] = (),
    **status: Any,
) -> Node:
    """A node; like a kubelet it labels itself with its name. Further keywords are fields of `NodeStatus`.

    `taints` reads `key`, `key=value`, `key=value:Effect`; `images` are sizes in bytes by name; `resources` what it has
    besides cpu, memory and room for pods.
    """
    own = {"node": name, "zone": zone, "region": region}
    topologies = {notation.TOPOLOGIES[short]: value for short, value in own.items() if value}
    made = Node(
        metadata=ObjectMeta(
            name=name,
            uid=uid or name,
            labels={**topologies, **(labels or {})},
            annotations=dict(annotations or {}),
        ),
        spec=NodeSpec(unschedulable=unschedulable, taints=tuple(map(notation.taint, several(taints)))),
        status=NodeStatus(
            allocatable=notation.quantities({"cpu": cpu, "memory": memory, "pods": pods, **(resources or {})}),
            images=tuple(ContainerImage(names=(image,), size_bytes=size) for image, size in (images or {}).items()),
            declared_features=tuple(several(features)),
            **status,
        ),
    )
    return cast(Node, default_object(made))


def cluster(nodes: int | OneOrMore[Node] = (), pods: OneOrMore[Pod] = (), objects: Iterable[Any] = ()) -> Cluster:
    """A cluster with these nodes, pods on them, and other objects. A number stands for so many equal nodes."""
    if isinstance(nodes, int):
        nodes = [node(f"node-{number}") for number in range(1, nodes + 1)]
    loaded: dict[str, Any] = {}
    for thing in (*several(nodes), *several(pods), *objects):
        if loaded.setdefault(object_name(thing), thing) is not thing:
            raise ValueError(f"there are two of {object_name(thing)}; give them names of their own")
    made = Cluster()
    made.load(list(loaded.values()))
    return made


def _named(prefix: str, containers: list[Container]) -> tuple[Container, ...]:
    return tuple(
        container if container.name else msgspec.structs.replace(container, name=f"{prefix}{number}")
        for number, container in enumerate(containers, 1)
    )


def _claimed(claim: str) -> Volume:
    return Volume(name=claim, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim))


def _affinity(
    required: OneOrMore[str | NodeSelectorTerm],
    preferred: Mapping[str, int],
    near: OneOrMore[AffinityTerm],
    far: OneOrMore[AffinityTerm],
    labels: Mapping[str, str],
) -> Affinity | None:
    terms = tuple(map(notation.node_term, several(required)))
    wishes = tuple(
        PreferredSchedulingTerm(weight=weight, preference=notation.node_term(text))
        for text, weight in preferred.items()
    )
    made = Affinity(
        node_affinity=NodeAffinity(
            required_during_scheduling_ignored_during_execution=NodeSelector(node_selector_terms=terms)
            if terms
            else None,
            preferred_during_scheduling_ignored_during_execution=wishes,
        )
        if terms or wishes
        else None,
        pod_affinity=_pod_affinity(PodAffinity, near, labels),
        pod_anti_affinity=_pod_affinity(PodAntiAffinity, far, labels),
    )
    return None if made == Affinity() else made


def _pod_affinity(kind: type[A], terms: OneOrMore[AffinityTerm], labels: Mapping[str, str]) -> A | None:
    read = [notation.affinity_term(term, labels) for term in several(terms)]
    if not read:
        return None
    return kind(
        required_during_scheduling_ignored_during_execution=tuple(
            term for term in read if isinstance(term, PodAffinityTerm)
        ),
        preferred_during_scheduling_ignored_during_execution=tuple(
            term for term in read if isinstance(term, WeightedPodAffinityTerm)
        ),
    )
