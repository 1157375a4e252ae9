"""A desk that comes after another one: jobs as they were written down, put back into the book.

In: the records of all jobs. Out: in the book, every job that is not over, with its members as they were when it was
last written; how the others ended; and whose time is used up. What has become of pods since is heard afterwards, as
events: a pod that is over or gone by then ends for the book as it would have if the desk had been there (`catch_up`).
So whatever was done and not written down is done again from what was, and nothing is done twice. Called by the desk
once, before it hears of anything; and by whoever tells it then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import copy

from msgspec.structs import replace

from fairway.batch.accounts.unwatched import Unwatched, time_of
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.job import BatchJob, JobLedger, JobRecord
from fairway.batch.job_book import EndedJob, JobBook
from fairway.batch.reasons import JobOutcome, JobStanding, JobState
from fairway.cluster import Event, Verb
from fairway.model import Node, ObjectMeta, Pod

__all__ = ["catch_up", "restore", "resume", "unheard"]


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


def catch_up(
    desk: DutyDesk,
    pods: Iterable[Pod],
    nodes: Iterable[Node],
    tell: Callable[[Event], None],
    last_led: float | None = None,
) -> None:
    """Tell a desk that comes of all pods that are there, and of what it missed.

    `last_led`: when somebody last led before it; None: it is as if it had been there, or nobody knows.
    """
    book, now, pods = desk.book, desk.world.now(), list(pods)
    for pod in pods:
        _recognise(book, pod)
    book.unwatched = None if last_led is None else Unwatched(last_led, desk.epoch)
    for event in unheard(book, pods, nodes, now):
        tell(event)
    book.unwatched = None


def _recognise(book: JobBook, pod: Pod) -> None:
    """A member may be written down by its name alone: what it asks for has to be known before anybody's end is heard.

    Else what the others cost from then on would be worked out without it.
    """
    uid = pod.metadata.uid
    job = book.of(uid)
    if job is not None:
        known = job.members[uid]
        spec = replace(pod.spec, node_name=known.spec.node_name)
        job.members[uid] = replace(known, metadata=pod.metadata, spec=spec)


def unheard(book: JobBook, pods: Iterable[Pod], nodes: Iterable[Node], now: float) -> list[Event]:
    """All that a desk has to be told of pods when it comes, in the order in which it would have heard of it.

    First what went while nobody looked: nodes that jobs were on; pods that they had, or that are over, as they ended.
    Then the pods that are there: some may have come in the place of those.
    """
    known = list(pods)
    there = {pod.metadata.uid for pod in known}
    names = {node.metadata.name for node in nodes}
    members = [pod for job in book for pod in job.members.values()]
    lost = sorted({pod.spec.node_name for pod in members if pod.spec.node_name} - names)
    ends = [Event(Verb.ADDED, pod) for pod in known if pod.is_finished]
    ends += [Event(Verb.DELETED, pod) for pod in members if pod.metadata.uid not in there]
    return [
        *(Event(Verb.DELETED, Node(metadata=ObjectMeta(name=name))) for name in lost),
        *sorted(ends, key=lambda event: time_of(event, book.unwatched, now)),
        *(Event(Verb.ADDED, pod) for pod in known if not pod.is_finished),
    ]


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
        copy(record.ledger),
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
