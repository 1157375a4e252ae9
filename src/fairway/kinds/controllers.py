"""Pods from what people really write: Deployments, StatefulSets, Jobs and the like.

In: the objects of the files given with `-f`, and the nodes (a DaemonSet wants one pod on each that it may run on).
Out: a `Wanted` for everything that wants pods, which makes the pods as their controller would: named, labelled and
owned, each with the claims that come with it. Called by `explain.manifest_files`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from fairway.kinds.rolling_plan import RollingPlan
from fairway.model import (
    ApiObject,
    CronJob,
    DaemonSet,
    DecodeError,
    Deployment,
    Job,
    Node,
    ObjectMeta,
    PersistentVolumeClaim,
    Pod,
    PodTemplateSpec,
    ReplicaSet,
    ReplicationController,
    Source,
    StatefulSet,
)
from fairway.model.controllers import Controller, JobSpec
from fairway.model.daemon import daemon_nodes, daemon_template
from fairway.model.group import FAIRWAY
from fairway.model.owned import index_labels, job_labels, replica_set_of, stateful_claims, stateful_pod
from fairway.model.template import Owner, template_pod

__all__ = ["MAX_PODS", "Copy", "Wanted", "wanted_by"]

MAX_PODS: Final = 100_000
"""How many pods one trial takes."""

Copy = tuple[Pod, tuple[PersistentVolumeClaim, ...]]
"""A pod, and the claims that are made along with it."""


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
    part: str = ""  # which of its pods, where there are several kinds: "head"
    marks: Mapping[str, str] = field(default_factory=dict)  # labels by which its pods are known in a cluster
    rolling: RollingPlan | None = None  # how it replaces them, if it does and is not a kind of Kubernetes' own
    num_there: int = 0  # pods that it has already, and that are not to be placed

    @property
    def title(self) -> str:
        """How messages name it: `Deployment shop/web`, `RayCluster ml/ray (head)`."""
        return f"{self.kind} {self.namespace}/{self.name}" + (f" ({self.part})" if self.part else "")


def wanted_by(thing: Pod | Controller, source: Source, nodes: Sequence[Node]) -> Wanted:
    """What this object wants to run."""
    meta = thing.metadata
    if not meta.namespace:
        meta = msgspec.structs.replace(meta, namespace="default")
        thing = msgspec.structs.replace(thing, metadata=meta)
    match thing:
        case Pod():
            return Wanted("Pod", meta.namespace, meta.name or meta.generate_name, source, 1, _pod_copies(thing))
        case Deployment():
            # As the Deployment controller does: by way of a ReplicaSet.
            replicas = _number(thing.spec.replicas, "spec.replicas", thing.kind, meta, source)
            made = replica_set_of(thing, replicas)
            copies = _copies(made, made.spec.template, meta.name)
            return replace(_wanted("Deployment", meta, source, replicas, copies), objects=(made,))
        case DaemonSet():
            chosen = daemon_nodes(thing.spec.template, nodes)
            remark = f"one on each of {len(chosen)} of {len(nodes)} nodes"
            return replace(
                _wanted("DaemonSet", meta, source, len(chosen), _daemon_copies(thing, chosen)), remark=remark
            )
        case Job():
            return _job(thing, thing.spec, source)
        case CronJob():
            return _job(thing, thing.spec.job_template.spec, source)
        case StatefulSet():
            return _stateful_set(thing, source)
        case ReplicaSet() | ReplicationController():
            replicas = _number(thing.spec.replicas, "spec.replicas", thing.kind, meta, source)
            template = thing.spec.template or PodTemplateSpec()
            return _wanted(thing.kind, meta, source, replicas, _copies(thing, template, meta.name))


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


def _copies(owner: Owner, template: PodTemplateSpec, prefix: str) -> Callable[[int], Copy]:
    def make(index: int) -> Copy:
        return template_pod(owner, template, f"{prefix}-{index}"), ()

    return make


def _stateful_set(thing: StatefulSet, source: Source) -> Wanted:
    """Pods with names, and claims, of their own."""
    meta = thing.metadata
    replicas = _number(thing.spec.replicas, "spec.replicas", thing.kind, meta, source)

    def make(index: int) -> Copy:
        return stateful_pod(thing, index), stateful_claims(thing, index)

    return _wanted("StatefulSet", meta, source, replicas, make)


def _job(thing: Job | CronJob, spec: JobSpec, source: Source) -> Wanted:
    """As many pods as run at the same time; a CronJob's are those of one run."""
    kind, meta = thing.kind, thing.metadata
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
    job = Job(metadata=meta, spec=spec)
    labels = job_labels(job)

    def make(index: int) -> Copy:
        own = index_labels(index) if spec.is_indexed else {}
        return template_pod(job, spec.template, f"{meta.name}-{index}", labels | own, own), ()

    said = (*meta.annotations, *spec.template.metadata.annotations)
    speaks = kind == "Job" and any(name.startswith(FAIRWAY) for name in said)  # for its pods: they start together, ...
    wanted = Wanted(kind, meta.namespace, meta.name, source, parallelism, make, path=f"{path}template.", remark=remark)
    return replace(wanted, objects=(job,)) if speaks else wanted


def _daemon_copies(thing: DaemonSet, chosen: Sequence[str]) -> Callable[[int], Copy]:
    def make(index: int) -> Copy:
        if index >= len(chosen):  # asked what such a pod is like, when every node has its own
            return template_pod(thing, thing.spec.template, f"{thing.metadata.name}-{index}"), ()
        node = chosen[index]
        return template_pod(thing, daemon_template(thing.spec.template, node), f"{thing.metadata.name}-{node}"), ()

    return make


def _number(value: int | None, field: str, kind: str, meta: ObjectMeta, source: Source) -> int:
    subject = f"{kind} {meta.namespace}/{meta.name}"
    number = 1 if value is None else value
    if number < 0:
        raise DecodeError(f"{number} must not be negative", source=source, subject=subject, field=field)
    if number > MAX_PODS:
        problem = f"{number} pods are too many to try; at most {MAX_PODS}"
        raise DecodeError(problem, source=source, subject=subject, field=field)
    return number
