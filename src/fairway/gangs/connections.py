"""Jobs that belong together: which start with which, and which have to wait for which.

In: what jobs say of others (`connect-to`, `connect-mode`), the books of groups, and members that ended. Out: `reason`,
why a job may not be tried yet because of others; `companions`, the jobs that start with it; `dependents`, who has to be
looked at again when a job changes. A job is meant by its name, `namespace/name`, in whichever spelling. What is
remembered of jobs that have ended is what was seen of their pods. Asked by `job_rules`, fed by `job_members`.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from fairway.cluster import Cluster
from fairway.cluster.groups import GroupBook
from fairway.model import Pod
from fairway.model.group import After, GroupKey, GroupSpec, Misconfigured, Spelling
from fairway.queue.group_entries import GroupEntries
from fairway.queue.queued_group import QueuedGroup

__all__ = ["MOST_STEPS", "Connections"]

MOST_JOBS: Final = 16
MOST_MEMBERS: Final = 2000
REMEMBERED: Final = 10_000
MOST_STEPS: Final = 32
"""On the way along jobs that come after one another: whoever may create pods makes that way as long as they like."""
TO_DO: Final = {"after-started": "start", "after-any": "end", "after-ok": "end well"}


@dataclass(slots=True)
class _History:
    """What became of a job's members so far."""

    num_needed: int = 1
    num_good: int = 0
    num_bad: int = 0
    has_started: bool = False


class _State(NamedTuple):
    """What a job is to those who speak of it, but for how many of its members are ready."""

    specs: list[GroupSpec | Misconfigured | None]  # one for each spelling in which there is such a job
    has_enough: list[bool]  # of members with a node, for each of them
    history: tuple[bool, bool] | None  # has it started, and ended well?


