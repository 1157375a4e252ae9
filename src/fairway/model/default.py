"""What the API server fills in when a person leaves it out.

In: decoded objects. Out: the same objects as an API server would hand them to a scheduler: namespaces, requests
from limits, pod-level resources, host ports, tolerations, priorities, label keys merged into selectors.
An object that is already complete comes back unchanged. Objects from files go through here; those from an API
server need not. Matches defaulting, the admission plugins on by default and the pod strategy of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairway.model.codec import ApiObject, object_name
from fairway.model.controllers import CronJob, DaemonSet, Deployment, Job
from fairway.model.dataset import Dataset, DatasetInternal
from fairway.model.decode import Loaded
from fairway.model.default_controllers import default_controller
from fairway.model.default_pod import default_pod, replaced, rounded
from fairway.model.errors import DecodeError
from fairway.model.job_set import JobSet
from fairway.model.leader_worker_set import LeaderWorkerSet
from fairway.model.node import Node
from fairway.model.pod import Pod
from fairway.model.pod_group import CoschedulingPodGroup, PodGroup, VolcanoPodGroup
from fairway.model.storage import (
    CSIDriver,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
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

__all__ = ["NAMESPACED", "default_object", "default_objects"]

NAMESPACED = (
    Pod,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    Deployment,
    DaemonSet,
    Job,
    CronJob,
    PodDisruptionBudget,
    PersistentVolumeClaim,
    CSIStorageCapacity,
    Dataset,
    DatasetInternal,
    PodGroup,
    CoschedulingPodGroup,
    VolcanoPodGroup,
    JobSet,
    LeaderWorkerSet,
)

IS_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def default_object(
    thing: ApiObject,
    *,
    priority_classes: Mapping[str, PriorityClass] | None = None,
    default_storage_class: str | None = None,
) -> ApiObject:
    """Complete one object; a pod's priority comes from its class, a claim's missing class is the default one."""
    if isinstance(thing, NAMESPACED) and not thing.metadata.namespace:
        thing = replaced(thing, metadata=replaced(thing.metadata, namespace="default"))
    match thing:
        case Pod():
            thing = default_pod(thing, priority_classes or {})
        case Node():
            thing = _default_node(thing)
        case Namespace():
            thing = _default_namespace(thing)
        case PersistentVolume():
            thing = _default_volume(thing)
        case PersistentVolumeClaim():
            thing = _default_claim(thing, default_storage_class)
        case StorageClass():
            thing = replaced(
                thing,
                reclaim_policy=thing.reclaim_policy or "Delete",
                volume_binding_mode=thing.volume_binding_mode or "Immediate",
            )
        case CSIDriver():
            thing = _default_driver(thing)
        case PriorityClass():
            thing = replaced(thing, preemption_policy=thing.preemption_policy or "PreemptLowerPriority")
        case ReplicaSet() | StatefulSet() | ReplicationController() | Deployment() | DaemonSet() | Job() | CronJob():
            thing = default_controller(thing)
    return thing


def default_objects(loaded: Iterable[Loaded]) -> list[Loaded]:
    """Complete objects that belong together: classes among them apply to the others.

    An object with `generateName` instead of a name gets a number, the same on every run.
    """
    loaded = list(loaded)
    priority_classes = {one.object.metadata.name: one.object for one in loaded if isinstance(one.object, PriorityClass)}
    storage_class = _default_storage_class(one.object for one in loaded)
    numbers: dict[str, int] = {}
    result = []
    for one in loaded:
        thing = one.object
        if not thing.metadata.name and thing.metadata.generate_name:
            prefix = thing.metadata.generate_name
            numbers[prefix] = numbers.get(prefix, 0) + 1
            thing = replaced(thing, metadata=replaced(thing.metadata, name=f"{prefix}{numbers[prefix]}"))
        try:
            thing = default_object(thing, priority_classes=priority_classes, default_storage_class=storage_class)
        except DecodeError as error:
            subject = error.subject or object_name(thing)
            raise DecodeError(error.problem, source=one.source, subject=subject, field=error.field) from error
        result.append(one if thing is one.object else Loaded(thing, one.source))
    return result


def _default_node(node: Node) -> Node:
    status = node.status
    capacity = rounded(status.capacity)
    allocatable = rounded(status.allocatable) or capacity
    return replaced(node, status=replaced(status, capacity=capacity, allocatable=allocatable))


def _default_namespace(namespace: Namespace) -> Namespace:
    meta = namespace.metadata
    if meta.name:
        meta = replaced(meta, labels=meta.labels | {"kubernetes.io/metadata.name": meta.name})
    status = replaced(namespace.status, phase=namespace.status.phase or "Active")
    return replaced(namespace, metadata=meta, status=status)


def _default_volume(volume: PersistentVolume) -> PersistentVolume:
    spec = replaced(
        volume.spec,
        capacity=rounded(volume.spec.capacity),
        persistent_volume_reclaim_policy=volume.spec.persistent_volume_reclaim_policy or "Retain",
        volume_mode=volume.spec.volume_mode or "Filesystem",
    )
    return replaced(volume, spec=spec, status=replaced(volume.status, phase=volume.status.phase or "Pending"))


def _default_claim(claim: PersistentVolumeClaim, default_class: str | None) -> PersistentVolumeClaim:
    spec = claim.spec
    resources = replaced(
        spec.resources, requests=rounded(spec.resources.requests), limits=rounded(spec.resources.limits)
    )
    class_name = spec.storage_class_name
    if class_name is None and "volume.beta.kubernetes.io/storage-class" not in claim.metadata.annotations:
        class_name = default_class
    spec = replaced(
        spec, resources=resources, storage_class_name=class_name, volume_mode=spec.volume_mode or "Filesystem"
    )
    return replaced(claim, spec=spec, status=replaced(claim.status, phase=claim.status.phase or "Pending"))


def _default_storage_class(things: Iterable[ApiObject]) -> str | None:
    """The class marked as default: the newest of several, then the first by name."""
    marked = [
        thing.metadata
        for thing in things
        if isinstance(thing, StorageClass)
        and any(thing.metadata.annotations.get(annotation) == "true" for annotation in IS_DEFAULT_CLASS)
    ]
    if not marked:
        return None
    marked.sort(key=lambda meta: meta.name)
    return max(marked, key=lambda meta: meta.creation_timestamp.timestamp() if meta.creation_timestamp else 0.0).name


def _default_driver(driver: CSIDriver) -> CSIDriver:
    spec = driver.spec
    spec = replaced(
        spec,
        attach_required=True if spec.attach_required is None else spec.attach_required,
        storage_capacity=bool(spec.storage_capacity),
        volume_lifecycle_modes=spec.volume_lifecycle_modes or ("Persistent",),
    )
    return replaced(driver, spec=spec)
