"""Which pods of a controller are in the cluster already, and whether they are of its present template.

In: the objects of the cluster, and what the files ask for. Out: `Fleet`s: the pods that a controller has on nodes, in
sets of equal template (for a Deployment one for each ReplicaSet), and a `Wanted` for the pods that are missing. Pods
are known by their owner; those of a Deployment by their ReplicaSet, which a cluster's files may leave out, and then by
the hash in its name; those of kinds in the table by their labels. Called by `manifest_files`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from fairway.explain.workloads.same_template import same_pod, same_template
from fairway.kinds.controllers import Copy, Wanted
from fairway.kinds.rolling_plan import ARGO_HASH
from fairway.model import CronJob, DaemonSet, Deployment, Job, Pod, PodTemplateSpec, ReplicaSet, StatefulSet
from fairway.model.controllers import Controller
from fairway.model.daemon import target_node
from fairway.model.owned import REVISION, TEMPLATE_HASH, labelled
from fairway.model.template import template_pod

__all__ = ["ROLLING", "Fleet", "Residents", "jobs_left", "without_those_there"]

ROLLING = Deployment | StatefulSet | DaemonSet
"""What replaces its pods when its template changes."""

IDENTITY: Final = (
    TEMPLATE_HASH,
    ARGO_HASH,
    REVISION,
    "batch.kubernetes.io/controller-uid",
    "controller-uid",
)
"""Labels that a controller gives to all pods of one template."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The pods that a controller has on nodes."""

    present: tuple[Pod, ...]  # of the present template
    former: tuple[Pod, ...]  # of others
    replica_sets: tuple[ReplicaSet, ...] = ()  # a Deployment's, as far as they are in the files
    is_unread: bool = False  # some are former ones by what the model does not hold

    @property
    def pods(self) -> tuple[Pod, ...]:
        """All of them."""
        return self.present + self.former


class Residents:
    """The pods of the cluster that are on nodes, by who owns them."""

    def __init__(self, objects: Iterable[object]) -> None:
        self._by_owner: dict[tuple[str, str, str], list[Pod]] = {}
        self._pods: dict[str, list[Pod]] = {}  # by namespace
        self._sets: dict[tuple[str, str], list[ReplicaSet]] = {}  # by namespace and Deployment
        self._owners: dict[tuple[str, str, str], Controller] = {}
        self.num_succeeded: dict[tuple[str, str], int] = {}  # by namespace and job
        for thing in objects:
            if isinstance(thing, Pod):
                self._add_pod(thing)
            elif isinstance(thing, ReplicaSet) and (owner := thing.metadata.controller) is not None:
                self._sets.setdefault((thing.metadata.namespace, owner.name), []).append(thing)
            if isinstance(thing, Controller):
                self._owners[thing.kind, thing.metadata.namespace, thing.metadata.name] = thing

    def _add_pod(self, pod: Pod) -> None:
        owner, namespace = pod.metadata.controller, pod.metadata.namespace
        if owner is not None and owner.kind == "Job" and pod.status.phase == "Succeeded":
            key = namespace, owner.name
            self.num_succeeded[key] = self.num_succeeded.get(key, 0) + 1
        if not pod.spec.node_name or pod.is_finished or pod.is_terminating:
            return
        self._pods.setdefault(namespace, []).append(pod)
        if owner is not None:
            self._by_owner.setdefault((owner.kind, namespace, owner.name), []).append(pod)

    def owner(self, kind: str, namespace: str, name: str) -> Controller | None:
        """The controller as it is in the cluster, if the files have it."""
        return self._owners.get((kind, namespace, name))

    def fleet(self, thing: Controller | None, wanted: Wanted) -> Fleet:
        """What it has. `thing` is None for kinds of the table."""
        if isinstance(thing, Deployment):
            return self._set_fleet(wanted, _model(thing, wanted), TEMPLATE_HASH, thing.spec.template)
        if wanted.rolling is not None and wanted.rolling.hash_label:
            return self._set_fleet(wanted, _model(thing, wanted), wanted.rolling.hash_label)
        pods: Sequence[Pod]
        if thing is None and wanted.marks:
            pods = [pod for pod in self._pods.get(wanted.namespace, ()) if _has(pod, wanted.marks)]
        else:
            pods = self._by_owner.get((wanted.kind, wanted.namespace, wanted.name), [])
        if not pods:
            return Fleet((), ())
        there = self.owner(wanted.kind, wanted.namespace, wanted.name)
        if isinstance(thing, StatefulSet | DaemonSet) and type(there) is type(thing):
            is_same = same_template(there.spec.template, thing.spec.template)
            latest = _latest(pods) if isinstance(there, StatefulSet) else None
            if is_same and latest is not None:  # an update is under way: only those that are through are present
                return Fleet(*_split(pods, lambda pod: pod.metadata.labels.get(REVISION) == latest))
            return Fleet(tuple(pods), ()) if is_same else Fleet((), tuple(pods))
        model = _model(thing, wanted)
        is_daemon = isinstance(thing, DaemonSet)
        return Fleet(*_split(pods, lambda pod: same_pod(pod, model, is_daemon=is_daemon)))

    def _set_fleet(self, wanted: Wanted, model: Pod, hash_label: str, template: PodTemplateSpec | None = None) -> Fleet:
        """Of what has its pods by way of ReplicaSets."""
        namespace, name = wanted.namespace, wanted.name
        sets = {one.metadata.name: one for one in self._sets.get((namespace, name), ())}
        present: list[Pod] = []
        former: list[Pod] = []
        for pod in self._pods.get(namespace, ()):
            owner = pod.metadata.controller
            if owner is None or owner.kind != "ReplicaSet":
                continue
            own = sets.get(owner.name)
            if own is None and owner.name != f"{name}-{pod.metadata.labels.get(hash_label)}":
                continue
            is_present = (
                same_pod(pod, model) if own is None or template is None else same_template(own.spec.template, template)
            )
            (present if is_present else former).append(pod)
        return Fleet(tuple(present), tuple(former), tuple(sets.values()))


