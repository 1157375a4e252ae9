"""A roll-out by stages: a controller that is not Kubernetes' own replaces its pods.

In: what the files want, with its `RollingPlan`, and what the cluster has of it (`Fleet`). Out: the objects that a
simulation begins with: a ReplicaSet for the old version and one for the new, whoever makes the pods in truth, so that
only their sizes have to be seen to. Called by `standing`; played by `fairway.rehearsal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from fairway.explain.workloads.same_template import same_pod
from fairway.explain.workloads.there import IDENTITY, Fleet
from fairway.kinds.controllers import Wanted
from fairway.kinds.rolling_plan import RollingPlan
from fairway.model import LabelSelector, ObjectMeta, OwnerReference, Pod, PodTemplateSpec, ReplicaSet
from fairway.model.template import owner_reference
from fairway.model.workload import ReplicaSetSpec

__all__ = ["StagedRollout"]

VERSION = "fairway.dev/version"


@dataclass(frozen=True, slots=True)
class StagedRollout:
    """What is to be replaced by what, and by which stages."""

    wanted: Wanted
    fleet: Fleet
    plan: RollingPlan

    @property
    def title(self) -> str:
        """`Rollout shop/web`."""
        return self.wanted.title

    @property
    def start(self) -> float:
        """It begins at once."""
        return 0.0

    @property
    def is_restart(self) -> bool:
        """True if nothing is seen to differ."""
        return not self.fleet.former

    @property
    def old_pods(self) -> tuple[Pod, ...]:
        """The pods that are to go."""
        return self.fleet.pods if self.is_restart else self.fleet.former

    @property
    def old_uids(self) -> frozenset[str]:
        """The same, by their uids."""
        return frozenset(pod.metadata.uid for pod in self.old_pods)

    @property
    def new_name(self) -> str:
        """The ReplicaSet of the new version."""
        return f"{self.wanted.name}-new"

    @property
    def old_name(self) -> str:
        """The ReplicaSet of the old one."""
        return f"{self.wanted.name}-old"

    def is_new(self, pod: Pod, replica_set: ReplicaSet | None) -> bool:
        """Is a pod of the simulation of the new version?"""
        return replica_set is not None and replica_set.metadata.name == self.new_name

    def is_own(self, owner: OwnerReference) -> bool:
        """Does this own a pod of the simulation that belongs to the roll-out?"""
        return owner.kind == "ReplicaSet" and owner.name in (self.new_name, self.old_name)

    @property
    def remark(self) -> str:
        """Why nothing is replaced; "" if something is."""
        if self.plan.remark:
            return self.plan.remark
        is_in_place = self.plan.is_in_place and not self.is_restart and not self.fleet.is_unread
        if is_in_place and all(_is_of_other_images(pod, self.wanted.make(0)[0]) for pod in self.fleet.former):
            return "only images differ, and they change in place: no pod has to find another node"
        return ""

    def before(self) -> list[Any]:
        """Both ReplicaSets and the pods, which all run."""
        old, new = self.old_pods, () if self.is_restart else self.fleet.present
        pod, _ = self.wanted.make(0)
        sets = [
            self._set(self.old_name, _template(old[0]), len(old)),
            self._set(self.new_name, _template(pod), len(new)),
        ]
        pods = [_owned(pod, owner) for owner, some in zip(sets, (old, new), strict=True) for pod in some]
        return [*sets, *pods]

    def _set(self, name: str, template: PodTemplateSpec, replicas: int) -> ReplicaSet:
        labels = template.metadata.labels | {VERSION: name}
        meta = msgspec.structs.replace(template.metadata, labels=labels)
        owner = OwnerReference(kind=self.wanted.kind, name=self.wanted.name, uid=self.title, controller=True)
        return ReplicaSet(
            metadata=ObjectMeta(
                name=name, namespace=self.wanted.namespace, uid=f"ReplicaSet/{name}", owner_references=(owner,)
            ),
            spec=ReplicaSetSpec(
                replicas=replicas,
                selector=LabelSelector(match_labels=labels),
                template=msgspec.structs.replace(template, metadata=meta),
            ),
        )


def _template(pod: Pod) -> PodTemplateSpec:
    """The template that a pod may be of."""
    labels = {key: value for key, value in pod.metadata.labels.items() if key not in IDENTITY}
    meta = ObjectMeta(labels=labels, annotations=pod.metadata.annotations)
    return PodTemplateSpec(metadata=meta, spec=msgspec.structs.replace(pod.spec, node_name="", priority=None))


def _owned(pod: Pod, owner: ReplicaSet) -> Pod:
    meta = msgspec.structs.replace(
        pod.metadata,
        owner_references=(owner_reference(owner),),
        labels=pod.metadata.labels | {VERSION: owner.metadata.name},
    )
    return msgspec.structs.replace(pod, metadata=meta, status=msgspec.structs.replace(pod.status, phase="Running"))


def _is_of_other_images(there: Pod, wanted: Pod) -> bool:
    """Is it the images of containers, and nothing else, that tells them apart?"""
    images = {one.name: one.image for one in (*there.spec.containers, *there.spec.init_containers)}
    containers = (msgspec.structs.replace(one, image=images.get(one.name, "")) for one in wanted.spec.containers)
    spec = msgspec.structs.replace(wanted.spec, containers=tuple(containers))
    labels = {key: value for key, value in wanted.metadata.labels.items() if key not in IDENTITY}
    meta = msgspec.structs.replace(wanted.metadata, labels=labels)
    return same_pod(there, msgspec.structs.replace(wanted, spec=spec, metadata=meta))
