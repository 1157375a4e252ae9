"""The desk's world on a real cluster: what it writes goes to the outbox, what it wants done to the API server.

In: calls of a `fairway.batch.Desk`, and what happens to objects of ours. Out: JobRecords, statuses of accounts,
windows, reservations and queues, conditions and events of pods. Times are seconds since 1970, by a clock that never
goes back, to the microsecond: what is written down and read again is the same number. One `LiveDesk` lives as long as
we lead and nobody else writes; then `batch_service` makes another one, from what the server has.
"""

from __future__ import annotations

import dataclasses
import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from fairway.batch.accounts import AccountTree, BooksDiffer, ChargeLine
from fairway.batch.actions import Action, Tell
from fairway.batch.batch_world import PassReport
from fairway.batch.desk import Desk
from fairway.batch.job import BatchJob, JobRecord
from fairway.batch.limits import granted_limit
from fairway.batch.members_alike import alike_pods
from fairway.batch.reasons import JobState, Reason
from fairway.batch.settings import BatchSettings
from fairway.batch.upkeep.closing_status import ClosingStatus
from fairway.live.batch.group_words import queued_words
from fairway.live.batch.manifests import PodManifests
from fairway.live.batch.objects import (
    AccountObject,
    BatchObject,
    JobRecordObject,
    QueueObject,
    ReservationObject,
    WindowObject,
)
from fairway.live.batch.outbox import ObjectKey, Outbox, Written
from fairway.live.batch.record_codec import moment_text
from fairway.live.batch.record_store import RecordStore, key_of
from fairway.live.batch.record_terms import RecordTerms
from fairway.model import Pod
from fairway.model.group import GroupKey
from fairway.plan import StartEstimate

__all__ = ["LiveDesk", "Tellers"]

logger = logging.getLogger(__name__)

CLOSINGS: Final[dict[type[BatchObject], str]] = {WindowObject: "maintenance", ReservationObject: "reservation"}
WAITING: Final = (JobState.QUEUED, JobState.REFUSED)


class Tellers(Protocol):
    """Who tells people, and does what the desk wants."""

    def queued(self, pod: Pod, reason: str, message: str) -> None:
        """A pod of a queue waits, for this reason."""

    def group_queued(self, group: GroupKey, message: str) -> None:
        """A group's job waits, and this is how it stands."""

    def tell(self, pod: Pod, reason: str, note: str) -> None:
        """Something about a pod's job."""

    def carry_out(self, actions: Sequence[Action]) -> None:
        """Make it so."""


