"""The discipline played forward, on machines that one can draw."""

import math

import numpy as np

from fairway.plan import Dependency, Effort, Present, QueueRule, WaitingJob, play_forward, run_pass
from tests.plan.situations import RULES, job, machine, occupied


def starts(present: Present, effort: Effort = Effort(resolution=0.0)) -> dict[str, float]:  # noqa: B008
    return {key: slot.start for key, slot in play_forward(present, effort=effort).slots.items()}


def test_who_ends_early_lets_others_start_early() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, 100.0)
    jobs = [job("first", 4, 50), job("second", 4, 50)]
    runs = {"first": 5.0, "second": 50.0}
    assert starts(Present(calendar, jobs, RULES["easy"], runs, {"there": 10.0})) == {"first": 10.0, "second": 15.0}
    assert starts(Present(calendar, jobs, RULES["easy"], runs, {})) == {"first": 100.0, "second": 105.0}


def test_passes_decide_by_limits() -> None:
    calendar = machine()
    occupied(calendar, "there", 2, 10.0)
    # It would be over in time, but says that it may take longer than until the wide one starts.
    jobs = [job("wide", 4, 10), job("short", 2, 11)]
    present = Present(calendar, jobs, RULES["easy"], {"wide": 10.0, "short": 1.0}, {"there": 10.0})
    assert starts(present) == {"wide": 10.0, "short": 20.0}
    assert starts(Present(calendar, jobs, RULES["walk"], present.runs, present.ends)) == {"short": 0.0, "wide": 10.0}


def test_promises_that_were_given_are_kept_in_the_play() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, 10.0)
    wide = job("wide", 4, 10)
    run_pass(calendar, [wide], 0.0, RULES["easy"])
    present = Present(calendar, [job("urgent", 4, 10), wide], RULES["easy"], {"wide": 10.0, "urgent": 10.0}, {})
    assert starts(present) == {"wide": 10.0, "urgent": 20.0}
    assert list(calendar.promises) == ["wide"]


def test_who_waits_for_a_time_or_for_others_starts_then() -> None:
    one = job("one", 1, 10)
    after = WaitingJob("after", one.classes, 10.0, after=(Dependency("one", on_end=True),))
    beside = WaitingJob("beside", one.classes, 10.0, after=(Dependency("one", on_end=False),))
    lost = WaitingJob("lost", one.classes, 10.0, after=(Dependency("nobody", on_end=False),))
    jobs = [beside, after, one, lost, job("later", 1, 10, begin=7.0)]
    runs = {each.key: 4.0 for each in jobs}
    assert starts(Present(machine(), jobs, RULES["easy"], runs, {})) == {
        "one": 0.0,
        "beside": 0.0,
        "after": 4.0,
        "later": 7.0,
    }


def test_a_window_is_waited_for() -> None:
    calendar = machine()
    calendar.close("window", np.array([0]), 5.0, 30.0)
    jobs = [job("long", 1, 10), job("short", 1, 5)]
    assert starts(Present(calendar, jobs, RULES["walk"], {"long": 1.0, "short": 1.0}, {})) == {
        "short": 0.0,
        "long": 30.0,
    }


def test_who_never_ends_leaves_nothing() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, math.inf)
    jobs = [job("one", 1, math.inf), job("two", 1, 5)]
    runs = {"one": math.inf, "two": 5.0}
    assert starts(Present(calendar, jobs, RULES["easy"], runs, {"there": math.inf})) == {}
    assert starts(Present(calendar, jobs, RULES["easy"], runs, {"there": 8.0})) == {"one": 8.0, "two": 8.0}


def test_nothing_is_played_beyond_the_horizon() -> None:
    calendar = machine()
    occupied(calendar, "there", 4, math.inf)
    jobs = [job("one", 1, 5)]
    assert starts(Present(calendar, jobs, RULES["easy"], {"one": 5.0}, {"there": calendar.horizon + 1})) == {}


def test_ends_that_are_close_share_a_pass() -> None:
    calendar = machine()
    for number in range(4):
        occupied(calendar, f"there-{number}", 1, 1000.0)
    ends = {"there-0": 100.0, "there-1": 101.0, "there-2": 110.0, "there-3": 200.0}
    jobs = [job(f"job-{number}", 1, 1000) for number in range(4)]
    present = Present(calendar, jobs, RULES["easy"], {each.key: 1000.0 for each in jobs}, ends)
    assert list(starts(present).values()) == [100.0, 101.0, 110.0, 200.0]
    assert list(starts(present, Effort(resolution=0.02)).values()) == [101.0, 101.0, 110.0, 200.0]


def test_more_than_can_be_played_is_planned_and_said_so() -> None:
    calendar = machine()
    occupied(calendar, "there", 2, 100.0)
    jobs = [job("now", 2, 10), job("wide", 4, 50), job("short", 1, 50)]
    runs = {"now": 3.0, "wide": 5.0, "short": 1.0}
    outlook = play_forward(Present(calendar, jobs, {"": QueueRule()}, runs, {"there": 20.0}), effort=Effort(0.0, 0))
    assert {key: slot.start for key, slot in outlook.slots.items()} == {"now": 0.0, "wide": 20.0, "short": 3.0}
    assert outlook.planned == {"wide", "short"}
