"""What is watched: the kinds that plugins read, where the API serves them, and in which order they are loaded.

In: nothing. Out: `WATCHED`, which `service` makes reflectors from; pods come last, because everything else says where
they may go. The same resources as kube-scheduler 1.36 watches, but for those of dynamic resource allocation.
"""

from __future__ import annotations

from typing import NamedTuple

from fairway.model import (
    ApiObject,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
)

__all__ = [
    "PODS",
    "UNFINISHED",
    "WATCHED",
    "WATCHED_TO_THE_END",
    "WatchedKind",
    "object_key",
    "pod_path",
]

UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
"""Pods that hold, or may come to hold, resources; one that finishes is reported as deleted."""


class WatchedKind(NamedTuple):
    """A kind and its collection, over all namespaces."""

    kind: type[ApiObject]
    path: str
    field_selector: str = ""
    api_version: str = ""  # of its objects, where a kind is served in several; items of lists do not say it


PODS = WatchedKind(Pod, "/api/v1/pods", UNFINISHED)
WATCHED = (
    WatchedKind(Namespace, "/api/v1/namespaces"),
    WatchedKind(Node, "/api/v1/nodes"),
    WatchedKind(StorageClass, "/apis/storage.k8s.io/v1/storageclasses"),
    WatchedKind(CSIDriver, "/apis/storage.k8s.io/v1/csidrivers"),
    WatchedKind(CSINode, "/apis/storage.k8s.io/v1/csinodes"),
    WatchedKind(CSIStorageCapacity, "/apis/storage.k8s.io/v1/csistoragecapacities"),
    WatchedKind(PersistentVolume, "/api/v1/persistentvolumes"),
    WatchedKind(PersistentVolumeClaim, "/api/v1/persistentvolumeclaims"),
    WatchedKind(VolumeAttachment, "/apis/storage.k8s.io/v1/volumeattachments"),
    WatchedKind(Service, "/api/v1/services"),
    WatchedKind(ReplicationController, "/api/v1/replicationcontrollers"),
    WatchedKind(ReplicaSet, "/apis/apps/v1/replicasets"),
    WatchedKind(StatefulSet, "/apis/apps/v1/statefulsets"),
    WatchedKind(PodDisruptionBudget, "/apis/policy/v1/poddisruptionbudgets"),
    PODS,
)

WATCHED_TO_THE_END = tuple(watched._replace(field_selector="") for watched in WATCHED)
"""For recordings: finished pods, too, since how a pod ended is worth knowing."""


def object_key(thing: ApiObject) -> str:
    """`namespace/name`, or the name of what has no namespace."""
    meta = thing.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


def pod_path(pod: Pod, subresource: str = "") -> str:
    """Where the API serves that pod."""
    meta = pod.metadata
    path = f"/api/v1/namespaces/{meta.namespace}/pods/{meta.name}"
    return f"{path}/{subresource}" if subresource else path
