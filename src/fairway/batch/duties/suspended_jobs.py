"""Suspended Jobs wait in queues without pods: planned from their template, resumed when their turn comes.

In: controllers of kind Job that are suspended and name a queue. Out: a job in the book for each, with members that are
only imagined, and `ResumeJob` when it was let go. As pods come they take the place of those; what was booked is kept
for them for five minutes. All pods of such a Job are one job, which starts as one. From the Jobs themselves and what is
written down of theirs: whoever takes over finds a Job that still waits, or one that makes its pods.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from fairway.batch.actions import Action, ResumeJob
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob, JobLedger
from fairway.batch.limits import KEPT_SECONDS
from fairway.batch.reasons import JobStanding, JobState
from fairway.cluster import Event, Verb
from fairway.model import Job, Pod
from fairway.model.errors import DecodeError
from fairway.model.group import GroupKey, GroupSpec, Spelling
from fairway.model.owned import job_labels
from fairway.model.template import pod_from_template

__all__ = ["SuspendedJobs"]


class SuspendedJobs:
    """Lets them wait, and lets them go."""

    hears_members, keeps_times = False, True

    def __init__(self, desk: DutyDesk) -> None:
        self._desk = desk
        self._makers: dict[str, tuple[Job, Pod, str]] = {}  # by uid: suspended, of a queue; a pod of it; that queue
        self._coming: dict[str, BatchJob] = {}  # by key: those whose pods are to come
        # Whose jobs are over though they are not, as somebody cancelled them: they are not taken up again.
        ended = (record for record in desk.world.records() if record.ledger.is_final and record.group is not None)
        self._over = {record.ledger.owner for record in ended}

    # -- what happens ------------------------------------------------------------------------------------------------

    def observe(self, event: Event, job: BatchJob | None) -> None:
        """A Job is suspended, or is no more."""
        item, gone = event.object, event.verb is Verb.DELETED
        if not isinstance(item, Job):
            return
        uid = item.metadata.uid
        known = self._makers.pop(uid, None)
        if gone or item.finish is not None:
            self._over.discard(uid)
            self._desk.cluster.groups.expect(_key(item), None)
        elif item.spec.suspend:
            pod = self._pod(item)
            queue = self._desk.book.sayings.queue_of(pod) if self._desk.scheduler.queue.serves(pod) else None
            if queue is not None and uid not in self._over:
                self._makers[uid] = item, pod, queue
                self._expect(item, pod, queue)
        else:
            self._resumed(item, was_suspended=known is not None)

    def _pod(self, job: Job) -> Pod:
        """As its pods will be, but for their names."""
        classes, template, name = self._desk.cluster.workloads.priority_classes, job.spec.template, job.metadata.name
        labels = job_labels(job)
        try:
            return pod_from_template(job, template, name, labels=labels, priority_classes=classes)
        except DecodeError:  # there is no such PriorityClass: its pods will not be taken, and the Job says so
            spec = msgspec.structs.replace(template.spec, priority_class_name="")
            template = msgspec.structs.replace(template, spec=spec)
            return pod_from_template(job, template, name, labels=labels, priority_classes=classes)

    def _expect(self, item: Job, pod: Pod, queue: str) -> None:
        """The suspended Job is in its queue, unless pods of it are still there."""
        desk, key, uid = self._desk, _key(item), item.metadata.uid
        former = self._coming.get(str(key))
        if former is not None and former.has_ended and former.ledger.owner == uid:
            self._over.add(uid)
            self._makers.pop(uid, None)
            return
        desk.cluster.groups.expect(key, item, pod)
        job = desk.book.find(str(key))
        if job is not None and (job.ledger.owner != uid or job.members or job.started is not None):
            return  # somebody else of that name, or its own pods: they have to go first
        if job is None:
            now = desk.world.now()
            ledger = JobLedger(now, owner=uid, owner_kind=item.kind)
            job = BatchJob(str(key), uid, key, desk.book.sayings.wishes(pod, queue, now), ledger)
            desk.book.enter(job)
            desk.world.write_record(job)
        spec = desk.cluster.groups.spec_at(key)
        count = spec.min_count if isinstance(spec, GroupSpec) else 1
        if not job.is_released and job.imagined != (pod,) * count:
            job.imagined = (pod,) * count
            desk.book.reread(job)
        self._coming[job.key] = job
        desk.is_due = True

    def _resumed(self, item: Job, *, was_suspended: bool) -> None:
        """It makes its pods now; by our word, or by somebody else's: then they wait in the queue."""
        key = _key(item)
        job = self._desk.book.find(str(key))
        if job is None or job.group != key or job.ledger.owner != item.metadata.uid or job.members:
            return
        self._desk.cluster.groups.expect(key, item, self._pod(item))
        if not job.is_released:
            job.imagined, job.plan, job.is_clear = (), None, False
        if was_suspended:
            self._desk.is_due = True

    # -- what follows ------------------------------------------------------------------------------------------------

    def next_time(self, now: float) -> float:
        """When nobody waits for pods any longer."""
        if not self._coming:
            return math.inf
        released = [job.ledger.released for job in self._coming.values() if job.is_released and job.imagined]
        return min((time + KEPT_SECONDS for time in released if time is not None), default=math.inf)

    def look(self, now: float) -> Sequence[Action]:
        """Whoever was let go is resumed; what is booked for pods that do not come is for others."""
        for item, pod, queue in list(self._makers.values()):
            if (job := self._desk.book.find(str(_key(item)))) is None or not job.imagined:
                self._expect(item, pod, queue)
        actions: list[Action] = []
        for key, job in list(self._coming.items()):
            if not job.imagined:
                del self._coming[key]
            elif job.is_released and job.ledger.released is not None:
                if now >= job.ledger.released + KEPT_SECONDS:
                    self._take_back(job)
                elif job.ledger.owner in self._makers:
                    actions.append(ResumeJob(job.ledger.owner))
        return actions

    def _take_back(self, job: BatchJob) -> None:
        """Its pods did not come in time: it waits for them, and nothing is kept for it."""
        desk = self._desk
        job.is_released, job.ledger.released = False, None
        if job.ledger.owner not in self._makers:
            job.imagined = ()
        job.plan, job.is_clear = None, False
        desk.stand(job, JobStanding(JobState.QUEUED))
        desk.settle(job)
        desk.is_due = True


def _key(job: Job) -> GroupKey:
    return GroupKey(Spelling.CONTROLLER, job.metadata.namespace, job.metadata.name)
