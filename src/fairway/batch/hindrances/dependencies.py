"""Jobs that wait for others: for which one, whether it can still come about, and whether they wait for each other.

In: the book of jobs, in which each says what it comes after. Out: a standing: `Dependency` while another job has not
got as far as it has to, `DependencyFailed` when it never will, `DependencyCycle` for those that wait for themselves,
with the way written out. Called by `standings`.
"""

from __future__ import annotations

from fairway.batch.job import BatchJob
from fairway.batch.job_book import JobBook
from fairway.batch.reasons import JobOutcome, JobStanding, JobState, Reason, Refused
from fairway.model.group import After

__all__ = ["Dependencies"]


class Dependencies:
    """Who waits for whom."""

    def __init__(self, book: JobBook) -> None:
        self._book = book

    def standing(self, job: BatchJob) -> JobStanding | None:
        """What another job has to do with it that this one waits; None: nothing."""
        after = self._book.after_of(job)
        if not after:
            return None
        self._book.awaited.update(each.job for each in after)
        if (cycle := self._cycle(job)) is not None:
            words = f"waits for itself: {' after '.join(cycle)}"
            return JobStanding(JobState.REFUSED, Refused.DEPENDENCY_CYCLE, {"cycle": cycle}, words)
        standings = [standing for each in after if (standing := self._waits_for(each)) is not None]
        refused = (each for each in standings if each.state is JobState.REFUSED)
        return next(refused, standings[0] if standings else None)

    def _waits_for(self, after: After) -> JobStanding | None:
        peer, ended = self._book.find(after.job), self._book.ended.get(after.job)
        has_started = any(each is not None and each.started is not None for each in (peer, ended))
        if after.mode == "after-started" and has_started:
            return None
        if ended is not None and peer is None:
            if after.mode == "after-ok" and ended.outcome is not JobOutcome.SUCCEEDED:
                words, detail = f"{after.job} ended as {ended.outcome}", {"job": after.job, "kind": after.mode}
                return JobStanding(JobState.REFUSED, Refused.DEPENDENCY_FAILED, detail, words)
            return None
        words = f"{after.mode} {after.job}" if peer else f"no job {after.job}"
        return JobStanding(JobState.QUEUED, Reason.DEPENDENCY, {"job": after.job, "kind": after.mode}, words)

    def _cycle(self, job: BatchJob) -> list[str] | None:
        """A way from the job back to itself, over those it comes after."""
        way: list[str] = [job.key]
        seen: set[str] = set()

        def walk(here: BatchJob) -> bool:
            for name in (each.job for each in self._book.after_of(here)):
                if name == job.key:
                    way.append(name)
                    return True
                peer = self._book.find(name)
                if peer is None or name in seen:
                    continue
                seen.add(name)
                way.append(name)
                if walk(peer):
                    return True
                way.pop()
            return False

        return way if walk(job) else None
