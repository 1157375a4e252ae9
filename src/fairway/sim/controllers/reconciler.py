"""What all controllers have in common: they hear of everything, and see to their owners one at a time.

In: API server events. Out: for each owner whose pods or spec changed, one call of `reconcile` soon after, however
many events there were; and one when an alarm rings. Events only change the books; everything is done in `reconcile`,
when the books are up to date. A pod that has ended is taken out of the API server as soon as it is counted, and the
pods of an owner that is gone are deleted, as a garbage collector would.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from fairway.cluster import Event, Verb
from fairway.model import DecodeError, Pod, PodTemplateSpec, PriorityClass
from fairway.model.default_controllers import default_controller
from fairway.model.template import Stencil, name_suffix
from fairway.sim.api_server import ApiServer
from fairway.sim.controllers.pod_book import PodBook
from fairway.sim.controllers.settings import ControllerSettings
from fairway.sim.timeline import Handle, Timeline

__all__ = ["Owned", "Reconciler", "Report"]

Report = Callable[[str, str, str, str], None]
"""Told what a person might want to know: kind and name of the owner, a reason, a message."""

MAX_PREFIX = 58  # of a name of 63, so that five letters fit


class Owned:
    """One owner and its pods. `thing` is None while only its pods are known, and when it is gone."""

    __slots__ = ("alarm", "alarm_time", "book", "is_awake", "serial", "stencil", "thing", "uid")

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.thing: Any = None
        self.book = PodBook()
        self.serial = 0  # of pods named so far
        self.stencil: Stencil | None = None
        self.is_awake = False
        self.alarm: Handle | None = None
        self.alarm_time = 0.0


S = TypeVar("S", bound=Owned)


def silent(_kind: str, _name: str, _reason: str, _message: str) -> None:
    """Nobody wants to know."""


class Reconciler(ABC, Generic[S]):
    """Keeps what owners of certain kinds own as their specs say."""

    kinds: ClassVar[frozenset[str]]

    def __init__(
        self,
        api: ApiServer,
        timeline: Timeline,
        settings: ControllerSettings | None = None,
        report: Report = silent,
    ) -> None:
        self._api = api
        self._timeline = timeline
        self._settings = settings or ControllerSettings()
        self._report = report
        self._owners: dict[str, S] = {}  # by uid

    # -- what a controller says about its kind -----------------------------------------------------------------------

    @abstractmethod
    def _make_state(self, uid: str) -> S:
        """The books of an owner that was not known before."""

    @abstractmethod
    def reconcile(self, owned: S) -> None:
        """Do what is missing."""

    def _owner_changed(self, owned: S, before: Any) -> None:
        """The owner is new (before: None) or its spec is another."""

    def _pod_changed(self, owned: S, pod: Pod, before: Pod | None) -> None:
        """A living pod is new (before: None) or another."""

    def _pod_ended(self, owned: S, pod: Pod, *, is_gone: bool) -> None:
        """A pod succeeded or failed; or it is gone without."""

    def _owner_gone(self, owned: S) -> None:
        """The owner was deleted; its pods are seen to."""

    def _observe_other(self, event: Event) -> None:
        """Something happened to an object that is neither an owner nor a pod."""

    # -- events ------------------------------------------------------------------------------------------------------

    def observe(self, event: Event) -> None:
        """Take note of what happened."""
        item = event.object
        if isinstance(item, Pod):
            owner = item.metadata.controller
            if owner is not None and owner.kind in self.kinds:
                self.observe_pod(item, event.verb, owner.uid)
        elif item.kind in self.kinds:
            self._observe_owner(item, event.verb)
        else:
            self._observe_other(event)

    def _observe_owner(self, item: Any, verb: Verb) -> None:
        uid = item.metadata.uid
        owned = self._owners.get(uid)
        if verb is Verb.DELETED:
            if owned is not None:
                self._drop_owner(owned)
            return
        if owned is None:
            owned = self._owners[uid] = self._make_state(uid)
        before, owned.thing = owned.thing, default_controller(item)
        if before is None or (before.spec is not item.spec and before.spec != owned.thing.spec):
            self._owner_changed(owned, before)
            self.wake(owned)

    def _drop_owner(self, owned: S) -> None:
        self._owner_gone(owned)
        owned.thing = None
        if owned.alarm is not None:
            owned.alarm.cancel()
        if not owned.book:
            self._owners.pop(owned.uid, None)
        for pod in list(owned.book.active.values()):
            self._api.delete(pod)

    def observe_pod(self, pod: Pod, verb: Verb, owner_uid: str) -> None:
        """Take note of what happened to a pod whose owner is of one of these kinds."""
        uid = pod.metadata.uid
        owned = self._owners.get(owner_uid)
        if owned is None:
            if pod.is_finished and verb is not Verb.DELETED:
                self._api.remove(pod)  # nobody will ask for it
            if pod.is_finished or verb is Verb.DELETED:
                return
            owned = self._owners[owner_uid] = self._make_state(owner_uid)
        if verb is Verb.DELETED or pod.is_finished:
            known = owned.book.drop(uid)
            if verb is not Verb.DELETED:
                self._api.remove(pod)
            if known is not None and owned.thing is not None:
                self._pod_ended(owned, pod, is_gone=not pod.is_finished)
            elif owned.thing is None and not owned.book:
                self._owners.pop(owner_uid, None)
            return
        before = owned.book.put(pod)
        if owned.thing is not None:
            self._pod_changed(owned, pod, before)

    # -- time ----------------------------------------------------------------------------------------------------------

    def wake(self, owned: S) -> None:
        """See to it soon."""
        if not owned.is_awake:
            owned.is_awake = True
            self._timeline.after(self._settings.reconcile_latency, lambda: self._see_to(owned))

    def wake_after_end(self, owned: S, pod: Pod) -> None:
        """See to the replacement of a pod that ended: soon, but not within the instant that made the pod."""
        if pod.metadata.creation_timestamp == self._api.calendar():
            self.alarm(owned, self._timeline.now() + self._settings.same_instant_latency)
        else:
            self.wake(owned)

    def alarm(self, owned: S, time: float, *, is_idle: bool = False) -> None:
        """See to it then, if not before. Of several times the first counts; `reconcile` asks for the others again.

        `is_idle`: a simulation that has nothing else to do need not wait for it.
        """
        if owned.alarm is not None:
            if owned.alarm_time <= time:
                return
            owned.alarm.cancel()
        owned.alarm_time = time
        owned.alarm = self._timeline.at(time, lambda: self._ring(owned), is_idle)

    def _ring(self, owned: S) -> None:
        owned.alarm = None
        if not owned.is_awake:
            self._see_to(owned)

    def _see_to(self, owned: S) -> None:
        owned.is_awake = False
        if owned.thing is not None:
            self.reconcile(owned)

    # -- pods ----------------------------------------------------------------------------------------------------------

    def _stencil(self, owned: S, template: PodTemplateSpec) -> Stencil | None:
        """What makes the owner's pods; None, and a report, if the API server would refuse them."""
        if owned.stencil is None or owned.stencil.template is not template:
            try:
                owned.stencil = Stencil(owned.thing, template, self._priority_classes())
            except DecodeError as error:
                self._report(owned.thing.kind, _key(owned.thing), "FailedCreate", f"{error.field}: {error.problem}")
                return None
        return owned.stencil

    def _priority_classes(self) -> Mapping[str, PriorityClass]:
        return {one.metadata.name: one for one in self._api.objects("PriorityClass")}

    def _free_name(self, owned: S, prefix: str) -> str:
        """A name that no pod has: the prefix and five letters, the same on every run."""
        meta = owned.thing.metadata
        while True:
            suffix = name_suffix(f"{meta.namespace}/{meta.name}", owned.serial)
            owned.serial += 1
            name = f"{prefix[:MAX_PREFIX]}{suffix}"
            if self._api.find("Pod", meta.namespace, name) is None:
                return name

    def _ready_since(self, pod: Pod) -> float | None:
        """When the pod became ready; None if it is not."""
        if pod.status.phase != "Running":
            return None
        start = pod.status.start_time
        return 0.0 if start is None else self._timeline.now() - (self._api.calendar() - start).total_seconds()

    def _available_at(self, pod: Pod, min_ready_seconds: int) -> float | None:
        """When the pod has been ready for long enough; None if it is not ready."""
        since = self._ready_since(pod)
        return None if since is None else since + min_ready_seconds


def _key(thing: Any) -> str:
    return f"{thing.metadata.namespace}/{thing.metadata.name}"
