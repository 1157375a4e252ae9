"""A desk that comes after another one: jobs as they were written down, put back into the book.

In: the records of all jobs. Out: in the book, every job that is not over, with its members as they were when it was
last written; how the others ended; and whose time is used up. What has become of pods since is heard afterwards, as
events: a pod that is over or gone by then ends for the book as it would have if the desk had been there (`missed`). So
whatever was done and not written down is done again from what was, and nothing is done twice. Called by the desk once,
before it hears of anything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob, JobLedger, JobRecord
from fairway.batch.job_book import EndedJob, JobBook
from fairway.batch.reasons import JobOutcome, JobStanding, JobState
from fairway.cluster import Event, Verb
from fairway.model import Node, ObjectMeta, Pod

__all__ = ["missed", "restore", "resume"]


def restore(book: JobBook, records: Iterable[JobRecord]) -> None:
    """Put everything back that is written down."""
    known = list(records)
    for record in sorted(known, key=lambda record: record.ledger.ended):
        job = _job(record)
        if record.ledger.is_final:
            outcome = record.standing.reason
            if isinstance(outcome, JobOutcome):
                book.ended[record.key] = EndedJob(record.started, record.ledger.ended, outcome)
            if outcome is JobOutcome.TIMED_OUT and not any(_goes_on(each.ledger, job.ledger) for each in known):
                book.leave_no_time(job)
    for record in sorted(known, key=lambda record: record.number):
        if not record.ledger.is_final:
            book.adopt(_job(record))


def missed(book: JobBook, pods: Iterable[Pod], nodes: Iterable[Node]) -> Iterator[Event]:
    """What went while nobody looked: pods that jobs had, and nodes that these were on."""
    there = {pod.metadata.uid for pod in pods}
    names = {node.metadata.name for node in nodes}
    members = [pod for job in book for pod in job.members.values()]
    for name in sorted({pod.spec.node_name for pod in members if pod.spec.node_name} - names):
        yield Event(Verb.DELETED, Node(metadata=ObjectMeta(name=name)))
    for pod in members:
        if pod.metadata.uid not in there:
            yield Event(Verb.DELETED, pod)


def resume(desk: DutyDesk) -> dict[str, BatchJob]:
    """Whoever was let go and has no node yet waits again, as its room is not known; returns the others, by key."""
    starting = {}
    for job in [each for each in desk.book if each.is_released and each.started is None]:
        if job.goes_on or job.is_ending:
            starting[job.key] = job
        else:
            job.is_released, job.ledger.released = False, None
            desk.stand(job, JobStanding(JobState.QUEUED))
    return starting


def _job(record: JobRecord) -> BatchJob:
    assert record.wishes is not None, "records of desks have them"
    members = {pod.metadata.uid: pod for pod in record.members}
    job = BatchJob(
        record.key,
        record.uid,
        record.group,
        record.wishes,
        replace(record.ledger),
        record.min_count,
        record.size,
        record.orders,
        record.index,
        record.number,
        members,
        {uid for uid, pod in members.items() if pod.status.phase == "Running"},
        record.has_failed,
        record.num_done,
        {pod.metadata.name: pod for pod in record.failed},
        started=record.started,
        standing=record.standing,
    )
    job.priority_class = max((pod.priority for pod in members.values()), default=0)
    job.is_released = record.standing.state not in (JobState.QUEUED, JobState.REFUSED)
    return job


def _goes_on(ledger: JobLedger, former: JobLedger) -> bool:
    """Is this the ledger of a job that goes on with the time of a former one?"""
    spent = tuple(each for each in former.intervals if each.end < math.inf)
    return (
        ledger is not former
        and ledger.owner == former.owner
        and ledger.submitted == former.submitted
        and len(ledger.intervals) >= len(spent) > 0
        and ledger.intervals[: len(spent)] == spent
        and not (ledger.is_final and ledger.ended <= former.ended)
    )
