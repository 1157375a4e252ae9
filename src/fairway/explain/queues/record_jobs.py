"""A job of a queue from its record: where it stands, what it asks for, when it starts.

In: a `JobRecord` and what is said besides (`RecordTerms`), as an API server or a scheduler has them. Out: the same
`QueueJob` that a run's tables give. A record keeps when the job ran and since when it stands where it does; the story
that is made of these has no other stops on the way. Called by `record_moment`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairway.batch.job import JobRecord
from fairway.batch.reasons import JobState
from fairway.explain.queues.job_story import JobStory, StateChange
from fairway.explain.queues.queue_jobs import QueueJob, ToldDates
from fairway.live.batch.record_terms import RecordTerms

__all__ = ["newest_moment", "record_job"]


def record_job(record: JobRecord, terms: RecordTerms, at: float, number: int) -> QueueJob:
    """The job at that time, which is not before anything that the record tells; `number`: which of all it is."""
    ledger, wishes = record.ledger, record.wishes
    nodes = {pod.spec.node_name for pod in record.members if pod.spec.node_name}
    if not nodes and ledger.intervals:
        nodes = set(ledger.intervals[-1].nodes)
    return QueueJob(
        number,
        record.key,
        ledger.queue or ("" if wishes is None else wishes.queue),
        "" if wishes is None else wishes.user,
        terms.account,
        ledger.submitted,
        terms.limit,
        JobStory(at, list(_changes(record, terms))),
        terms.whole if record.standing.state is JobState.FINISHED and terms.whole else terms.members,
        tuple(sorted(nodes)),
        _dates(record, terms) if record.standing.state is JobState.QUEUED else None,
    )


def newest_moment(record: JobRecord, terms: RecordTerms) -> float:
    """The latest time that the record tells of something that has happened."""
    ledger = record.ledger
    times = [ledger.submitted, terms.since or 0.0, record.started or 0.0]
    times += [time for each in ledger.intervals[-1:] for time in (each.start, each.end)]
    times += [] if ledger.dates is None else [ledger.dates.last.as_of]
    return max(time for time in times if time < math.inf)


def _dates(record: JobRecord, terms: RecordTerms) -> ToldDates | None:
    if record.ledger.dates is None:
        return None
    last = record.ledger.dates.last
    ahead = (last.ahead_jobs, last.ahead_cpu, last.ahead_gpu)
    dates = (last.as_of, last.likely, last.safe, last.by_limits)
    way, place = str(last.basis.way), (terms.nodes, terms.priority, dict(terms.factors))
    return ToldDates(*dates, last.is_promised, terms.is_rough, way, *ahead, *place)


def _changes(record: JobRecord, terms: RecordTerms) -> Iterator[StateChange]:
    """When it came, when it ran, and where it stands now."""
    standing, ledger = record.standing, record.ledger
    state = standing.state
    before = StateChange(ledger.submitted, JobState.QUEUED)
    for start, end in _runs(record):
        yield before
        before = StateChange(start, JobState.RUNNING)
        if end < math.inf:
            yield before
            before = StateChange(end, JobState.QUEUED)
    since = terms.since
    if state is JobState.FINISHED and ledger.ended < math.inf:
        since = ledger.ended
    elif state is JobState.RUNNING:
        since = before.time if before.state is state else record.started
    elif state is JobState.STARTING and since is None:
        since = ledger.released
    time = before.time if since is None else max(since, before.time)
    # Between its runs it waits; where it is over, or stands elsewhere from then on, it has not waited.
    if not (time == before.time and (before.state in (state, JobState.QUEUED))):
        is_over = state is JobState.FINISHED and before.state is JobState.QUEUED and bool(ledger.intervals)
        if not is_over:
            yield before
    yield StateChange(time, state, str(standing.reason or ""), dict(standing.detail), standing.words)


def _runs(record: JobRecord) -> Iterator[tuple[float, float]]:
    """When it ran: intervals that touch are one run."""
    begun: float | None = None
    ended = math.inf
    for each in record.ledger.intervals:
        if begun is not None and each.start > ended:
            yield begun, ended
            begun = None
        if begun is None:
            begun = each.start
        ended = each.end
    if begun is not None:
        yield begun, ended
