"""Interactive queues: everybody is promised a date when it comes, which never moves later, whoever comes after."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.reasons import JobState
from fairway.model.batch import PreemptionRules
from tests.batch.room import Room, job

KEEP = PreemptionRules(by="none")


class Wanted(NamedTuple):
    queue: str
    cpu: int
    limit: float
    gap: float  # since the arrival before
    part: float  # of its limit that it needs
    begin: float  # so long after it came, by its own wish
    nice: int


WANTED = st.builds(
    Wanted,
    st.sampled_from(["talk", "talk", "batch"]),
    st.integers(1, 4),
    st.integers(1, 25).map(float),
    st.sampled_from([0.0, 0.0, 1.0, 3.0, 10.0]),
    st.sampled_from([1.0, 1.0, 0.5, 0.2]),
    st.sampled_from([0.0, 0.0, 0.0, 5.0]),
    st.sampled_from([0, 0, 100]),
)


READY = WANTED.map(lambda want: want._replace(begin=0.0))  # who steps aside by its own wish comes later than it came


def play(wanted: list[Wanted], **batch: object) -> tuple[Room, dict[str, list[float]], dict[str, float]]:
    """Every date that interactive jobs were promised, and when they came or could first run."""
    time, arrivals, ready = 0.0, [], {}
    for number, want in enumerate(wanted):
        time += want.gap
        ready[f"job-{number}"] = time + want.begin
        said = {"begin": f"+{want.begin:g}s"} if want.begin else {}
        each = job(
            f"job-{number}",
            want.cpu,
            want.limit * want.part,
            want.limit,
            want.queue,
            nice=str(want.nice),
            **said,
        )
        arrivals.append((time, each))
    queues = {"talk": {"policy": "interactive"}, "batch": {"preemption": KEEP, **batch}}
    room = Room(arrivals, (4, 4), queues=queues, horizon=math.inf)
    dates: dict[str, list[float]] = {}
    timeline = room.simulation.timeline
    while timeline.step():
        assert timeline.now() < 1e5, "it goes on for ever"
        if room.desk.is_due:
            continue
        promises = room.desk.machine.calendar.promises
        for waiting in room.desk.book:
            name = waiting.key.partition("/")[2]
            if waiting.queue != "talk" or waiting.started is not None or waiting.is_released:
                continue
            if ready[name] <= timeline.now():
                assert waiting.state is JobState.QUEUED
                dates.setdefault(name, []).append(promises[waiting.key].slot.start)
    return room, dates, ready


@pytest.mark.parametrize("replan", ["compress", "anew"])
@settings(max_examples=30, deadline=None)
@given(wanted=st.lists(WANTED, min_size=1, max_size=14))
def test_promised_dates_never_move_later(replan: str, wanted: list[Wanted]) -> None:
    room, dates, _ = play(wanted, replan=replan)
    for name, given_dates in dates.items():
        assert given_dates == sorted(given_dates, reverse=True), name
        assert room.starts[name] <= given_dates[-1]
    assert len(room.starts) == len(wanted)


@settings(max_examples=30, deadline=None)
@given(wanted=st.lists(READY, min_size=1, max_size=10), later=st.lists(READY, max_size=6))
def test_the_first_date_does_not_depend_on_who_comes_later(wanted: list[Wanted], later: list[Wanted]) -> None:
    later = [later[0]._replace(gap=1.0), *later[1:]] if later else []  # not at the same instant, which is one pass
    _, alone, _ = play(wanted)
    room, dates, _ = play([*wanted, *later])
    for name, given_dates in alone.items():
        assert dates[name][0] == given_dates[0]
        assert room.starts[name] <= given_dates[0]


def test_the_order_is_that_of_submission_alone() -> None:
    arrivals = [(0.0, job("there", 4, 50.0, 50.0, "talk"))]
    arrivals += [(float(number), job(f"j{number}", 4, 10.0, 10.0, "talk", nice=str(100 - number))) for number in (1, 2)]
    room = Room(arrivals, (4,), queues={"talk": {"policy": "interactive"}})
    room.until(100.0)
    assert room.starts == {"there": 0.0, "j1": 50.0, "j2": 60.0}
