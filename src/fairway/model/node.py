"""A node: what it has, what it is called, whom it refuses.

Decoded from API JSON or YAML by `fairway.model.decode`; `cluster/` turns nodes into rows of its tables.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from typing import Literal

import msgspec

from fairway.model.meta import Int64, ObjectMeta, Time, Value
from fairway.model.quantity import Quantity

__all__ = [
    "AttachedVolume",
    "ContainerImage",
    "Node",
    "NodeAddress",
    "NodeCondition",
    "NodeFeatures",
    "NodeSpec",
    "NodeStatus",
    "NodeSystemInfo",
    "Taint",
]


class Taint(Value, frozen=True, kw_only=True):
    """Keeps pods away that do not tolerate it; effect NoSchedule, PreferNoSchedule or NoExecute."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Time | None = None


class NodeSpec(Value, frozen=True, kw_only=True):
    """What the administrator decided."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(name="providerID", default="")
    pod_cidr: str = msgspec.field(name="podCIDR", default="")


class ContainerImage(Value, frozen=True, kw_only=True):
    """An image on the node's disk, under all its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeCondition(Value, frozen=True, kw_only=True):
    """One thing known about the node, such as Ready."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_heartbeat_time: Time | None = None
    last_transition_time: Time | None = None


class AttachedVolume(Value, frozen=True, kw_only=True):
    """A volume the node has attached."""

    name: str = ""
    device_path: str = ""


class NodeAddress(Value, frozen=True, kw_only=True):
    """How to reach the node."""

    type: str = ""
    address: str = ""


class NodeSystemInfo(Value, frozen=True, kw_only=True):
    """What runs on the node."""

    operating_system: str = ""
    architecture: str = ""
    kubelet_version: str = ""
    kernel_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""


class NodeFeatures(Value, frozen=True, kw_only=True):
    """What the container runtime can do."""

    supplemental_groups_policy: bool | None = None


class NodeStatus(Value, frozen=True, kw_only=True):
    """What the node reports; pods are placed against `allocatable`."""

    capacity: dict[str, Quantity] = {}
    allocatable: dict[str, Quantity] = {}
    conditions: tuple[NodeCondition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    declared_features: tuple[str, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    features: NodeFeatures | None = None


class Node(Value, frozen=True, kw_only=True):
    """A machine pods run on."""

    api_version: Literal["v1"] = msgspec.field(default_factory=lambda: "v1")
    kind: Literal["Node"] = msgspec.field(default_factory=lambda: "Node")
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name
