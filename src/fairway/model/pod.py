"""A pod: what it needs, where it may go, what became of it.

Decoded from API JSON or YAML by `fairway.model.decode`; everything downstream reads these structs. Only the
fields that a scheduler or a simulator may look at are kept. What follows from them lives beside:
`requests` (how much it needs), `toleration` (which taints it bears), `selector` (which labels match).
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from typing import Literal

import msgspec

from fairway.model.affinity import Affinity
from fairway.model.meta import Int32, Int64, LabelSelector, ObjectMeta, Time, Value
from fairway.model.quantity import Quantity
from fairway.model.volume import Volume

__all__ = [
    "Container",
    "ContainerPort",
    "ContainerRestartRule",
    "ContainerState",
    "ContainerStateRunning",
    "ContainerStateTerminated",
    "ContainerStateWaiting",
    "ContainerStatus",
    "ExtendedResourceClaimStatus",
    "NodeAllocatableResourceClaimStatus",
    "Pod",
    "PodCondition",
    "PodOS",
    "PodResourceClaim",
    "PodResourceClaimStatus",
    "PodSchedulingGate",
    "PodSchedulingGroup",
    "PodSpec",
    "PodStatus",
    "PodTemplateSpec",
    "ResourceClaimName",
    "ResourceRequirements",
    "Toleration",
    "TopologySpreadConstraint",
]


class ResourceClaimName(Value, frozen=True, kw_only=True):
    """A container's use of one of the pod's resource claims."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Value, frozen=True, kw_only=True):
    """What is asked for (`requests`) and what is the most it may take (`limits`)."""

    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    claims: tuple[ResourceClaimName, ...] = ()


class ContainerPort(Value, frozen=True, kw_only=True):
    """A port; `host_port` 0 means that the node's port is not taken."""

    name: str = ""
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = ""


class ContainerRestartRule(Value, frozen=True, kw_only=True):
    """What to do when the container ends in a certain way."""

    action: str = ""


class Container(Value, frozen=True, kw_only=True):
    """A container; an init container with `restart_policy` Always is a sidecar."""

    name: str = ""
    image: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()

    @property
    def is_restartable(self) -> bool:
        """True for a container that keeps running beside the others: of init containers, a sidecar."""
        return self.restart_policy == "Always"


class Toleration(Value, frozen=True, kw_only=True):
    """A taint the pod bears. An empty operator means Equal, an empty effect any effect."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class TopologySpreadConstraint(Value, frozen=True, kw_only=True):
    """How unevenly the pods meant may lie over the values of a node label."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodSchedulingGate(Value, frozen=True, kw_only=True):
    """Somebody's wish that the pod is not scheduled yet."""

    name: str = ""


class PodSchedulingGroup(Value, frozen=True, kw_only=True):
    """The group of pods this one is to be placed with."""

    pod_group_name: str | None = None


class PodResourceClaim(Value, frozen=True, kw_only=True):
    """A claim for devices, existing or to be made from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodOS(Value, frozen=True, kw_only=True):
    """The operating system the pod is made for."""

    name: str = ""


class PodSpec(Value, frozen=True, kw_only=True):
    """What a pod asks for."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    overhead: dict[str, Quantity] = {}
    resources: ResourceRequirements | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    runtime_class_name: str | None = None
    host_network: bool = False
    host_users: bool | None = None
    os: PodOS | None = None
    hostname: str = ""
    subdomain: str = ""
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None


class PodCondition(Value, frozen=True, kw_only=True):
    """One thing known about the pod, such as PodScheduled or Ready."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None
    observed_generation: Int64 = 0


class ContainerStateWaiting(Value, frozen=True, kw_only=True):
    """Not started yet."""

    reason: str = ""
    message: str = ""


class ContainerStateRunning(Value, frozen=True, kw_only=True):
    """Running."""

    started_at: Time | None = None


class ContainerStateTerminated(Value, frozen=True, kw_only=True):
    """Ended."""

    exit_code: Int32 = 0
    reason: str = ""
    started_at: Time | None = None
    finished_at: Time | None = None


class ContainerState(Value, frozen=True, kw_only=True):
    """One of the three."""

    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Value, frozen=True, kw_only=True):
    """What a container has got: `resources` is in force now, `allocated_resources` is promised by the node."""

    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: Int32 = 0
    state: ContainerState = ContainerState()
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, Quantity] = {}


class PodResourceClaimStatus(Value, frozen=True, kw_only=True):
    """The claim made for one of the pod's claim templates."""

    name: str = ""
    resource_claim_name: str | None = None


class ExtendedResourceClaimStatus(Value, frozen=True, kw_only=True):
    """The claim made for extended resources that devices provide."""

    resource_claim_name: str = ""


class NodeAllocatableResourceClaimStatus(Value, frozen=True, kw_only=True):
    """What a device claim takes from the node's ordinary resources."""

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: dict[str, Quantity] = {}


class PodStatus(Value, frozen=True, kw_only=True):
    """What became of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[PodCondition, ...] = ()
    nominated_node_name: str = ""
    start_time: Time | None = None
    qos_class: str = ""
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resize: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, Quantity] = {}
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: ExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
    observed_generation: Int64 = 0


class PodTemplateSpec(Value, frozen=True, kw_only=True):
    """The pod a controller makes copies of."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class Pod(Value, frozen=True, kw_only=True):
    """One or more containers that are placed together."""

    api_version: Literal["v1"] = msgspec.field(default_factory=lambda: "v1")
    kind: Literal["Pod"] = msgspec.field(default_factory=lambda: "Pod")
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def key(self) -> str:
        """`namespace/name`, as kube-scheduler prints it."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def priority(self) -> int:
        """`spec.priority`, 0 when it was never resolved: `corev1helpers.PodPriority`."""
        return self.spec.priority or 0

    @property
    def is_terminating(self) -> bool:
        """True once deletion was asked for."""
        return self.metadata.deletion_timestamp is not None

    @property
    def is_finished(self) -> bool:
        """True when it holds no resources any more: phase Succeeded or Failed."""
        return self.status.phase in ("Succeeded", "Failed")
