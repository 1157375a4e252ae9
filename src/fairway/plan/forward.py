"""The discipline played forward in time, with predicted run times: who will start when, if nobody else comes.

In: the `Present`: a calendar by limits, the waiting jobs in their order, the rules of their queues, and predictions of
when those who run will end and how long those who wait will take. Out: an `Outlook`, a slot for each that has one.
Passes decide by limits, as the desk's do; but jobs end as predicted, and then others start. So the play sees who will
pass whom, which a plan over predictions does not.

Between two passes lies an end, a promise that is due, a job that may begin, or any other change of what is free. Ends
that are close to one another for how far away they are (`resolution`) share a pass. The work is bounded: when it is
used up, those who still wait are given slots in order by a plan in which everything ends as predicted. Called by
`forecast`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from msgspec.structs import replace

from fairway.plan.bookings import Calendar
from fairway.plan.disciplines import QueueRule, dates_steps, pass_steps
from fairway.plan.slots import Slot
from fairway.plan.steps import Steps, finish
from fairway.plan.waiting_job import WaitingJob

__all__ = ["Effort", "Outlook", "Present", "play_forward", "play_steps"]

SEARCH: Final = 1000
"""What a search costs apart from the stretches it looks at, in stretches."""


class Effort(NamedTuple):
    """How closely the future is looked at."""

    resolution: float = 0.01  # ends share a pass if they are no further apart than this share of the time until then
    work: int = 25_000_000  # stretches that may be looked at: some seconds on one core


USUAL: Final = Effort()


@dataclass(frozen=True, slots=True)
class Present:
    """What is known now: who waits, who is there, and how long both will take."""

    calendar: Calendar  # by limits
    jobs: Sequence[WaitingJob]  # in their order
    rules: Mapping[str, QueueRule]  # by queue
    runs: Mapping[str, float]  # predicted seconds from start to end, of each of the jobs
    ends: Mapping[str, float]  # predicted ends of occupants, by their keys in the calendar; others stay to their limit
    times: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of jobs that others wait for


@dataclass(frozen=True, slots=True)
class Outlook:
    """Who will start when and where; a slot ends with the limit if it was played, else as predicted."""

    slots: Mapping[str, Slot]
    planned: frozenset[str]  # those of them that were not played any more, but planned


def play_forward(present: Present, wanted: Collection[str] | None = None, effort: Effort = USUAL) -> Outlook:
    """Play until everybody, or everybody `wanted`, has started, or nothing happens any more; on a copy."""
    return finish(play_steps(present, wanted, effort))


def play_steps(present: Present, wanted: Collection[str] | None = None, effort: Effort = USUAL) -> Steps[Outlook]:
    """The same in steps; the calendar is as it was at the first."""
    play = _Play(present, wanted)
    work = effort.work
    latest = present.calendar.now + present.calendar.horizon
    while True:
        yield from play.run_pass()
        if not play.open:
            break
        work -= play.work
        if work < 0:
            return (yield from play.planned())
        now = play.next_time(effort.resolution)
        if now == math.inf or now > latest:
            break
        play.advance(now)
    return Outlook(play.slots, frozenset())


class _Play:
    def __init__(self, present: Present, wanted: Collection[str] | None) -> None:
        self.origin = self.now = present.calendar.now
        self.calendar = present.calendar.copy()
        self.waiting = {job.key: job for job in present.jobs}
        self.open = set(self.waiting if wanted is None else self.waiting.keys() & wanted)  # who has no date yet
        self.rules, self.runs, self.times = present.rules, present.runs, dict(present.times)
        self.ends = [(max(end, self.now), key) for key, end in present.ends.items() if end < math.inf]  # a heap
        heapq.heapify(self.ends)
        self.ended: list[str] = []  # taken from there, and to leave at the next pass
        self.slots: dict[str, Slot] = {}
        self.has_dependents = any(job.after for job in present.jobs)
        self.num_kinds = len({_kind(job) for job in present.jobs})  # equal jobs are searched for once a pass
        self.advance(self.now)

    @property
    def work(self) -> int:
        """About what the last pass cost, in stretches."""
        searches = len(self.calendar.promises) + min(self.num_kinds, len(self.waiting)) + 1
        return searches * (len(self.calendar.timeline.starts) + SEARCH)

    def run_pass(self) -> Steps[None]:
        """All who may start now do so."""
        while True:
            waiting = list(self.waiting.values())
            outcome = yield from pass_steps(self.calendar, waiting, self.now, self.rules, self.times)
            for job, slot in outcome.started:
                end = self.now + self.runs[job.key]
                self.slots[job.key] = slot
                self.times[job.key] = (self.now, end)
                del self.waiting[job.key]
                self.open.discard(job.key)
                if end < slot.end:
                    heapq.heappush(self.ends, (end, job.key))
            # Who waits for another to start may do so in the next pass, which is not far away.
            if not (outcome.started and self.has_dependents):
                return

    def next_time(self, resolution: float) -> float:
        """When there is something to decide again; infinite: never."""
        timeline = self.calendar.timeline
        due = [promise.slot.start for promise in self.calendar.promises.values()]
        begins = [job.begin for job in self.waiting.values() if job.begin > self.now]
        known = [time for job in self.waiting.values() for time in self._dependency_times(job) if time > self.now]
        other = min([*due, *begins, *known, float(timeline.ends.min(initial=math.inf))], default=math.inf)
        if not self.ends or self.ends[0][0] > other:
            return other
        first = self.ends[0][0]
        # Those that end soon after the first one are waited for, unless something else is due by then.
        latest = min(first + resolution * (first - self.origin), other)
        now = first
        while self.ends and self.ends[0][0] <= latest:
            now, key = heapq.heappop(self.ends)
            self.ended.append(key)
        return now

    def advance(self, now: float) -> None:
        """Go to that time; who has ended by then leaves."""
        self.now = now
        self.calendar.advance(now)
        while self.ends and self.ends[0][0] <= now:
            self.ended.append(heapq.heappop(self.ends)[1])
        self.calendar.shorten(dict.fromkeys(self.ended, now))
        self.ended.clear()

    def planned(self) -> Steps[Outlook]:
        """Give everybody who still waits a slot, in order, if all run times are as predicted."""
        calendar = self.calendar
        for key in list(calendar.promises):
            calendar.remove(key)
        calendar.shorten({key: end for end, key in self.ends})
        shorter = [replace(job, duration=self.runs[key]) for key, job in self.waiting.items()]
        yield
        slots = yield from dates_steps(calendar, shorter, self.times)
        return Outlook(self.slots | slots, frozenset(slots))

    def _dependency_times(self, job: WaitingJob) -> list[float]:
        return [self.times[one.key][one.on_end] for one in job.after if one.key in self.times]


def _kind(job: WaitingJob) -> tuple[object, ...]:
    """What searches of equal jobs have in common."""
    if len(job.classes) != 1 or job.domains:
        return (job.key,)
    (members,) = job.classes
    return (members.need.tobytes(), id(members.eligible), members.one_per_row, job.duration)
