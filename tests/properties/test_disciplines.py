"""Whatever jobs come, end early and meet windows, under any discipline: promises are kept, no room is given twice."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.plan import (
    BookingMode,
    Calendar,
    Discipline,
    FreeTimeline,
    MemberClass,
    QueueRule,
    SmallestRest,
    WaitingJob,
    dates,
    member_need,
    run_pass,
)
from fairway.plan.bookings import Promise
from fairway.plan.waiting_job import WHOLE
from tests.plan.naive_plan import Taking, free_of, told

CAPACITY = np.array([[4, 8], [4, 8], [8, 8]], np.int64)
WINDOW = (2, 30.0, 45.0)  # row, start, end
NUM_COLUMNS = 3  # with access


class Wanted(NamedTuple):
    cpu: int
    memory: int
    members: int
    exclusive: bool
    limit: float
    gap: float  # since the arrival before
    part: float  # of its limit that it needs
    queue: str


WANTED = st.builds(
    Wanted,
    st.integers(1, 4),
    st.integers(0, 6),
    st.integers(1, 3),
    st.booleans(),
    st.integers(1, 25).map(float) | st.just(math.inf),
    st.sampled_from([0.0, 0.0, 1.0, 3.0, 10.0]),
    st.sampled_from([1.0, 1.0, 0.5, 0.1]),
    st.sampled_from(["first", "second"]),
)


def waiting_job(number: int, want: Wanted) -> WaitingJob:
    need = member_need([want.cpu, want.memory], exclusive=want.exclusive)
    return WaitingJob(f"job-{number}", (MemberClass(need, want.members),), want.limit, want.queue)


class Play:
    """Jobs arrive and end; there is a pass at every such moment and whenever a promise is due."""

    def __init__(self, rule: QueueRule, mode: BookingMode) -> None:
        choice = SmallestRest(np.array([1.0, 0.1, 0.0]), np.arange(len(CAPACITY)))
        self.calendar = Calendar(CAPACITY, 0.0, choice, mode)
        row, start, end = WINDOW
        self.calendar.close("window", np.array([row]), start, end)
        self.rules = {"first": rule, "second": rule}
        self.now = 0.0
        self.queue: list[WaitingJob] = []
        self.running: dict[str, Promise] = {}
        self.starts: dict[str, float] = {}
        self.given: dict[str, list[float]] = {}  # the dates that each job was promised
        self.ends: dict[str, float] = {}

    def run(self, wanted: list[Wanted]) -> None:
        arrivals = np.cumsum([want.gap for want in wanted]).tolist()
        parts = {f"job-{number}": want.part for number, want in enumerate(wanted)}
        to_come = [
            (time, waiting_job(number, want)) for number, (time, want) in enumerate(zip(arrivals, wanted, strict=True))
        ]
        for _ in range(10 * len(wanted) + 10):
            due = [promise.slot.start for promise in self.calendar.promises.values()]
            times = [*self.ends.values(), *due, *(time for time, _ in to_come), WINDOW[2]]
            times = [time for time in times if time > self.now or (time == self.now == 0.0)]
            if not times:
                return
            self.now = min(times)
            for key in [key for key, end in self.ends.items() if end <= self.now]:
                del self.ends[key], self.running[key]
                self.calendar.remove(key)
            while to_come and to_come[0][0] <= self.now:
                self.queue.append(to_come.pop(0)[1])
            self.run_pass(parts)

    def run_pass(self, parts: dict[str, float]) -> None:
        before = {key: promise.slot.start for key, promise in self.calendar.promises.items()}
        outcome = run_pass(self.calendar, self.queue, self.now, self.rules)
        assert not outcome.slipped
        for job, slot in outcome.started:
            assert slot.start == self.now
            self.queue.remove(job)
            self.running[job.key] = Promise(job, slot)
            self.starts[job.key] = self.now
            end = self.now + job.duration * parts[job.key]
            if end < math.inf:
                self.ends[job.key] = end
        for key, start in before.items():
            now = self.starts.get(key)
            assert (self.calendar.promises[key].slot.start if now is None else now) <= start
        for key, promise in self.calendar.promises.items():
            assert key not in self.running
            self.given.setdefault(key, []).append(promise.slot.start)
        self.check_room()

    def check_room(self) -> None:
        """Nobody is given what another has, now or later: all that runs and all that is promised, row by row."""
        taken = [Taking(WINDOW[0], (0, 0, WHOLE), WINDOW[1], WINDOW[2])]
        for job, slot in (*self.running.values(), *self.calendar.promises.values()):
            rows, counts = (column.tolist() for column in slot.placements[0])
            assert sum(counts) == job.classes[0].count
            for row, count in zip(rows, counts, strict=True):
                takes = tuple(count * need for need in job.classes[0].need.tolist())
                taken.append(Taking(row, takes, slot.start, slot.end))
        capacity = [[*amounts, WHOLE] for amounts in CAPACITY.tolist()]
        for row, amounts in enumerate(capacity):
            for time in {self.now, *(one.start for one in taken if one.start > self.now)}:
                assert min(free_of(amounts, taken, row, time)) >= 0


RULES = {
    "fifo": QueueRule(Discipline.FIFO),
    "walk": QueueRule(Discipline.WALK),
    "easy": QueueRule(Discipline.EASY),
    "easy-3": QueueRule(Discipline.EASY, depth=3),
    "conservative": QueueRule(Discipline.CONSERVATIVE),
}


@pytest.mark.parametrize("mode", BookingMode)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=60)
@given(wanted=st.lists(WANTED, min_size=1, max_size=14))
def test_promises_are_kept_and_room_is_given_once(rule: QueueRule, mode: BookingMode, wanted: list[Wanted]) -> None:
    play = Play(rule, mode)
    play.run(wanted)
    for key, given_dates in play.given.items():
        assert given_dates == sorted(given_dates, reverse=True)  # never later
        assert play.starts.get(key, -math.inf) <= given_dates[0]
    for key in [*play.running, *play.calendar.promises, "window"]:
        play.calendar.remove(key)
    capacity = np.hstack((CAPACITY, np.full((len(CAPACITY), 1), WHOLE)))
    assert told(play.calendar.timeline) == told(FreeTimeline(capacity, play.now))


@settings(max_examples=60)
@given(wanted=st.lists(WANTED, min_size=1, max_size=12))
def test_conservative_promises_a_date_to_everybody_who_can_ever_run(wanted: list[Wanted]) -> None:
    play = Play(RULES["conservative"], BookingMode.AMOUNTS)
    play.run(wanted)
    for job in play.queue:
        if job.key not in play.calendar.promises:
            assert play.calendar.search(job) is None


@settings(max_examples=60)
@given(wanted=st.lists(WANTED, min_size=1, max_size=12))
def test_dates_of_those_without_a_promise_respect_all_promises(wanted: list[Wanted]) -> None:
    play = Play(RULES["easy"], BookingMode.AMOUNTS)
    jobs = [waiting_job(number, want) for number, want in enumerate(wanted)]
    play.queue = list(jobs)
    play.run_pass({job.key: 1.0 for job in jobs})
    before = told(play.calendar.timeline)
    slots = dates(play.calendar, play.queue)
    assert told(play.calendar.timeline) == before
    for key, promise in play.calendar.promises.items():
        assert slots[key] == promise.slot
    for job in play.queue:
        if job.key in slots and job.key not in play.calendar.promises:
            play.calendar.promises[job.key] = Promise(job, slots[job.key])
    play.check_room()


@settings(max_examples=60)
@given(wanted=st.lists(WANTED, min_size=1, max_size=12))
def test_nobody_passes_in_a_fifo_queue(wanted: list[Wanted]) -> None:
    play = Play(RULES["fifo"], BookingMode.AMOUNTS)
    play.run([want._replace(queue="first") for want in wanted])
    started = [play.starts.get(f"job-{number}", math.inf) for number in range(len(wanted))]
    assert started == sorted(started)
