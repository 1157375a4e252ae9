"""What the API server fills in for a pod.

Called by `fairway.model.default` for each pod from a file, and by whoever makes pods from a template. Matches
`SetDefaults_Pod` and `SetDefaults_PodSpec`, the admission plugins DefaultTolerationSeconds and Priority, and the
merging of label keys on creation (`registry/core/pod/strategy.go`), all of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from fairway.model.affinity import PodAffinity, PodAffinityTerm
from fairway.model.errors import DecodeError
from fairway.model.meta import LabelSelector, LabelSelectorRequirement
from fairway.model.pod import Container, Pod, PodSpec, ResourceRequirements, Toleration
from fairway.model.quantity import Quantity, quantity_of
from fairway.model.requests import container_limits, container_requests, is_pod_level_resource
from fairway.model.volume import Volume
from fairway.model.workload import PriorityClass

__all__ = ["SYSTEM_PRIORITIES", "default_pod"]

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The priority classes every cluster has."""

DEFAULT_TOLERATIONS = tuple(
    Toleration(key=f"node.kubernetes.io/{state}", operator="Exists", effect="NoExecute", toleration_seconds=300)
    for state in ("not-ready", "unreachable")
)

S = TypeVar("S", bound=msgspec.Struct)
A = TypeVar("A", bound=PodAffinity)


def default_pod(pod: Pod, priority_classes: Mapping[str, PriorityClass]) -> Pod:
    """Complete a pod; `DecodeError` if its priority class is not among those given."""
    spec = pod.spec
    spec = replaced(
        spec,
        containers=tuple(_default_container(container, spec) for container in spec.containers),
        init_containers=tuple(_default_container(container, spec) for container in spec.init_containers),
        volumes=tuple(_default_volume(volume) for volume in spec.volumes),
        overhead=rounded(spec.overhead),
        restart_policy=spec.restart_policy or "Always",
        scheduler_name=spec.scheduler_name or "default-scheduler",
        termination_grace_period_seconds=(
            30 if spec.termination_grace_period_seconds is None else spec.termination_grace_period_seconds
        ),
        tolerations=_default_tolerations(spec.tolerations),
    )
    spec = _default_priority(spec, priority_classes)
    pod = replaced(pod, spec=spec, status=replaced(pod.status, phase=pod.status.phase or "Pending"))
    pod = _default_pod_resources(pod)
    return _merge_label_keys(pod)


def replaced(struct: S, **changes: Any) -> S:
    """A copy with changes; the struct itself when nothing changes."""
    if all(getattr(struct, name) == value for name, value in changes.items()):
        return struct
    return msgspec.structs.replace(struct, **changes)


