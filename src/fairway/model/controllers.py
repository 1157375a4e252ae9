"""The controllers that make pods and a scheduler never sees: Deployment, DaemonSet, Job, CronJob.

Decoded from API JSON or YAML by `fairway.model.decode`; ReplicaSet, StatefulSet and ReplicationController, which a
scheduler does look at, are in `workload`. `default_controllers` fills in what a person left out, `owned` says what
each of them makes of its template, and `fairway.sim.controllers` brings them to life.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from fairway.model.meta import Int32, Int64, LabelSelector, ObjectMeta, Time, Value
from fairway.model.pod import PodTemplateSpec
from fairway.model.workload import IntOrPercent, ReplicaSet, ReplicationController, StatefulSet

__all__ = [
    "Controller",
    "CronJob",
    "CronJobSpec",
    "CronJobStatus",
    "DaemonSet",
    "DaemonSetSpec",
    "DaemonSetUpdateStrategy",
    "Deployment",
    "DeploymentSpec",
    "DeploymentStrategy",
    "Job",
    "JobCondition",
    "JobSpec",
    "JobStatus",
    "JobTemplateSpec",
    "PodFailurePolicy",
    "PodFailurePolicyOnExitCodes",
    "PodFailurePolicyOnPodCondition",
    "PodFailurePolicyRule",
    "RollingUpdate",
    "SuccessPolicy",
    "SuccessPolicyRule",
]


JOB_CONTROLLER = "kubernetes.io/job-controller"
"""What `managedBy` says of jobs that Kubernetes' own controller sees to."""


class RollingUpdate(Value, frozen=True, kw_only=True):
    """How many pods more, and how many fewer, than wanted there may be meanwhile: numbers or percentages."""

    max_surge: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None


class DeploymentStrategy(Value, frozen=True, kw_only=True):
    """RollingUpdate, or Recreate: all old pods go before new ones come."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DeploymentSpec(Value, frozen=True, kw_only=True):
    """How many copies of which pod, and how to get from one template to the next."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 | None = None
    paused: bool = False


class Deployment(Value, frozen=True, kw_only=True):
    """Keeps a number of equal pods, by way of ReplicaSets."""

    api_version: Literal["apps/v1"] = msgspec.field(default_factory=lambda: "apps/v1")
    kind: Literal["Deployment"] = msgspec.field(default_factory=lambda: "Deployment")
    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()


class DaemonSetUpdateStrategy(Value, frozen=True, kw_only=True):
    """RollingUpdate, or OnDelete: a pod is new once somebody deleted the old one."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class DaemonSetSpec(Value, frozen=True, kw_only=True):
    """Which pod."""

    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    update_strategy: DaemonSetUpdateStrategy = DaemonSetUpdateStrategy()
    min_ready_seconds: Int32 = 0


class DaemonSet(Value, frozen=True, kw_only=True):
    """Keeps one pod on every node that it may run on."""

    api_version: Literal["apps/v1"] = msgspec.field(default_factory=lambda: "apps/v1")
    kind: Literal["DaemonSet"] = msgspec.field(default_factory=lambda: "DaemonSet")
    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()


class PodFailurePolicyOnExitCodes(Value, frozen=True, kw_only=True):
    """Containers that ended with one of these codes (In), or with another one (NotIn); 0 never counts."""

    container_name: str | None = None
    operator: str = ""
    values: tuple[Int32, ...] = ()


class PodFailurePolicyOnPodCondition(Value, frozen=True, kw_only=True):
    """Pods with this condition."""

    type: str = ""
    status: str = ""


class PodFailurePolicyRule(Value, frozen=True, kw_only=True):
    """What to do (FailJob, FailIndex, Ignore, Count) about a pod that failed in a certain way."""

    action: str = ""
    on_exit_codes: PodFailurePolicyOnExitCodes | None = None
    on_pod_conditions: tuple[PodFailurePolicyOnPodCondition, ...] = ()


class PodFailurePolicy(Value, frozen=True, kw_only=True):
    """The first rule that matches a failed pod counts."""

    rules: tuple[PodFailurePolicyRule, ...] = ()


class SuccessPolicyRule(Value, frozen=True, kw_only=True):
    """So many of these indexes (without a number: all; without indexes: of all) have succeeded."""

    succeeded_indexes: str | None = None  # "0-3,7"
    succeeded_count: Int32 | None = None


class SuccessPolicy(Value, frozen=True, kw_only=True):
    """When a job has succeeded before all of its indexes have: as soon as one of the rules holds."""

    rules: tuple[SuccessPolicyRule, ...] = ()


class JobSpec(Value, frozen=True, kw_only=True):
    """How many pods at a time, how many successes in all, and what to make of failures."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str | None = None
    active_deadline_seconds: Int64 | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str | None = None
    managed_by: str | None = None
    manual_selector: bool = False
    ttl_seconds_after_finished: Int32 | None = None
    suspend: bool = False
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()

    @property
    def is_ours(self) -> bool:
        """False if another controller than Kubernetes' own sees to the job."""
        return self.managed_by in (None, JOB_CONTROLLER)

    @property
    def is_indexed(self) -> bool:
        """True if each pod has an index, and each index has to succeed once."""
        return self.completion_mode == "Indexed"


class JobCondition(Value, frozen=True, kw_only=True):
    """One thing known about a job, such as Complete or Failed."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Time | None = None


class JobStatus(Value, frozen=True, kw_only=True):
    """What became of a job."""

    conditions: tuple[JobCondition, ...] = ()
    start_time: Time | None = None
    completion_time: Time | None = None
    active: Int32 = 0
    succeeded: Int32 = 0
    failed: Int32 = 0
    completed_indexes: str = ""  # "0-3,7"
    failed_indexes: str | None = None


class Job(Value, frozen=True, kw_only=True):
    """Runs pods until enough of them have succeeded."""

    api_version: Literal["batch/v1"] = msgspec.field(default_factory=lambda: "batch/v1")
    kind: Literal["Job"] = msgspec.field(default_factory=lambda: "Job")
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def finish(self) -> JobCondition | None:
        """The condition Complete or Failed, once the job is over."""
        return next((one for one in self.status.conditions if one.type in ("Complete", "Failed")), None)


class JobTemplateSpec(Value, frozen=True, kw_only=True):
    """The job a CronJob makes."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class CronJobSpec(Value, frozen=True, kw_only=True):
    """Which job, and when. `fairway.model.cron` reads the schedule."""

    schedule: str = ""
    time_zone: str | None = None
    concurrency_policy: str = ""
    starting_deadline_seconds: Int64 | None = None
    suspend: bool = False
    successful_jobs_history_limit: Int32 | None = None
    failed_jobs_history_limit: Int32 | None = None
    job_template: JobTemplateSpec = JobTemplateSpec()


class CronJobStatus(Value, frozen=True, kw_only=True):
    """What it did last."""

    last_schedule_time: Time | None = None


class CronJob(Value, frozen=True, kw_only=True):
    """Makes a job now and then."""

    api_version: Literal["batch/v1"] = msgspec.field(default_factory=lambda: "batch/v1")
    kind: Literal["CronJob"] = msgspec.field(default_factory=lambda: "CronJob")
    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()


Controller = Deployment | ReplicaSet | ReplicationController | StatefulSet | DaemonSet | Job | CronJob
"""Everything that makes pods."""
