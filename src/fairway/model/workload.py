"""The objects around pods that change where pods go: owners, services, budgets, priorities, namespaces.

Decoded from API JSON or YAML by `fairway.model.decode`. Services and owners give PodTopologySpread its
default selectors, budgets restrain preemption, priority classes give `spec.priority`, and namespaces
carry the labels that affinity terms select by.
"""

# ruff: noqa: RUF012 - msgspec gives each struct an empty dict of its own
from __future__ import annotations

from typing import Literal

import msgspec

from fairway.model.meta import Int32, Int64, LabelSelector, ObjectMeta, Time, Value
from fairway.model.pod import PodTemplateSpec
from fairway.model.storage import PersistentVolumeClaim

__all__ = [
    "IntOrPercent",
    "Namespace",
    "NamespaceStatus",
    "PodDisruptionBudget",
    "PodDisruptionBudgetSpec",
    "PodDisruptionBudgetStatus",
    "PriorityClass",
    "ReplicaSet",
    "ReplicaSetSpec",
    "ReplicationController",
    "ReplicationControllerSpec",
    "Service",
    "ServiceSpec",
    "StatefulSet",
    "StatefulSetClaimRetention",
    "StatefulSetOrdinals",
    "StatefulSetRollingUpdate",
    "StatefulSetSpec",
    "StatefulSetUpdateStrategy",
]

IntOrPercent = int | str
"""A number, or a percentage of the replicas such as "25%"."""


class NamespaceStatus(Value, frozen=True, kw_only=True):
    """Active or Terminating."""

    phase: str = ""


class Namespace(Value, frozen=True, kw_only=True):
    """A room for names."""

    api_version: Literal["v1"] = msgspec.field(default_factory=lambda: "v1")
    kind: Literal["Namespace"] = msgspec.field(default_factory=lambda: "Namespace")
    metadata: ObjectMeta = ObjectMeta()
    status: NamespaceStatus = NamespaceStatus()


class ServiceSpec(Value, frozen=True, kw_only=True):
    """The pods behind a service; an empty selector selects none."""

    selector: dict[str, str] = {}


class Service(Value, frozen=True, kw_only=True):
    """A name for a set of pods."""

    api_version: Literal["v1"] = msgspec.field(default_factory=lambda: "v1")
    kind: Literal["Service"] = msgspec.field(default_factory=lambda: "Service")
    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Value, frozen=True, kw_only=True):
    """How many copies of which pod."""

    replicas: Int32 | None = None
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None
    min_ready_seconds: Int32 = 0


class ReplicationController(Value, frozen=True, kw_only=True):
    """Keeps a number of equal pods, the old way."""

    api_version: Literal["v1"] = msgspec.field(default_factory=lambda: "v1")
    kind: Literal["ReplicationController"] = msgspec.field(default_factory=lambda: "ReplicationController")
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ReplicaSetSpec(Value, frozen=True, kw_only=True):
    """How many copies of which pod."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    min_ready_seconds: Int32 = 0


class ReplicaSet(Value, frozen=True, kw_only=True):
    """Keeps a number of equal pods."""

    api_version: Literal["apps/v1"] = msgspec.field(default_factory=lambda: "apps/v1")
    kind: Literal["ReplicaSet"] = msgspec.field(default_factory=lambda: "ReplicaSet")
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetRollingUpdate(Value, frozen=True, kw_only=True):
    """From which ordinal on pods are updated, and how many at a time."""

    partition: Int32 | None = None
    max_unavailable: IntOrPercent | None = None


class StatefulSetUpdateStrategy(Value, frozen=True, kw_only=True):
    """RollingUpdate, from the last pod to the first; or OnDelete."""

    type: str = ""
    rolling_update: StatefulSetRollingUpdate | None = None


class StatefulSetOrdinals(Value, frozen=True, kw_only=True):
    """Where counting begins."""

    start: Int32 = 0


class StatefulSetClaimRetention(Value, frozen=True, kw_only=True):
    """What becomes of a pod's claims when it is scaled away, or its set deleted: Retain or Delete."""

    when_deleted: str = ""
    when_scaled: str = ""


class StatefulSetSpec(Value, frozen=True, kw_only=True):
    """How many copies of which pod, in which order."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    volume_claim_templates: tuple[PersistentVolumeClaim, ...] = ()
    service_name: str = ""
    pod_management_policy: str = ""
    update_strategy: StatefulSetUpdateStrategy = StatefulSetUpdateStrategy()
    min_ready_seconds: Int32 = 0
    ordinals: StatefulSetOrdinals | None = None
    persistent_volume_claim_retention_policy: StatefulSetClaimRetention | None = None


class StatefulSet(Value, frozen=True, kw_only=True):
    """Keeps a number of pods with names of their own."""

    api_version: Literal["apps/v1"] = msgspec.field(default_factory=lambda: "apps/v1")
    kind: Literal["StatefulSet"] = msgspec.field(default_factory=lambda: "StatefulSet")
    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()


class PodDisruptionBudgetSpec(Value, frozen=True, kw_only=True):
    """Whose disruptions are counted, and how many are too many (a number or a percentage)."""

    selector: LabelSelector | None = None
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Value, frozen=True, kw_only=True):
    """How many pods may be disrupted now, and which already are."""

    disruptions_allowed: Int32 = 0
    disrupted_pods: dict[str, Time] = {}
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    observed_generation: Int64 = 0


class PodDisruptionBudget(Value, frozen=True, kw_only=True):
    """How many of a set of pods may be away at once."""

    api_version: Literal["policy/v1"] = msgspec.field(default_factory=lambda: "policy/v1")
    kind: Literal["PodDisruptionBudget"] = msgspec.field(default_factory=lambda: "PodDisruptionBudget")
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(Value, frozen=True, kw_only=True):
    """A name for a priority."""

    api_version: Literal["scheduling.k8s.io/v1"] = msgspec.field(default_factory=lambda: "scheduling.k8s.io/v1")
    kind: Literal["PriorityClass"] = msgspec.field(default_factory=lambda: "PriorityClass")
    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None