def without_those_there(wanted: Wanted, fleet: Fleet) -> Wanted:
    """Only the pods that are missing, each made to belong to those that are there."""
    pods = fleet.pods
    if not pods:
        return wanted
    missing = _missing(wanted, pods)
    make = _alike(wanted.make, fleet.present)
    num_pods = wanted.num_pods

    def make_missing(index: int) -> Copy:
        return make(missing[index] if index < len(missing) else num_pods + index - len(missing))

    there = f"{len(pods)} there already"
    if len(pods) > num_pods:
        there += f", {len(pods) - num_pods} more than wanted"
    remark = ", ".join(part for part in (wanted.remark, there) if part)
    return replace(
        wanted,
        num_pods=len(missing),
        make=make_missing,
        num_there=len(pods),
        remark=remark,
        objects=() if fleet.replica_sets and fleet.present else _renamed(wanted, fleet.present),
    )


def jobs_left(job: Job, residents: Residents) -> int | None:
    """How many pods a job with a number of completions may still have at a time; None if there is no such number."""
    if job.spec.completions is None:
        return None
    there = residents.owner("Job", job.metadata.namespace, job.metadata.name)
    succeeded = residents.num_succeeded.get((job.metadata.namespace, job.metadata.name), 0)
    if isinstance(there, Job):
        succeeded = max(succeeded, there.status.succeeded)
    return max(0, job.spec.completions - succeeded)


def _model(thing: Controller | None, wanted: Wanted) -> Pod:
    """A pod with what all pods of the template have, and nothing that one of them has for itself."""
    if thing is not None and not isinstance(thing, CronJob):
        return template_pod(thing, thing.spec.template or PodTemplateSpec(), "model")
    (first, _), (second, _) = wanted.make(0), wanted.make(1)
    labels = dict(first.metadata.labels.items() & second.metadata.labels.items())
    return msgspec.structs.replace(first, metadata=msgspec.structs.replace(first.metadata, labels=labels))


def _missing(wanted: Wanted, pods: Sequence[Pod]) -> list[int]:
    """The indices of pods that are not there: by their names or nodes if those tell, else by their number."""
    names = {pod.metadata.name for pod in pods}
    nodes = {pod.spec.node_name for pod in pods}
    absent = []
    for index in range(wanted.num_pods):
        pod, _ = wanted.make(index)
        is_there = target_node(pod.spec) in nodes if wanted.kind == "DaemonSet" else pod.metadata.name in names
        if not is_there:
            absent.append(index)
    if wanted.kind in ("DaemonSet", "StatefulSet"):
        return absent
    num_known = wanted.num_pods - len(absent)
    return absent[max(0, len(pods) - num_known) :]


def _alike(make: Callable[[int], Copy], there: Sequence[Pod]) -> Callable[[int], Copy]:
    """Pods with the owner and the labels that their like have, for whoever counts pods by those."""
    if not there:
        return make
    like = there[0].metadata

    def make_alike(index: int) -> Copy:
        pod, claims = make(index)
        meta = pod.metadata
        labels = meta.labels | {key: like.labels[key] for key in IDENTITY if key in like.labels}
        owners = like.owner_references or meta.owner_references
        meta = msgspec.structs.replace(meta, labels=labels, owner_references=owners)
        return msgspec.structs.replace(pod, metadata=meta), claims

    return make_alike


def _renamed(wanted: Wanted, there: Sequence[Pod]) -> tuple[ReplicaSet, ...]:
    """A Deployment's ReplicaSet with the hash of those pods, if it is not in the cluster's files."""
    mark = there[0].metadata.labels.get(TEMPLATE_HASH) if there else None
    made = []
    for thing in wanted.objects:
        assert isinstance(thing, ReplicaSet)
        if mark is not None and thing.spec.selector is not None:
            selector = msgspec.structs.replace(
                thing.spec.selector, match_labels=thing.spec.selector.match_labels | {TEMPLATE_HASH: mark}
            )
            meta = msgspec.structs.replace(thing.metadata, name=f"{wanted.name}-{mark}")
            template = labelled(thing.spec.template, {TEMPLATE_HASH: mark})
            spec = msgspec.structs.replace(thing.spec, selector=selector, template=template)
            thing = msgspec.structs.replace(thing, metadata=meta, spec=spec)  # noqa: PLW2901
        made.append(thing)
    return tuple(made)


def _has(pod: Pod, labels: Mapping[str, str]) -> bool:
    return labels.items() <= pod.metadata.labels.items()


def _split(pods: Sequence[Pod], is_present: Callable[[Pod], bool]) -> tuple[tuple[Pod, ...], tuple[Pod, ...]]:
    present = tuple(pod for pod in pods if is_present(pod))
    return present, tuple(pod for pod in pods if not is_present(pod))


def _latest(pods: Sequence[Pod]) -> str | None:
    """The revision of the pod with the highest number, if there are several: updates go from the last to the first."""
    revisions = {pod.metadata.labels.get(REVISION) for pod in pods}
    if len(revisions) < 2:
        return None
    return max(pods, key=lambda pod: int(pod.metadata.name.rpartition("-")[2] or 0)).metadata.labels.get(REVISION)
