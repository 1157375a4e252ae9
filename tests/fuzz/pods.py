"""Pods: those that run, those that wait for a node that is being cleared, and those that come.

In: a `Draw` and a `Setting` (what the case has that a pod can refer to). Out: Pod objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fuzz.affinity import make_affinity, make_spread, make_tolerations, node_selector
from tests.fuzz.containers import make_containers, make_resize, make_resources
from tests.fuzz.draw import Draw, Json
from tests.fuzz.storage import DRIVERS, Storage
from tests.fuzz.words import NAMESPACES, pod_labels

__all__ = ["Setting", "make_pod"]


@dataclass
class Setting:
    """What pods of a case refer to."""

    nodes: Sequence[str]
    classes: Sequence[str]  # priority classes
    storage: Storage
    owners: dict[str, list[Json]] = field(default_factory=dict)  # by namespace: ownerReferences


def make_pod(draw: Draw, setting: Setting, node: str = "", nominated: str = "") -> Json:
    """A pod on a node, one that was promised a node, or one that comes."""
    number = draw.count("pod")
    name = f"p{number}"
    namespace = draw.pick(NAMESPACES) if draw.chance(0.35) else "default"
    metadata: Json = {"name": name, "namespace": namespace, "uid": f"uid-{number}", "labels": pod_labels(draw)}
    if draw.chance(0.25) and setting.owners.get(namespace):
        metadata["ownerReferences"] = [draw.pick(setting.owners[namespace])]
    spec = _spec(draw, setting, namespace, name, is_new=not node)
    status: Json = {}
    if node:
        spec["nodeName"] = node
        status |= {
            "phase": "Running",
            "startTime": f"2029-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z",
        }
        if draw.has("resize"):
            status |= make_resize(draw, spec["containers"], spec.get("resources", {}))
        if draw.has("terminating"):
            metadata |= {"deletionTimestamp": "2030-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
            if draw.chance(0.4):
                condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
                status["conditions"] = [condition]
    if nominated:
        status |= {"phase": "Pending", "nominatedNodeName": nominated}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _spec(draw: Draw, setting: Setting, namespace: str, name: str, is_new: bool) -> Json:
    spec = make_containers(draw)
    if any("restartPolicyRules" in each for each in spec["containers"]):
        spec["restartPolicy"] = "Never"
    if draw.has("pod-level resources"):
        spec["resources"] = make_resources(draw, pod_level=True)
        for container in (*spec["containers"], *spec.get("initContainers", ())):
            if draw.chance(0.6):  # or they ask for more than the pod as a whole
                container.pop("resources", None)
    if draw.has("overhead"):
        spec |= {"runtimeClassName": "kata", "overhead": {"cpu": "120m", "memory": "100Mi"}}
    if draw.chance(0.05):
        spec |= {"hostNetwork": True} if draw.chance(0.8) else {"hostUsers": False}
    spec |= _wishes(draw, setting)
    if setting.classes and draw.chance(0.6):
        important = is_new and draw.has("important")
        spec["priorityClassName"] = setting.classes[-1] if important else draw.pick(setting.classes)
    if draw.has("volumes"):
        spec["volumes"] = _volumes(draw, setting, namespace, name)
    if is_new and draw.chance(0.01) and setting.nodes:
        spec["nodeName"] = draw.pick((*setting.nodes, "gone"))
    elif is_new and draw.has("gates"):
        spec["schedulingGates"] = [{"name": "example.com/wait"}]
    return spec


def _wishes(draw: Draw, setting: Setting) -> Json:
    """Where the pod wants to be."""
    wishes: Json = {}
    if affinity := make_affinity(draw, setting.nodes):
        wishes["affinity"] = affinity
    if draw.has("spread"):
        wishes["topologySpreadConstraints"] = make_spread(draw)
    if draw.has("tolerations"):
        wishes["tolerations"] = make_tolerations(draw)
    if draw.has("node selector"):
        wishes["nodeSelector"] = node_selector(draw)
    return wishes


def _volumes(draw: Draw, setting: Setting, namespace: str, pod: str) -> list[Json]:
    found = []
    claims = setting.storage.claims.get(namespace, [])
    for index in range(draw.pick((1, 1, 2, 3))):
        volume: Json = {"name": f"v{index}"}
        kind = draw.number(0, 9)
        if kind <= 5 and claims:
            name = draw.pick(claims) if draw.chance(0.95) else "gone"
            volume["persistentVolumeClaim"] = {"claimName": name}
            if draw.chance(0.2):
                volume["persistentVolumeClaim"]["readOnly"] = True
        elif kind == 6:
            volume["ephemeral"] = {
                "volumeClaimTemplate": {"spec": _template(draw, setting, f"{pod}-v{index}", namespace, pod)}
            }
        elif kind == 7:
            volume["image"] = {"reference": draw.pick(("registry.example/app:v2", "nginx"))}
        else:
            volume |= _inline(draw)
        found.append(volume)
    return found


def _template(draw: Draw, setting: Setting, claim: str, namespace: str, pod: str) -> Json:
    """The claim that an ephemeral volume asks for, and, as a rule, the claim that a controller made of it."""
    spec: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": f"{draw.number(1, 20)}Gi"}}}
    if setting.storage.classes:
        spec["storageClassName"] = draw.pick(setting.storage.classes)
    if draw.chance(0.8):
        metadata: Json = {"name": claim, "namespace": namespace, "uid": f"claim-{claim}"}
        if draw.chance(0.9):
            owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": f"uid-{pod[1:]}", "controller": True}
            metadata["ownerReferences"] = [owner]
        made = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": dict(spec)}
        setting.storage.objects.append(made)
    return spec


def _inline(draw: Draw) -> Json:
    read_only = draw.chance(0.4)
    match draw.number(0, 6):
        case 0:
            return {"gcePersistentDisk": {"pdName": draw.pick(("d1", "d2")), "readOnly": read_only}}
        case 1:
            return {"awsElasticBlockStore": {"volumeID": draw.pick(("e1", "e2")), "readOnly": read_only}}
        case 2:
            target = {
                "targetPortal": "10.0.0.1:3260",
                "iqn": draw.pick(("iqn.2001-04.com.example:a", "iqn.2001-04.com.example:b")),
            }
            return {"iscsi": {**target, "lun": draw.number(0, 1), "readOnly": read_only}}
        case 3:
            return {
                "rbd": {
                    "monitors": draw.some(("m1", "m2"), least=1),
                    "image": draw.pick(("i1", "i2")),
                    "readOnly": read_only,
                }
            }
        case 4:
            return {"csi": {"driver": draw.pick(DRIVERS)}}
        case 5:
            return {"azureDisk": {"diskName": "a", "diskURI": "/subscriptions/s/a", "kind": "Managed"}}
        case _:
            return {"emptyDir": {}}
