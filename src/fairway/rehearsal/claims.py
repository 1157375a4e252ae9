"""Claims that a pod can count on: bound, or to be bound when it has a node.

In: the objects of a trial, and claims that come with pods. Out: the same, with what the persistent volume controller
and a storage driver would have done about them by then: claims of a class that binds at once get a volume, an existing
one or one made for them. It is the simulation's controller that does it, so `try` and `sim` answer alike. A
`fairway.explain.workloads.inputs.ClaimBinder`, handed to trials by `fairway.cli.options.trial`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairway.cluster import Event, Verb
from fairway.model import (
    ApiObject,
    CSINode,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from fairway.sim.api_server import ApiServer
from fairway.sim.controllers.persistent_volume import PersistentVolumeController
from fairway.sim.timeline import Timeline

__all__ = ["ClaimKeeper"]

KINDS = Node | CSINode | StorageClass | PersistentVolume | PersistentVolumeClaim


class ClaimKeeper:
    """The volumes of a trial, and a controller that binds them."""

    def __init__(self, objects: Iterable[ApiObject]) -> None:
        self._timeline = Timeline()
        self._api = ApiServer(self._timeline)
        self._changed: dict[tuple[str, str, str], ApiObject] = {}
        self._settled: dict[str, list[ApiObject]] = {}  # by claim: a trial that is begun again finds the same
        controller = PersistentVolumeController(self._api, self._timeline)
        self._api.watch(controller.observe)
        self._api.watch(self._note)
        for thing in objects:
            if isinstance(thing, KINDS) and self._api.find(*_key(thing)) is None:
                self._api.create(thing)
        self._run()
        self._first = {key: thing for key, thing in self._changed.items() if isinstance(thing, KINDS)}

    def settle(self, objects: Sequence[ApiObject]) -> list[ApiObject]:
        """What was given at first, with claims and volumes as they are once all is bound that can be."""
        known = {_key(thing) for thing in objects}
        settled = [self._settled_form(thing) for thing in objects]
        made = (one for key, one in self._first.items() if isinstance(one, PersistentVolume) and key not in known)
        return [*settled, *made]

    def _settled_form(self, thing: ApiObject) -> ApiObject:
        """A volume that is free or taken now, a claim that was bound; what the files leave out is nobody's loss."""
        now = self._first.get(_key(thing), thing)
        if isinstance(now, PersistentVolume):
            return now if now.status.phase in ("Available", "Bound") else thing
        if isinstance(now, PersistentVolumeClaim) and isinstance(thing, PersistentVolumeClaim):
            return now if not thing.spec.volume_name and now.status.phase == "Bound" else thing
        return thing

    def settle_claims(self, claims: Sequence[ApiObject]) -> list[ApiObject]:
        """Claims that were made just now, and the volumes that they got."""
        result = []
        for claim in claims:
            if isinstance(claim, PersistentVolumeClaim):
                if claim.key not in self._settled:
                    self._settled[claim.key] = self._settle_claim(claim)
                result += self._settled[claim.key]
            else:
                result.append(claim)
        return result

    def _settle_claim(self, claim: PersistentVolumeClaim) -> list[ApiObject]:
        if self._api.find(*_key(claim)) is not None:
            return []
        self._changed.clear()
        self._api.create(claim)
        self._run()
        return list(self._changed.values())

    def _note(self, event: Event) -> None:
        if event.verb is not Verb.DELETED:
            self._changed[_key(event.object)] = event.object

    def _run(self) -> None:
        while self._timeline.step(None):
            pass


def _key(thing: ApiObject) -> tuple[str, str, str]:
    return thing.kind, thing.metadata.namespace, thing.metadata.name
