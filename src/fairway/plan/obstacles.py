"""What keeps a job from starting now, other than those who are there and those before it: windows, rows that are down.

In: the waiting jobs in their order, the calendar before a pass, and what is closed in it, by cause. Out: for a job
that has to wait, the first cause that stops it: were that cause gone, the pass would start the job; or the cause
leaves too few rows for it even of an empty machine. So of many jobs that one lost node could hold, only those are told
of it that would have got it. Called where waiting jobs are told their reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Self

from fairway.plan.bookings import Calendar
from fairway.plan.steps import Steps, finish
from fairway.plan.waiting_job import WaitingJob

__all__ = ["Obstacles"]

StartsNow = Callable[[Calendar], Collection[str]]
"""Runs a pass over a calendar that may be changed, and says which jobs it starts, by key."""
StartsSteps = Callable[[Calendar], Steps[Collection[str]]]
"""The same in steps."""


class Obstacles:
    """The pass played once more without each cause, and the same machine with nobody on it."""

    def __init__(
        self, calendar: Calendar, empty: Calendar, causes: Mapping[str, Collection[str]], starts_now: StartsNow
    ) -> None:
        """`causes`: the keys that are closed for each cause, in the order in which causes are told.

        `empty` has neither occupants nor promises, but the same is closed in it as in `calendar`.
        """
        finish(self._look(calendar, empty, causes, lambda each: _at_once(starts_now(each))))

    @classmethod
    def steps(
        cls, calendar: Calendar, empty: Calendar, causes: Mapping[str, Collection[str]], starts: StartsSteps
    ) -> Steps[Self]:
        """The same in steps; what changes in the calendar in between may be seen or not."""
        obstacles = object.__new__(cls)
        yield from obstacles._look(calendar, empty, causes, starts)
        return obstacles

    def _look(
        self, calendar: Calendar, empty: Calendar, causes: Mapping[str, Collection[str]], starts: StartsSteps
    ) -> Steps[None]:
        present = {cause: keys for cause, keys in causes.items() if keys}
        self._starts: dict[str, Collection[str]] = {}
        for cause, keys in present.items():
            self._starts[cause] = yield from starts(calendar.without(keys))
            yield
        self._empty = empty
        self._empty_without = {cause: empty.without(keys) for cause, keys in present.items()}
        self._all_open = empty.without(key for keys in present.values() for key in keys)
        self._on_empty: dict[Hashable, str | None] = {}  # what leaves too few rows for jobs of a kind

    def cause(self, job: WaitingJob) -> str | None:
        """The first cause that stops the job now; None if it waits for others to end, or for its turn."""
        if not self._starts:
            return None
        impossible = self._impossible_by(job)
        for cause, started in self._starts.items():
            if job.key in started or cause == impossible:
                return cause
        return None

    def _impossible_by(self, job: WaitingJob) -> str | None:
        """The first cause that leaves too few rows for the job even if nobody were there; jobs alike are asked once."""
        kinds = tuple((each.need.tobytes(), each.count, id(each.eligible), each.one_per_row) for each in job.classes)
        shares = tuple((each.name, each.amounts.tobytes(), each.may_be_lent) for each in job.shares)
        key = (kinds, shares, job.duration, job.queue, job.entrances, tuple(map(id, job.domains)))
        if key not in self._on_empty:
            self._on_empty[key] = self._first_impossible(job)
        return self._on_empty[key]

    def _first_impossible(self, job: WaitingJob) -> str | None:
        if self._empty.search_now(job) is not None:
            return None
        for cause, calendar in self._empty_without.items():
            if calendar.search_now(job) is not None:
                return cause
        # Several at once: the first is told, and the next when it is gone.
        return next(iter(self._starts)) if self._all_open.search_now(job) is not None else None


def _at_once(found: Collection[str]) -> Steps[Collection[str]]:
    return found
    yield
