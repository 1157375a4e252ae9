"""The controllers that Kubernetes has and a scheduler never sees: Deployment, DaemonSet, Job, CronJob.

In: the objects that `fairway.model` skipped. Out: structs with their pod templates, or a `DecodeError` that names the
field. Called by `manifests`; what they want to run is in `controllers`.
"""

from __future__ import annotations

from typing import Final

import msgspec

from fairway.model import DecodeError, Int32, LabelSelector, ObjectMeta, PodTemplateSpec, Skipped, Value, convert
from fairway.model.explain import explain

__all__ = ["CronJob", "DaemonSet", "Deployment", "Job", "JobSpec", "decode_controller"]


class DeploymentSpec(Value, frozen=True, kw_only=True):
    """How many copies of which pod."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class Deployment(Value, frozen=True, kw_only=True):
    """Keeps a number of equal pods, by way of a ReplicaSet."""

    api_version: str = "apps/v1"
    kind: str = "Deployment"
    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()


class DaemonSetSpec(Value, frozen=True, kw_only=True):
    """Which pod."""

    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class DaemonSet(Value, frozen=True, kw_only=True):
    """Keeps one pod on every node that it may run on."""

    api_version: str = "apps/v1"
    kind: str = "DaemonSet"
    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()


class JobSpec(Value, frozen=True, kw_only=True):
    """How many pods at a time, how many in all."""

    parallelism: Int32 | None = None
    completions: Int32 | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    template: PodTemplateSpec = PodTemplateSpec()


class Job(Value, frozen=True, kw_only=True):
    """Runs pods until enough of them have succeeded."""

    api_version: str = "batch/v1"
    kind: str = "Job"
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()


class JobTemplate(Value, frozen=True, kw_only=True):
    """The job a CronJob makes."""

    spec: JobSpec = JobSpec()


class CronJobSpec(Value, frozen=True, kw_only=True):
    """Which job."""

    job_template: JobTemplate = JobTemplate()


class CronJob(Value, frozen=True, kw_only=True):
    """Makes a job now and then."""

    api_version: str = "batch/v1"
    kind: str = "CronJob"
    metadata: ObjectMeta = ObjectMeta()
    spec: CronJobSpec = CronJobSpec()


KINDS: Final[dict[tuple[str, str], type[Deployment | DaemonSet | Job | CronJob]]] = {
    ("apps/v1", "Deployment"): Deployment,
    ("apps/v1", "DaemonSet"): DaemonSet,
    ("batch/v1", "Job"): Job,
    ("batch/v1", "CronJob"): CronJob,
}


def decode_controller(skipped: Skipped) -> Deployment | DaemonSet | Job | CronJob | None:
    """The controller that an object skipped by the model is; None if it is of yet another kind."""
    kind = KINDS.get((skipped.api_version, skipped.kind))
    if kind is None:
        return None
    tree = _without_nulls(skipped.tree)
    try:
        return convert(tree, kind)
    except msgspec.ValidationError as error:
        problem, field = explain(tree, kind, error)
        subject = f"{skipped.kind} {skipped.name}"
        raise DecodeError(problem, source=skipped.source, subject=subject, field=field) from error


def _without_nulls(tree: object) -> object:
    """The API prints null for what is absent; the structs want it absent."""
    if isinstance(tree, dict):
        return {key: _without_nulls(value) for key, value in tree.items() if value is not None}
    if isinstance(tree, list):
        return [_without_nulls(value) for value in tree]
    return tree
