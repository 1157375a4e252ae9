"""What a run keeps of an object: what a scheduler, a simulator or a question about it reads, and nothing else.

In: a pod, a node or another object, as the API server has it. Out: the same without what should not travel: annotations
that nobody here reads (kubectl's last-applied-configuration has the whole manifest in it, with the environment's
values), attributes of CSI volumes, parameters of storage classes, paths on hosts, addresses. Environment, commands
and arguments are not even decoded (`fairway.model.pod`). Called by `RunWriter` for everything that it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from fairway.model import ApiObject, Node, ObjectMeta, Pod, PodSpec
from fairway.model.dataset import NODE_LOAD, SIZE
from fairway.model.device_need import GPU_COUNT, GPU_INDEX, GPU_MILLI, GPU_MODEL
from fairway.model.group import KOORDINATOR, VOLCANO_NAMES
from fairway.model.group_reading import WORKERS
from fairway.model.node import AttachedVolume, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo
from fairway.model.storage import CSINodeDriver, StorageClass
from fairway.model.volume import CSIPersistentVolumeSource, CSIVolumeSource, HostPathVolumeSource
from fairway.record.writing.rewriting import rewrite

__all__ = ["GROUP_ANNOTATIONS", "KEPT_ANNOTATIONS", "OWN_ANNOTATIONS", "kept", "kept_annotations", "own_annotations"]

OWN_ANNOTATIONS: Final = "fairway.dev/"
GROUP_ANNOTATIONS: Final = frozenset(
    (
        *VOLCANO_NAMES,
        "volcano.sh/task-spec",
        *(
            f"{KOORDINATOR}{name}"
            for name in ("name", "min-available", "total-number", "waiting-time", "mode", "groups")
        ),
        WORKERS,
    )
)
"""By which pods say that they belong together, and how many; those of pfnet begin as the configuration says."""
PFNET_WORDS: Final = ("-name", "-size", "-schedule-timeout-seconds")
KEPT_ANNOTATIONS: Final = GROUP_ANNOTATIONS.union(
    (
        GPU_COUNT,
        GPU_INDEX,
        GPU_MILLI,
        GPU_MODEL,
        NODE_LOAD,
        SIZE,
        "batch.kubernetes.io/job-completion-index",
        "controller.kubernetes.io/pod-deletion-cost",
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "pv.kubernetes.io/provisioned-by",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    )
)
"""Annotations that decide something, besides those under `fairway.dev/`."""

Thing = TypeVar("Thing", Pod, Node, PodSpec, ApiObject)


def kept(thing: Thing) -> Thing:
    """The object as a run keeps it."""
    return rewrite(thing, _kept_part)


def kept_annotations(annotations: dict[str, str]) -> dict[str, str]:
    """Those that decide something."""
    if all(_is_kept(name) for name in annotations):
        return annotations
    return {name: value for name, value in annotations.items() if _is_kept(name)}


def own_annotations(annotations: dict[str, str], prefixes: Sequence[str] = ()) -> dict[str, str]:
    """Those that are a pod's own rather than its template's; pfnet's begin with one of these."""
    pfnet = {f"{prefix}{word}" for prefix in prefixes for word in PFNET_WORDS}
    return {
        name: value
        for name, value in annotations.items()
        if name.startswith(OWN_ANNOTATIONS) or name in GROUP_ANNOTATIONS or name in pfnet
    }


def _is_kept(name: str) -> bool:
    return name in KEPT_ANNOTATIONS or name.startswith(OWN_ANNOTATIONS)


def _kept_part(part: Any) -> Any:  # noqa: PLR0911 - a table of parts and what is left of them
    match part:
        case ObjectMeta() if part.annotations:
            return replace(part, annotations=kept_annotations(part.annotations))
        case CSIVolumeSource() | CSIPersistentVolumeSource() if part.volume_attributes:
            return replace(part, volume_attributes={})
        case StorageClass() if part.parameters:
            return replace(part, parameters={})
        case HostPathVolumeSource() if part.path:
            return HostPathVolumeSource()
        case PodSpec() if part.hostname or part.subdomain:
            return replace(part, hostname="", subdomain="")
        case CSINodeDriver() if part.node_id:
            return replace(part, node_id="")
        case NodeSpec() if part.provider_id or part.pod_cidr:
            return replace(part, provider_id="", pod_cidr="")
        case NodeStatus():
            return replace(part, addresses=(), node_info=NodeSystemInfo())
        case NodeCondition():
            return NodeCondition(type=part.type, status=part.status)
        case AttachedVolume() if part.device_path:
            return AttachedVolume(name=part.name)
    return part
