"""What a desk has for hands and voice on a real cluster: conditions, events, and actions on pods, Jobs and nodes.

In: calls of a `LiveDesk` (it is its `Tellers`), the parts of the scheduler's world that write, and the scheduler's view
of what is there. Out: the same, on the API server; nothing at all where there is nobody to tell (a shadow). One for
each desk, made by `batch_service`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from fairway.batch.actions import Action, Tell
from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.batch.job_actions import ActionTargets, JobActions
from fairway.live.batch.live_desk import LiveDesk
from fairway.live.batch.outbox import ObjectKey, Outbox
from fairway.live.world.conditions import StatusWriter, WantedStatus
from fairway.live.world.events import EventWriter, Subject
from fairway.model import Job, Node, Pod
from fairway.scheduler import Scheduler

__all__ = ["BatchParts", "DeskHands"]


class BatchParts(NamedTuple):
    """What a scheduler's world has, and queues use."""

    events: EventWriter | None  # None: nobody is told, and nothing is written
    statuses: StatusWriter | None
    may_write: Callable[[], bool]
    now: Callable[[], float]


class DeskHands:
    """Tells and does."""

    def __init__(self, api: ApiServer, clock: Clock, outbox: Outbox, parts: BatchParts, profile: str) -> None:
        """`profile`: in whose name events are written."""
        self._outbox = outbox
        self._parts = parts
        self._profile = profile
        self.live: LiveDesk | None = None
        self.scheduler: Scheduler | None = None
        targets = ActionTargets(self._pod, self._job, self._node, self._tell_pod, self._tell)
        self.actions = JobActions(api, clock, outbox, targets, parts.may_write)

    # -- `live_desk.Tellers` -------------------------------------------------------------------------------------------

    def queued(self, pod: Pod, reason: str, message: str) -> None:
        """In the pod's status."""
        if self._parts.statuses is not None and self._parts.may_write():
            self._parts.statuses.write(pod, WantedStatus("Unschedulable", message, queued=reason))

    def tell(self, pod: Pod, reason: str, note: str) -> None:
        """An event about the pod."""
        self._tell_pod(pod, reason, note, False)

    def carry_out(self, actions: Sequence[Action]) -> None:
        """On the API server."""
        if self._parts.events is not None:
            self.actions.submit(actions)

    # -- events --------------------------------------------------------------------------------------------------------

    def tell_object(self, key: ObjectKey, reason: str, note: str, *, is_warning: bool) -> None:
        """An event about an object of ours."""
        if self._parts.events is None or not self._parts.may_write():
            return
        known, kind = self._outbox.known.get(key), key.kind()
        uid, version = ("", "") if known is None else (known.uid, known.version)
        subject = Subject(
            key.namespace or "default", key.name, uid, version, self._profile, kind.kind, kind.api_version
        )
        self._parts.events.about(subject, "Warning" if is_warning else "Normal", reason, note)

    def _tell(self, told: Tell) -> None:
        key = None if self.live is None else self.live.subject_of(told)
        if key is not None:
            self.tell_object(key, told.reason, told.words, is_warning=told.is_warning)

    def _tell_pod(self, pod: Pod, reason: str, note: str, is_warning: bool) -> None:
        if self._parts.events is not None and self._parts.may_write():
            self._parts.events.told(pod, reason, note, is_warning=is_warning)

    # -- what actions are about ----------------------------------------------------------------------------------------

    def _pod(self, uid: str) -> Pod | None:
        job = None if self.live is None else self.live.desk.book.of(uid)
        if job is not None and uid in job.members:
            return job.members[uid]
        placed = None if self.scheduler is None else self.scheduler.cluster.pods.by_uid.get(uid)
        return None if placed is None else placed.pod

    def _job(self, uid: str) -> Job | None:
        return None if self.live is None else self.live.desk.book.makers.get(uid)

    def _node(self, name: str) -> Node | None:
        if self.scheduler is None:
            return None
        nodes = self.scheduler.cluster.nodes
        row = nodes.row_of.get(name)
        return None if row is None else nodes.objects[row]
