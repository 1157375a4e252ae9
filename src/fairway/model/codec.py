"""Between bytes and structs: the table of kinds, and how quantities are read and written.

`decode` uses it to read objects; the rooms that send objects to an API server or a file use `encode_json` and
`to_builtins`. Both directions speak the API's own field names and leave out what is at its default.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from fairway.model.controllers import CronJob, DaemonSet, Deployment, Job
from fairway.model.dataset import DATA_GROUPS, Dataset, DatasetInternal
from fairway.model.duration import Duration
from fairway.model.job_set import JobSet
from fairway.model.leader_worker_set import LeaderWorkerSet
from fairway.model.node import Node
from fairway.model.pod import Pod
from fairway.model.pod_group import CoschedulingPodGroup, PodGroup, VolcanoPodGroup
from fairway.model.quantity import Quantity, parse_quantity
from fairway.model.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from fairway.model.workload import (
    Namespace,
    PodDisruptionBudget,
    PriorityClass,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
)

__all__ = [
    "KINDS",
    "TOLD_KINDS",
    "ApiObject",
    "convert",
    "encode_json",
    "json_decoder",
    "kind_title",
    "object_name",
    "to_builtins",
]

ApiObject = (
    Pod
    | Node
    | Namespace
    | Service
    | ReplicationController
    | ReplicaSet
    | StatefulSet
    | Deployment
    | DaemonSet
    | Job
    | CronJob
    | PodDisruptionBudget
    | PriorityClass
    | PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
    | Dataset
    | DatasetInternal
    | PodGroup
    | CoschedulingPodGroup
    | VolcanoPodGroup
    | JobSet
    | LeaderWorkerSet
)
"""Any object Fairway reads."""

KINDS: dict[tuple[str, str], type[ApiObject]] = {
    ("v1", "Pod"): Pod,
    ("v1", "Node"): Node,
    ("v1", "Namespace"): Namespace,
    ("v1", "Service"): Service,
    ("v1", "ReplicationController"): ReplicationController,
    ("apps/v1", "ReplicaSet"): ReplicaSet,
    ("apps/v1", "StatefulSet"): StatefulSet,
    ("apps/v1", "Deployment"): Deployment,
    ("apps/v1", "DaemonSet"): DaemonSet,
    ("batch/v1", "Job"): Job,
    ("batch/v1", "CronJob"): CronJob,
    ("policy/v1", "PodDisruptionBudget"): PodDisruptionBudget,
    ("scheduling.k8s.io/v1", "PriorityClass"): PriorityClass,
    ("v1", "PersistentVolume"): PersistentVolume,
    ("v1", "PersistentVolumeClaim"): PersistentVolumeClaim,
    ("storage.k8s.io/v1", "StorageClass"): StorageClass,
    ("storage.k8s.io/v1", "CSINode"): CSINode,
    ("storage.k8s.io/v1", "CSIDriver"): CSIDriver,
    ("storage.k8s.io/v1", "CSIStorageCapacity"): CSIStorageCapacity,
    ("storage.k8s.io/v1", "VolumeAttachment"): VolumeAttachment,
    **{(f"{group}/v1alpha1", "Dataset"): Dataset for group in DATA_GROUPS},
    **{(f"{group}/v1alpha1", "DatasetInternal"): DatasetInternal for group in DATA_GROUPS},
    ("scheduling.k8s.io/v1alpha2", "PodGroup"): PodGroup,
    ("scheduling.k8s.io/v1beta1", "PodGroup"): PodGroup,
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup"): CoschedulingPodGroup,
    ("scheduling.volcano.sh/v1beta1", "PodGroup"): VolcanoPodGroup,
}
"""apiVersion and kind to type; a type may be of several groups."""

TOLD_KINDS: dict[tuple[str, str], type[ApiObject]] = {
    **KINDS,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): JobSet,
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): LeaderWorkerSet,
}
"""Also what API servers and runs tell of; in files these are custom kinds like others, of which pods are made."""

T = TypeVar("T")


def _read(kind: type, value: object) -> object:
    if kind is Quantity:
        if value is None:
            return parse_quantity("0")  # as the API server reads it
        if isinstance(value, str):
            return parse_quantity(value.strip())
        if isinstance(value, int | float):
            return parse_quantity(value)
        raise ValueError("Expected a quantity: a number or text such as 250m or 2Gi")
    raise TypeError(f"no way to read a {kind.__name__}")


def _write(value: object) -> str:
    if isinstance(value, Quantity):
        return value.text
    if isinstance(value, Duration):
        return value.text
    raise TypeError(f"no way to write a {type(value).__name__}")


_ENCODER = msgspec.json.Encoder(enc_hook=_write)


@cache
def json_decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """The decoder for one type, made once: `json_decoder(Pod).decode(data)` is the fastest way in."""
    return msgspec.json.Decoder(kind, dec_hook=_read)


def convert(data: object, kind: type[T]) -> T:
    """Turn parsed JSON or YAML into a struct; raises `msgspec.ValidationError`."""
    return msgspec.convert(data, kind, dec_hook=_read)


def encode_json(value: Any) -> bytes:
    """Write a struct (or a list or dict of them) as API JSON."""
    return _ENCODER.encode(value)


def to_builtins(value: Any) -> Any:
    """Turn a struct into dicts, lists and scalars with the API's names, ready for JSON or YAML."""
    return msgspec.json.decode(encode_json(value))


NAMESAKES: Final = frozenset((*DATA_GROUPS[1:], "scheduling.x-k8s.io", "scheduling.volcano.sh"))
"""Groups of the API with a kind that is called as another one is."""


def kind_title(api_version: str, kind: str) -> str:
    """Under what names are told apart: the kind, with its group where a newer group has it: `Dataset.old.group`."""
    group = api_version.partition("/")[0]
    return f"{kind}.{group}" if group in NAMESAKES else kind


def object_name(thing: ApiObject) -> str:
    """How messages name an object: `Pod default/web-0`, `Node n1`."""
    meta, kind = thing.metadata, kind_title(thing.api_version, thing.kind)
    name = meta.name or f"{meta.generate_name}?"
    return f"{kind} {meta.namespace}/{name}" if meta.namespace else f"{kind} {name}"
