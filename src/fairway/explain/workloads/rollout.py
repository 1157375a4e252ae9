"""A roll-out: a controller that replaces its pods, as it was before and as it is to be.

In: a Deployment, StatefulSet or DaemonSet from the files, and what the cluster has of it (`Fleet`). Out: the objects
that a simulation begins with (`before`): the controller with the template that its pods were made from, its
ReplicaSets and its pods, all known to each other; and the controller as the files want it (`after`). What the cluster's
files leave out is reconstructed from the pods. Called by `standing`; played by `rollout_play`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from fairway.explain.workloads.same_template import same_template
from fairway.explain.workloads.there import ROLLING, Fleet
from fairway.kinds.controllers import Wanted
from fairway.model import DaemonSet, Deployment, Pod, PodTemplateSpec, ReplicaSet, StatefulSet
from fairway.model.controllers import Controller
from fairway.model.default_controllers import default_controller
from fairway.model.owned import REVISION, TEMPLATE_HASH, labelled, replica_set_of, revision_name
from fairway.model.template import owner_reference

__all__ = ["Rollout"]

RUNNING: Final = "Running"
NEW: Final = "fairway.dev/new-template"
"""Tells a template apart that differs from what runs in fields that the model does not hold."""
SETTLED: Final = 2.0
"""Seconds after which what was there at first has come to rest."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """What is to be replaced by what."""

    thing: ROLLING
    wanted: Wanted
    fleet: Fleet
    there: Controller | None  # the controller as the cluster has it, if its files say

    @property
    def title(self) -> str:
        """`Deployment shop/web`."""
        return self.wanted.title

    @property
    def is_restart(self) -> bool:
        """True if nothing is seen to differ: the template changes in a way that is not read."""
        return not self.fleet.former

    @property
    def start(self) -> float:
        """When the template changes, in seconds; a Deployment that is at it already goes on at once."""
        return 0.0 if isinstance(self.thing, Deployment) and self.fleet.present and not self.is_restart else SETTLED

    @property
    def old_uids(self) -> frozenset[str]:
        """The pods that are to go."""
        return frozenset(pod.metadata.uid for pod in (self.fleet.pods if self.is_restart else self.fleet.former))

    def is_new(self, pod: Pod, replica_set: ReplicaSet | None) -> bool:
        """Is a pod of the simulation of the new template? `replica_set` is the one that it belongs to, if any."""
        after = self.after()
        if isinstance(after, Deployment):
            return replica_set is not None and same_template(replica_set.spec.template, after.spec.template)
        return pod.metadata.labels.get(REVISION) == revision_name(after.metadata.name, after.spec.template)

    def after(self) -> ROLLING:
        """The controller as it is to be."""
        thing = default_controller(_with_uid(self.thing, self._uid()))
        assert isinstance(thing, ROLLING)
        is_marked = self.is_restart or self.fleet.is_unread
        return _with_template(thing, _annotated(thing.spec.template, {NEW: "true"})) if is_marked else thing

    def before(self) -> list[Any]:
        """The controller as it was, what it has made, and the pods, which all run."""
        after, pods = self.after(), [_running(pod) for pod in self.fleet.pods]
        if isinstance(after, Deployment):
            return self._before_deployment(after, pods)
        there = self.there
        if (isinstance(after, StatefulSet) and isinstance(there, StatefulSet)) or (
            isinstance(after, DaemonSet) and isinstance(there, DaemonSet)
        ):
            template = there.spec.template
        else:
            template = _marked(self.thing.spec.template)
        if same_template(template, after.spec.template):
            template = _marked(template)
        former = _with_template(after, template)
        if isinstance(former, StatefulSet):
            replicas = there.spec.replicas if isinstance(there, StatefulSet) else len(pods)
            former = msgspec.structs.replace(former, spec=msgspec.structs.replace(former.spec, replicas=replicas))
        old, mark = self.old_uids, revision_name(after.metadata.name, after.spec.template)
        present = [_revised(pod, mark) for pod in pods if pod.metadata.uid not in old]
        former_pods = [_revised(pod, "former") for pod in pods if pod.metadata.uid in old]
        return [former, *(_owned_by(pod, former) for pod in (*former_pods, *present))]

    def _before_deployment(self, after: Deployment, pods: list[Pod]) -> list[Any]:
        """Its ReplicaSets as the cluster has them, or as their pods tell; the youngest is the one in force."""
        known = {one.metadata.name: one for one in self.fleet.replica_sets}
        by_set: dict[str, list[Pod]] = {}
        for pod in pods:
            owner = pod.metadata.controller
            assert owner is not None
            by_set.setdefault(owner.name, []).append(pod)
        old = self.old_uids
        sets: list[ReplicaSet] = []
        owned: list[Pod] = []
        for name, own in by_set.items():
            one = known.get(name) or _set_of(after, name, own)
            if not any(pod.metadata.uid in old for pod in own):
                mark = {TEMPLATE_HASH: own[0].metadata.labels.get(TEMPLATE_HASH, name)}
                template = labelled(after.spec.template, mark)
                one = msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, template=template))
            one = _with_uid(one, one.metadata.uid or f"ReplicaSet/{name}")
            meta = msgspec.structs.replace(one.metadata, owner_references=(owner_reference(after),))
            sets.append(msgspec.structs.replace(one, metadata=meta))
            owned += [_owned_by(pod, sets[-1]) for pod in own]
        sets.sort(key=lambda one: (one.metadata.creation_timestamp is not None, one.metadata.creation_timestamp or 0))
        latest = sets[-1]
        labels = {key: value for key, value in latest.spec.template.metadata.labels.items() if key != TEMPLATE_HASH}
        meta = msgspec.structs.replace(latest.spec.template.metadata, labels=labels)
        template = msgspec.structs.replace(latest.spec.template, metadata=meta)
        there = self.there
        total = sum(one.spec.replicas or 0 for one in sets)
        replicas = there.spec.replicas if isinstance(there, Deployment) else total
        former = _with_template(after, template)
        former = msgspec.structs.replace(former, spec=msgspec.structs.replace(former.spec, replicas=replicas))
        return [former if self.start else after, *sets, *owned]

    def _uid(self) -> str:
        if self.there is not None and self.there.metadata.uid:
            return self.there.metadata.uid
        return f"{self.thing.kind}/{self.wanted.namespace}/{self.wanted.name}"


def _set_of(deployment: Deployment, name: str, pods: list[Pod]) -> ReplicaSet:
    """The ReplicaSet that these pods are of."""
    first = pods[0]
    labels = deployment.spec.template.metadata.labels.keys() | {TEMPLATE_HASH}
    kept = {key: value for key, value in first.metadata.labels.items() if key in labels}
    meta = msgspec.structs.replace(deployment.spec.template.metadata, labels=kept)
    spec = msgspec.structs.replace(first.spec, node_name="", priority=None)
    template = PodTemplateSpec(metadata=meta, spec=spec)
    made = replica_set_of(_with_template(deployment, template), len(pods))
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, name=name))


def _with_uid(thing: Any, uid: str) -> Any:
    meta = msgspec.structs.replace(thing.metadata, uid=uid)
    return msgspec.structs.replace(thing, metadata=meta)


def _with_template(thing: Any, template: PodTemplateSpec) -> Any:
    return msgspec.structs.replace(thing, spec=msgspec.structs.replace(thing.spec, template=template))


def _marked(template: PodTemplateSpec) -> PodTemplateSpec:
    """The template, told apart from itself."""
    return _annotated(template, {"fairway.dev/former": "true"})


def _annotated(template: PodTemplateSpec, annotations: dict[str, str]) -> PodTemplateSpec:
    meta = template.metadata
    meta = msgspec.structs.replace(meta, annotations=meta.annotations | annotations)
    return msgspec.structs.replace(template, metadata=meta)


def _running(pod: Pod) -> Pod:
    if pod.status.phase == RUNNING:
        return pod
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, phase=RUNNING))


def _revised(pod: Pod, mark: str) -> Pod:
    meta = msgspec.structs.replace(pod.metadata, labels=pod.metadata.labels | {REVISION: mark})
    return msgspec.structs.replace(pod, metadata=meta)


def _owned_by(pod: Pod, owner: Any) -> Pod:
    meta = msgspec.structs.replace(pod.metadata, owner_references=(owner_reference(owner),))
    return msgspec.structs.replace(pod, metadata=meta)