def rounded(quantities: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """Amounts as the API server stores them: rounded up to thousandths."""
    return {
        name: quantity if quantity.nanos % 10**6 == 0 else quantity_of(quantity.milli * 10**6)
        for name, quantity in quantities.items()
    }


def _default_container(container: Container, spec: PodSpec) -> Container:
    limits = rounded(container.resources.limits)
    requests = rounded(container.resources.requests)
    for name, quantity in limits.items():
        requests.setdefault(name, quantity)
    ports = tuple(
        replaced(
            port,
            protocol=port.protocol or "TCP",
            host_port=port.host_port or (port.container_port if spec.host_network else 0),
        )
        for port in container.ports
    )
    return replaced(container, resources=replaced(container.resources, requests=requests, limits=limits), ports=ports)


def _default_volume(volume: Volume) -> Volume:
    if volume.rbd is not None:
        return replaced(volume, rbd=replaced(volume.rbd, pool=volume.rbd.pool or "rbd"))
    if volume.ephemeral is not None and (template := volume.ephemeral.volume_claim_template) is not None:
        spec = replaced(template.spec, volume_mode=template.spec.volume_mode or "Filesystem")
        ephemeral = replaced(volume.ephemeral, volume_claim_template=replaced(template, spec=spec))
        return replaced(volume, ephemeral=ephemeral)
    return volume


def _default_tolerations(tolerations: tuple[Toleration, ...]) -> tuple[Toleration, ...]:
    """Let a pod stay for five minutes on a node that is lost, unless it says otherwise."""
    missing = tuple(
        default
        for default in DEFAULT_TOLERATIONS
        if not any(own.key in ("", default.key) and own.effect in ("", default.effect) for own in tolerations)
    )
    return tolerations + missing


def _default_priority(spec: PodSpec, classes: Mapping[str, PriorityClass]) -> PodSpec:
    name, priority, policy = spec.priority_class_name, spec.priority, "PreemptLowerPriority"
    if priority is None and name in SYSTEM_PRIORITIES:
        priority = SYSTEM_PRIORITIES[name]
    elif priority is None and name:
        if name not in classes:
            known = ", ".join(sorted({*classes, *SYSTEM_PRIORITIES}))
            raise DecodeError(f"there is no PriorityClass {name!r}; there are {known}", field="spec.priorityClassName")
        priority, policy = classes[name].value, classes[name].preemption_policy or policy
    elif priority is None:
        # Of several global defaults the lowest counts.
        default = min((one for one in classes.values() if one.global_default), key=lambda one: one.value, default=None)
        priority = 0
        if default is not None:
            name, priority, policy = default.metadata.name, default.value, default.preemption_policy or policy
    return replaced(
        spec, priority_class_name=name, priority=priority, preemption_policy=spec.preemption_policy or policy
    )


def _default_pod_resources(pod: Pod) -> Pod:
    """Complete requests and limits of the pod as a whole, if it states any."""
    resources = pod.spec.resources
    if resources is None or not (resources.requests or resources.limits):
        return pod
    limits = rounded(resources.limits)
    requests = rounded(resources.requests)
    for name, nanos in container_limits(pod).items():
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, quantity_of(nanos))
    if limits:
        for name, nanos in container_requests(pod).items():
            if is_pod_level_resource(name) and not name.startswith("hugepages-"):
                requests.setdefault(name, quantity_of(nanos))
        for name, quantity in limits.items():
            if is_pod_level_resource(name):
                requests.setdefault(name, quantity)
    complete: ResourceRequirements = replaced(resources, requests=requests, limits=limits)
    return replaced(pod, spec=replaced(pod.spec, resources=complete))


def _merge_label_keys(pod: Pod) -> Pod:
    """Write what `matchLabelKeys` and `mismatchLabelKeys` mean for this pod into the selectors."""
    spec, labels = pod.spec, pod.metadata.labels
    constraints = tuple(
        replaced(one, label_selector=_extended(one.label_selector, one.match_label_keys, "In", labels))
        for one in spec.topology_spread_constraints
    )
    affinity = spec.affinity
    if affinity is not None:
        affinity = replaced(
            affinity,
            pod_affinity=_merge_into(affinity.pod_affinity, labels),
            pod_anti_affinity=_merge_into(affinity.pod_anti_affinity, labels),
        )
    return replaced(pod, spec=replaced(spec, topology_spread_constraints=constraints, affinity=affinity))


def _merge_into(affinity: A | None, labels: Mapping[str, str]) -> A | None:
    if affinity is None:
        return None

    def merged(term: PodAffinityTerm) -> PodAffinityTerm:
        selector = _extended(term.label_selector, term.match_label_keys, "In", labels)
        return replaced(term, label_selector=_extended(selector, term.mismatch_label_keys, "NotIn", labels))

    return replaced(
        affinity,
        required_during_scheduling_ignored_during_execution=tuple(map(merged, affinity.required)),
        preferred_during_scheduling_ignored_during_execution=tuple(
            replaced(weighted, pod_affinity_term=merged(weighted.pod_affinity_term)) for weighted in affinity.preferred
        ),
    )


def _extended(
    selector: LabelSelector | None, keys: tuple[str, ...], operator: str, labels: Mapping[str, str]
) -> LabelSelector | None:
    """The selector with one requirement more for each key the pod has; None selects nothing and stays so."""
    if selector is None:
        return None
    wanted = (
        LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],)) for key in keys if key in labels
    )
    missing = tuple(one for one in wanted if one not in selector.match_expressions)
    return replaced(selector, match_expressions=selector.match_expressions + missing)
