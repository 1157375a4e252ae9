"""Jobs that wait for others: for which one, whether it can still come about, and whether they wait for each other.

In: the book of jobs, in which each says what it comes after. Out: a standing: `Dependency` while another job has not
got as far as it has to, `DependencyFailed` when it never will, `DependencyCycle` for those that wait for themselves,
with the way written out. Whoever may create pods makes chains and circles as long as they like: who is in one is found
for all jobs at once, in time that follows what they say. Called by `standings`, which says when a pass begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from fairway.batch.job import BatchJob
from fairway.batch.job_book import JobBook
from fairway.batch.reasons import JobOutcome, JobStanding, JobState, Reason, Refused
from fairway.model.group import After

__all__ = ["Dependencies"]

MOST_SHOWN: Final = 32
"""Circles of more jobs are not written out: each of them would be told all the others."""


class Dependencies:
    """Who waits for whom."""

    def __init__(self, book: JobBook) -> None:
        self._book = book
        self._circles: dict[str, frozenset[str]] | None = None  # None: not looked for yet

    def begin(self) -> None:
        """A pass begins: what jobs say may have changed."""
        self._circles = None
        self._book.awaited.clear()

    def standing(self, job: BatchJob) -> JobStanding | None:
        """What another job has to do with it that this one waits; None: nothing."""
        after = self._book.after_of(job)
        if not after:
            return None
        self._book.awaited.update(each.job for each in after)
        if self._circles is None:
            self._circles = self._find_circles()
        if (circle := self._circles.get(job.key)) is not None:
            return self._cycle(job, circle)
        first = None
        for each in after:
            waits, fails = self._waits_for(each)
            if fails:
                words = f"{each.job} ended as {self._book.ended[each.job].outcome}"
                return JobStanding(JobState.REFUSED, Refused.DEPENDENCY_FAILED, _detail(each), words)
            if waits and first is None:
                first = each
        if first is None:
            return None
        words = f"{first.mode} {first.job}" if self._book.find(first.job) else f"no job {first.job}"
        return JobStanding(JobState.QUEUED, Reason.DEPENDENCY, _detail(first), words)

    def _waits_for(self, after: After) -> tuple[bool, bool]:
        """Has the job to wait for this one, and in vain?"""
        peer, ended = self._book.find(after.job), self._book.ended.get(after.job)
        if after.mode == "after-started" and (
            (peer is not None and peer.started is not None) or (ended is not None and ended.started is not None)
        ):
            return False, False
        if ended is not None and peer is None:
            fails = after.mode == "after-ok" and ended.outcome is not JobOutcome.SUCCEEDED
            return fails, fails
        return True, False

    # -- circles -----------------------------------------------------------------------------------------------------

    def _before(self, key: str) -> Iterator[str]:
        """The jobs that are there and that the job of this name comes after."""
        job = self._book.find(key)
        if job is not None:
            yield from (each.job for each in self._book.after_of(job) if each.job in self._book.jobs)

    def _find_circles(self) -> dict[str, frozenset[str]]:
        """By name: of each job that waits for itself, all that wait for it and for which it waits.

        Tarjan's strongly connected components, with a stack of its own instead of calls within calls.
        """
        found: dict[str, frozenset[str]] = {}
        order: dict[str, int] = {}  # by name: as they were come upon
        lowest: dict[str, int] = {}  # the first of those to which a way leads back
        path: list[str] = []  # those whose circle is not complete
        unfinished: set[str] = set()  # the same
        for start in self._book.jobs:
            coming = None if start in order else start
            ways: list[tuple[str, Iterator[str]]] = []  # where we came by, and where to go on from there
            while coming is not None or ways:
                if coming is not None:
                    order[coming] = lowest[coming] = len(order)
                    path.append(coming)
                    unfinished.add(coming)
                    ways.append((coming, self._before(coming)))
                here, others = ways[-1]
                coming = None
                for other in others:
                    if other not in order:
                        coming = other
                        break
                    if other in unfinished:
                        lowest[here] = min(lowest[here], order[other])
                if coming is not None:
                    continue
                ways.pop()
                if ways:
                    before = ways[-1][0]
                    lowest[before] = min(lowest[before], lowest[here])
                if lowest[here] == order[here]:
                    circle = {here}
                    while (name := path.pop()) != here:
                        circle.add(name)
                    unfinished -= circle
                    if len(circle) > 1 or here in self._before(here):
                        found.update(dict.fromkeys(circle, frozenset(circle)))
        return found

    def _cycle(self, job: BatchJob, circle: frozenset[str]) -> JobStanding:
        """The job waits for itself: the shortest way, if it can be told in a few words."""
        if len(circle) > MOST_SHOWN:
            words = f"waits for itself: {len(circle)} jobs wait for each other"
            return JobStanding(JobState.REFUSED, Refused.DEPENDENCY_CYCLE, {"cycle": [job.key, job.key]}, words)
        came_from: dict[str, str] = {}
        todo = deque([job.key])
        while job.key not in came_from:
            here = todo.popleft()
            for other in self._before(here):
                if other in circle and other not in came_from:
                    came_from[other] = here
                    todo.append(other)
        way = [job.key, came_from[job.key]]
        while way[-1] != job.key:
            way.append(came_from[way[-1]])
        way.reverse()
        words = f"waits for itself: {' after '.join(way)}"
        return JobStanding(JobState.REFUSED, Refused.DEPENDENCY_CYCLE, {"cycle": way}, words)


def _detail(after: After) -> dict[str, str]:
    return {"job": after.job, "kind": after.mode}
