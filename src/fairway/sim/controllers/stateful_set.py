"""The StatefulSet controller: pods with names that stay, one after the other.

In: StatefulSets and the events of their pods. Out: the pods 0, 1, 2, ..., each made when all before it are available
(unless Parallel) and with claims of its own; deleted from the last to the first. A pod that is on its way out is
replaced only when it is gone: there are never two of one name. Matches `pkg/controller/statefulset` of Kubernetes
1.36.
"""

from __future__ import annotations

from typing import Any

from fairway.cluster import Verb
from fairway.model import DecodeError, Pod, PodTemplateSpec, StatefulSet
from fairway.model.default_controllers import scaled
from fairway.model.default_pod import default_pod
from fairway.model.owned import REVISION, labelled, revision_name, stateful_claims, stateful_pod
from fairway.sim.controllers.ephemeral_volume import create_claims
from fairway.sim.controllers.reconciler import Owned, Reconciler
from fairway.sim.controllers.revisions import Revisions

__all__ = ["StatefulSetController"]


class StatefulSetState(Owned):
    """A StatefulSet and its pods by their number."""

    __slots__ = ("former", "ordinals", "revisions")

    def __init__(self, uid: str) -> None:
        super().__init__(uid)
        self.ordinals: dict[int, Pod] = {}
        self.former: PodTemplateSpec | None = None  # the template before an update that is not through yet
        self.revisions = Revisions()


