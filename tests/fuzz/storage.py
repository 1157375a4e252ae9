"""Volumes, claims, storage classes, CSI drivers and their limits.

In: a `Draw`, and the names of nodes. Out: a `Storage` with objects, and the volumes that pods may use of it. Sizes of
volumes differ within a case: which of two equal ones kube-scheduler takes depends on the order in its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fuzz.affinity import make_node_selector_terms
from tests.fuzz.draw import Draw, Json
from tests.fuzz.words import NAMESPACES, NODE_KEYS, REGION, ZONE, label_selector

__all__ = ["Storage", "make_storage"]

DRIVERS = ("csi.example.com", "ebs.csi.aws.com", "pd.csi.storage.gke.io")
PROVISIONERS = (*DRIVERS, "kubernetes.io/no-provisioner", "kubernetes.io/aws-ebs")
MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
VOLUME_KEYS = {"tier": ("fast", "slow"), "stage": ("prod", "test")}


@dataclass
class Storage:
    """What a case has of storage."""

    objects: list[Json] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)
    claims: dict[str, list[str]] = field(default_factory=dict)  # by namespace: names


def make_storage(draw: Draw, nodes: Sequence[str]) -> Storage:
    """Classes, volumes, claims and what CSI drivers say."""
    storage = Storage()
    for index in range(draw.number(1, 3)):
        storage.objects.append(_class(draw, f"class-{index}"))
        storage.classes.append(f"class-{index}")
    for _ in range(draw.number(4, 14)):
        _claim(draw, storage, nodes)
    for index in range(draw.number(0, 8)):
        volume = _volume(draw, f"free-{index}", draw.pick([*storage.classes, ""]), nodes)
        if draw.chance(0.1):
            volume["spec"]["claimRef"] = {"namespace": draw.pick(NAMESPACES), "name": f"claim-{draw.number(0, 8)}"}
        storage.objects.append(volume)
    storage.objects += [_csi_node(draw, name) for name in nodes if draw.chance(0.75)]
    storage.objects += [_csi_driver(draw, name) for name in DRIVERS if draw.chance(0.6)]
    storage.objects += [_capacity(draw, storage, index) for index in range(draw.number(0, 4))]
    storage.objects += [_attachment(draw, nodes, index) for index in range(draw.number(0, 3)) if nodes]
    return storage


def _class(draw: Draw, name: str) -> Json:
    found: Json = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": draw.pick(PROVISIONERS),
        "volumeBindingMode": "WaitForFirstConsumer" if draw.chance(0.88) else "Immediate",
    }
    if draw.chance(0.2):
        key = draw.pick((ZONE, "rack"))
        values = draw.some([value for value in NODE_KEYS[key] if value], least=1)
        found["allowedTopologies"] = [{"matchLabelExpressions": [{"key": key, "values": values}]}]
    return found


def _claim(draw: Draw, storage: Storage, nodes: Sequence[str]) -> None:
    number = draw.count("claim")
    namespace = draw.pick(NAMESPACES) if draw.chance(0.3) else "default"
    name = f"claim-{number}"
    class_name = draw.pick([*storage.classes, "", "gone"] if draw.chance(0.08) else storage.classes)
    spec: Json = {
        "accessModes": draw.some(MODES[:3], 2, 1) if draw.chance(0.8) else ["ReadWriteOncePod"],
        "storageClassName": class_name,
        "resources": {"requests": {"storage": f"{draw.number(1, 25)}Gi"}},
    }
    if draw.chance(0.12):
        spec["selector"] = label_selector(draw, VOLUME_KEYS)
    if draw.chance(0.1):
        spec["volumeMode"] = "Block"
    metadata: Json = {"name": name, "namespace": namespace, "uid": f"claim-{number}", "annotations": {}}
    status: Json = {"phase": "Pending"}
    if draw.chance(0.35):
        volume_name = f"volume-{number}"
        spec["volumeName"] = volume_name
        status["phase"] = "Bound"
        if draw.chance(0.9):
            metadata["annotations"]["pv.kubernetes.io/bind-completed"] = "yes"
        if draw.chance(0.93):
            volume = _volume(draw, volume_name, class_name, nodes)
            volume["spec"]["claimRef"] = {"namespace": namespace, "name": name, "uid": metadata["uid"]}
            volume["spec"]["accessModes"] = spec["accessModes"]
            volume["status"]["phase"] = "Bound"
            storage.objects.append(volume)
    elif draw.chance(0.08) and nodes:
        metadata["annotations"]["volume.kubernetes.io/selected-node"] = draw.pick([*nodes, "gone"])
    if draw.chance(0.04):
        status["phase"] = "Lost"
    if draw.chance(0.04):
        metadata |= {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]}
    kind = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    storage.objects.append({**kind, "metadata": metadata, "spec": spec, "status": status})
    storage.claims.setdefault(namespace, []).append(name)


def _volume(draw: Draw, name: str, class_name: str, nodes: Sequence[str]) -> Json:
    labels = {key: draw.pick(values) for key, values in VOLUME_KEYS.items() if draw.chance(0.4)}
    if draw.chance(0.25):
        labels[draw.pick((ZONE, REGION, "failure-domain.beta.kubernetes.io/zone"))] = draw.pick(
            ("z1", "z2", "r1", "z1__z2", "z2__z3")
        )
    spec: Json = {
        "capacity": {"storage": f"{3 * draw.number(1, 14) * 1000 + draw.count('size')}Mi"},
        "accessModes": draw.some(MODES[:3], 3, 1) if draw.chance(0.85) else ["ReadWriteOncePod"],
        "storageClassName": class_name,
        "persistentVolumeReclaimPolicy": draw.pick(("Retain", "Delete")),
        **_source(draw, name),
    }
    if draw.chance(0.1):
        spec["volumeMode"] = "Block"
    if draw.chance(0.4):
        near = {"key": ZONE, "operator": "In", "values": draw.some(NODE_KEYS[ZONE], least=1)}
        terms = [{"matchExpressions": [near]}] if draw.chance(0.7) else make_node_selector_terms(draw, nodes)
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    metadata: Json = {"name": name, "labels": labels}
    if draw.chance(0.03):
        metadata |= {"deletionTimestamp": "2030-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pv-protection"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": draw.pick(("Available", "Available", "Available", "Released", "Failed"))},
    }


def _source(draw: Draw, name: str) -> Json:
    match draw.number(0, 4):
        case 0:
            return {"awsElasticBlockStore": {"volumeID": f"vol-{name}"}}
        case 1:
            return {"gcePersistentDisk": {"pdName": f"disk-{name}"}}
        case 2:
            return {"nfs": {"server": "nfs.example", "path": "/data"}}
        case _:
            return {"csi": {"driver": draw.pick(DRIVERS), "volumeHandle": f"handle-{name}"}}


def _csi_node(draw: Draw, name: str) -> Json:
    drivers = []
    for driver in draw.some(DRIVERS):
        entry: Json = {"name": driver, "nodeID": f"{name}-{driver}"}
        if draw.chance(0.75):
            entry["allocatable"] = {"count": draw.pick((0, 1, 1, 2, 3, 10))}
        drivers.append(entry)
    metadata: Json = {"name": name}
    if draw.chance(0.6):
        metadata["annotations"] = {
            MIGRATED: draw.pick(("kubernetes.io/aws-ebs,kubernetes.io/gce-pd", "kubernetes.io/aws-ebs"))
        }
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": metadata, "spec": {"drivers": drivers}}


def _csi_driver(draw: Draw, name: str) -> Json:
    spec = {"storageCapacity": draw.chance(0.6), "attachRequired": draw.chance(0.8)}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec}


def _capacity(draw: Draw, storage: Storage, index: int) -> Json:
    found: Json = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"capacity-{index}", "namespace": "default"},
        "storageClassName": draw.pick(storage.classes),
    }
    if draw.chance(0.85):
        found["nodeTopology"] = label_selector(
            draw, {key: tuple(filter(None, NODE_KEYS[key])) for key in (ZONE, "rack")}
        )
    if draw.chance(0.9):
        found["capacity"] = f"{draw.pick((0, 1, 10, 30, 100))}Gi"
    if draw.chance(0.3):
        found["maximumVolumeSize"] = f"{draw.pick((1, 15, 50))}Gi"
    return found


def _attachment(draw: Draw, nodes: Sequence[str], index: int) -> Json:
    source = {"persistentVolumeName": draw.pick((f"volume-{draw.number(0, 6)}", f"free-{draw.number(0, 3)}", "gone"))}
    spec = {"attacher": draw.pick(DRIVERS), "nodeName": draw.pick(nodes), "source": source}
    status = {"attached": draw.chance(0.8)}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment"}
    return {**kind, "metadata": {"name": f"attachment-{index}"}, "spec": spec, "status": status}
