"""What a job's own object says for all its pods: that they want nodes to themselves (`fairway.dev/exclusive`).

In: PodGroups, Jobs, JobSets and LeaderWorkerSets with that annotation, and every pod, as the world reports them. Out:
`told`, the same events with pods that say for themselves what their job says, so that everybody else reads pods alone;
and, when a job says something else than before, an event for each of its pods. What a pod says itself comes first, then
its group, then its controller. Nothing is looked at until a plugin asks for it (`follow`), and next to nothing while no
job says so. Called by `scheduler.py`, and by `explain.trial` for pods of files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Protocol

import msgspec

from fairway.cluster.events import Event, Verb
from fairway.cluster.pods import PodTable
from fairway.model import ApiObject, CoschedulingPodGroup, Job, Pod, PodGroup, VolcanoPodGroup
from fairway.model.group import JOB_SET_LABEL, WORKER_SET_LABEL, Spelling
from fairway.model.job_set import JobSet
from fairway.model.leader_worker_set import LeaderWorkerSet
from fairway.model.tenant import EXCLUSIVE, group_of

__all__ = ["SharedWishes"]

Key = tuple[str, str, str]
"""Of a job's object: its kind, or the spelling of its group, with namespace and name."""

NAMED: Final[dict[type[ApiObject], str]] = {
    PodGroup: Spelling.KUBE.value,
    CoschedulingPodGroup: Spelling.COSCHEDULING.value,
    VolcanoPodGroup: Spelling.VOLCANO.value,
    Job: "Job",
    JobSet: "JobSet",
    LeaderWorkerSet: "LeaderWorkerSet",
}
BY_LABEL: Final = (("JobSet", JOB_SET_LABEL), ("LeaderWorkerSet", WORKER_SET_LABEL))


class Unplaced(Protocol):
    """A pod in a queue."""

    pod: Pod
    latest: Pod | None  # as it is by now, if it changed while it was tried


class SharedWishes:
    """What jobs say for their pods."""

    def __init__(self, pods: PodTable) -> None:
        """`pods` are those that have a node."""
        self._pods = pods
        self.is_followed = False
        self._said: dict[Key, str] = {}
        self._bare: dict[str, Pod] = {}  # by uid: pods that were told, as the world has them

    def follow(self) -> None:
        """Somebody reads it."""
        self.is_followed = True

    def concern(self, event: Event) -> bool:
        """May anything come of the event, other than it says itself?"""
        return self.is_followed and (bool(self._said or self._bare) or not isinstance(event.object, Pod))

    def of(self, pod: Pod) -> str | None:
        """What is said for a pod that does not say it; None: nothing is."""
        if not self._said or EXCLUSIVE in pod.metadata.annotations:
            return None
        return next((self._said[key] for key in _jobs_of(pod) if key in self._said), None)

    def is_exclusive(self, pod: Pod) -> bool:
        """Does it, or its job, say anything of it?"""
        return EXCLUSIVE in pod.metadata.annotations or self.of(pod) is not None

    def dressed(self, pod: Pod) -> Pod:
        """The pod, saying for itself what its job says."""
        text = self.of(pod)
        if text is None:
            return pod
        annotations = {**pod.metadata.annotations, EXCLUSIVE: text}
        return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))

    def told(self, event: Event, queue: Iterable[Unplaced]) -> Iterator[Event]:
        """The event as it is to be taken in, and what follows from it; in the queue are pods without a node."""
        if isinstance(event.object, Pod):
            yield self._told_pod(event, event.object)
        else:
            yield event
            if self.note(event.object, event.verb is Verb.DELETED):
                waiting = [each.latest or each.pod for each in queue]
                placed = [each.pod for each in self._pods.by_uid.values() if not each.assumed]
                for known in (*waiting, *placed):  # who is being bound hears of it when that is known
                    bare = self._bare.get(known.metadata.uid, known)
                    again = self._told_pod(Event(Verb.MODIFIED, bare), bare)
                    if again.object.metadata.annotations != known.metadata.annotations:
                        yield again

    def _told_pod(self, event: Event, pod: Pod) -> Event:
        dressed = self.dressed(pod)
        if dressed is pod or event.verb is Verb.DELETED or pod.is_finished:
            self._bare.pop(pod.metadata.uid, None)
        else:
            self._bare[pod.metadata.uid] = pod
        return event if dressed is pod else Event(event.verb, dressed)

    def note(self, item: ApiObject, gone: bool = False) -> bool:
        """A job's object came, changed or went: does it say something else than before?"""
        kind = NAMED.get(type(item))
        if kind is None:
            return False
        key = (kind, item.metadata.namespace, item.metadata.name)
        before = self._said.pop(key, None)
        text = None if gone else item.metadata.annotations.get(EXCLUSIVE)
        if text is not None:
            self._said[key] = text
        return text != before


def _jobs_of(pod: Pod) -> Iterator[Key]:
    """The objects that may speak for a pod: its group's, then its controller's, then what made that."""
    meta = pod.metadata
    if (group := group_of(pod)) is not None:
        yield group.spelling.value, group.namespace, group.name
    owner = meta.controller if meta.owner_references else None
    if owner is not None:
        yield owner.kind, meta.namespace, owner.name
    for kind, label in BY_LABEL:
        if (name := meta.labels.get(label)) is not None:
            yield kind, meta.namespace, name
