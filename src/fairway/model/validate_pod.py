"""What an API server would refuse in a pod.

In: a pod, after defaulting. Out: the problems, each with the path of its field. Called by
`fairway.model.validate`. The rules are those of `ValidatePodSpec` of Kubernetes 1.36, as far as they matter to
a scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairway.model.affinity import Affinity, PodAffinity, PodAffinityTerm
from fairway.model.device_need import device_problem
from fairway.model.names import dns_label_problem, dns_subdomain_problem, label_key_problem, label_value_problem
from fairway.model.pod import Container, Pod, PodSpec, ResourceRequirements, Toleration, TopologySpreadConstraint
from fairway.model.requests import is_pod_level_resource, is_scalar_resource
from fairway.model.selector import compile_node_term
from fairway.model.validate_parts import (
    EFFECTS,
    Problem,
    choice_problems,
    key_path,
    node_selector_problems,
    quantity_problems,
    selector_problems,
)

__all__ = ["pod_problems"]

PHASES = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")
RESTART_POLICIES = ("Always", "OnFailure", "Never")
MAX_PORT = 65535


def pod_problems(pod: Pod) -> Iterator[Problem]:
    """Everything that is wrong with a pod besides its name."""
    spec = pod.spec
    yield from _containers_problems(spec)
    yield from _placement_problems(spec)
    yield from choice_problems("spec.restartPolicy", spec.restart_policy or "Always", RESTART_POLICIES)
    policies = ("PreemptLowerPriority", "Never")
    yield from choice_problems("spec.preemptionPolicy", spec.preemption_policy or policies[0], policies)
    yield from choice_problems("status.phase", pod.status.phase or "Pending", PHASES)
    yield from quantity_problems("spec.overhead", spec.overhead)
    if spec.resources is not None:
        yield from _requirements_problems("spec.resources", spec.resources)
        for name in (*spec.resources.requests, *spec.resources.limits):
            if not is_pod_level_resource(name):
                allowed = "a pod as a whole may ask for cpu, memory and hugepages-*"
                yield "spec.resources", f"{name!r} is not allowed here; {allowed}"
    for path, seconds in (
        ("terminationGracePeriodSeconds", spec.termination_grace_period_seconds),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
    ):
        if seconds is not None and seconds < 0:
            yield f"spec.{path}", f"{seconds} must not be negative"
    if spec.node_name and (problem := dns_subdomain_problem(spec.node_name)):
        yield "spec.nodeName", problem
    if (wrong := device_problem(pod)) is not None:  # no API server would mind; nobody can give such devices
        yield f"metadata.annotations[{wrong[0]!r}]", wrong[1]


def _containers_problems(spec: PodSpec) -> Iterator[Problem]:
    if not spec.containers:
        yield "spec.containers", "must have at least one container"
    seen: set[str] = set()
    for part, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for index, container in enumerate(containers):
            path = f"spec.{part}[{index}]"
            if problem := dns_label_problem(container.name):
                yield f"{path}.name", problem
            if container.name in seen:
                yield f"{path}.name", f"{container.name!r} is the name of another container of this pod"
            seen.add(container.name)
            yield from _requirements_problems(f"{path}.resources", container.resources)
            yield from _resource_name_problems(f"{path}.resources", container.resources)
            yield from _port_problems(path, container, uses_host_network=spec.host_network)
            policy = container.restart_policy
            if policy is not None:
                yield from choice_problems(f"{path}.restartPolicy", policy, RESTART_POLICIES)
    names = [volume.name for volume in spec.volumes]
    for index, name in enumerate(names):
        if problem := dns_label_problem(name):
            yield f"spec.volumes[{index}].name", problem
        if name in names[:index]:
            yield f"spec.volumes[{index}].name", f"{name!r} is the name of another volume of this pod"


def _requirements_problems(path: str, resources: ResourceRequirements) -> Iterator[Problem]:
    yield from quantity_problems(f"{path}.requests", resources.requests)
    yield from quantity_problems(f"{path}.limits", resources.limits)
    for name, limit in resources.limits.items():
        request = resources.requests.get(name)
        if request is not None and request > limit:
            yield key_path(f"{path}.requests", name), f"{request} is more than the limit, {limit}"
        elif request is not None and request != limit and is_scalar_resource(name):
            yield key_path(f"{path}.requests", name), f"{request} must equal the limit, {limit}"


def _resource_name_problems(path: str, resources: ResourceRequirements) -> Iterator[Problem]:
    """Names that the scheduler would pass over in silence, such as `cpus` or `gpu`."""
    for field, quantities in (("requests", resources.requests), ("limits", resources.limits)):
        for name in quantities:
            if problem := label_key_problem(name):
                yield key_path(f"{path}.{field}", name), f"is not the name of a resource: {problem}"
            elif "/" not in name and name not in CONTAINER_RESOURCES and not name.startswith("hugepages-"):
                allowed = f"{', '.join(CONTAINER_RESOURCES)}, hugepages-*, or a name with a domain (example.com/gpu)"
                yield key_path(f"{path}.{field}", name), f"is not the name of a resource; allowed: {allowed}"


def _port_problems(path: str, container: Container, *, uses_host_network: bool) -> Iterator[Problem]:
    for index, port in enumerate(container.ports):
        where = f"{path}.ports[{index}]"
        if not 1 <= port.container_port <= MAX_PORT:
            yield f"{where}.containerPort", f"{port.container_port} is not between 1 and {MAX_PORT}"
        if not 0 <= port.host_port <= MAX_PORT:
            yield f"{where}.hostPort", f"{port.host_port} is not between 1 and {MAX_PORT}"
        elif uses_host_network and port.host_port != port.container_port:
            yield f"{where}.hostPort", "must equal containerPort on the host's network"
        yield from choice_problems(f"{where}.protocol", port.protocol or "TCP", ("TCP", "UDP", "SCTP"))


def _placement_problems(spec: PodSpec) -> Iterator[Problem]:
    for key, value in spec.node_selector.items():
        if problem := label_key_problem(key) or label_value_problem(value):
            yield key_path("spec.nodeSelector", key), problem
    for index, toleration in enumerate(spec.tolerations):
        yield from _toleration_problems(f"spec.tolerations[{index}]", toleration)
    seen: set[tuple[str, str]] = set()
    for index, constraint in enumerate(spec.topology_spread_constraints):
        path = f"spec.topologySpreadConstraints[{index}]"
        yield from _spread_problems(path, constraint)
        pair = (constraint.topology_key, constraint.when_unsatisfiable)
        if pair in seen:
            yield path, f"there is another constraint with {pair[0]!r} and {pair[1]}"
        seen.add(pair)
    gates = [gate.name for gate in spec.scheduling_gates]
    for index, name in enumerate(gates):
        if problem := label_key_problem(name):
            yield f"spec.schedulingGates[{index}].name", problem
        if name in gates[:index]:
            yield f"spec.schedulingGates[{index}].name", f"{name!r} is there twice"
    if spec.affinity is not None:
        yield from _affinity_problems(spec.affinity)


def _toleration_problems(path: str, toleration: Toleration) -> Iterator[Problem]:
    if toleration.key and (problem := label_key_problem(toleration.key)):
        yield f"{path}.key", problem
    if not toleration.key and toleration.operator != "Exists":
        yield f"{path}.operator", "must be Exists when key is empty, which means all keys"
    yield from choice_problems(f"{path}.operator", toleration.operator or "Equal", ("Exists", "Equal"))
    if toleration.operator == "Exists" and toleration.value:
        yield f"{path}.value", "must be empty when operator is Exists"
    yield from choice_problems(f"{path}.effect", toleration.effect or EFFECTS[0], EFFECTS)
    if toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        yield f"{path}.effect", "must be NoExecute when tolerationSeconds is set"


def _spread_problems(path: str, constraint: TopologySpreadConstraint) -> Iterator[Problem]:
    if constraint.max_skew <= 0:
        yield f"{path}.maxSkew", f"{constraint.max_skew} must be greater than zero"
    if problem := label_key_problem(constraint.topology_key):
        yield f"{path}.topologyKey", problem
    actions = ("DoNotSchedule", "ScheduleAnyway")
    yield from choice_problems(f"{path}.whenUnsatisfiable", constraint.when_unsatisfiable, actions)
    if constraint.min_domains is not None:
        if constraint.min_domains <= 0:
            yield f"{path}.minDomains", f"{constraint.min_domains} must be greater than zero"
        if constraint.when_unsatisfiable != "DoNotSchedule":
            yield f"{path}.minDomains", "is allowed only when whenUnsatisfiable is DoNotSchedule"
    for field, policy in (
        ("nodeAffinityPolicy", constraint.node_affinity_policy),
        ("nodeTaintsPolicy", constraint.node_taints_policy),
    ):
        yield from choice_problems(f"{path}.{field}", policy or "Honor", ("Honor", "Ignore"))
    if constraint.match_label_keys and constraint.label_selector is None:
        yield f"{path}.matchLabelKeys", "must not be set without labelSelector"
    yield from selector_problems(f"{path}.labelSelector", constraint.label_selector)


def _affinity_problems(affinity: Affinity) -> Iterator[Problem]:
    if affinity.node_affinity is not None:
        path = "spec.affinity.nodeAffinity"
        required = affinity.node_affinity.required
        yield from node_selector_problems(f"{path}.requiredDuringSchedulingIgnoredDuringExecution", required)
        for index, preferred in enumerate(affinity.node_affinity.preferred):
            where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            yield from _weight_problems(where, preferred.weight)
            for problem in compile_node_term(preferred.preference).problems:
                field, _, what = problem.partition(": ")
                yield f"{where}.preference.{field}", what
    for field, pods in (("podAffinity", affinity.pod_affinity), ("podAntiAffinity", affinity.pod_anti_affinity)):
        if pods is not None:
            yield from _pod_affinity_problems(f"spec.affinity.{field}", pods)


def _pod_affinity_problems(path: str, affinity: PodAffinity) -> Iterator[Problem]:
    for index, term in enumerate(affinity.required):
        yield from _term_problems(f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", term)
    for index, weighted in enumerate(affinity.preferred):
        where = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        yield from _weight_problems(where, weighted.weight)
        yield from _term_problems(f"{where}.podAffinityTerm", weighted.pod_affinity_term)


def _weight_problems(path: str, weight: int) -> Iterator[Problem]:
    if not 1 <= weight <= 100:
        yield f"{path}.weight", f"{weight} is not between 1 and 100"


def _term_problems(path: str, term: PodAffinityTerm) -> Iterator[Problem]:
    if problem := label_key_problem(term.topology_key):
        yield f"{path}.topologyKey", problem
    yield from selector_problems(f"{path}.labelSelector", term.label_selector)
    yield from selector_problems(f"{path}.namespaceSelector", term.namespace_selector)
    for index, namespace in enumerate(term.namespaces):
        if problem := dns_label_problem(namespace):
            yield f"{path}.namespaces[{index}]", problem
    for field, keys in (("matchLabelKeys", term.match_label_keys), ("mismatchLabelKeys", term.mismatch_label_keys)):
        if keys and term.label_selector is None:
            yield f"{path}.{field}", "must not be set without labelSelector"
