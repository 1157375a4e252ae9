"""Pods from what people really write: Deployments, StatefulSets, Jobs and the like.

In: the objects of the files given with `-f`, and the nodes (a DaemonSet wants one pod on each that it may run on).
Out: a `Wanted` for everything that wants pods, which makes the pods as their controller would: named, labelled and
owned, each with the claims that come with it. Called by `manifests`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from fairway.cli.controller_kinds import CronJob, DaemonSet, Deployment, Job, JobSpec
from fairway.cli.daemon_pods import daemon_nodes, daemon_template
from fairway.model import (
    ApiObject,
    DecodeError,
    LabelSelector,
    Node,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodTemplateSpec,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicationController,
    Source,
    StatefulSet,
    Volume,
    encode_json,
)

__all__ = ["MAX_PODS", "Controller", "Wanted", "ephemeral_claims", "wanted_by"]

MAX_PODS: Final = 100_000
"""How many pods one trial takes."""

Controller = Deployment | DaemonSet | Job | CronJob | ReplicaSet | StatefulSet | ReplicationController

Copy = tuple[Pod, tuple[PersistentVolumeClaim, ...]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Something that wants pods. `make(i)` is the i-th, as a person or a controller would create it."""

    kind: str
    namespace: str
    name: str
    source: Source
    num_pods: int
    make: Callable[[int], Copy]
    objects: tuple[ApiObject, ...] = ()  # what has to exist beside the pods: a Deployment's ReplicaSet
    path: str = ""  # where the pod's fields are in the object: "spec.template."
    remark: str = ""  # what a person should know about the number

    @property
    def title(self) -> str:
        """How messages name it: `Deployment shop/web`."""
        return f"{self.kind} {self.namespace}/{self.name}"


def wanted_by(thing: Pod | Controller, source: Source, nodes: Sequence[Node]) -> Wanted:
    """What this object wants to run."""
    meta = thing.metadata
    if not meta.namespace:
        meta = msgspec.structs.replace(meta, namespace="default")
    match thing:
        case Pod():
            return Wanted("Pod", meta.namespace, meta.name or meta.generate_name, source, 1, _pod_copies(thing))
        case Deployment():
            return _deployment(thing, meta, source)
        case DaemonSet():
            chosen = daemon_nodes(thing.spec.template, nodes)
            make = _daemon_copies(thing.spec.template, meta, chosen)
            remark = f"one on each of {len(chosen)} of {len(nodes)} nodes"
            return replace(_wanted("DaemonSet", meta, source, len(chosen), make), remark=remark)
        case Job():
            return _job("Job", thing.spec, meta, source)
        case CronJob():
            return _job("CronJob", thing.spec.job_template.spec, meta, source)
        case StatefulSet():
            return _stateful_set(thing, meta, source)
    replicas = _number(thing.spec.replicas, "spec.replicas", thing.kind, meta, source)
    template = thing.spec.template or PodTemplateSpec()
    owner = _owner(thing.api_version, thing.kind, meta)
    return _wanted(thing.kind, meta, source, replicas, _copies(template, meta, owner))


def ephemeral_claims(pod: Pod) -> Iterator[PersistentVolumeClaim]:
    """The claims that a controller makes for a pod's generic ephemeral volumes."""
    meta = pod.metadata
    for volume in pod.spec.volumes:
        if volume.ephemeral is not None and (template := volume.ephemeral.volume_claim_template) is not None:
            yield PersistentVolumeClaim(
                metadata=ObjectMeta(
                    name=f"{meta.name}-{volume.name}",
                    namespace=meta.namespace,
                    owner_references=(_owner("v1", "Pod", meta),),
                ),
                spec=template.spec,
            )


def _wanted(kind: str, meta: ObjectMeta, source: Source, num_pods: int, make: Callable[[int], Copy]) -> Wanted:
    return Wanted(kind, meta.namespace, meta.name, source, num_pods, make, path="spec.template.")


def _pod_copies(pod: Pod) -> Callable[[int], Copy]:
    meta = pod.metadata

    def make(index: int) -> Copy:
        if index == 0:
            return pod, ()
        name = f"{meta.name or meta.generate_name.rstrip('-')}-copy-{index}"
        return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(meta, name=name, uid="")), ()

    return make


def _copies(template: PodTemplateSpec, meta: ObjectMeta, owner: OwnerReference) -> Callable[[int], Copy]:
    def make(index: int) -> Copy:
        return _pod(template, meta, owner, index), ()

    return make


def _pod(template: PodTemplateSpec, meta: ObjectMeta, owner: OwnerReference, index: int, **labels: str) -> Pod:
    made = msgspec.structs.replace(
        template.metadata,
        name=f"{meta.name}-{index}",
        generate_name="",
        namespace=meta.namespace,
        labels=template.metadata.labels | labels if labels else template.metadata.labels,
        owner_references=(owner,),
        uid="",
    )
    return Pod(metadata=made, spec=template.spec)