class LiveDesk:
    """A `fairway.batch.BatchWorld`, and the desk in it."""

    def __init__(
        self,
        settings: BatchSettings,
        outbox: Outbox,
        clock: Callable[[], float],
        tellers: Tellers,
        manifests: PodManifests | None = None,
        wall_offset: float = 0.0,
    ) -> None:
        """`manifests`: of bare pods that may have to be made anew; `wall_offset`: see `batch.upkeep.wall_time`."""
        self._outbox = outbox
        self._clock = clock
        self._tellers = tellers
        self._accounts = AccountTree(settings.accounts)
        self.objects: dict[ObjectKey, BatchObject] = {}  # of windows, reservations and queues, as they are
        self.books = RecordStore(outbox, manifests)
        self.keeps_dates = self.keeps_promises = self.awaits_settling = self.tells_turns = True
        self.last_pass: PassReport | None = None
        self.place: Callable[[], dict[str, str]] = dict  # where the scheduler answers questions
        self.on_written: Callable[[BatchJob, JobRecord | None], None] = lambda job, former: None
        self._told: dict[str, str] = {}  # by uid of the job: the reason that was told last
        self._shown: dict[str, dict[str, Any]] = {}  # by queue, as written
        self.desk = Desk(settings, self, wall_offset)
        self.desk.wall_offset = wall_offset

    # -- what happens --------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The desk has taken up everything that was written down, and what is there besides."""
        self.books.forget_settled()
        for job in list(self.desk.book):
            if not self.books.was_found(job.uid):
                self._make_up(job)
        self.books.release_blank()

    def _make_up(self, job: BatchJob) -> None:
        """Nothing is written down of a job that is there: it came while nobody looked, or its record was deleted.

        It was submitted when its pods were made. What it has used before nobody knows: it counts from now on.
        """
        made = [each.metadata.creation_timestamp for each in job.members.values()]
        job.ledger.submitted = min([job.ledger.submitted, *(each.timestamp() for each in made if each is not None)])
        if job.is_counting:
            *before, last = job.ledger.intervals
            job.ledger.intervals = tuple(before)
            self.desk.book.recount(job, last.start)  # how many start together is known only now
        if job.is_counting:
            *before, last = job.ledger.intervals
            job.ledger.intervals = (*before, msgspec.structs.replace(last, is_uncertain=True))
        self.write_record(job)

    def change(self, settings: BatchSettings) -> None:
        """Operators say otherwise."""
        self._accounts = AccountTree(settings.accounts)
        self.desk.change(settings)

    def learn(self, thing: BatchObject) -> None:
        """An object of ours is there, or is another."""
        key = key_of(thing)
        if isinstance(thing, AccountObject):
            self.books.learn_account(thing)
        elif not isinstance(thing, JobRecordObject):
            self.objects[key] = thing
            if key not in self._outbox.known:
                meta = thing.metadata
                self._outbox.known[key] = Written(meta.uid, meta.resource_version, dict(thing.status))

    def unlearn(self, thing: BatchObject) -> None:
        """It is gone."""
        key = key_of(thing)
        if isinstance(thing, AccountObject):
            self.books.forget_account(key.name)
        elif isinstance(thing, JobRecordObject):
            self._record_gone(key)
        else:
            self.objects.pop(key, None)
            self._outbox.forget(key)

    def _record_gone(self, key: ObjectKey) -> None:
        """Somebody deleted a record: of a job that is not over there is one again."""
        uid = self.books.gone(key)
        for job in self.desk.book:
            if job.uid == uid:
                self.write_record(job)

    def job_of(self, key: ObjectKey) -> BatchJob | None:
        """The job of a record, if it is not over."""
        job = self.desk.book.find(f"{key.namespace}/{key.name}")
        uid = self.books.uid_of(key)
        if job is not None and job.uid == uid:
            return job
        return next((job for job in self.desk.book if job.uid == uid), None) if uid else None

    # -- the world, as the desk sees it --------------------------------------------------------------------------------

    def now(self) -> float:
        """Seconds since 1970."""
        return round(self._clock(), 6)

    def write_record(self, job: BatchJob) -> None:
        """In a JobRecord; and those who wait are told why."""
        self.on_written(job, self.books.latest(job.uid))
        self.books.put(job, self._terms(job), self._head(job))
        self._tell_waiting(job)

    def write_promise(self, job: BatchJob) -> None:
        """Within a minute its dates are told, and what is booked is written with them."""

    def write_dates(
        self, job: BatchJob, estimate: StartEstimate, nodes: Sequence[str], factors: Mapping[str, float] | None
    ) -> None:
        """In the same record, when there is time."""
        terms = self._terms(job)._replace(nodes=tuple(nodes), factors=factors or {}, is_rough=job.num_vain > 0)
        self.books.put(job, terms, self._head(job), is_dated=True)
        self._tell_group(job)

    def records(self) -> Iterable[JobRecord]:
        """All that are written down."""
        return self.books.records()

    def write_status(self, status: ClosingStatus) -> None:
        """In the object's own status, by the clock on the wall."""
        status = status.moved(self.desk.wall_offset)
        kind = WindowObject if status.kind == "maintenance" else ReservationObject
        key = ObjectKey(kind, status.name)
        if key not in self.objects:
            return  # it is gone, and what was written of it with it
        readable: dict[str, Any] = {
            "phase": status.phase,
            "start": "" if status.start is None else moment_text(status.start),
            "end": "" if status.end is None else moment_text(status.end),
            "nodes": list(status.nodes),
            "jobs": list(status.jobs),
            "numNodes": len(status.nodes),
            "numJobs": len(status.jobs),
            "message": status.words,
        }
        exact = {name: value for name, value in dataclasses.asdict(status).items() if value is not None}
        plain = msgspec.json.decode(msgspec.json.encode(exact))
        self._outbox.put(key, {name: each for name, each in readable.items() if each != ""} | {"closing": plain})

    def statuses(self) -> Iterable[ClosingStatus]:
        """All of windows and reservations that are there; of a new one when it was made, and its uid."""
        found = []
        for key, thing in self.objects.items():
            if key.kind not in CLOSINGS:
                continue
            closing, meta = thing.status.get("closing"), thing.metadata
            if isinstance(closing, dict) and closing.get("uid") == meta.uid:
                found.append(msgspec.convert(closing, ClosingStatus))
            else:
                created = self._wall() if meta.creation_timestamp is None else meta.creation_timestamp.timestamp()
                found.append(ClosingStatus(CLOSINGS[key.kind], key.name, meta.uid, created))  # type: ignore[arg-type]
        return [each.moved(-self.desk.wall_offset) for each in found]

    def _wall(self) -> float:
        return self.now() + self.desk.wall_offset

    def when_ended(self, tell: Callable[[str], None]) -> None:
        """When the record is on the server."""
        self.books.tell_ended = tell

    def lines(self, account: str) -> Iterable[ChargeLine] | None:
        """Those of a ledger it adds up itself, and what differs is told then."""
        self.books.compare(account)
        return None

    def differs(self, difference: BooksDiffer) -> None:
        """The ledger has something else than an account."""
        logger.error(difference.words)
        self._tellers.carry_out([Tell(difference.account, "BooksDiffer", difference.words, is_warning=True)])

    def why_not_anew(self, pods: Sequence[Pod]) -> str:
        """How they were made has to be known, and in their job's record."""
        return self.books.manifests.why_not(pods)

    def carry_out(self, actions: Sequence[Action]) -> None:
        """On the API server."""
        self._tellers.carry_out(actions)

    def passed(self, report: PassReport) -> None:
        """Queues show how many wait and run."""
        self.last_pass = report
        self._write_queues()

    def foretold(self, report: PassReport) -> None:
        """Queues show when their first job starts."""
        self._write_queues()

    # -- what is written -----------------------------------------------------------------------------------------------

    def _terms(self, job: BatchJob) -> RecordTerms:
        """Who pays for it, and how long it may run; of a job whose queue is unknown, what it says itself."""
        settings = self.desk.settings
        known: dict[str, Any] = {"members": alike_pods(job.pods), "since": self.now()}
        if not settings.binds(job):
            limit = math.inf if job.wishes.limit is None else job.wishes.limit
            return RecordTerms(job.wishes.account, limit, job.priority, **known)
        queue = settings.spec_of(job.queue)
        namespace = job.key.partition("/")[0]
        account = self._accounts.charged(job.wishes.account, namespace, job.queue, queue.accounts)
        paid_by = account if isinstance(account, str) else ""
        return RecordTerms(paid_by, granted_limit(job, queue.limits), job.priority, **known)

    def _head(self, job: BatchJob) -> dict[str, Any]:
        """Whose record it is: it goes when its group's object, its controller, or its pod does."""
        group = None if job.group is None else self.desk.cluster.groups.object_of(job.group)
        member = next(iter(job.pods), None)
        if group is not None:
            owner = _reference(group.api_version, group.kind, group.metadata.name, group.metadata.uid)
        elif member is None or not member.metadata.name:
            return {}
        elif (controller := member.metadata.controller) is not None:
            owner = _reference(controller.api_version, controller.kind, controller.name, controller.uid)
        else:
            owner = _reference("v1", "Pod", member.metadata.name, member.metadata.uid)
        return {"ownerReferences": [owner]}

    def _tell_waiting(self, job: BatchJob) -> None:
        """Each member's condition, and an event when the reason is another."""
        standing = job.standing
        if standing.state not in WAITING or standing.reason is None:
            self._told.pop(job.uid, None)
            return
        if standing.reason is Reason.PLANNING:
            return  # in a second there is something to tell
        words = f"queue {job.queue}: {standing.reason}{': ' if standing.words else ''}{standing.words}"
        waiting = [pod for pod in job.waiting if pod.metadata.uid]  # others are still to come
        for pod in waiting:
            self._tellers.queued(pod, str(standing.reason), words)
        self._tell_group(job)
        if waiting and self._told.get(job.uid) != standing.reason:
            self._told[job.uid] = standing.reason
            self._tellers.tell(waiting[0], str(standing.reason), words)

    def _tell_group(self, job: BatchJob) -> None:
        """Its PodGroup's condition, if it has such a one: with the same words as pods, or when its dates are told."""
        standing = job.standing
        if job.group is not None and standing.state in WAITING and standing.reason not in (None, Reason.PLANNING):
            self._tellers.group_queued(job.group, queued_words(job))

    def _write_queues(self) -> None:
        waiting: Counter[str] = Counter()
        running: Counter[str] = Counter()
        starts: dict[str, float] = {}
        for job in self.desk.book:
            (waiting if job.state in WAITING else running)[job.queue] += 1
            dates = job.ledger.dates
            if job.state in WAITING and dates is not None and dates.last.likely < starts.get(job.queue, math.inf):
                starts[job.queue] = dates.last.likely
        place = self.place()
        for name, queue in self.desk.settings.queues.items():
            status: dict[str, Any] = {"state": queue.state, "waiting": waiting[name], "running": running[name]}
            status |= place
            if queue.state_until:
                status["stateUntil"] = queue.state_until
            if name in starts:
                status["headStarts"] = moment_text(starts[name] + self.desk.wall_offset)
            key = ObjectKey(QueueObject, name)
            former = self._shown.get(name)
            if status != former and key in self._outbox.known:
                self._shown[name] = status
                said = [(each or {}).get(field) for each in (former, status) for field in ("state", "stateUntil")]
                self._outbox.put(key, status, is_urgent=said[:2] != said[2:])  # whoever said so waits for it

    def subject_of(self, told: Tell) -> ObjectKey | None:
        """The object that an event is about: a job's record, a window, a reservation or an account."""
        job = self.desk.book.find(told.about)
        if job is not None:
            return self.books.find(job.uid)
        keys = (ObjectKey(kind, told.about) for kind in (WindowObject, ReservationObject, AccountObject, QueueObject))
        return next((key for key in keys if key in self._outbox.known), None)


def _reference(api_version: str, kind: str, name: str, uid: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}
