"""What a pass leaves out, because nothing can have changed, comes out the same if it is looked at."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.plan import BookingMode, Calendar, MemberClass, QueueRule, SmallestRest, WaitingJob, member_need, run_pass
from tests.properties.test_disciplines import CAPACITY, RULES, WANTED, Wanted

POOL = np.array([[8, 16]], np.int64)
MACHINES = {"pool": POOL, "rows": CAPACITY}


class SlowCalendar(Calendar):
    """Looks for every slot each time, and remembers nothing."""

    def is_earliest(self, job: WaitingJob) -> bool:
        return False


class LoggedPlay:
    """Jobs arrive and end, and time passes; everything that passes came to is noted."""

    def __init__(self, calendar: Calendar, rule: QueueRule, *, forgets: bool) -> None:
        self.calendar, self.forgets = calendar, forgets
        self.rules = {"first": rule, "second": rule}
        self.queue: list[WaitingJob] = []
        self.ends: dict[str, float] = {}
        self.log: list[tuple[float, list[str], dict[str, float]]] = []

    def run(self, wanted: list[Wanted], looks: list[float]) -> None:
        arrivals = np.cumsum([want.gap for want in wanted]).tolist()
        jobs = []
        for number, want in enumerate(wanted):
            need = member_need([want.cpu, want.memory], exclusive=want.exclusive)
            limit = min(want.limit, 40.0)
            jobs.append(WaitingJob(f"job-{number}", (MemberClass(need, want.members),), limit, want.queue))
        to_come = list(zip(arrivals, jobs, strict=True))
        now = -1.0
        for _ in range(10 * len(wanted) + 10):
            due = [promise.slot.start for promise in self.calendar.promises.values()]
            times = [*self.ends.values(), *due, *(time for time, _ in to_come), *looks, 20.0]
            if not (times := [time for time in times if time > now]):
                return
            now = min(times)
            for key in [key for key, end in self.ends.items() if end <= now]:
                del self.ends[key]
                self.calendar.remove(key)
            while to_come and to_come[0][0] <= now:
                self.queue.append(to_come.pop(0)[1])
            if self.forgets:
                self.calendar = self.calendar.copy()
            outcome = run_pass(self.calendar, self.queue, now, self.rules)
            for job, _ in outcome.started:
                self.queue.remove(job)
                self.ends[job.key] = now + job.duration * wanted[int(job.key.removeprefix("job-"))].part
            dates = {key: promise.slot.start for key, promise in self.calendar.promises.items()}
            self.log.append((now, [job.key for job, _ in outcome.started], dates))


@pytest.mark.parametrize("mode", BookingMode)
@pytest.mark.parametrize("capacity", MACHINES.values(), ids=MACHINES)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@settings(max_examples=30)
@given(wanted=st.lists(WANTED, min_size=1, max_size=14), looks=st.lists(st.integers(1, 60).map(float), max_size=6))
def test_what_is_left_out_makes_no_difference(
    rule: QueueRule, capacity: np.ndarray, mode: BookingMode, wanted: list[Wanted], looks: list[float]
) -> None:
    plays = []
    for kind, forgets in ((Calendar, False), (SlowCalendar, True)):
        choice = SmallestRest(np.array([1.0, 0.1, 0.0]), np.arange(len(capacity)))
        calendar = kind(capacity, 0.0, choice, mode)
        calendar.close("window", np.array([len(capacity) - 1]), 10.0, 20.0)
        calendar.occupy("guest", np.array([0]), member_need([2, 2]), math.inf)
        plays.append(LoggedPlay(calendar, rule, forgets=forgets))
        plays[-1].run(wanted, looks)
    assert plays[0].log == plays[1].log