class Connections:
    """What jobs are to each other."""

    def __init__(self, cluster: Cluster) -> None:
        self._groups = cluster.groups
        self.entries: GroupEntries | None = None  # of the queue, once there is one
        self._histories: OrderedDict[str, _History] = OrderedDict()  # by job
        self._ended: set[str] = set()  # uids of pods that have ended and are still there
        self._named: dict[str, dict[GroupKey, bool]] = {}  # by job: who speaks of it, and whether its numbers matter
        self._states: dict[str, _State] = {}  # by job that somebody speaks of: what they were told last
        self._speaks: dict[GroupKey, set[str]] = {}  # the same the other way round: of whom

    # -- what happens ------------------------------------------------------------------------------------------------

    def saw(self, book: GroupBook) -> None:
        """A job's book changed: has it started?"""
        spec = self._groups.spec_of(book) if book.bound else None
        if isinstance(spec, GroupSpec):
            history = self._history(str(book.key))
            history.num_needed = max(spec.min_count, 1)
            history.has_started = history.has_started or len(book.bound) >= spec.min_count

    def ended(self, key: GroupKey, pod: Pod, gone: bool) -> None:
        """A member has ended, or is gone."""
        uid = pod.metadata.uid
        is_known = uid in self._ended
        if gone:
            self._ended.discard(uid)
        else:
            self._ended.add(uid)
        if not is_known and pod.spec.node_name:
            history = self._history(str(key))
            if pod.status.phase == "Succeeded":
                history.num_good += 1
            else:
                history.num_bad += 1

    def start(self, key: GroupKey) -> None:
        """The job has as many members with a node as it takes."""
        self._history(str(key)).has_started = True

    def recall(self, job: str, num_needed: int, num_good: int, num_bad: int, *, has_started: bool) -> None:
        """What became of a job's members so far, as somebody else wrote it down."""
        history = self._history(job)
        history.num_needed, history.num_good, history.num_bad = num_needed, num_good, num_bad
        history.has_started = has_started

    def forget(self, key: GroupKey) -> None:
        """A job has no pods any more: what it said of others ends with it, what became of it is remembered."""
        for job in self._speaks.pop(key, ()):
            speakers = self._named[job]
            del speakers[key]
            if not speakers:
                del self._named[job]
                self._states.pop(job, None)

    def _note(self, key: GroupKey, job: str, counts: bool = False) -> None:
        """A job speaks of another; `counts`: it also matters to it how many members of that are ready."""
        self._named.setdefault(job, {})[key] = counts
        self._speaks.setdefault(key, set()).add(job)

    def has_good_ends(self, job: str) -> bool:
        """Have members of it ended well?"""
        history = self._histories.get(job)
        return history is not None and history.num_good > 0

    def _history(self, job: str) -> _History:
        history = self._histories.get(job)
        if history is None:
            history = self._histories[job] = _History()
            if len(self._histories) > REMEMBERED:
                self._histories.popitem(last=False)
        return history

    def dependents(self, key: GroupKey) -> list[GroupKey]:
        """Whom a change of this job may concern: all who speak of it, if it is another to them than it was.

        Whoever may create pods can let thousands of jobs speak of one that has thousands of members.
        """
        job = str(key)
        speakers = self._named.get(job)
        if not speakers:
            return []
        state = self._state(job)
        if self._states.get(job) == state:
            return [other for other, counts in speakers.items() if counts]
        self._states[job] = state
        return list(speakers)

    def _state(self, job: str) -> _State:
        """What others look at."""
        history = self._histories.get(job)
        books = self._groups.named(job)
        specs = [self._groups.spec_of(book) for book in books]
        return _State(
            specs,
            [
                isinstance(spec, GroupSpec) and book.num_scheduled >= spec.min_count
                for book, spec in zip(books, specs, strict=True)
            ],
            None if history is None else (history.has_started, history.num_good >= history.num_needed),
        )

    # -- what follows ------------------------------------------------------------------------------------------------

    def reason(self, book: GroupBook, spec: GroupSpec) -> str:
        """Why the job may not be tried yet, for the sake of others; "" if it may."""
        own = str(book.key)
        if spec.after or spec.together:
            for job in (*(each.job for each in spec.after), *spec.together):
                self._note(book.key, job)
        if (wait := self._first_wait(own, book, spec)) is not None:
            return wait[1]
        return self._incomplete_companion(own, book, spec)

    def _first_wait(self, own: str, book: GroupBook, spec: GroupSpec) -> tuple[After, str] | None:
        """The first of those it comes after for which it has to wait yet, and why."""
        if not spec.after:
            return None
        if (cycle := self._cycle(own, book)) is not None:
            return spec.after[0], f"Misconfigured: job {own}: fairway.dev/connect-to: a cycle: {' after '.join(cycle)}"
        return next(((after, words) for after in spec.after if (words := self._waits_for(own, after))), None)

    def _waits_for(self, own: str, after: After) -> str:
        peers, history = self._groups.named(after.job), self._histories.get(after.job)
        if not peers and history is None:
            return f"Dependency: no job {after.job}"
        has_ended = not peers and history is not None
        has_started = history is not None and history.has_started
        if after.mode == "after-started" and (has_started or has_ended):
            return ""
        if has_ended and after.mode == "after-any":
            return ""
        if has_ended and history is not None:
            if history.num_good >= history.num_needed:
                return ""
            return f"Dependency: job {after.job} has failed, and job {own} starts only when it has ended well"
        return f"Dependency: job {own} waits for job {after.job} to {TO_DO[after.mode]}"

    def _cycle(self, own: str, book: GroupBook) -> list[str] | None:
        """The shortest way from the job back to itself, over those it comes after; on it, everybody hears of everybody.

        Looked for within `MOST_STEPS`: on a longer one everybody waits all the same.
        """
        came_from: dict[str, str] = {}
        todo = deque([zip(itertools.repeat(own), self._before([book]))])
        for here, job in itertools.islice(_drained(todo), MOST_STEPS):
            self._note(book.key, job)
            if job == own:
                way = [own, here]
                while way[-1] != own:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if job not in came_from:
                came_from[job] = here
                todo.append(zip(itertools.repeat(job), self._before(self._groups.named(job))))
        return None

    def _before(self, books: Iterable[GroupBook]) -> Iterator[str]:
        """Whom these jobs come after."""
        for book in books:
            spec = self._groups.spec_of(book)
            if isinstance(spec, GroupSpec):
                yield from (after.job for after in spec.after)

    # -- one start for several ---------------------------------------------------------------------------------------

    def companions(self, book: GroupBook) -> list[GroupBook]:
        """The other jobs that start with this one, directly or not; those that have started are there already."""
        found = self._closure(book)
        return [other for other in found.values() if other is not None and other is not book]

    def _closure(self, book: GroupBook) -> dict[str, GroupBook | None]:
        """By name: the job and all that start with it; None for those that are not there. One more than may is enough:
        who is left out then changes nothing for this job as long as those that were found are there.
        """
        found: dict[str, GroupBook | None] = {str(book.key): book}
        todo = [book]
        while todo:
            here = todo.pop()
            for job in self._neighbours(here):
                if job in found:
                    continue
                peers = self._groups.named(job)
                found[job] = peers[0] if peers else None
                if len(found) > MOST_JOBS:
                    return found
                todo += peers[:1]
        return found

    def _neighbours(self, book: GroupBook) -> Iterator[str]:
        """Whom it names, and who names it; across namespaces both have to. Each may come twice."""
        own, namespace = str(book.key), book.key.namespace
        said, naming = self._together(book), self._named.get(own, {})
        for job in said:
            if job != own and job.partition("/")[0] == namespace:
                yield job
        for key in naming:
            if key.namespace == namespace and key != book.key and self._is_named_by(own, key):
                yield str(key)
        for job in said:
            if job.partition("/")[0] != namespace and self._is_named_back(own, job):
                yield job

    def _is_named_by(self, own: str, key: GroupKey) -> bool:
        other = self._groups.find(key)
        return other is not None and own in self._together(other)

    def _is_named_back(self, own: str, job: str) -> bool:
        naming = self._named.get(own, {})
        return any(peer.key in naming and own in self._together(peer) for peer in self._groups.named(job))

    def _together(self, book: GroupBook) -> tuple[str, ...]:
        spec = self._groups.spec_of(book)
        return spec.together if isinstance(spec, GroupSpec) else ()

    def _incomplete_companion(self, own: str, book: GroupBook, spec: GroupSpec) -> str:
        if own in spec.together and book.key.spelling is not Spelling.KOORDINATOR:
            return f"Misconfigured: job {own}: fairway.dev/connect-to: names itself"
        for job in spec.together:
            if job.partition("/")[0] != book.key.namespace and not self._is_named_back(own, job):
                known = self._groups.named(job)
                return (
                    f"Dependency: job {job} does not name job {own} in turn" if known else f"Dependency: no job {job}"
                )
        if not spec.together and str(book.key) not in self._named:
            return ""
        closure = self._closure(book)
        for job in closure:
            self._note(book.key, job, counts=len(closure) <= MOST_JOBS)
        if len(closure) > MOST_JOBS:
            return f"Misconfigured: job {own}: more than {MOST_JOBS} jobs would start together"
        number = sum(len(other) for other in closure.values() if other is not None)
        if len(closure) > 1 and number > MOST_MEMBERS:
            return f"Misconfigured: job {own}: {number} pods would start together; at most {MOST_MEMBERS} may"
        for job, other in closure.items():
            if other is None:
                return f"Dependency: no job {job}"
            if other is not book and (words := self._lacks(own, book, other)):
                return words
        return ""

    def _lacks(self, own: str, book: GroupBook, other: GroupBook) -> str:
        """Why a job is not ready that has to start with this one."""
        spec = self._groups.spec_of(other)
        if not isinstance(spec, GroupSpec):
            return f"Dependency: job {other.key}, with which job {own} starts, can not be read"
        if other.num_scheduled >= spec.min_count:
            return ""
        entry = self.entry_of(other)
        number = other.num_scheduled + (0 if entry is None else entry.num_ready)
        if self.entries is None:
            number = other.num_ready  # where there is no queue, who waits and is not gated is ready
        if number < spec.min_count:
            words = f"{number} of {spec.min_count} members are ready"
            return f"Dependency: job {other.key}, with which job {own} starts, is incomplete: {words}"
        if entry is not None and entry.profile != next(iter(book.schedulers)):
            words = f"is for scheduler {entry.profile!r}"
            return f"Misconfigured: job {own}: fairway.dev/connect-to: job {other.key} {words}"
        if (wait := self._first_wait(str(other.key), other, spec)) is not None:
            return f"Dependency: job {other.key}, with which job {own} starts, waits for job {wait[0].job}"
        return ""

    def entry_of(self, book: GroupBook) -> QueuedGroup | None:
        """Where the job's members wait."""
        return None if self.entries is None else self.entries.find(book.key)


def _drained(steps: deque[zip[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    """All of the first, then of the next; others may be appended meanwhile."""
    while steps:
        yield from steps.popleft()
