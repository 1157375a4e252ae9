"""How much a pod needs, in the integers the scheduler counts with.

In: a `Pod`. Out: resource name to amount: cpu in thousandths, everything else in whole units. Containers add up,
init containers set a floor, sidecars count from their start, pod-level requests override, overhead comes on
top, and a running pod counts what its node gave it while a resize is under way. As `PodRequests` in
`k8s.io/component-helpers/resource` v0.36.4 with kube-scheduler 1.36's default gates. Called by `cluster/`
for each class of pods, by the plugins NodeResourcesFit and NodeResourcesBalancedAllocation, and by `sim/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from fairway.model.names import label_key_problem
from fairway.model.pod import Container, Pod, ResourceRequirements
from fairway.model.quantity import Quantity, thousandths, whole_units

__all__ = [
    "DEFAULT_MEMORY_BYTES",
    "DEFAULT_MILLI_CPU",
    "container_limits",
    "container_requests",
    "is_pod_level_resource",
    "is_resize_infeasible",
    "is_scalar_resource",
    "is_scaled_down",
    "pod_requests",
    "pod_scoring_requests",
    "resident_scoring_requests",
    "seem_alike",
]

DEFAULT_MILLI_CPU = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024
SCORING_DEFAULTS = {"cpu": DEFAULT_MILLI_CPU * 10**6, "memory": DEFAULT_MEMORY_BYTES * 10**9}

NATIVE_RESOURCES = ("cpu", "memory", "ephemeral-storage")

Amounts = dict[str, int]
"""Resource name to billionths, exact: rounding comes last, as in Kubernetes."""


def pod_requests(pod: Pod, *, use_status: bool = True) -> dict[str, int]:
    """What the pod takes from a node.

    With `use_status` (the accounting of placed pods) a resize under way counts; NodeResourcesFit judges an
    incoming pod without it.
    """
    return _integers(_requests(pod, use_status=use_status))


def pod_scoring_requests(pod: Pod) -> dict[str, int]:
    """What an incoming pod counts for in NodeResourcesFit's score: each container without a cpu or memory request
    counts 100m or 200Mi. What the pod as a whole asks for is not looked at: kube-scheduler 1.36 never tells its
    scorers that pod-level resources are on (noderesources/fit.go, nodeResourceStrategyTypeMap).
    """
    total = _container_requests(pod, SCORING_DEFAULTS, use_status=False)
    _add(total, _amounts(pod.spec.overhead))
    return _integers(total)


def resident_scoring_requests(pod: Pod) -> dict[str, int]:
    """What a placed pod counts for in NodeResourcesFit's score: kube-scheduler's `NonZeroRequested`.

    Here pod-level requests count, and a pod that has any gets the default of a resource only if nothing in the
    pod asks for it.
    """
    requests = _requests(pod)
    defaults = SCORING_DEFAULTS
    if _has_pod_level_requests(pod):
        defaults = {name: amount for name, amount in SCORING_DEFAULTS.items() if name not in requests}
    return _integers(_requests(pod, defaults=defaults) if defaults else requests)


def seem_alike(old: Pod, new: Pod) -> bool:
    """Is it easily seen that two versions of a pod ask for the same? Most do; to be sure, work the requests out."""
    before, after, was, now = old.spec, new.spec, old.status, new.status
    return (
        was.container_statuses == now.container_statuses
        and was.init_container_statuses == now.init_container_statuses
        and was.resources == now.resources
        and was.allocated_resources == now.allocated_resources
        and is_resize_infeasible(old) == is_resize_infeasible(new)
        and (before is after or (before.resources == after.resources and before.overhead == after.overhead))
        and (before is after or before.containers == after.containers)
        and (before is after or before.init_containers == after.init_containers)
    )


def is_scaled_down(old: Pod, new: Pod) -> bool:
    """Does the newer version of a pod ask for less of anything, as `extractPodScaleDown` of kube-scheduler counts?

    Thousandths of every resource are compared there, also of those that are counted in whole units, or not at all.
    """
    after = _requests(new)
    return any(
        name not in after or thousandths(after[name]) < thousandths(nanos) for name, nanos in _requests(old).items()
    )


def is_resize_infeasible(pod: Pod) -> bool:
    """Has the node said that it can never give what the pod asks for now? Then what it has given counts."""
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def is_pod_level_resource(name: str) -> bool:
    """Whether a pod as a whole may ask for this resource."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def container_requests(pod: Pod) -> Amounts:
    """What the containers of a pod ask for together, exact, in billionths; the pod's own requests are left out."""
    return _container_requests(pod, {}, use_status=False)


