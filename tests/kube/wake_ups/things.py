"""Objects for the cases, with defaults: nodes of four cores, pods of a tenth, volumes and claims of one name."""

from __future__ import annotations

from typing import Any, Final

from tests.kube.api import Json
from tests.kube.wake_ups.case import NAMESPACE, SUBJECT

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
DRIVER: Final = "disk.example"


def thing(kind: str, name: str, api_version: str = "v1", **fields: Any) -> Json:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def node(name: str, labels: Json | None = None, cpu: str = "4", features: tuple[str, ...] = (), **spec: Any) -> Json:
    amounts = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    status: Json = {"allocatable": amounts, "capacity": amounts}
    if features:
        status["declaredFeatures"] = list(features)
    return thing("Node", name, metadata={"labels": {HOSTNAME: name, **(labels or {})}}, spec=spec, status=status)


def pod(name: str, cpu: str = "100m", labels: Json | None = None, ports: tuple[int, ...] = (), **spec: Any) -> Json:
    """A pod; on a node if `nodeName` says so."""
    container = {
        "name": "main",
        "image": "example/image:1",
        "resources": {"requests": {"cpu": cpu}} if cpu else {},
        "ports": [{"containerPort": port, "hostPort": port} for port in ports],
        **spec.pop("container", {}),
    }
    metadata = {"namespace": spec.pop("namespace", NAMESPACE), "labels": labels or {}}
    full = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    return thing("Pod", name, metadata=metadata, spec=full)


def subject(cpu: str = "100m", labels: Json | None = None, ports: tuple[int, ...] = (), **spec: Any) -> Json:
    return pod(SUBJECT, cpu, labels, ports, schedulerName=SUBJECT, **spec)


def claim(name: str, volume: str = "", modes: str = "ReadWriteOnce") -> Json:
    """Bound to a volume, or to none yet; without a class, so that nobody makes one for it."""
    spec = {"accessModes": [modes], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": ""}
    metadata: Json = {"namespace": NAMESPACE}
    if not volume:
        return thing("PersistentVolumeClaim", name, metadata=metadata, spec=spec)
    metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    status = {"phase": "Bound", "accessModes": [modes], "capacity": {"storage": "1Gi"}}
    return thing("PersistentVolumeClaim", name, metadata=metadata, spec={**spec, "volumeName": volume}, status=status)


def volume(name: str, labels: Json | None = None, modes: str = "ReadWriteOnce", **source: Any) -> Json:
    """A volume for the claim of the same name."""
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": [modes],
        "claimRef": {"kind": "PersistentVolumeClaim", "namespace": NAMESPACE, "name": name},
        "storageClassName": "",
        **(source or {"hostPath": {"path": "/data"}}),
    }
    return thing("PersistentVolume", name, metadata={"labels": labels or {}}, spec=spec)


def disk(name: str) -> Json:
    return volume(name, csi={"driver": DRIVER, "volumeHandle": name})


def mounting(*names: str) -> Json:
    return {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]}


def storage_thing(kind: str, name: str, **fields: Any) -> Json:
    return thing(kind, name, "storage.k8s.io/v1", **fields)


def storage_class(name: str, mode: str) -> Json:
    return storage_thing("StorageClass", name, provisioner="example.com/none", volumeBindingMode=mode)


def csi_node(name: str, count: int) -> Json:
    drivers = [{"name": DRIVER, "nodeID": name, "allocatable": {"count": count}}]
    return storage_thing("CSINode", name, spec={"drivers": drivers})


def capacity(size: str) -> Json:
    return storage_thing(
        "CSIStorageCapacity", "room", metadata={"namespace": NAMESPACE}, storageClassName="slow", capacity=size
    )


def attachment(name: str) -> Json:
    source = {"persistentVolumeName": name}
    return storage_thing("VolumeAttachment", name, spec={"attacher": DRIVER, "nodeName": "a", "source": source})
