"""What the API server fills in for the controllers that make pods.

In: a Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet, Job or CronJob. Out: the same, complete.
Called by `fairway.model.default`. Matches `pkg/apis/{apps,batch}/v1/defaults.go` of Kubernetes 1.36, and resolves
numbers that may be percentages as `intstr.GetScaledValueFromIntOrPercent` does.
"""

from __future__ import annotations

from typing import Any, TypeVar

from fairway.model.controllers import (
    Controller,
    CronJob,
    DaemonSet,
    DaemonSetUpdateStrategy,
    Deployment,
    DeploymentStrategy,
    Job,
    JobSpec,
    RollingUpdate,
)
from fairway.model.default_pod import replaced
from fairway.model.workload import (
    IntOrPercent,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
    StatefulSetRollingUpdate,
    StatefulSetSpec,
    StatefulSetUpdateStrategy,
)

__all__ = ["default_controller", "scaled"]

BACKOFF_LIMIT = 6
UNLIMITED = 2**31 - 1
T = TypeVar("T")


def default_controller(thing: Controller) -> Controller:
    """Complete a controller; its template is completed when pods are made of it."""
    match thing:
        case Deployment():
            spec = replaced(
                thing.spec,
                replicas=_or(thing.spec.replicas, 1),
                strategy=_deployment_strategy(thing.spec.strategy),
                revision_history_limit=_or(thing.spec.revision_history_limit, 10),
            )
            return replaced(thing, spec=spec)
        case ReplicaSet():
            return replaced(thing, spec=replaced(thing.spec, replicas=_or(thing.spec.replicas, 1)))
        case ReplicationController():
            return _replication_controller(thing)
        case StatefulSet():
            return replaced(thing, spec=_stateful_set_spec(thing.spec))
        case DaemonSet():
            strategy = _daemon_set_strategy(thing.spec.update_strategy)
            return replaced(thing, spec=replaced(thing.spec, update_strategy=strategy))
        case Job():
            labels = thing.metadata.labels or thing.spec.template.metadata.labels
            meta = replaced(thing.metadata, labels=labels)
            return replaced(thing, metadata=meta, spec=_job_spec(thing.spec))
    return _cron_job(thing)


def scaled(value: IntOrPercent | None, whole: int, *, up: bool) -> int:
    """What a number or a percentage of `whole` amounts to, rounded up or down; 0 without one."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    share = int(value.removesuffix("%")) * whole
    return -(-share // 100) if up else share // 100


def _or(value: T | None, default: T) -> T:
    return default if value is None else value


def _deployment_strategy(strategy: DeploymentStrategy) -> DeploymentStrategy:
    kind = strategy.type or "RollingUpdate"
    if kind != "RollingUpdate":
        return strategy
    rolling = strategy.rolling_update or RollingUpdate()
    rolling = replaced(
        rolling,
        max_surge=_or(rolling.max_surge, "25%"),
        max_unavailable=_or(rolling.max_unavailable, "25%"),
    )
    return replaced(strategy, type=kind, rolling_update=rolling)


def _daemon_set_strategy(strategy: DaemonSetUpdateStrategy) -> DaemonSetUpdateStrategy:
    kind = strategy.type or "RollingUpdate"
    if kind != "RollingUpdate":
        return strategy
    rolling = strategy.rolling_update or RollingUpdate()
    rolling = replaced(rolling, max_surge=_or(rolling.max_surge, 0), max_unavailable=_or(rolling.max_unavailable, 1))
    return replaced(strategy, type=kind, rolling_update=rolling)


def _replication_controller(thing: ReplicationController) -> ReplicationController:
    spec = thing.spec
    labels = spec.template.metadata.labels if spec.template else {}
    spec = replaced(spec, replicas=_or(spec.replicas, 1), selector=spec.selector or labels)
    return replaced(thing, metadata=replaced(thing.metadata, labels=thing.metadata.labels or labels), spec=spec)


def _stateful_set_spec(spec: StatefulSetSpec) -> StatefulSetSpec:
    strategy = spec.update_strategy
    if strategy.type in ("", "RollingUpdate"):
        rolling = strategy.rolling_update or StatefulSetRollingUpdate()
        rolling = replaced(
            rolling, partition=_or(rolling.partition, 0), max_unavailable=_or(rolling.max_unavailable, 1)
        )
        strategy = StatefulSetUpdateStrategy(type="RollingUpdate", rolling_update=rolling)
    return replaced(
        spec,
        replicas=_or(spec.replicas, 1),
        pod_management_policy=spec.pod_management_policy or "OrderedReady",
        update_strategy=strategy,
    )


def _job_spec(spec: JobSpec) -> JobSpec:
    changes: dict[str, Any] = {
        "parallelism": _or(spec.parallelism, 1),
        "completion_mode": spec.completion_mode or "NonIndexed",
        "backoff_limit": _or(spec.backoff_limit, BACKOFF_LIMIT if spec.backoff_limit_per_index is None else UNLIMITED),
        "pod_replacement_policy": spec.pod_replacement_policy
        or ("TerminatingOrFailed" if spec.pod_failure_policy is None else "Failed"),
    }
    if spec.completions is None and spec.parallelism is None:
        changes["completions"] = 1
    return replaced(spec, **changes)


def _cron_job(thing: CronJob) -> CronJob:
    spec = replaced(
        thing.spec,
        concurrency_policy=thing.spec.concurrency_policy or "Allow",
        successful_jobs_history_limit=_or(thing.spec.successful_jobs_history_limit, 3),
        failed_jobs_history_limit=_or(thing.spec.failed_jobs_history_limit, 1),
    )
    template = replaced(spec.job_template, spec=_job_spec(spec.job_template.spec))
    return replaced(thing, spec=replaced(spec, job_template=template))
