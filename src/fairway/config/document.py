"""A configuration as plain values again: a KubeSchedulerConfiguration with every default filled in.

In: a completed `Configuration`. Out: what `decode_configuration` reads back as the same: plugins are listed per
extension point, as they run, and kube-scheduler's defaults are switched off, so that nothing is merged in once more.
What could be a secret (the TLS material of extenders) is left out. `/configz` shows it, and runs keep it (without paths
of the machine: `record.schedulers`).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from fairway.config.config_file import API_VERSION, KIND, Extender
from fairway.config.configuration import Configuration, ProfileConfig
from fairway.model.codec import to_builtins
from fairway.model.duration import Duration

__all__ = ["configuration_document"]

NO_DEFAULTS: Final = {"disabled": [{"name": "*"}]}


def configuration_document(configuration: Configuration) -> dict[str, Any]:
    """The whole, as plain values."""
    election, connection = configuration.leader_election, configuration.client_connection
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "parallelism": configuration.parallelism,
        "percentageOfNodesToScore": configuration.percentage_of_nodes_to_score,
        "podInitialBackoffSeconds": configuration.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": configuration.pod_max_backoff_seconds,
        "enableProfiling": configuration.enable_profiling,
        "enableContentionProfiling": configuration.enable_contention_profiling,
        "delayCacheUntilActive": configuration.delay_cache_until_active,
        "leaderElection": {
            "leaderElect": election.leader_elect,
            "leaseDuration": election.lease_duration.text,
            "renewDeadline": election.renew_deadline.text,
            "retryPeriod": election.retry_period.text,
            "resourceLock": election.resource_lock,
            "resourceName": election.resource_name,
            "resourceNamespace": election.resource_namespace,
        },
        "clientConnection": {
            "kubeconfig": connection.kubeconfig,
            "acceptContentTypes": connection.accept_content_types,
            "contentType": connection.content_type,
            "qps": connection.qps,
            "burst": connection.burst,
        },
        "profiles": [_profile(profile) for profile in configuration.profiles],
        "extenders": [_extender(extender) for extender in configuration.extenders],
    }


def _profile(profile: ProfileConfig) -> dict[str, Any]:
    plugins: dict[str, Any] = {
        point: {"enabled": [_enabled(name, point, profile) for name in names]}
        for point, names in profile.points.items()
    }
    own: dict[str, Any] = {"sampling": profile.sampling, "seed": profile.seed}
    if profile.gangs is not None:
        own["gangs"] = _spelled_out(profile.gangs)
    return {
        "schedulerName": profile.scheduler_name,
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "plugins": {"multiPoint": NO_DEFAULTS, **plugins},
        "pluginConfig": [{"name": name, "args": _spelled_out(args)} for name, args in profile.args.items()],
        "fairway": own,
    }


def _enabled(name: str, point: str, profile: ProfileConfig) -> dict[str, Any]:
    weights = {"score": profile.weights, "placementScore": profile.placement_weights}.get(point)
    return {"name": name} if weights is None else {"name": name, "weight": weights.get(name, 0)}


def _spelled_out(value: Any) -> Any:
    """Plain values with every field in them, also those that are at their default; nothing is left out but nothing."""
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        fields = {written: getattr(value, name) for name, written in names}
        return {name: _spelled_out(part) for name, part in fields.items() if part is not None}
    if isinstance(value, dict):
        return {name: _spelled_out(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled_out(part) for part in value]
    return value.text if isinstance(value, Duration) else to_builtins(value)


def _extender(extender: Extender) -> dict[str, Any]:
    return {name: value for name, value in to_builtins(extender).items() if name != "tlsConfig"}
