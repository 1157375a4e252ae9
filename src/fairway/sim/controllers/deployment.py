"""The Deployment controller: one ReplicaSet per template, and the way from one to the next.

In: Deployments, the ReplicaSets they own, and word from the ReplicaSet controller that a set's pods changed. Out:
ReplicaSets that are made, scaled and, when there are too many old ones, removed: within maxSurge and maxUnavailable,
or all old ones before any new one (Recreate). Matches `pkg/controller/deployment` of Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.cluster import Event, Verb
from fairway.model import Deployment, PodTemplateSpec, ReplicaSet
from fairway.model.owned import TEMPLATE_HASH, replica_set_of
from fairway.sim.api_server import ApiServer
from fairway.sim.controllers.reconciler import Owned, Reconciler, Report, silent
from fairway.sim.controllers.replica_set import ReplicaSetController
from fairway.sim.controllers.rollout import Fences, proportions, scale_down_old
from fairway.sim.controllers.settings import ControllerSettings
from fairway.sim.timeline import Timeline

__all__ = ["DeploymentController"]


class DeploymentState(Owned):
    """A Deployment and its ReplicaSets."""

    __slots__ = ("is_settled", "max_total", "replicas", "sets")

    def __init__(self, uid: str) -> None:
        super().__init__(uid)
        self.sets: dict[str, ReplicaSet] = {}  # by uid, oldest first
        self.replicas: int | None = None  # wanted when it was last seen to
        self.max_total = 0  # and allowed, with surge
        self.is_settled = False  # all is as it should be: what its pods do is the ReplicaSet's affair


class DeploymentController(Reconciler[DeploymentState]):
    """Rolls out templates."""

    kinds = frozenset(("Deployment",))

    def __init__(
        self,
        api: ApiServer,
        timeline: Timeline,
        replica_sets: ReplicaSetController,
        settings: ControllerSettings | None = None,
        report: Report = silent,
    ) -> None:
        super().__init__(api, timeline, settings, report)
        self._replica_sets = replica_sets
        replica_sets.tell = self._pods_changed

    def _make_state(self, uid: str) -> DeploymentState:
        return DeploymentState(uid)

    # -- events ------------------------------------------------------------------------------------------------------

    def _observe_other(self, event: Event) -> None:
        item = event.object
        owner = item.metadata.controller if isinstance(item, ReplicaSet) else None
        if owner is None or owner.kind not in self.kinds:
            return
        owned = self._owners.get(owner.uid)
        if event.verb is Verb.DELETED:
            if owned is not None:
                owned.sets.pop(item.metadata.uid, None)
                self._stir(owned)
            return
        if owned is None:
            owned = self._owners[owner.uid] = self._make_state(owner.uid)
        owned.sets[item.metadata.uid] = item
        self._stir(owned)

    def _stir(self, owned: DeploymentState) -> None:
        owned.is_settled = False
        if owned.thing is not None:
            self.wake(owned)

    def _owner_changed(self, owned: DeploymentState, before: Any) -> None:
        owned.is_settled = False

    def _pods_changed(self, owner_uid: str) -> None:
        owned = self._owners.get(owner_uid)
        if owned is not None and not owned.is_settled and owned.thing is not None:
            self.wake(owned)

    def _owner_gone(self, owned: DeploymentState) -> None:
        sets, owned.sets = list(owned.sets.values()), {}
        for one in sets:
            self._api.remove(one)

    # -- what to do --------------------------------------------------------------------------------------------------

    def reconcile(self, owned: DeploymentState) -> None:
        """Take the next step; each change of a ReplicaSet leads back here."""
        deployment: Deployment = owned.thing
        new = next((one for one in owned.sets.values() if _is_made_from(one, deployment.spec.template)), None)
        old = [one for one in owned.sets.values() if one is not new]
        fences = Fences.of(deployment)
        was_scaled = owned.replicas is not None and owned.replicas != deployment.spec.replicas
        if deployment.spec.paused or was_scaled:
            self._scale(owned, new, old, fences)
        elif deployment.spec.strategy.type == "Recreate":
            self._recreate(owned, new, old)
        else:
            self._roll(owned, new, old, fences)
        owned.replicas, owned.max_total = deployment.spec.replicas, fences.max_total
        if was_scaled:
            self.wake(owned)
        elif not owned.is_awake:
            self._settle(owned, new, old)

    def _settle(self, owned: DeploymentState, new: ReplicaSet | None, old: list[ReplicaSet]) -> None:
        """If nothing is left to do, forget the oldest sets, and let the pods alone from now on."""
        deployment: Deployment = owned.thing
        if new is None or new.spec.replicas != deployment.spec.replicas:
            return
        if any(one.spec.replicas or len(self._replica_sets.book(one.metadata.uid)) for one in old):
            return
        if self._available(new)[0] < (deployment.spec.replicas or 0):
            return
        owned.is_settled = True
        for one in old[: max(0, len(old) - (deployment.spec.revision_history_limit or 0))]:
            owned.sets.pop(one.metadata.uid)
            self._api.remove(one)
        owned.is_settled = True  # removing them stirs nothing up

    def _roll(self, owned: DeploymentState, new: ReplicaSet | None, old: list[ReplicaSet], fences: Fences) -> None:
        total = sum(one.spec.replicas or 0 for one in owned.sets.values())
        if new is None:
            self._create(owned, min(fences.replicas, max(0, fences.max_total - total)))
            return
        size = new.spec.replicas or 0
        if size > fences.replicas:
            self._resize(new, fences.replicas)
            return
        room = min(max(0, fences.max_total - total), fences.replicas - size)
        if room:
            self._resize(new, size + room)
            return
        available, due = self._available(new)
        counts = [self._available(one) for one in old]
        sizes = [one.spec.replicas or 0 for one in old]
        for one, target in zip(
            old,
            scale_down_old(sizes, [number for number, _ in counts], size, available, fences),
            strict=True,
        ):
            self._resize(one, target)
        times = [time for time in (due, *(time for _, time in counts)) if time is not None]
        if times:
            self.alarm(owned, min(times))

    def _recreate(self, owned: DeploymentState, new: ReplicaSet | None, old: list[ReplicaSet]) -> None:
        for one in old:
            self._resize(one, 0)
        if any(len(self._replica_sets.book(one.metadata.uid)) for one in old):
            return  # until the last one is gone
        if new is None:
            self._create(owned, owned.thing.spec.replicas)
        else:
            self._resize(new, owned.thing.spec.replicas)
            self._alarm_if_waiting(owned, new)

    def _scale(self, owned: DeploymentState, new: ReplicaSet | None, old: list[ReplicaSet], fences: Fences) -> None:
        """The number changed, not the template: what there is grows or shrinks in proportion."""
        everyone = [*old, new] if new is not None else old
        active = [one for one in everyone if one.spec.replicas]
        if len(active) <= 1:
            only = active[0] if active else (new or (old[-1] if old else None))
            if only is not None:
                self._resize(only, fences.replicas)
            return
        if new is not None and new.spec.replicas == fences.replicas == self._available(new)[0]:
            for one in old:
                self._resize(one, 0)
            return
        if owned.thing.spec.strategy.type == "RollingUpdate":
            sizes = proportions([one.spec.replicas or 0 for one in active], fences, owned.max_total)
            for one, size in zip(active, sizes, strict=True):
                self._resize(one, size)

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _available(self, one: ReplicaSet) -> tuple[int, float | None]:
        return self._replica_sets.num_available(one.metadata.uid, one.spec.min_ready_seconds)

    def _alarm_if_waiting(self, owned: DeploymentState, one: ReplicaSet) -> None:
        _, due = self._available(one)
        if due is not None:
            self.alarm(owned, due)

    def _create(self, owned: DeploymentState, replicas: int) -> None:
        made = replica_set_of(owned.thing, replicas)
        there = self._api.find("ReplicaSet", made.metadata.namespace, made.metadata.name)
        if there is None:
            self._api.create(made)
        else:
            message = f"ReplicaSet {made.metadata.name} exists, and is not its own"
            self._report(
                "Deployment", f"{made.metadata.namespace}/{owned.thing.metadata.name}", "FailedCreate", message
            )

    def _resize(self, one: ReplicaSet, replicas: int) -> None:
        if one.spec.replicas != replicas:
            self._api.update(msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, replicas=replicas)))


def _is_made_from(one: ReplicaSet, template: PodTemplateSpec) -> bool:
    """Is the set's template this one, but for the label that tells sets apart?"""
    own = one.spec.template
    if own.spec is not template.spec and own.spec != template.spec:
        return False
    labels = {key: value for key, value in own.metadata.labels.items() if key != TEMPLATE_HASH}
    wanted = {key: value for key, value in template.metadata.labels.items() if key != TEMPLATE_HASH}
    return labels == wanted and own.metadata.annotations == template.metadata.annotations