def container_limits(pod: Pod) -> Amounts:
    """What the containers of a pod may take together, exact, in billionths."""
    return _combine(pod, lambda container, _: _amounts(container.resources.limits))


@lru_cache(maxsize=4096)
def is_scalar_resource(name: str) -> bool:
    """Whether the scheduler counts this resource besides cpu, memory and ephemeral storage.

    True for extended resources (`vendor.example/thing`), huge pages, attachable volumes and anything under
    kubernetes.io: `IsScalarResourceName` in kube-scheduler.
    """
    if name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name:
        return True
    return "/" in name and not name.startswith("requests.") and label_key_problem(f"requests.{name}") is None


def _integers(amounts: Amounts) -> dict[str, int]:
    return {
        name: thousandths(nanos) if name == "cpu" else whole_units(nanos)
        for name, nanos in amounts.items()
        if name in NATIVE_RESOURCES or is_scalar_resource(name)
    }


def _requests(pod: Pod, *, defaults: Mapping[str, int] | None = None, use_status: bool = True) -> Amounts:
    total = _container_requests(pod, defaults or {}, use_status=use_status)
    resources = pod.spec.resources
    if resources is not None:
        status = pod.status.resources if use_status else None
        effective = None
        if status is not None:
            effective = _effective(pod, resources, status, pod.status.allocated_resources)
        for name, quantity in resources.requests.items():
            if is_pod_level_resource(name):
                total[name] = quantity.nanos if effective is None else effective.get(name, 0)
    _add(total, _amounts(pod.spec.overhead))
    return total


def _container_requests(pod: Pod, defaults: Mapping[str, int], *, use_status: bool) -> Amounts:
    status = pod.status
    statuses = {}
    if use_status and (status.container_statuses or status.init_container_statuses):
        statuses = {one.name: one for one in (*status.container_statuses, *status.init_container_statuses)}

    def needs(container: Container, is_resizable: bool) -> Amounts:
        reported = statuses.get(container.name) if is_resizable else None
        if reported is None or reported.resources is None:
            amounts = _amounts(container.resources.requests)
        else:
            amounts = _effective(pod, container.resources, reported.resources, reported.allocated_resources)
        for name, nanos in defaults.items():
            amounts.setdefault(name, nanos)
        return amounts

    return _combine(pod, needs)


def _combine(pod: Pod, needs: Callable[[Container, bool], Amounts]) -> Amounts:
    """Add up what each container needs, knowing that init containers run one after the other."""
    total: Amounts = {}
    for container in pod.spec.containers:
        _add(total, needs(container, True))
    sidecars: Amounts = {}
    floor: Amounts = {}
    for container in pod.spec.init_containers:
        amounts = needs(container, container.is_restartable)
        if container.is_restartable:
            _add(total, amounts)
            _add(sidecars, amounts)
            amounts = sidecars
        else:
            _add(amounts, sidecars)
        _raise(floor, amounts)
    _raise(total, floor)
    return total


def _effective(
    pod: Pod, spec: ResourceRequirements, actual: ResourceRequirements, allocated: Mapping[str, Quantity]
) -> Amounts:
    """The most of what is asked for, in force and promised; what is asked for counts unless it can never be."""
    amounts = {} if is_resize_infeasible(pod) else _amounts(spec.requests)
    _raise(amounts, _amounts(actual.requests))
    _raise(amounts, _amounts(allocated))
    return amounts


def _has_pod_level_requests(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(is_pod_level_resource(name) for name in resources.requests)


def _amounts(quantities: Mapping[str, Quantity]) -> Amounts:
    return {name: quantity.nanos for name, quantity in quantities.items()}


def _add(total: Amounts, amounts: Mapping[str, int]) -> None:
    for name, nanos in amounts.items():
        total[name] = total.get(name, 0) + nanos


def _raise(total: Amounts, amounts: Mapping[str, int]) -> None:
    for name, nanos in amounts.items():
        if name not in total or nanos > total[name]:
            total[name] = nanos