def _deployment(thing: Deployment, meta: ObjectMeta, source: Source) -> Wanted:
    """As the Deployment controller does: by way of a ReplicaSet that is told apart by a hash of the template."""
    replicas = _number(thing.spec.replicas, "spec.replicas", thing.kind, meta, source)
    mark = {"pod-template-hash": hashlib.sha256(encode_json(thing.spec.template)).hexdigest()[:10]}
    inner = thing.spec.template.metadata
    template = msgspec.structs.replace(
        thing.spec.template, metadata=msgspec.structs.replace(inner, labels=inner.labels | mark)
    )
    selector = thing.spec.selector or LabelSelector()
    name = f"{meta.name}-{mark['pod-template-hash']}"
    set_meta = ObjectMeta(name=name, namespace=meta.namespace, labels=inner.labels)
    replica_set = ReplicaSet(
        metadata=set_meta,
        spec=ReplicaSetSpec(
            replicas=replicas,
            selector=msgspec.structs.replace(selector, match_labels=selector.match_labels | mark),
            template=template,
        ),
    )
    copies = _copies(template, meta, _owner("apps/v1", "ReplicaSet", set_meta))
    return replace(_wanted("Deployment", meta, source, replicas, copies), objects=(replica_set,))


def _stateful_set(thing: StatefulSet, meta: ObjectMeta, source: Source) -> Wanted:
    """Pods with names, and claims, of their own."""
    replicas = _number(thing.spec.replicas, "spec.replicas", thing.kind, meta, source)
    owner = _owner("apps/v1", "StatefulSet", meta)
    claims = thing.spec.volume_claim_templates

    def make(index: int) -> Copy:
        name = f"{meta.name}-{index}"
        labels = {"apps.kubernetes.io/pod-index": str(index), "statefulset.kubernetes.io/pod-name": name}
        pod = _pod(thing.spec.template, meta, owner, index, **labels)
        if not claims:
            return pod, ()
        own = tuple(
            msgspec.structs.replace(
                claim,
                metadata=msgspec.structs.replace(
                    claim.metadata, name=f"{claim.metadata.name}-{name}", namespace=meta.namespace
                ),
            )
            for claim in claims
        )
        mounted = tuple(
            Volume(
                name=claim.metadata.name,
                persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=f"{claim.metadata.name}-{name}"),
            )
            for claim in claims
        )
        others = (volume for volume in pod.spec.volumes if volume.name not in {one.name for one in mounted})
        spec = msgspec.structs.replace(pod.spec, volumes=(*others, *mounted))
        return msgspec.structs.replace(pod, spec=spec), own

    return _wanted("StatefulSet", meta, source, replicas, make)


def _job(kind: str, spec: JobSpec, meta: ObjectMeta, source: Source) -> Wanted:
    """As many pods as run at the same time; a CronJob's are those of one run."""
    path = "spec." if kind == "Job" else "spec.jobTemplate.spec."
    parallelism = _number(spec.parallelism, f"{path}parallelism", kind, meta, source)
    remark = "one run" if kind == "CronJob" else ""
    if spec.completions is not None:
        completions = _number(spec.completions, f"{path}completions", kind, meta, source)
        if completions > parallelism:
            remark = f"{completions} in all, {parallelism} at a time"
        parallelism = min(parallelism, completions)
    if spec.suspend:
        parallelism, remark = 0, "suspended"
    owner = _owner("batch/v1", "Job", meta)
    names = {"batch.kubernetes.io/job-name": meta.name, "job-name": meta.name}

    def make(index: int) -> Copy:
        own = {"batch.kubernetes.io/job-completion-index": str(index)} if spec.completion_mode == "Indexed" else {}
        return _pod(spec.template, meta, owner, index, **names, **own), ()

    return Wanted(kind, meta.namespace, meta.name, source, parallelism, make, path=f"{path}template.", remark=remark)


def _daemon_copies(template: PodTemplateSpec, meta: ObjectMeta, chosen: Sequence[str]) -> Callable[[int], Copy]:
    owner = _owner("apps/v1", "DaemonSet", meta)

    def make(index: int) -> Copy:
        pod = _pod(daemon_template(template, chosen[index]), meta, owner, index)
        own = msgspec.structs.replace(pod.metadata, name=f"{meta.name}-{chosen[index]}")
        return msgspec.structs.replace(pod, metadata=own), ()

    return make


def _owner(api_version: str, kind: str, meta: ObjectMeta) -> OwnerReference:
    return OwnerReference(api_version=api_version, kind=kind, name=meta.name, uid=meta.uid, controller=True)


def _number(value: int | None, field: str, kind: str, meta: ObjectMeta, source: Source) -> int:
    subject = f"{kind} {meta.namespace}/{meta.name}"
    number = 1 if value is None else value
    if number < 0:
        raise DecodeError(f"{number} must not be negative", source=source, subject=subject, field=field)
    if number > MAX_PODS:
        problem = f"{number} pods are too many to try; at most {MAX_PODS}"
        raise DecodeError(problem, source=source, subject=subject, field=field)
    return number
