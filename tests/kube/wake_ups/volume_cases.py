"""Plugins that look at volumes."""

from __future__ import annotations

from typing import Final

from tests.kube.wake_ups.case import NAMESPACE, SUBJECT, added, cases, changed, deleted
from tests.kube.wake_ups.events import (
    SOFT_TAINT,
    annotated,
    node_allocatable,
    node_labels,
    node_taints,
    node_zone,
    pod_labels,
)
from tests.kube.wake_ups.things import (
    DRIVER,
    ZONE,
    attachment,
    capacity,
    claim,
    csi_node,
    disk,
    mounting,
    node,
    pod,
    storage_class,
    storage_thing,
    subject,
    volume,
)

MIGRATED: Final = "storage.alpha.kubernetes.io/migrated-plugins"
BOUND: Final = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}, "spec": {"volumeName": "data"}}
CSI_DRIVER: Final = storage_thing(
    "CSIDriver", DRIVER, spec={"storageCapacity": True, "volumeLifecycleModes": ["Ephemeral"]}
)
CAPACITY_UNCOUNTED: Final = changed("CSIDriver", DRIVER, {"spec": {"storageCapacity": False}})


VOLUMES: Final = [
    *cases(
        "VolumeRestrictions",
        subject(**mounting("data")),
        [node("a"), volume("data"), pod("other", nodeName="a")],
        ("its claim comes", added(claim("data", "data")), "a"),
        ("another claim comes", added(claim("more")), None),
        ("a node comes", added(node("b")), ""),
        ("a node has other labels", node_labels(disk="ssd"), None),
        ("a volume comes", added(volume("more")), None),
        ("a pod is deleted", deleted("Pod", "other"), None),
    ),
    *cases(
        "VolumeRestrictions",
        subject(**mounting("data")),
        [
            node("a"),
            volume("data", modes="ReadWriteOncePod", csi={"driver": DRIVER, "volumeHandle": "data"}),
            claim("data", "data", modes="ReadWriteOncePod"),
            pod("other", nodeName="a", **mounting("data")),
            pod("third", nodeName="a"),
        ],
        ("the pod with the claim is deleted", deleted("Pod", "other"), "a"),
        ("a pod without it is deleted", deleted("Pod", "third"), None),
        ("its claim changes", annotated("PersistentVolumeClaim", "data"), None),
    ),
    *cases(
        "VolumeBinding",
        subject(**mounting("data")),
        [
            node("a"),
            volume("data"),
            claim("data"),
            pod("other", nodeName="a"),
            csi_node("a", 5),
            capacity("1Gi"),
            storage_class("slow", "Immediate"),
        ],
        ("its claim is bound", changed("PersistentVolumeClaim", "data", BOUND), "a"),
        ("its claim is annotated", annotated("PersistentVolumeClaim", "data"), ""),
        ("another claim comes", added(claim("more")), None),
        ("a volume comes", added(volume("more")), ""),
        ("a volume changes", annotated("PersistentVolume", "data"), ""),
        ("a class comes", added(storage_class("fast", "Immediate")), ""),
        ("a class is annotated", annotated("StorageClass", "slow"), None),
        (
            "a class allows other zones",
            changed(
                "StorageClass",
                "slow",
                {"allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": ["x"]}]}]},
            ),
            "",
        ),
        ("a CSINode comes", added(csi_node("b", 1)), ""),
        ("a CSINode changes", annotated("CSINode", "a"), None),
        ("a CSINode has moved plugins", annotated("CSINode", "a", MIGRATED), ""),
        ("a capacity comes", added({**capacity("1Gi"), "metadata": {"name": "more", "namespace": NAMESPACE}}), ""),
        ("a capacity grows", changed("CSIStorageCapacity", "room", {"capacity": "2Gi"}), ""),
        ("a capacity shrinks", changed("CSIStorageCapacity", "room", {"capacity": "500Mi"}), None),
        ("a node comes", added(node("b")), ""),
        ("a node has other labels", node_labels(disk="ssd"), ""),
        ("a node has other taints", node_taints(SOFT_TAINT), ""),
        ("a node grows", node_allocatable(cpu="8"), None),
        ("a pod is deleted", deleted("Pod", "other"), None),
        ("it has other labels itself", pod_labels(SUBJECT, app="new"), None),
    ),
    *cases(
        "VolumeBinding",
        subject(**mounting("data")),
        [CSI_DRIVER, node("a"), claim("data")],
        ("a driver that is not its own counts no more", CAPACITY_UNCOUNTED, None),
    ),
    *cases(
        "VolumeBinding",
        subject(volumes=[*mounting("data")["volumes"], {"name": "inline", "csi": {"driver": DRIVER}}]),
        [CSI_DRIVER, node("a"), claim("data")],
        ("its driver counts no more", CAPACITY_UNCOUNTED, ""),
    ),
    *cases(
        "NodeVolumeLimits",
        subject(**mounting("mine")),
        [
            attachment("gone"),
            disk("gone"),
            node("a"),
            csi_node("a", 2),
            disk("theirs"),
            claim("theirs", "theirs"),
            disk("mine"),
            claim("mine", "mine"),
            pod("other", nodeName="a", **mounting("theirs")),
            pod("third", nodeName="a"),
        ],
        ("the limit is higher", changed("CSINode", "a", {"spec": csi_node("a", 3)["spec"]}), "a"),
        ("the limit is lower", changed("CSINode", "a", {"spec": csi_node("a", 1)["spec"]}), None),
        ("a CSINode comes", added(csi_node("b", 1)), ""),
        ("a pod with a volume is deleted", deleted("Pod", "other"), "a"),
        ("a pod without is deleted", deleted("Pod", "third"), None),
        ("a volume is detached", deleted("VolumeAttachment", "gone"), "a"),
        ("another claim comes", added(claim("more")), None),
        ("a node comes", added(node("b")), None),
        ("a node has other labels", node_labels(disk="ssd"), None),
        ("a node grows", node_allocatable(cpu="8"), None),
        ("a volume changes", annotated("PersistentVolume", "mine"), None),
    ),
    *cases(
        "VolumeZone",
        subject(**mounting("data")),
        [node("a", {ZONE: "one"}), volume("data", {ZONE: "two"}), claim("data", "data"), pod("other", nodeName="a")],
        ("a node is in its zone", node_zone("two"), "a"),
        ("a node has other labels", node_labels(disk="ssd"), ""),
        ("a node comes in its zone", added(node("b", {ZONE: "two"})), "b"),
        ("a node comes in another zone", added(node("b", {ZONE: "three"})), ""),
        ("a node has other taints", node_taints(SOFT_TAINT), ""),
        ("a node grows", node_allocatable(cpu="8"), None),
        (
            "the volume is in another zone",
            changed("PersistentVolume", "data", {"metadata": {"labels": {ZONE: "one"}}}),
            "a",
        ),
        ("the volume is annotated", annotated("PersistentVolume", "data"), None),
        ("a volume comes", added(volume("more")), ""),
        ("its claim is annotated", annotated("PersistentVolumeClaim", "data"), ""),
        ("another claim comes", added(claim("more")), None),
        ("a class comes that waits for pods", added(storage_class("late", "WaitForFirstConsumer")), ""),
        ("a class comes that does not", added(storage_class("soon", "Immediate")), None),
        ("a pod is deleted", deleted("Pod", "other"), None),
    ),
]
