"""What a desk has for hands and voice on a real cluster: conditions, events, and actions on pods, Jobs and nodes.

In: calls of a `LiveDesk` (it is its `Tellers`), the parts of the scheduler's world that write, and the scheduler's view
of what is there. Out: the same, on the API server; nothing at all where there is nobody to tell (a shadow). One for
each desk, made by `batch_service`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple, Self

from fairway.batch.actions import Action, Tell
from fairway.live.api.api_server import ApiServer
from fairway.live.api.clock import Clock
from fairway.live.batch.job_actions import ActionTargets, JobActions
from fairway.live.batch.live_desk import LiveDesk
from fairway.live.batch.manifests import PodManifests, former_uid
from fairway.live.batch.objects import AccountObject, QueueObject
from fairway.live.batch.outbox import ObjectKey, Outbox
from fairway.live.ledger.ledger import Ledger
from fairway.live.metrics.scheduler_metrics import SchedulerMetrics
from fairway.live.world.conditions import StatusWriter, WantedStatus
from fairway.live.world.events import EventWriter, Subject
from fairway.live.world.job_reports import JobReports
from fairway.live.world.live_world import LiveWorld
from fairway.model import Job, Node, Pod
from fairway.model.group import GroupKey
from fairway.scheduler import Scheduler

__all__ = ["BatchParts", "DeskHands"]


NOT_ALLOWED: Final = (
    "it asks for fairway.dev/requeue: recreate, and the scheduler may not create pods: batch.recreate of its chart "
    "gives that right; without it the job is over when its pod fails or loses its node"
)


class BatchParts(NamedTuple):
    """What a scheduler's world has, and queues use."""

    events: EventWriter | None  # None: nobody is told, and nothing is written
    statuses: StatusWriter | None
    may_write: Callable[[], bool]
    now: Callable[[], float]
    ledger: Callable[[], Ledger] | None = None  # opens one for the lines of the books; None: none is kept
    metrics: SchedulerMetrics | None = None
    groups: JobReports | None = None

    @classmethod
    def of(
        cls,
        world: object,
        may_write: Callable[[], bool],
        now: Callable[[], float],
        ledger: Callable[[], Ledger] | None,
        metrics: SchedulerMetrics,
    ) -> Self:
        """Those of a world; in any other than the real one nothing is written."""
        if not isinstance(world, LiveWorld):
            return cls(None, None, may_write, now, metrics=metrics)
        return cls(world.events, world.statuses, may_write, now, ledger, metrics, world.jobs)


class DeskHands:
    """Tells and does."""

    def __init__(
        self, api: ApiServer, clock: Clock, outbox: Outbox, parts: BatchParts, profile: str, manifests: PodManifests
    ) -> None:
        """`profile`: in whose name events are written; `manifests`: of pods that may have to be made anew."""
        self._outbox = outbox
        self._parts = parts
        self._profile = profile
        self.live: LiveDesk | None = None
        self.scheduler: Scheduler | None = None
        self.manifests = manifests
        targets = ActionTargets(
            self._pod, self._job, self._node, self._tell_pod, self._tell, self.manifests, self._job_of_former
        )
        self.actions = JobActions(api, clock, outbox, targets, parts.may_write)

    # -- `live_desk.Tellers` -------------------------------------------------------------------------------------------

    def queued(self, pod: Pod, reason: str, message: str) -> None:
        """In the pod's status."""
        if self._parts.statuses is not None and self._parts.may_write():
            self._parts.statuses.write(pod, WantedStatus("Unschedulable", message, queued=reason))

    def group_queued(self, group: GroupKey, message: str) -> None:
        """In the status of the group's object, if it is one of Kubernetes' own."""
        if self._parts.groups is not None:
            self._parts.groups.report_queued(group, message, self._parts.now())

    def tell(self, pod: Pod, reason: str, note: str) -> None:
        """An event about the pod."""
        self._tell_pod(pod, reason, note, False)

    def carry_out(self, actions: Sequence[Action]) -> None:
        """On the API server."""
        if self._parts.events is not None:
            self.actions.submit(actions)

    def see(self, pod: Pod) -> None:
        """A pod is there: one that names a queue of ours and another scheduler is not held back, and is told so.

        So is one that shall be made anew, if we may not do that.
        """
        if self.live is None or self.scheduler is None:
            return
        if self.scheduler.queue.serves(pod):
            if not self.manifests.may_create and not pod.is_finished and self.manifests.asks(pod):
                self._tell_pod(pod, "RecreateNotAllowed", NOT_ALLOWED, True)
            return
        if pod.spec.node_name or pod.is_finished or (queue := self.live.desk.book.sayings.queue_of(pod)) is None:
            return
        if (spec := self.live.desk.settings.queues.get(queue)) is not None:
            serves, named = spec.scheduler_name or self._profile, pod.spec.scheduler_name
            note = f"queue {queue} is served by scheduler {serves}; this pod names {named}, and does not wait in it"
            self._tell_pod(pod, "QueueIgnored", note, True)

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

    def tell_queues(self, reason: str, note: str) -> None:
        """An event about each queue: it concerns the jobs of all of them."""
        for name in () if self.live is None else self.live.desk.settings.queues:
            self.tell_object(ObjectKey(QueueObject, name), reason, note, is_warning=True)

    def tell_behind(self, accounts: Collection[str], words: str) -> None:
        """An event about each account whose jobs wait for the ledger."""
        for key in (ObjectKey(AccountObject, account) for account in accounts):
            if key in self._outbox.known:
                self.tell_object(key, "BooksBehind", words, is_warning=True)

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

    def _job_of_former(self, uid: str) -> str:
        decided = () if self.live is None else self.live.desk.book.decided.values()
        return next((job.key for job in decided if any(former_uid(pod) == uid for pod in job.ledger.pods)), "")

    def _job(self, uid: str) -> Job | None:
        return None if self.live is None else self.live.desk.book.makers.get(uid)

    def _node(self, name: str) -> Node | None:
        if self.scheduler is None:
            return None
        nodes = self.scheduler.cluster.nodes
        row = nodes.row_of.get(name)
        return None if row is None else nodes.objects[row]
