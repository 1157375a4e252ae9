"""Short forms for the parts of pods and nodes, as people write them: "gpu=a100:NoSchedule", "app=web,tier in (a,b)".

In: what a test hands to the builders. Out: the API's own structs. Every short form may be given as a single thing or
as several; the struct itself is always accepted in its place. Called by `fairway.testing.builders`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from fairway.model import (
    Container,
    ContainerPort,
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    OwnerReference,
    PodAffinityTerm,
    Quantity,
    Requirement,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
    parse_label_selector,
    parse_quantity,
)

__all__ = ["TOPOLOGIES", "Amount", "OneOrMore", "near"]

T = TypeVar("T")
OneOrMore: TypeAlias = T | Iterable[T]
Amount: TypeAlias = str | int | float | Quantity

TOPOLOGIES = {
    "node": "kubernetes.io/hostname",
    "zone": "topology.kubernetes.io/zone",
    "region": "topology.kubernetes.io/region",
}
"""Short names of topologies; any other name is a label key as it is."""

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
API_VERSIONS = {"ReplicationController": "v1", "Job": "batch/v1"}


def near(
    selector: str | None = None,
    topology: str = "node",
    *,
    weight: int = 0,
    namespaces: OneOrMore[str] = (),
    namespace_selector: str | None = None,
) -> PodAffinityTerm | WeightedPodAffinityTerm:
    """An affinity term: pods that match, within that topology. With a weight it is only a preference.

    Without a selector the builder fills in the labels of the pod that carries the term.
    """
    term = PodAffinityTerm(
        label_selector=None if selector is None else label_selector(selector),
        topology_key=TOPOLOGIES.get(topology, topology),
        namespaces=tuple(several(namespaces)),
        namespace_selector=None if namespace_selector is None else label_selector(namespace_selector),
    )
    return WeightedPodAffinityTerm(weight=weight, pod_affinity_term=term) if weight else term


def several(things: object) -> list[Any]:
    """One thing or several, as a list; a string is one thing."""
    return list(things) if isinstance(things, Iterable) and not isinstance(things, str) else [things]


def quantities(amounts: Mapping[str, Amount | None]) -> dict[str, Quantity]:
    """Amounts by resource name; those that are None are left out."""
    return {
        name: amount if isinstance(amount, Quantity) else parse_quantity(amount)
        for name, amount in amounts.items()
        if amount is not None
    }


def taint(text: str | Taint) -> Taint:
    """Read `key`, `key=value`, `key:Effect` or `key=value:Effect`; the effect is NoSchedule unless it is named."""
    if isinstance(text, Taint):
        return text
    key, value, effect = _key_value_effect(text)
    return Taint(key=key, value=value or "", effect=effect or "NoSchedule")


def toleration(text: str | Toleration) -> Toleration:
    """Read the same forms for the taint that is tolerated; what is left out may be anything, `*` is every taint."""
    if isinstance(text, Toleration):
        return text
    if text == "*":
        return Toleration(operator="Exists")
    key, value, effect = _key_value_effect(text)
    return Toleration(key=key, operator="Exists" if value is None else "Equal", value=value or "", effect=effect)


def _key_value_effect(text: str) -> tuple[str, str | None, str]:
    rest, colon, effect = text.partition(":")
    if colon and effect not in EFFECTS:
        raise ValueError(f"{text!r}: the effect {effect!r} is not one of {', '.join(EFFECTS)}")
    key, equals, value = rest.partition("=")
    if not key:
        raise ValueError(f"{text!r} names no key; write key, key=value, key:Effect or key=value:Effect")
    return key, value if equals else None, effect


def label_selector(text: str | LabelSelector) -> LabelSelector:
    """Read a selector as `kubectl -l` does."""
    if isinstance(text, LabelSelector):
        return text
    requirements = parse_label_selector(text).requirements
    return LabelSelector(
        match_expressions=tuple(
            LabelSelectorRequirement(key=line.key, operator=line.operator, values=line.values) for line in requirements
        )
    )


def node_term(text: str | NodeSelectorTerm) -> NodeSelectorTerm:
    """Read a node selector term as `kubectl -l` does; `metadata.name` is the node's name."""
    if isinstance(text, NodeSelectorTerm):
        return text

    def written(line: Requirement) -> NodeSelectorRequirement:
        return NodeSelectorRequirement(key=line.key, operator=line.operator, values=line.values)

    requirements = parse_label_selector(text).requirements
    return NodeSelectorTerm(
        match_expressions=tuple(written(line) for line in requirements if line.key != "metadata.name"),
        match_fields=tuple(written(line) for line in requirements if line.key == "metadata.name"),
    )


def spread_constraint(text: str | TopologySpreadConstraint, labels: Mapping[str, str]) -> TopologySpreadConstraint:
    """Read a topology: pods with these labels lie evenly over it, at most one more here than there."""
    if isinstance(text, TopologySpreadConstraint):
        return text
    return TopologySpreadConstraint(
        max_skew=1,
        topology_key=TOPOLOGIES.get(text, text),
        when_unsatisfiable="DoNotSchedule",
        label_selector=LabelSelector(match_labels=dict(labels)),
    )


def affinity_term(
    term: str | PodAffinityTerm | WeightedPodAffinityTerm, labels: Mapping[str, str]
) -> PodAffinityTerm | WeightedPodAffinityTerm:
    """Read a topology, in which pods with these labels are meant; a term without a selector gets them too."""
    if isinstance(term, str):
        term = near(topology=term)
    bare = term.pod_affinity_term if isinstance(term, WeightedPodAffinityTerm) else term
    if bare.label_selector is not None:
        return term
    bare = PodAffinityTerm(
        label_selector=LabelSelector(match_labels=dict(labels)),
        namespaces=bare.namespaces,
        topology_key=bare.topology_key,
        namespace_selector=bare.namespace_selector,
        match_label_keys=bare.match_label_keys,
        mismatch_label_keys=bare.mismatch_label_keys,
    )
    if isinstance(term, WeightedPodAffinityTerm):
        return WeightedPodAffinityTerm(weight=term.weight, pod_affinity_term=bare)
    return bare


def host_port(port: int | str | ContainerPort) -> ContainerPort:
    """Read `8080`, `"53/UDP"` or `"10.0.0.1:53/UDP"`: a port of the node."""
    if isinstance(port, ContainerPort):
        return port
    address, _, protocol = str(port).partition("/")
    ip, _, number = address.rpartition(":")
    return ContainerPort(container_port=int(number), host_port=int(number), host_ip=ip, protocol=protocol or "TCP")


def container(image: str | Container) -> Container:
    """A container that runs this image."""
    return image if isinstance(image, Container) else Container(image=image)


def controller(text: str | OwnerReference) -> OwnerReference:
    """Read `ReplicaSet/web`: the object that manages the pod."""
    if isinstance(text, OwnerReference):
        return text
    kind, slash, name = text.partition("/")
    if not slash:
        raise ValueError(f"an owner is written Kind/name, such as ReplicaSet/web, not {text!r}")
    api_version = API_VERSIONS.get(kind, "apps/v1")
    return OwnerReference(api_version=api_version, kind=kind, name=name, uid=f"{kind}-{name}", controller=True)
