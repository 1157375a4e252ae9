"""The shape of a KubeSchedulerConfiguration file, version kubescheduler.config.k8s.io/v1.

Structs with kube-scheduler's field names and its defaults (k8s.io/kube-scheduler/config/v1/types.go and
apis/config/v1/defaults.go, 1.36); `fields` decodes into them, `config` checks and completes them. The one
addition is `fairway:` in a profile, for what kube-scheduler has no field for (`fairway_section`).
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from fairway.config.fairway_section import FairwayProfile, Sampling
from fairway.model.duration import Duration
from fairway.model.meta import Int32, Int64, Value

__all__ = [
    "API_VERSION",
    "KIND",
    "ClientConnection",
    "Extender",
    "ExtenderManagedResource",
    "ExtenderTLSConfig",
    "FairwayProfile",
    "KubeSchedulerConfiguration",
    "KubeSchedulerProfile",
    "LeaderElection",
    "PluginChoice",
    "PluginConfig",
    "PluginSet",
    "Plugins",
    "Sampling",
]

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"
KIND: Final = "KubeSchedulerConfiguration"


class PluginChoice(Value, frozen=True, kw_only=True):
    """A plugin by name ("*": all, when disabling) and, where it scores, what its scores are multiplied with."""

    name: str
    weight: Int32 | None = None


class PluginSet(Value, frozen=True, kw_only=True):
    """What to add to the plugins of an extension point, and what to leave out."""

    enabled: tuple[PluginChoice, ...] = ()
    disabled: tuple[PluginChoice, ...] = ()


class Plugins(Value, frozen=True, kw_only=True):
    """A set for each extension point, and one (`multi_point`) for all that a plugin implements."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()


class PluginConfig(Value, frozen=True, kw_only=True):
    """What a plugin is told: the fields of its `Args`."""

    name: str
    args: Any = None


class KubeSchedulerProfile(Value, frozen=True, kw_only=True):
    """How the pods that name this scheduler are scheduled."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()
    fairway: FairwayProfile = FairwayProfile()


class ExtenderManagedResource(Value, frozen=True, kw_only=True):
    """An extended resource that an extender looks after."""

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(Value, frozen=True, kw_only=True):
    """How to talk TLS with an extender; data goes before the file of the same name."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""


class Extender(Value, frozen=True, kw_only=True):
    """A web service that is asked as well; a verb that is empty is one it does not have."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    http_timeout: Duration = Duration(0)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


def _fill(settings: Value, **defaults: object) -> None:
    """Put a default in the place of each field that is empty or zero, as kube-scheduler's defaulting does."""
    for name, default in defaults.items():
        if not getattr(settings, name):
            msgspec.structs.force_setattr(settings, name, default)


class LeaderElection(Value, frozen=True, kw_only=True):
    """Which of several schedulers works: the one that holds a lease."""

    leader_elect: bool = True
    lease_duration: Duration = Duration(15)
    renew_deadline: Duration = Duration(10)
    retry_period: Duration = Duration(2)
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"

    def __post_init__(self) -> None:
        _fill(self, lease_duration=Duration(15), renew_deadline=Duration(10), retry_period=Duration(2))
        _fill(self, resource_lock="leases", resource_name="kube-scheduler", resource_namespace="kube-system")


class ClientConnection(Value, frozen=True, kw_only=True):
    """How to reach the API server, and how hard to press it."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Int32 = 100

    def __post_init__(self) -> None:
        _fill(self, content_type="application/vnd.kubernetes.protobuf", qps=50.0, burst=100)


class KubeSchedulerConfiguration(Value, frozen=True, kw_only=True):
    """The whole file."""

    removed_fields: ClassVar[dict[str, str]] = {
        "healthzBindAddress": "kubescheduler.config.k8s.io/v1 no longer has it: remove the line",
        "metricsBindAddress": "kubescheduler.config.k8s.io/v1 no longer has it: remove the line",
    }

    api_version: str
    kind: str
    parallelism: Int32 = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 = 0
    pod_initial_backoff_seconds: Int64 = 1
    pod_max_backoff_seconds: Int64 = 10
    profiles: tuple[KubeSchedulerProfile, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False
