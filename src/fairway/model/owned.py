"""What each kind of controller makes of its template: names, labels, ReplicaSets, claims.

In: a Deployment, StatefulSet, Job or CronJob. Out: the objects they make, before the API server completes them.
Called by `fairway try`, which makes all of them at once, and by the controllers of the simulation, which make them in
time. Matches `pkg/controller/{deployment,statefulset,job,cronjob}` of Kubernetes 1.36.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

import msgspec

from fairway.model.controllers import CronJob, Deployment, Job
from fairway.model.meta import LabelSelector, ObjectMeta
from fairway.model.pod import Pod, PodTemplateSpec
from fairway.model.storage import PersistentVolumeClaim
from fairway.model.template import owner_reference, template_hash, template_pod
from fairway.model.volume import PersistentVolumeClaimVolumeSource, Volume
from fairway.model.workload import ReplicaSet, ReplicaSetSpec, StatefulSet

__all__ = [
    "COMPLETION_INDEX",
    "REVISION",
    "TEMPLATE_HASH",
    "cron_job_run",
    "ephemeral_claims",
    "index_labels",
    "job_labels",
    "labelled",
    "replica_set_of",
    "revision_name",
    "stateful_claims",
    "stateful_pod",
]

TEMPLATE_HASH = "pod-template-hash"
REVISION = "controller-revision-hash"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"


def labelled(template: PodTemplateSpec, labels: Mapping[str, str]) -> PodTemplateSpec:
    """The template with labels more."""
    inner = template.metadata
    return msgspec.structs.replace(template, metadata=msgspec.structs.replace(inner, labels={**inner.labels, **labels}))


def replica_set_of(deployment: Deployment, replicas: int) -> ReplicaSet:
    """The ReplicaSet for a Deployment's present template, told apart from others by a hash of it."""
    meta, spec = deployment.metadata, deployment.spec
    mark = template_hash(spec.template)
    template = labelled(spec.template, {TEMPLATE_HASH: mark})
    selector = spec.selector or LabelSelector()
    return ReplicaSet(
        metadata=ObjectMeta(
            name=f"{meta.name}-{mark}",
            namespace=meta.namespace,
            labels=template.metadata.labels,
            owner_references=(owner_reference(deployment),),
        ),
        spec=ReplicaSetSpec(
            replicas=replicas,
            selector=msgspec.structs.replace(selector, match_labels=selector.match_labels | {TEMPLATE_HASH: mark}),
            template=template,
            min_ready_seconds=spec.min_ready_seconds,
        ),
    )


def revision_name(owner: str, template: PodTemplateSpec) -> str:
    """How the pods of a StatefulSet's or DaemonSet's template are labelled."""
    return f"{owner}-{template_hash(template)}"


def stateful_pod(owner: StatefulSet, ordinal: int, template: PodTemplateSpec | None = None) -> Pod:
    """The pod of that ordinal, with a name and claims of its own; of the set's template, or of an earlier one."""
    meta = owner.metadata
    template = template or owner.spec.template
    name = f"{meta.name}-{ordinal}"
    labels = {"apps.kubernetes.io/pod-index": str(ordinal), "statefulset.kubernetes.io/pod-name": name}
    pod = template_pod(owner, template, name, labels)
    mounted = tuple(
        Volume(
            name=claim.metadata.name,
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=f"{claim.metadata.name}-{name}"),
        )
        for claim in owner.spec.volume_claim_templates
    )
    names = {one.name for one in mounted}
    others = tuple(volume for volume in pod.spec.volumes if volume.name not in names)
    spec = msgspec.structs.replace(pod.spec, volumes=others + mounted, hostname=name, subdomain=owner.spec.service_name)
    return msgspec.structs.replace(pod, spec=spec)


def stateful_claims(owner: StatefulSet, ordinal: int) -> tuple[PersistentVolumeClaim, ...]:
    """The claims of the pod of that ordinal; they outlive it."""
    meta = owner.metadata
    return tuple(
        msgspec.structs.replace(
            claim,
            metadata=msgspec.structs.replace(
                claim.metadata, name=f"{claim.metadata.name}-{meta.name}-{ordinal}", namespace=meta.namespace, uid=""
            ),
        )
        for claim in owner.spec.volume_claim_templates
    )


def job_labels(job: Job) -> dict[str, str]:
    """What every pod of a job is labelled with; nothing if the job brings its own labels and selector."""
    meta = job.metadata
    if job.spec.manual_selector:
        return {}
    labels = {"batch.kubernetes.io/job-name": meta.name, "job-name": meta.name}
    if meta.uid:
        labels |= {"batch.kubernetes.io/controller-uid": meta.uid, "controller-uid": meta.uid}
    return labels


def index_labels(index: int) -> dict[str, str]:
    """What tells a pod of an indexed job, and its annotations, which part of the work is its own."""
    return {COMPLETION_INDEX: str(index)}


def cron_job_run(cron_job: CronJob, time: dt.datetime) -> Job:
    """The job that a CronJob starts at that time."""
    template = cron_job.spec.job_template
    stamp = {"batch.kubernetes.io/cronjob-scheduled-timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ")}
    meta = ObjectMeta(
        name=f"{cron_job.metadata.name}-{int(time.timestamp()) // 60}",
        namespace=cron_job.metadata.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations | stamp,
        owner_references=(owner_reference(cron_job),),
    )
    return Job(metadata=meta, spec=template.spec)


def ephemeral_claims(pod: Pod) -> Iterator[PersistentVolumeClaim]:
    """The claims that a controller makes for a pod's generic ephemeral volumes."""
    meta = pod.metadata
    for volume in pod.spec.volumes:
        if volume.ephemeral is not None and (template := volume.ephemeral.volume_claim_template) is not None:
            yield PersistentVolumeClaim(
                metadata=ObjectMeta(
                    name=f"{meta.name}-{volume.name}",
                    namespace=meta.namespace,
                    labels=template.metadata.labels,
                    annotations=template.metadata.annotations,
                    owner_references=(owner_reference(pod),),
                ),
                spec=template.spec,
            )
