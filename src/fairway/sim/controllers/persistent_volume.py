"""The persistent volume controller: claims get volumes, and volumes are let go of.

In: PersistentVolumes, claims and storage classes. Out: claims and volumes bound to each other: one to the smallest
free volume that will do, or to one made for it after `provision_latency`. Claims of a class that waits for its first
consumer are left to the scheduler, which binds a volume to them or names the node on which one is to be made. A claim
that is bound stays so; when it is gone, its volume is deleted, kept or cleaned as its reclaim policy says. Matches
`pkg/controller/volume/persistentvolume` of Kubernetes 1.36, which would do late what is done at once here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairway.cluster import Event, Verb
from fairway.cluster.volumes.storage import SELECTED_NODE_ANNOTATION
from fairway.cluster.volumes.volume_columns import VolumeColumns, claim_class, volume_class
from fairway.model import PersistentVolume, PersistentVolumeClaim, StorageClass
from fairway.sim.api_server import ApiServer
from fairway.sim.controllers.provisioner import NO_PROVISIONER, PROVISIONED_BY, claim_reference, provisioned_volume
from fairway.sim.controllers.reconciler import Report, silent
from fairway.sim.controllers.settings import ControllerSettings
from fairway.sim.timeline import Timeline

__all__ = ["BIND_COMPLETED", "BOUND_BY_CONTROLLER", "PersistentVolumeController"]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
UNBOUND_WORDS = "no persistent volumes available for this claim and no storage class is set"


class PersistentVolumeController:
    """Binds, provisions and reclaims."""

    kinds = ("PersistentVolume", "PersistentVolumeClaim", "StorageClass")

    def __init__(
        self, api: ApiServer, timeline: Timeline, settings: ControllerSettings | None = None, report: Report = silent
    ) -> None:
        self._api = api
        self._timeline = timeline
        self._settings = settings or ControllerSettings()
        self._report = report
        self._by_class: dict[str, VolumeColumns] = {}
        self._class_of: dict[str, str] = {}  # of each volume
        self._waiting: dict[str, dict[str, None]] = {}  # by class: claims for which there is no volume
        self._provisioning: set[str] = set()  # uids of claims
        self._told: dict[str, str] = {}  # what was last said about a claim
        self._volumes_to_see: dict[str, None] = {}
        self._claims_to_see: dict[str, None] = {}
        self._is_awake = False

    # -- events ------------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        """Take note of what happened to a volume, a claim or a class."""
        item, is_gone = event.object, event.verb is Verb.DELETED
        if isinstance(item, PersistentVolume):
            self._observe_volume(item, is_gone)
        elif isinstance(item, PersistentVolumeClaim):
            self._observe_claim(item, is_gone)
        elif isinstance(item, StorageClass) and not is_gone:
            self._see_claims(self._waiting.get(item.metadata.name, ()))

    def _observe_volume(self, volume: PersistentVolume, is_gone: bool) -> None:
        name, kind = volume.metadata.name, volume_class(volume)
        before = self._class_of.pop(name, None)
        if before is not None and (is_gone or before != kind):
            self._by_class[before].drop(name)
        if not is_gone:
            self._class_of[name] = kind
            columns = self._by_class.setdefault(kind, VolumeColumns())
            columns.put(volume, volume.spec.claim_ref)
            self._volumes_to_see[name] = None
            self._wake()
        if volume.spec.claim_ref is not None:
            self._see_claims((f"{volume.spec.claim_ref.namespace}/{volume.spec.claim_ref.name}",))
        elif not is_gone:
            self._see_claims(self._waiting.get(kind, ()))

    def _observe_claim(self, claim: PersistentVolumeClaim, is_gone: bool) -> None:
        if not is_gone:
            self._see_claims((claim.key,))
            return
        self._settle(claim)
        if claim.spec.volume_name:
            self._volumes_to_see[claim.spec.volume_name] = None
            self._wake()

    def _see_claims(self, keys: Any) -> None:
        if keys:
            self._claims_to_see.update(dict.fromkeys(keys))
            self._wake()

    def _wake(self) -> None:
        if not self._is_awake:
            self._is_awake = True
            self._timeline.after(self._settings.reconcile_latency, self._work)

    def _work(self) -> None:
        """Volumes first: they become available, and claims then find them."""
        self._is_awake = False
        volumes, self._volumes_to_see = self._volumes_to_see, {}
        for name in volumes:
            volume = self._api.find("PersistentVolume", "", name)
            if volume is not None:
                self._see_to_volume(volume)
        claims, self._claims_to_see = self._claims_to_see, {}
        for key in claims:
            claim = self._claim(key)
            if claim is not None:
                self._see_to_claim(claim)

    # -- volumes -----------------------------------------------------------------------------------------------------

    def _see_to_volume(self, volume: PersistentVolume) -> None:
        reference = volume.spec.claim_ref
        if reference is None or not reference.uid:
            self._change_volume(volume, phase="Available")
            return
        claim = self._api.find("PersistentVolumeClaim", reference.namespace, reference.name)
        if claim is None or claim.metadata.uid != reference.uid:
            self._reclaim(volume)
        elif claim.spec.volume_name == volume.metadata.name:
            self._change_volume(volume, phase="Bound")
        elif claim.spec.volume_name:  # the claim found another one
            if PROVISIONED_BY in volume.metadata.annotations:
                self._reclaim(volume)
            else:
                self._change_volume(volume, phase="Available", claim_ref=None)

    def _reclaim(self, volume: PersistentVolume) -> None:
        """Its claim is gone."""
        policy = volume.spec.persistent_volume_reclaim_policy
        if policy == "Delete":
            self._api.remove(volume)
        elif policy == "Recycle":
            self._change_volume(volume, phase="Available", claim_ref=None)
        else:
            self._change_volume(volume, phase="Released")

    def _change_volume(self, volume: PersistentVolume, *, phase: str, **spec: Any) -> None:
        changed = msgspec.structs.replace(
            volume,
            spec=msgspec.structs.replace(volume.spec, **spec),
            status=msgspec.structs.replace(volume.status, phase=phase),
        )
        if changed != volume:
            self._api.update(changed)

    # -- claims ------------------------------------------------------------------------------------------------------

    def _see_to_claim(self, claim: PersistentVolumeClaim) -> None:
        name = claim.spec.volume_name
        volume = self._api.find("PersistentVolume", "", name) if name else None
        if BIND_COMPLETED in claim.metadata.annotations:
            if volume is None or not (volume.spec.claim_ref is None or _has(volume, claim)):
                self._lose(claim, is_misbound=volume is not None)
            else:
                self._bind(volume, claim)
            return
        if name:
            self._bind_as_asked(volume, claim)
            return
        storage_class = self._api.find("StorageClass", "", claim_class(claim))
        waits = storage_class is not None and storage_class.volume_binding_mode == "WaitForFirstConsumer"
        volume = self._match(claim, only_its_own=waits)
        if volume is not None:
            self._bind(volume, claim)
        elif waits and SELECTED_NODE_ANNOTATION not in claim.metadata.annotations:
            self._wait(claim, "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
        else:
            self._provision(claim, storage_class)

    def _bind_as_asked(self, volume: PersistentVolume | None, claim: PersistentVolumeClaim) -> None:
        """The claim names its volume."""
        if volume is None:
            self._wait(claim, "FailedBinding", f'volume "{claim.spec.volume_name}" does not exist')
        elif volume.spec.claim_ref is not None:
            if _has(volume, claim):
                self._bind(volume, claim)
            else:
                name = volume.metadata.name
                self._wait(claim, "FailedBinding", f'volume "{name}" already bound to a different claim.')
        elif problem := _mismatch(volume, claim):
            self._wait(claim, "VolumeMismatch", f'Cannot bind to requested volume "{volume.metadata.name}": {problem}')
        else:
            self._bind(volume, claim)

    def _match(self, claim: PersistentVolumeClaim, *, only_its_own: bool) -> PersistentVolume | None:
        """The volume that points at the claim, else the smallest free one with the fewest access modes."""
        columns = self._by_class.get(claim_class(claim))
        if columns is None:
            return None
        own = columns.bound_to(claim)
        if own:
            return columns.volumes[own[0]]
        if only_its_own:
            return None
        try:
            mask = columns.fitting(claim)
        except ValueError:  # a selector that makes no sense
            return None
        fitting = [columns.volumes[slot] for slot in columns.order().tolist() if mask[slot]] if mask.any() else []
        return min(filter(None, fitting), key=lambda one: len(set(one.spec.access_modes)), default=None)

    def _bind(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        """Let them point at each other; nothing changes if they do."""
        meta, spec = claim.metadata, claim.spec
        marks = {BIND_COMPLETED: "yes"} | ({} if spec.volume_name else {BOUND_BY_CONTROLLER: "yes"})
        if not _has(volume, claim) or not (volume.spec.claim_ref and volume.spec.claim_ref.uid):
            self._change_volume(volume, phase="Bound", claim_ref=claim_reference(claim))
        else:
            self._change_volume(volume, phase="Bound")
        bound = msgspec.structs.replace(
            claim,
            metadata=meta
            if marks.items() <= meta.annotations.items()
            else msgspec.structs.replace(meta, annotations=meta.annotations | marks),
            spec=msgspec.structs.replace(spec, volume_name=volume.metadata.name),
            status=msgspec.structs.replace(
                claim.status, phase="Bound", access_modes=volume.spec.access_modes, capacity=volume.spec.capacity
            ),
        )
        self._settle(claim)
        if bound != claim:
            self._api.update(bound)

    def _lose(self, claim: PersistentVolumeClaim, *, is_misbound: bool) -> None:
        if claim.status.phase == "Lost":
            return
        if is_misbound:
            self._tell(claim, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
        else:
            words = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            self._tell(claim, "ClaimLost", words)
        status = msgspec.structs.replace(claim.status, phase="Lost", access_modes=(), capacity={})
        self._api.update(msgspec.structs.replace(claim, status=status))

    # -- volumes that are made -----------------------------------------------------------------------------------------

    def _provision(self, claim: PersistentVolumeClaim, storage_class: StorageClass | None) -> None:
        name, uid = claim_class(claim), claim.metadata.uid
        if not name:
            self._wait(claim, "FailedBinding", UNBOUND_WORDS)
        elif storage_class is None:
            self._wait(claim, "ProvisioningFailed", f'storageclass.storage.k8s.io "{name}" not found')
        elif storage_class.provisioner in NO_PROVISIONER:
            self._wait(claim, "FailedBinding", "no volume plugin matched name: kubernetes.io/no-provisioner")
        elif uid not in self._provisioning:
            self._settle(claim)
            self._provisioning.add(uid)
            self._timeline.after(self._settings.provision_latency, lambda: self._made(claim.key, uid))

    def _made(self, key: str, uid: str) -> None:
        """The driver is done."""
        self._provisioning.discard(uid)
        claim = self._claim(key)
        if claim is None or claim.metadata.uid != uid or claim.spec.volume_name:
            return
        storage_class = self._api.find("StorageClass", "", claim_class(claim))
        if storage_class is None:
            self._see_claims((key,))
            return
        selected = claim.metadata.annotations.get(SELECTED_NODE_ANNOTATION)
        node = None if selected is None else self._api.find("Node", "", selected)
        if selected is not None and node is None:
            # The scheduler has to choose again.
            self._tell(claim, "ProvisioningFailed", f'failed to get target node: node "{selected}" not found')
            notes = {
                note: text for note, text in claim.metadata.annotations.items() if note != SELECTED_NODE_ANNOTATION
            }
            self._api.update(
                msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, annotations=notes))
            )
            return
        volume = provisioned_volume(self._api, claim, storage_class, node)
        if self._api.find("PersistentVolume", "", volume.metadata.name) is None:
            self._api.create(volume)

    # -- small things --------------------------------------------------------------------------------------------------

    def _claim(self, key: str) -> PersistentVolumeClaim | None:
        claim: PersistentVolumeClaim | None = self._api.find("PersistentVolumeClaim", *key.split("/", 1))
        return claim

    def _wait(self, claim: PersistentVolumeClaim, reason: str, message: str) -> None:
        """There is nothing for it now; it is looked at again when there may be."""
        self._waiting.setdefault(claim_class(claim), {})[claim.key] = None
        self._tell(claim, reason, message)

    def _settle(self, claim: PersistentVolumeClaim) -> None:
        self._waiting.get(claim_class(claim), {}).pop(claim.key, None)
        self._told.pop(claim.key, None)

    def _tell(self, claim: PersistentVolumeClaim, reason: str, message: str) -> None:
        """Once, until something else is to be said."""
        if self._told.get(claim.key) != message:
            self._told[claim.key] = message
            self._report("PersistentVolumeClaim", claim.key, reason, message)


def _has(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Does the volume point at the claim?"""
    reference, meta = volume.spec.claim_ref, claim.metadata
    return (
        reference is not None
        and (reference.namespace, reference.name) == (meta.namespace, meta.name)
        and reference.uid in ("", meta.uid)
    )


def _mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim) -> str:
    """Why the volume is not what the claim asks for, "" if it is."""
    size, wanted = volume.spec.capacity.get("storage"), claim.spec.resources.requests.get("storage")
    if (0 if size is None else size.value) < (0 if wanted is None else wanted.value):
        return "requested PV is too small"
    if volume_class(volume) != claim_class(claim):
        return "storageClassName does not match"
    if (volume.spec.volume_attributes_class_name or "") != (claim.spec.volume_attributes_class_name or ""):
        return "volumeAttributesClassName does not match"
    if (volume.spec.volume_mode or "Filesystem") != (claim.spec.volume_mode or "Filesystem"):
        return "incompatible volumeMode"
    return "" if set(claim.spec.access_modes) <= set(volume.spec.access_modes) else "incompatible accessMode"
