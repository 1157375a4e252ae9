"""Before a pod is bound: its volumes. What VolumeBinding reserved is carried out, and waited for.

In: a pod, its node, and the `Reservation` that the scheduler made for it. Out: volumes that point at the pod's claims,
claims that name the node on which a volume is to be made, and then one of two calls: all claims are bound, or why that
will not be. Whether they are is seen as the scheduler sees it, with its delay. Called by `SimScheduler`. Matches
`BindPodVolumes` of kube-scheduler 1.36, except that it notices at once instead of looking every second.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fairway.cluster import Event, Verb
from fairway.cluster.volumes.storage import SELECTED_NODE_ANNOTATION, Reservation, Storage
from fairway.model import PersistentVolume, PersistentVolumeClaim, Pod
from fairway.sim.api_server import ApiServer
from fairway.sim.controllers.persistent_volume import BIND_COMPLETED, BOUND_BY_CONTROLLER
from fairway.sim.controllers.provisioner import claim_reference
from fairway.sim.timeline import Handle

__all__ = ["PreBind"]

BIND_TIMEOUT = 600.0  # bindTimeoutSeconds of VolumeBinding
PREFIX = 'running PreBind plugin "VolumeBinding": binding volumes: '


class Wait:
    """A pod that waits for its volumes."""

    __slots__ = ("claims", "node", "pod", "timer", "versions")

    def __init__(self, pod: Pod, node: str, reservation: Reservation) -> None:
        self.pod = pod
        self.node = node
        self.claims = [key for key, _ in reservation.bindings]
        self.versions: dict[str, int] = {}  # of claims that name the node: as they were when we wrote it there
        self.timer: Handle | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """All claims it waits for."""
        return (*self.claims, *self.versions)


class PreBind:
    """The pods of one scheduler that wait for their volumes."""

    def __init__(
        self,
        api: ApiServer,
        storage: Storage,
        bind: Callable[[Pod, str], None],
        fail: Callable[[Pod, str], None],
    ) -> None:
        """`storage` is the scheduler's view; `bind` and `fail` are called once for each pod."""
        self._api = api
        self._storage = storage
        self._bind = bind
        self._fail = fail
        self.waiting: dict[str, Wait] = {}  # by the pod's uid
        self._by_claim: dict[str, dict[str, Wait]] = {}  # the same, by the claims they wait for

    def begin(self, pod: Pod, node: str, reservation: Reservation) -> None:
        """Carry out what was reserved; the pod is bound when its claims are."""
        wait = Wait(pod, node, reservation)
        problem = self._carry_out(wait, reservation)
        if problem:
            self._fail(pod, PREFIX + problem)
            return
        self.waiting[pod.metadata.uid] = wait
        for key in wait.keys:
            self._by_claim.setdefault(key, {})[pod.metadata.uid] = wait
        wait.timer = self._api.timeline.after(
            BIND_TIMEOUT, lambda: self._end(wait, "context deadline exceeded: volumes were not bound in time")
        )
        self._check(wait)

    def observe(self, event: Event) -> None:
        """Something changed in the scheduler's view: a claim may be bound now, a pod may be gone."""
        item = event.object
        if isinstance(item, PersistentVolumeClaim):
            for wait in list(self._by_claim.get(item.key, {}).values()):
                self._check(wait)
        elif isinstance(item, Pod) and event.verb is Verb.DELETED and item.metadata.uid in self.waiting:
            self._drop(self.waiting[item.metadata.uid])

    # -- inside ------------------------------------------------------------------------------------------------------

    def _carry_out(self, wait: Wait, reservation: Reservation) -> str:
        """Write it to the API server; returns why that can not be done."""
        for key, name in reservation.bindings:
            claim = self._find_claim(key)
            volume = self._api.find("PersistentVolume", "", name)
            if claim is None or volume is None:
                missing = f'persistentvolumeclaim "{key}"' if claim is None else f'persistentvolume "{name}"'
                return f"{missing} not found"
            taken = volume.spec.claim_ref
            if taken is not None and (taken.namespace, taken.name) != (claim.metadata.namespace, claim.metadata.name):
                return f'volume "{name}" is bound to claim {taken.namespace}/{taken.name} already'
            self._api.update(_pointing_at(volume, claim))
        for key in reservation.provisions:
            claim = self._find_claim(key)
            if claim is None:
                return f'persistentvolumeclaim "{key}" not found'
            notes = claim.metadata.annotations
            if notes.get(SELECTED_NODE_ANNOTATION) != wait.node:
                meta = msgspec.structs.replace(
                    claim.metadata, annotations=notes | {SELECTED_NODE_ANNOTATION: wait.node}
                )
                claim = self._api.update(msgspec.structs.replace(claim, metadata=meta))
            wait.versions[key] = int(claim.metadata.resource_version)
        return ""

    def _check(self, wait: Wait) -> None:
        """Are all claims bound, or is there one that never will be?"""
        for key in wait.versions:
            claim = self._storage.claims.get(key)
            if claim is None:
                self._end(wait, f'persistentvolumeclaim "{key}" not found')
                return
            if int(claim.metadata.resource_version) < wait.versions[key]:
                return  # our own change has not come through yet
            if claim.metadata.annotations.get(SELECTED_NODE_ANNOTATION) != wait.node:
                self._end(wait, f'provisioning failed for PVC "{claim.metadata.name}"')
                return
        claims = [self._storage.claims.get(key) for key in wait.keys]
        if all(claim is not None and _is_bound(claim) for claim in claims):
            self._drop(wait)
            self._bind(wait.pod, wait.node)

    def _end(self, wait: Wait, problem: str) -> None:
        if wait.pod.metadata.uid in self.waiting:
            self._drop(wait)
            self._fail(wait.pod, PREFIX + problem)

    def _drop(self, wait: Wait) -> None:
        del self.waiting[wait.pod.metadata.uid]
        for key in wait.keys:
            self._by_claim[key].pop(wait.pod.metadata.uid)
            if not self._by_claim[key]:
                del self._by_claim[key]
        if wait.timer is not None:
            wait.timer.cancel()

    def _find_claim(self, key: str) -> PersistentVolumeClaim | None:
        claim: PersistentVolumeClaim | None = self._api.find("PersistentVolumeClaim", *key.split("/", 1))
        return claim


def _pointing_at(volume: PersistentVolume, claim: PersistentVolumeClaim) -> PersistentVolume:
    meta = volume.metadata
    return msgspec.structs.replace(
        volume,
        metadata=msgspec.structs.replace(meta, annotations=meta.annotations | {BOUND_BY_CONTROLLER: "yes"}),
        spec=msgspec.structs.replace(volume.spec, claim_ref=claim_reference(claim)),
    )


def _is_bound(claim: PersistentVolumeClaim) -> bool:
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations
