"""Volumes before the pod: what VolumeBinding reserved is written to claims and volumes, and waited for.

In: a decided pod and its `Reservation`. Out: volumes are given to claims (`claimRef`), claims are told their node
(`selected-node`), and `bind` comes back when all of the pod's claims are bound, "" for success, otherwise with
kube-scheduler's words; `changed` is called at every event about storage. The provisioner and the volume controller do
the rest. Patches carry the version that was decided upon, so an object that has changed since is a failure, not a
loss. kube-scheduler 1.36: plugins/volumebinding/binder.go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from fairway.cluster.volumes.storage import SELECTED_NODE_ANNOTATION, Reservation, Storage
from fairway.cluster.volumes.volume_columns import affinity_matcher
from fairway.live.api.api_server import ApiServer
from fairway.live.api.problems import LiveProblem, status_message
from fairway.live.watches.object_store import version_number
from fairway.model import PersistentVolume, PersistentVolumeClaim, Pod
from fairway.plugins.volume_binding import BIND_COMPLETED_ANNOTATION

__all__ = ["VolumeBinder"]

MERGE_PATCH = "application/merge-patch+json"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONERS = ("volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner")
PREFIX = 'running PreBind plugin "VolumeBinding": '


class VolumeWaits(Protocol):
    """Whom the volume binder works for."""

    def newest(self, pod: Pod) -> Pod | None:
        """The pod as the watch has it; None if it is no more."""

    def node_labels(self, name: str) -> Mapping[str, str] | None:
        """A node's labels; None if it is no more."""


class VolumeBinder:
    """Binds volumes, a pod at a time."""

    def __init__(self, api: ApiServer, storage: Storage, world: VolumeWaits) -> None:
        self._api = api
        self._storage = storage
        self._world = world
        self._waiting: set[asyncio.Event] = set()

    def changed(self) -> None:
        """A volume, a claim or a pod has changed: those who wait have another look."""
        for waiting in self._waiting:
            waiting.set()

    async def bind(self, pod: Pod, node: str, reservation: Reservation, timeout_seconds: float) -> str:
        """Carry a reservation out and wait for it; returns why it failed, "" if it did not."""
        try:
            versions = await self._write(node, reservation)
        except LiveProblem as problem:
            return PREFIX + problem.why
        except _VolumeError as error:
            return f"{PREFIX}{error}"
        news = asyncio.Event()
        self._waiting.add(news)
        try:
            async with asyncio.timeout(timeout_seconds):
                while not self._is_bound(pod, node, reservation, versions):
                    news.clear()
                    await news.wait()
        except TimeoutError:
            return f"{PREFIX}binding volumes: context deadline exceeded"
        except _VolumeError as error:
            return f"{PREFIX}binding volumes: {error}"
        finally:
            self._waiting.discard(news)
        return ""

    # -- writing -----------------------------------------------------------------------------------------------------

    async def _write(self, node: str, reservation: Reservation) -> dict[str, int]:
        """Returns, by claim, the version from which on the cluster's view includes what we wrote."""
        versions: dict[str, int] = {}
        for key, name in reservation.bindings:
            claim, volume = self._claim(key), self._storage.volumes.get(name)
            if volume is None:
                raise _VolumeError(f'persistentvolume "{name}" not found')
            await self._patch(f"/api/v1/persistentvolumes/{name}", volume_patch(volume, claim))
        for key in reservation.provisions:
            claim = self._claim(key)
            meta = claim.metadata
            patch = _versioned(claim, {"annotations": {SELECTED_NODE_ANNOTATION: node}})
            path = f"/api/v1/namespaces/{meta.namespace}/persistentvolumeclaims/{meta.name}"
            versions[key] = await self._patch(path, patch)
        return versions

    def _claim(self, key: str) -> PersistentVolumeClaim:
        claim = self._storage.claims.get(key)
        if claim is None:
            raise _VolumeError(f'persistentvolumeclaim "{key.partition("/")[2]}" not found')
        return claim

    async def _patch(self, path: str, patch: dict[str, Any]) -> int:
        answer = await self._api.request("PATCH", path, body=msgspec.json.encode(patch), content_type=MERGE_PATCH)
        if answer.status != 200:
            raise _VolumeError(status_message(answer.body) or f"the server answers {answer.status}")
        return version_number(msgspec.json.decode(answer.body)["metadata"]["resourceVersion"])

    # -- waiting -----------------------------------------------------------------------------------------------------

    def _is_bound(self, pod: Pod, node: str, reservation: Reservation, versions: dict[str, int]) -> bool:
        if self._world.newest(pod) is None:
            raise _VolumeError(f'pod does not exist any more: pod "{pod.metadata.name}" not found')
        is_complete = True
        for key in (*(claim for claim, _ in reservation.bindings), *reservation.provisions):
            claim = self._claim(key)
            is_current = version_number(claim.metadata.resource_version) >= versions.get(key, 0)
            if key in reservation.provisions and is_current and not claim.spec.volume_name:
                _check_selection(claim, node)
            bound = bool(claim.spec.volume_name) and BIND_COMPLETED_ANNOTATION in claim.metadata.annotations
            volume = self._storage.volumes.get(claim.spec.volume_name)
            if bound and volume is not None:
                self._check_reach(volume, node)
            is_complete = is_complete and bound and volume is not None
        return is_complete

    def _check_reach(self, volume: PersistentVolume, node: str) -> None:
        """A volume that was made elsewhere is of no use to the pod."""
        matcher, labels = affinity_matcher(volume.spec.node_affinity), self._world.node_labels(node)
        if labels is None:
            raise _VolumeError(f'node "{node}" not found')
        if matcher is not None and not matcher.matches(labels, node):
            name = volume.metadata.name
            raise _VolumeError(f'pv "{name}" node affinity doesn\'t match node "{node}": no matching NodeSelectorTerms')


class _VolumeError(Exception):
    """Something happened that makes waiting pointless."""


def _check_selection(claim: PersistentVolumeClaim, node: str) -> None:
    """A provisioner that can not make the volume there takes the choice back."""
    notes = claim.metadata.annotations
    if notes.get(SELECTED_NODE_ANNOTATION) == node:
        return
    if any(name in notes for name in PROVISIONERS):
        raise _VolumeError(f'provisioning failed for PVC "{claim.metadata.name}"')
    raise _VolumeError(f'selectedNode annotation reset for PVC "{claim.metadata.name}"')


def volume_patch(volume: PersistentVolume, claim: PersistentVolumeClaim) -> dict[str, Any]:
    """Give the volume to the claim."""
    meta = claim.metadata
    ref = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
    notes = {} if volume.spec.claim_ref is not None else {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
    return _versioned(volume, notes) | {"spec": {"claimRef": ref}}


def _versioned(thing: PersistentVolume | PersistentVolumeClaim, metadata: dict[str, Any]) -> dict[str, Any]:
    meta = thing.metadata
    return {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, **metadata}}
