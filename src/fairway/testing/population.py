"""Random nodes, pods, volumes and the rest, from a small vocabulary, so that selectors match and resources run short.

In: a `Chance` (see `fairway.testing.world`). Out: one API object. Everything a built-in plugin looks at appears:
labels, taints, resources, images, ports, affinity of every kind, spreading, claims, priorities, owners, deletion.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fairway.model import (
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    GCEPersistentDiskVolumeSource,
    Namespace,
    Node,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Service,
    ServiceSpec,
    StorageClass,
    TopologySpreadConstraint,
    Volume,
    VolumeNodeResources,
    default_object,
)
from fairway.testing import builders, storage_builders
from fairway.testing.builders import DELETED_AT
from fairway.testing.notation import TOPOLOGIES, Amount, label_selector, near

if TYPE_CHECKING:
    from fairway.testing.world import Chance

NODE_NAMES = ("n1", "n2", "n3", "n4", "n5", "n6", "n7")
NAMESPACES = ("default", "team-a")
IMAGES = {"app:v1": 300 << 20, "db:v2": 900 << 20, "tool:latest": 40 << 20}
GPU = "example.com/gpu"
DEVICES: tuple[dict[str, Amount], ...] = ({}, {}, {GPU: 1}, {GPU: 4, "ephemeral-storage": "10Gi"})
DRIVER = "disk.csi.example.com"
CLASSES = ("standard", "fast", "now")
CLAIMS = ("data", "logs", "scratch", "alone")
VOLUMES = ("pv-1", "pv-2", "pv-3")
TAINTS = ("gpu=a100", "gpu=h100:NoExecute", "spot:PreferNoSchedule", "maintenance:NoExecute")
NODE_TERMS = (
    "disk=ssd",
    "disk in (ssd,hdd)",
    "disk!=ssd",
    "!disk",
    "cores>8",
    "cores<8,disk",
    "topology.kubernetes.io/zone notin (a)",
    "metadata.name=n2",
    "metadata.name!=n1,disk",
)
POD_SELECTORS = ("app=web", "app in (web,db)", "app!=web", "tier", "!tier")


def random_node(chance: Chance, name: str) -> Node:
    """A node, on the small side."""
    labels = {
        key: value
        for key, values in {
            "disk": ("ssd", "hdd", ""),
            "cores": ("4", "16", "many"),
            "power": ("green", "grey"),
        }.items()
        if chance.flip(70)
        for value in [chance.pick(values)]
    }
    return builders.node(
        name,
        cpu=chance.pick(("0", "1", "2", "4", "3500m")),
        memory=chance.pick(("1Gi", "2Gi", "8Gi")),
        pods=chance.pick((1, 4, 110)),
        resources=chance.pick(DEVICES),
        zone=chance.pick(("a", "b", "c", "")),
        labels=labels,
        taints=[taint for taint in TAINTS if chance.flip(15)],
        unschedulable=chance.flip(10),
        images={image: size for image, size in IMAGES.items() if chance.flip(40)},
        features=chance.pick(((), (), ("GuaranteedQoSPodCPUResize",))),
    )


def random_placed_pod(chance: Chance, name: str, node: str, minute: int) -> Pod:
    """A pod that runs on a node since some minute, terminating now and then."""
    started = DELETED_AT + dt.timedelta(minutes=minute)
    return builders.pod(name, node=node, started=started, terminating=chance.flip(10), **_wishes(chance))


def random_pod(chance: Chance, name: str = "judged") -> Pod:
    """A pod that wants a node; a few name theirs, or were promised one."""
    named = chance.pick(NODE_NAMES) if chance.flip(5) else ""
    promised = chance.pick(NODE_NAMES) if chance.flip(5) else ""
    return builders.pod(name, node=named, phase="Pending", nominated_node=promised, **_wishes(chance))


def _wishes(chance: Chance) -> dict[str, Any]:
    wishes: dict[str, Any] = {
        "namespace": chance.pick(NAMESPACES),
        "labels": chance.pick(({}, {"app": "web"}, {"app": "web", "tier": "front"}, {"app": "db"})),
        "cpu": chance.pick((None, "100m", "500m", "1", "3")),
        "memory": chance.pick((None, "128Mi", "1Gi")),
        "priority": chance.pick((0, 0, 10, 100)),
    }
    rare = {
        "requests": ({GPU: 1}, {GPU: 2, "ephemeral-storage": "1Gi"}, {"example.com/unheard-of": 1}),
        "tolerates": (
            "gpu",
            ("gpu=a100", "maintenance"),
            "*",
            "spot:PreferNoSchedule",
            "node.kubernetes.io/unschedulable",
        ),
        "node_selector": ({"disk": "ssd"}, {"disk": "hdd", "power": "green"}),
        "node_affinity": (*NODE_TERMS, NODE_TERMS[1:3], NODE_TERMS[6:8]),
        "prefers_nodes": ({"disk=ssd": 10}, {"power=green": 3, "!cores": 7}),
        "ports": (8080, ("10.0.0.1:8080", 9090), "8080/UDP"),
        "images": (("app:v1",), ("app:v1", "db:v2"), ("tool",)),
        "owner": ("ReplicaSet/web", "StatefulSet/db"),
    }
    wishes |= {key: chance.pick(values) for key, values in rare.items() if chance.flip(20)}
    for key in ("affinity", "anti_affinity"):
        if chance.flip(20):
            wishes[key] = [_term(chance) for _ in range(chance.pick((1, 1, 2)))]
    if chance.flip(25):
        wishes["spread"] = [_spread(chance) for _ in range(chance.pick((1, 1, 2)))]
    if chance.flip(15):
        wishes["claims"] = chance.pick((*CLAIMS, CLAIMS[:2], "missing"))
    if chance.flip(5):
        disk = GCEPersistentDiskVolumeSource(pd_name="disk-1", read_only=chance.flip(50))
        wishes["volumes"] = Volume(name="disk", gce_persistent_disk=disk)
    return wishes


def _term(chance: Chance) -> Any:
    return near(
        chance.pick(POD_SELECTORS),
        chance.pick(("node", "zone", "disk")),
        weight=chance.pick((0, 0, 5, 50)),
        namespaces=chance.pick(((), (), "team-a")),
        namespace_selector=chance.pick((None, None, "tier=prod", "")),
    )


def _spread(chance: Chance) -> TopologySpreadConstraint:
    hard = chance.flip(50)
    return TopologySpreadConstraint(
        max_skew=chance.pick((1, 2)),
        topology_key=TOPOLOGIES[chance.pick(("zone", "node"))],
        when_unsatisfiable="DoNotSchedule" if hard else "ScheduleAnyway",
        label_selector=label_selector(chance.pick(POD_SELECTORS)),
        min_domains=chance.pick((None, None, 2)) if hard else None,
        node_affinity_policy=chance.pick((None, "Honor", "Ignore")),
        node_taints_policy=chance.pick((None, "Honor", "Ignore")),
    )


def random_namespace(chance: Chance) -> Namespace:
    """One of the namespaces, of one tier or another."""
    name = chance.pick(NAMESPACES)
    labels = chance.pick(({}, {"tier": "prod"}, {"tier": "test"}))
    return cast(Namespace, default_object(Namespace(metadata=ObjectMeta(name=name, uid=name, labels=labels))))


def random_service(chance: Chance) -> Service:
    """A service for some of the pods."""
    namespace, name = chance.pick(NAMESPACES), chance.pick(("front", "back"))
    return Service(
        metadata=ObjectMeta(name=name, namespace=namespace, uid=f"{namespace}/{name}"),
        spec=ServiceSpec(selector=chance.pick(({}, {"app": "web"}, {"app": "db"}))),
    )


def random_storage_class(chance: Chance) -> StorageClass:
    """A class whose volumes exist, are made on demand, or are bound beforehand."""
    name = chance.pick(CLASSES)
    return storage_builders.storage_class(name, provisioner=DRIVER if name == "fast" else "", waits=name != "now")


def random_volume(chance: Chance) -> PersistentVolume:
    """A volume; no two are of one size, so that there is always a smallest that fits."""
    number = chance.pick((1, 2, 3))
    return storage_builders.volume(
        f"pv-{number}",
        size=f"{number}Gi",
        storage_class=chance.pick(CLASSES[:2]),
        claim=chance.pick(("", "", f"default/{CLAIMS[number - 1]}")),
        nodes=chance.pick(((), "disk=ssd", "topology.kubernetes.io/zone in (a,b)")),
        zone=chance.pick(("", "a")),
        driver=chance.pick(("", DRIVER)),
    )


def random_claim(chance: Chance) -> PersistentVolumeClaim:
    """A claim, bound or not."""
    name = chance.pick(CLAIMS)
    return storage_builders.claim(
        name,
        namespace=chance.pick(NAMESPACES),
        storage_class=chance.pick(CLASSES),
        volume=chance.pick(("", "", *VOLUMES)),
        access="ReadWriteOncePod" if name == "alone" else "ReadWriteOnce",
    )


def random_csi_node(chance: Chance, name: str) -> CSINode:
    """How many volumes of the driver a node takes."""
    count = VolumeNodeResources(count=chance.pick((0, 1, 2)))
    driver = CSINodeDriver(name=DRIVER, node_id=name, allocatable=chance.pick((None, count, count)))
    return CSINode(metadata=ObjectMeta(name=name, uid=name), spec=CSINodeSpec(drivers=(driver,)))


def relabelled(chance: Chance, pod: Pod) -> Pod:
    """The pod with other labels."""
    labels = chance.pick(({}, {"app": "web"}, {"app": "db", "tier": "back"}))
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, labels=labels))


def terminated(pod: Pod) -> Pod:
    """The pod once its deletion was asked for."""
    meta = msgspec.structs.replace(pod.metadata, deletion_timestamp=DELETED_AT)
    return msgspec.structs.replace(pod, metadata=meta)


def without_ports(pod: Pod) -> Pod:
    """The pod, with no port of its node."""
    containers = tuple(msgspec.structs.replace(container, ports=()) for container in pod.spec.containers)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, containers=containers))