class StatefulSetController(Reconciler[StatefulSetState]):
    """Keeps pods with names of their own."""

    kinds = frozenset(("StatefulSet",))

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._doomed: dict[str, list[str]] = {}  # by pods that are on their way out: claims that go with them

    def _make_state(self, uid: str) -> StatefulSetState:
        return StatefulSetState(uid)

    # -- events ------------------------------------------------------------------------------------------------------

    def observe_pod(self, pod: Pod, verb: Verb, owner_uid: str) -> None:
        """As every controller does; claims that are not to outlive a pod go when it is gone."""
        super().observe_pod(pod, verb, owner_uid)
        if self._doomed and verb is Verb.DELETED:
            for name in self._doomed.pop(pod.key, ()):
                claim = self._api.find("PersistentVolumeClaim", pod.metadata.namespace, name)
                if claim is not None:
                    self._api.remove(claim)

    def _owner_gone(self, owned: StatefulSetState) -> None:
        retention = owned.thing.spec.persistent_volume_claim_retention_policy
        if retention is not None and retention.when_deleted == "Delete":
            for ordinal, pod in owned.ordinals.items():
                self._doom(owned, ordinal, pod)

    def _doom(self, owned: StatefulSetState, ordinal: int, pod: Pod) -> None:
        claims = stateful_claims(owned.thing, ordinal)
        if claims:
            self._doomed[pod.key] = [claim.metadata.name for claim in claims]

    def _owner_changed(self, owned: StatefulSetState, before: Any) -> None:
        if before is None:
            for pod in owned.book:
                self._note(owned, pod)
        elif before.spec.template != owned.thing.spec.template:
            owned.former = owned.former or before.spec.template
            owned.revisions.change(owned.thing.metadata.name, owned.thing.spec.template)

    def _pod_changed(self, owned: StatefulSetState, pod: Pod, before: Pod | None) -> None:
        self._note(owned, pod)
        if before is None or pod.is_terminating != before.is_terminating or pod.status.phase != before.status.phase:
            self.wake(owned)

    def _note(self, owned: StatefulSetState, pod: Pod) -> None:
        ordinal = _ordinal(pod, owned.thing)
        if ordinal is not None:
            owned.ordinals[ordinal] = pod

    def _pod_ended(self, owned: StatefulSetState, pod: Pod, *, is_gone: bool) -> None:
        ordinal = _ordinal(pod, owned.thing)
        if ordinal is not None and owned.ordinals.get(ordinal, pod).metadata.uid == pod.metadata.uid:
            owned.ordinals.pop(ordinal, None)
        self.wake_after_end(owned, pod)

    # -- what to do --------------------------------------------------------------------------------------------------

    def reconcile(self, owned: StatefulSetState) -> None:
        """First make what is missing, then delete what is too much, then bring what is old up to date."""
        spec = owned.thing.spec
        owned.revisions.begin(owned.thing.metadata.name, spec.template, owned.ordinals.values())
        start = spec.ordinals.start if spec.ordinals else 0
        wanted = range(start, start + spec.replicas)
        is_ordered = spec.pod_management_policy != "Parallel"
        for ordinal in wanted:
            pod = owned.ordinals.get(ordinal)
            if pod is None:
                if not self._create(owned, ordinal, start) or is_ordered:
                    return
            elif is_ordered and not self._is_available(owned, pod):
                return
        if self._shrink(owned, wanted, is_ordered):
            return
        if spec.update_strategy.type == "RollingUpdate":
            self._update(owned, wanted)

    def _is_available(self, owned: StatefulSetState, pod: Pod) -> bool:
        """Has it been ready for long enough? If only time is missing, look again when it has passed."""
        time = self._available_at(pod, owned.thing.spec.min_ready_seconds)
        if pod.is_terminating or time is None:
            return False
        if time > self._timeline.now():
            self.alarm(owned, time)
            return False
        return True

    def _create(self, owned: StatefulSetState, ordinal: int, start: int) -> bool:
        thing: StatefulSet = owned.thing
        rolling = thing.spec.update_strategy.rolling_update
        is_held_back = owned.former is not None and rolling is not None and ordinal < start + (rolling.partition or 0)
        template = owned.former if is_held_back and owned.former is not None else thing.spec.template
        mark = revision_name(thing.metadata.name, template) if is_held_back else owned.revisions.latest
        pod = stateful_pod(thing, ordinal, labelled(template, {REVISION: mark}))
        try:
            pod = default_pod(pod, self._priority_classes())
        except DecodeError as error:
            self._report("StatefulSet", pod.key, "FailedCreate", f"{error.field}: {error.problem}")
            return False
        if self._api.find("Pod", pod.metadata.namespace, pod.metadata.name) is not None:
            self._report("StatefulSet", pod.key, "FailedCreate", "there is another pod of that name")
            return False
        create_claims(self._api, stateful_claims(thing, ordinal))
        self._api.create(pod)
        return True

    def _shrink(self, owned: StatefulSetState, wanted: range, is_ordered: bool) -> bool:
        """Delete the pods whose numbers are not wanted, the highest first; True if that has to be waited for."""
        condemned = sorted((ordinal for ordinal in owned.ordinals if ordinal not in wanted), reverse=True)
        unhealthy = next(
            (one for one in (*wanted, *reversed(condemned)) if not self._is_available(owned, owned.ordinals[one])), None
        )
        for ordinal in condemned:
            pod = owned.ordinals[ordinal]
            if pod.is_terminating:
                if is_ordered:
                    return True
                continue
            if is_ordered and ordinal != unhealthy and not self._is_available(owned, pod):
                return True
            retention = owned.thing.spec.persistent_volume_claim_retention_policy
            if retention is not None and retention.when_scaled == "Delete":
                self._doom(owned, ordinal, pod)
            self._api.delete(pod)
            if is_ordered:
                return True
        return False

    def _update(self, owned: StatefulSetState, wanted: range) -> None:
        """Delete old pods from the last to the first, so many at a time."""
        spec = owned.thing.spec
        rolling = spec.update_strategy.rolling_update
        old = [one for one in wanted if one in owned.ordinals and not owned.revisions.has(owned.ordinals[one])]
        if not old:
            owned.former = None
            return
        at_once = max(1, scaled(rolling.max_unavailable if rolling else 1, spec.replicas, up=False))
        unavailable = sum(not self._is_available(owned, owned.ordinals[one]) for one in wanted if one in owned.ordinals)
        first = wanted.start + ((rolling.partition if rolling else 0) or 0)
        candidates = [one for one in reversed(old) if one >= first and not owned.ordinals[one].is_terminating]
        for ordinal in candidates[: max(0, at_once - unavailable)]:
            self._api.delete(owned.ordinals[ordinal])


def _ordinal(pod: Pod, owner: StatefulSet) -> int | None:
    """The pod's number, if it has the owner's name and one."""
    prefix, _, number = pod.metadata.name.rpartition("-")
    return int(number) if prefix == owner.metadata.name and number.isdigit() and number.isascii() else None
