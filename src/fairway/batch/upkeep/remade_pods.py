"""Bare pods that we make anew: who was asked to leave and comes again, and who has come in whose place.

In: what a job's ledger has of them (`pods`, still to be made; `leaving`, once they have left), pods that come and go.
Out: the same ledger, brought up to date. A new pod says in whose place it is, so it is known again also by a desk that
never saw it alive. Part of the book of jobs.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairway.batch.actions import MADE_FROM
from fairway.batch.job import BatchJob
from fairway.model import Pod

__all__ = ["RemadePods"]


class RemadePods:
    """Those of all jobs."""

    def __init__(self) -> None:
        self.leaving: dict[str, Pod] = {}  # by uid: pods that were asked to leave, as they come again

    def adopt(self, job: BatchJob) -> None:
        """A job that was written down is here again."""
        self.leaving |= {each.metadata.annotations[MADE_FROM]: each for each in job.ledger.leaving}

    def note_leaving(self, job: BatchJob, again: Pod) -> bool:
        """One of its pods is asked to leave, and comes again so; False: that is known."""
        former = again.metadata.annotations[MADE_FROM]
        if former in self.leaving:
            return False
        self.leaving[former] = again
        job.ledger.leaving = (*job.ledger.leaving, again)
        return True

    def stays(self, uid: str, job: BatchJob | None) -> None:
        """A pod of that job need not leave any more."""
        again = self.leaving.pop(uid)
        if job is not None:
            job.ledger.leaving = tuple(each for each in job.ledger.leaving if each is not again)

    def left(self, job: BatchJob, pod: Pod) -> bool:
        """A member is over or gone; says whether it has to be made anew because it was asked to leave."""
        again = self.leaving.get(pod.metadata.uid) if self.leaving else None
        if again is None:
            return False
        self.stays(pod.metadata.uid, job)
        if not pod.is_finished:
            job.ledger.pods = (*job.ledger.pods, again)
        return not pod.is_finished

    @staticmethod
    def came(job: BatchJob, pod: Pod) -> None:
        """One of that name is there again."""
        if job.failed or job.ledger.pods:
            name = pod.metadata.name
            job.failed.pop(name, None)
            job.ledger.pods = tuple(each for each in job.ledger.pods if each.metadata.name != name)

    @staticmethod
    def is_awaited(pod: Pod, jobs: Iterable[BatchJob]) -> bool:
        """Was it made for one of these jobs, and has it ended before anybody heard of it?"""
        former = pod.metadata.annotations.get(MADE_FROM)
        awaited = (each for job in jobs for each in job.ledger.pods) if former else ()
        return any(each.metadata.annotations.get(MADE_FROM) == former for each in awaited)
