"""A pod that asks for less of what is short.

In: a pod, and the refusals that say what nodes are short of. Out: `Relaxation`s: as much as the node with the most left
has. Amounts are cpu in thousandths, everything else in whole units; requests are cut where they are largest first. This
is what every plugin proposes that says no more about it (`Plugin.relax`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from fairway.cluster import Nodes, PodClass
from fairway.model import Container, Pod, Quantity, ResourceRequirements, pod_requests, quantity_of
from fairway.plugin.verdicts import Refused, Relaxation, Supply
from fairway.words import amount_text

__all__ = ["smaller_requests", "with_less"]

ROUND: Final = {"cpu": 10, "memory": 2**20, "ephemeral-storage": 2**20}
"""Amounts are cut to whole multiples of these, so that a person would write them."""


def smaller_requests(
    supply: Callable[[Nodes, str], Supply], pod: Pod, pod_class: PodClass, refused: Sequence[Refused]
) -> Iterator[Relaxation]:
    """As much as the node with the most left has, of what is short; nodes short of the same things together."""
    requests = pod_class.requests
    best: dict[tuple[str, ...], dict[str, int]] = {}
    for refusal, nodes in refused:
        short = tuple(sorted(shortage.resource for shortage in refusal.shortages))
        if not short or not all(requests.get(name) for name in short):
            continue  # such as too many pods: a smaller one is still one too many
        free = np.stack([supply(nodes, name).free for name in short], axis=1)  # (num_rows, num_short)
        free = free[(free > 0).all(axis=1)]
        if len(free):
            needed = [requests[name] for name in short]
            most = free[(free / needed).min(axis=1).argmax()]
            best[short] = dict(zip(short, map(int, most), strict=True))
    for amounts in best.values():
        smaller = with_less(pod, amounts)
        if smaller is not None:
            changed, actual = smaller
            if all(actual[name] == requests[name] for name in amounts):
                continue  # what the plugin needs is more than the pod's requests
            words = " and ".join(
                f"{amount_text(name, actual[name])} {name} instead of {amount_text(name, requests[name])}"
                for name in amounts
            )
            yield Relaxation(f"ask for {words}", changed)


def with_less(pod: Pod, amounts: Mapping[str, int]) -> tuple[Pod, dict[str, int]] | None:
    """None if the requests can not be cut that far: nothing would be left, or they are not the containers' own."""
    for resource, amount in amounts.items():
        amount -= amount % _step(resource)  # noqa: PLW2901 - cut to what a person would write
        if amount <= 0:
            return None
        excess = pod_requests(pod, use_status=False).get(resource, 0) - amount
        if excess > 0:
            pod = _cut(pod, resource, excess)
        if pod_requests(pod, use_status=False).get(resource, 0) > amount:
            return None
    return pod, {name: pod_requests(pod, use_status=False)[name] for name in amounts}


def _step(resource: str) -> int:
    if resource.startswith("hugepages-"):
        return 2**21
    return ROUND.get(resource, 1)


def _cut(pod: Pod, resource: str, excess: int) -> Pod:
    """Take the excess from the pod's own request, or from the containers, the largest first."""
    spec = pod.spec
    if spec.resources is not None and resource in spec.resources.requests:
        whole = _less(spec.resources, resource, excess)
        return msgspec.structs.replace(pod, spec=msgspec.structs.replace(spec, resources=whole))
    containers = list(spec.containers)
    for place in sorted(range(len(containers)), key=lambda one: -_asked(containers[one], resource)):
        asked = _asked(containers[place], resource)
        taken = min(excess, asked - _step(resource))
        if taken > 0:
            containers[place] = msgspec.structs.replace(
                containers[place], resources=_less(containers[place].resources, resource, taken)
            )
            excess -= taken
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(spec, containers=tuple(containers)))


def _asked(container: Container, resource: str) -> int:
    return _amount(resource, container.resources.requests.get(resource))


def _amount(resource: str, quantity: Quantity | None) -> int:
    if quantity is None:
        return 0
    return quantity.milli if resource == "cpu" else quantity.value


def _less(resources: ResourceRequirements, resource: str, taken: int) -> ResourceRequirements:
    amount = _amount(resource, resources.requests.get(resource)) - taken
    unit = 10**6 if resource == "cpu" else 10**9
    return msgspec.structs.replace(resources, requests=resources.requests | {resource: quantity_of(amount * unit)})
