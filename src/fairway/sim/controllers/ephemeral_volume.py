"""The ephemeral volume controller: claims that live and die with a pod. Also: claims as the API server completes them.

In: pods with generic ephemeral volumes. Out: their claims, made with the pod, owned by it, and removed with it as a
garbage collector would. `create_claims` serves whoever makes claims of a template: those that exist already are left
alone. Matches `pkg/controller/volume/ephemeral` of Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairway.cluster import Verb
from fairway.cluster.volumes.volume_use import claim_name, ownership_problem
from fairway.model import Loaded, PersistentVolumeClaim, Pod, Source, default_objects
from fairway.model.owned import ephemeral_claims
from fairway.sim.api_server import ApiServer
from fairway.sim.controllers.reconciler import Report, silent

__all__ = ["EphemeralVolumeController", "create_claims"]


class EphemeralVolumeController:
    """Makes the claims of pods, and takes them away."""

    def __init__(self, api: ApiServer, report: Report = silent) -> None:
        self._api = api
        self._report = report

    def observe_pod(self, pod: Pod, verb: Verb) -> None:
        """A pod with volumes came, changed or went."""
        if not any(volume.ephemeral is not None for volume in pod.spec.volumes):
            return
        if verb is Verb.ADDED and not pod.is_terminating and not pod.is_finished:
            self._create(pod)
        elif verb is Verb.DELETED:
            self._remove(pod)

    def _create(self, pod: Pod) -> None:
        wanted = []
        for claim in ephemeral_claims(pod):
            there = self._api.find("PersistentVolumeClaim", claim.metadata.namespace, claim.metadata.name)
            problem = None if there is None else ownership_problem(pod, there)
            if problem is not None:
                volume = claim.metadata.name.removeprefix(f"{pod.metadata.name}-")
                self._report("Pod", pod.key, "FailedBinding", f"ephemeral volume {volume}: {problem}")
                break
            wanted.append(claim)
        create_claims(self._api, wanted)

    def _remove(self, pod: Pod) -> None:
        for volume in pod.spec.volumes:
            name = claim_name(pod, volume) if volume.ephemeral is not None else None
            claim = self._api.find("PersistentVolumeClaim", pod.metadata.namespace, name) if name else None
            if claim is not None and ownership_problem(pod, claim) is None:
                self._api.remove(claim)


def create_claims(api: ApiServer, claims: Iterable[PersistentVolumeClaim]) -> None:
    """Make those that are not there yet, with the default class where they name none."""
    missing = [
        claim
        for claim in claims
        if api.find("PersistentVolumeClaim", claim.metadata.namespace, claim.metadata.name) is None
    ]
    if not missing:
        return
    here = Source("template")
    classes = [Loaded(one, here) for one in api.objects("StorageClass")]
    for one in default_objects([*classes, *(Loaded(claim, here) for claim in missing)])[len(classes) :]:
        api.create(one.object)
