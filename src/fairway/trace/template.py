"""Many pods from one: complete and checked once, then copied under other names.

In: a pod as a person or a trace describes it. Out: pods as an API server would hand them out; all of them share one
spec, so a million pods cost little more than their names. Called by the readers of traces and by `synthetic`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from fairway.model import (
    Container,
    ObjectMeta,
    Pod,
    PodSpec,
    PriorityClass,
    Quantity,
    ResourceRequirements,
    default_pod,
    parse_quantity,
    validate_object,
)

__all__ = ["Template", "batch_pod", "memory_quantity", "milli_quantity"]

PLACEHOLDER = "pod"


class Template:
    """Makes pods that differ in name and annotations; raises `DecodeError` if an API server would refuse them."""

    __slots__ = ("_meta", "_spec", "_status")

    def __init__(self, pod: Pod, priority_classes: Mapping[str, PriorityClass] | None = None) -> None:
        meta = msgspec.structs.replace(pod.metadata, name=PLACEHOLDER, namespace=pod.metadata.namespace or "default")
        complete = default_pod(msgspec.structs.replace(pod, metadata=meta), priority_classes or {})
        for error in validate_object(complete):
            raise error
        self._meta = complete.metadata
        self._spec = complete.spec
        self._status = complete.status

    def pod(self, name: str, annotations: Mapping[str, str]) -> Pod:
        """A pod of that name, with these annotations besides the template's own."""
        own = self._meta
        meta = ObjectMeta(
            name=name,
            namespace=own.namespace,
            labels=own.labels,
            annotations={**own.annotations, **annotations},
            finalizers=own.finalizers,
            owner_references=own.owner_references,
        )
        return Pod(metadata=meta, spec=self._spec, status=self._status)


def batch_pod(namespace: str, requests: Mapping[str, Quantity], labels: Mapping[str, str] | None = None) -> Pod:
    """A pod of one container that runs once, with requests equal to limits."""
    amounts = {name: amount for name, amount in requests.items() if amount}
    container = Container(name="main", resources=ResourceRequirements(requests=amounts, limits=amounts))
    return Pod(
        metadata=ObjectMeta(namespace=namespace, labels=dict(labels or {})),
        spec=PodSpec(containers=(container,), restart_policy="Never"),
    )


def milli_quantity(milli: int) -> Quantity:
    """Thousandths as people write them: 2 for 2000, 1500m for 1500."""
    return parse_quantity(str(milli // 1000) if milli % 1000 == 0 else f"{milli}m")


def memory_quantity(size_bytes: int) -> Quantity:
    """Bytes in the largest unit that divides them: 2Gi, 100Mi, 1000."""
    for suffix, unit in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if size_bytes and size_bytes % unit == 0:
            return parse_quantity(f"{size_bytes // unit}{suffix}")
    return parse_quantity(str(size_bytes))
