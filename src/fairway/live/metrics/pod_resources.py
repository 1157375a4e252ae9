"""What every pod asks for and may take, as metrics: the text of `/metrics/resources`.

In: the pods that the scheduler knows. Out: `kube_pod_resource_request` and `kube_pod_resource_limit`, one sample for
each pod and resource, in cores or bytes: kube-scheduler 1.36, metrics/resources. Made when somebody asks; the HTTP
server is the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from fairway.model import Pod
from fairway.model.requests import container_limits, container_requests, is_pod_level_resource

__all__ = ["pod_resources"]

LABELS = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
BYTES = ("memory", "storage", "ephemeral-storage")


def pod_resources(pods: Iterable[Pod]) -> bytes:
    """The whole text."""
    return generate_latest(_PodResources(pods))


class _PodResources:
    def __init__(self, pods: Iterable[Pod]) -> None:
        self._pods = pods

    def collect(self) -> Iterator[Metric]:
        requests = GaugeMetricFamily("kube_pod_resource_request", "What pods ask for.", labels=LABELS)
        limits = GaugeMetricFamily("kube_pod_resource_limit", "What pods may take at most.", labels=LABELS)
        for pod in self._pods:
            if pod.spec.node_name and pod.is_finished:
                continue
            _add(requests, pod, _requests(pod))
            _add(limits, pod, _limits(pod))
        yield requests
        yield limits


def _add(family: GaugeMetricFamily, pod: Pod, amounts: dict[str, int]) -> None:
    spec = pod.spec
    priority = "" if spec.priority is None else str(spec.priority)
    about = [pod.metadata.namespace, pod.metadata.name, spec.node_name, spec.scheduler_name, priority]
    for resource, nanos in sorted(amounts.items()):
        if nanos:
            family.add_metric([*about, resource, _unit(resource)], nanos / 10**9)


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in BYTES or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""


def _requests(pod: Pod) -> dict[str, int]:
    """In billionths: the containers' together, the pod's own where it has one, and the overhead on top."""
    amounts = dict(container_requests(pod))
    if pod.spec.resources is not None:
        own = pod.spec.resources.requests.items()
        amounts.update({name: quantity.nanos for name, quantity in own if is_pod_level_resource(name)})
    for name, quantity in pod.spec.overhead.items():
        amounts[name] = amounts.get(name, 0) + quantity.nanos
    return amounts


def _limits(pod: Pod) -> dict[str, int]:
    """Likewise; overhead counts only where there is a limit."""
    amounts = dict(container_limits(pod))
    if pod.spec.resources is not None:
        own = pod.spec.resources.limits.items()
        amounts.update({name: quantity.nanos for name, quantity in own if is_pod_level_resource(name)})
    for name, quantity in pod.spec.overhead.items():
        if amounts.get(name):
            amounts[name] += quantity.nanos
    return amounts
