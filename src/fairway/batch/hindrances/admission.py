"""May a job be in its queue: is there one of that name, is it for its namespace, and does it take new jobs?

In: a job, the queues as they are now, the labels of namespaces. Out: a refusal, `QueueUnknown` or `QueueClosed`, with
the way out in words; or None. A queue that takes nothing new keeps whoever came before: that it was taken is noted in
the job's ledger (`take`) when it is first looked at, and so survives a restart. Called by `standings`.
"""

from __future__ import annotations

import difflib

from fairway.batch.job import BatchJob
from fairway.batch.reasons import JobStanding, JobState, Refused
from fairway.batch.settings import BatchSettings
from fairway.cluster import Cluster

__all__ = ["Admission"]


class Admission:
    """Who may be where."""

    def __init__(self, settings: BatchSettings, cluster: Cluster) -> None:
        self.settings = settings  # as they are now
        self._cluster = cluster

    def take(self, job: BatchJob) -> None:
        """A job is looked at: its queue takes it, if it takes any and that job may be there."""
        queue = self.settings.queues.get(job.queue)
        if queue is not None and queue.takes_jobs and job.ledger.taken_by != job.queue and self._may_use(job):
            job.ledger.taken_by = job.queue

    def refusal(self, job: BatchJob) -> JobStanding | None:
        """Why the job can not be in its queue; None: it can."""
        queue = self.settings.queues.get(job.queue)
        if queue is None:
            return self._unknown(job.queue)
        if not self._may_use(job):
            namespace = job.key.partition("/")[0]
            labels = ", ".join(f"{key}={value}" for key, value in sorted(queue.namespaces.match_labels.items()))
            words = f"queue {job.queue} is for namespaces with {labels}, which {namespace} does not have"
            return _refused(Refused.QUEUE_UNKNOWN, words, nearest="", namespace=namespace)
        if not queue.takes_jobs and job.ledger.taken_by != job.queue:
            words = f"queue {job.queue} is {queue.state}, and takes nothing new until it opens"
            return _refused(Refused.QUEUE_CLOSED, words, state=queue.state)
        return None

    def _may_use(self, job: BatchJob) -> bool:
        wanted = self.settings.queues[job.queue].namespaces.match_labels
        if not wanted:
            return True
        labels = self._cluster.workloads.namespace_labels(job.key.partition("/")[0])
        return wanted.items() <= labels.items()

    def _unknown(self, name: str) -> JobStanding:
        queues = self.settings.queues
        if name in self.settings.departed:
            words = f"queue {name} was deleted; it waits until that is back, or until it is moved to another"
            return _refused(Refused.QUEUE_UNKNOWN, words, nearest="")
        near = difflib.get_close_matches(name, queues, 1)
        words = f"no queue {name!r}; there are {', '.join(sorted(queues))}"
        words += f"; did you mean {near[0]}?" if near else ""
        return _refused(Refused.QUEUE_UNKNOWN, words, nearest=near[0] if near else "")


def _refused(reason: Refused, words: str, **detail: object) -> JobStanding:
    return JobStanding(JobState.REFUSED, reason, detail, words)
