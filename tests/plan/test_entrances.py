"""Closings that are none for a job: its earliest slot is that of a slow search over all times."""

import math
from typing import NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from fairway.plan import Entrance
from fairway.plan.entrances import stages
from tests.plan.situations import job, machine, occupied


class Closed(NamedTuple):
    row: int
    start: int
    end: int
    until: float  # the job does not see it if it starts before; -inf: it does


CLOSED = st.builds(
    lambda row, start, length, until: Closed(row, start, start + length, until),
    st.integers(0, 1),
    st.integers(0, 20),
    st.integers(1, 10),
    st.sampled_from([-math.inf, math.inf, 0.0, 3.0, 7.0, 12.0]),
)


def earliest(closed: list[Closed], ends: list[int], duration: float, members: int) -> float | None:
    """By trying every time at which anything changes."""
    times = {0.0, *map(float, ends)}
    for each in closed:
        times |= {float(each.start), float(each.end), *([each.until] if 0 <= each.until < math.inf else [])}
    for time in sorted(times):
        rows = [
            row
            for row in (0, 1)
            if time >= ends[row]
            and not any(
                each.row == row and each.start < time + duration and each.end > time and not time < each.until
                for each in closed
            )
        ]
        if len(rows) >= members:
            return time
    return None


@settings(max_examples=150, deadline=None)
@given(
    closed=st.lists(CLOSED, max_size=4),
    ends=st.lists(st.integers(0, 12), min_size=2, max_size=2),
    duration=st.sampled_from([1.0, 4.0, 9.0, math.inf]),
    members=st.integers(1, 2),
)
def test_the_earliest_slot_is_that_of_a_slow_search(
    closed: list[Closed], ends: list[int], duration: float, members: int
) -> None:
    calendar = machine(2, 4)
    for row, end in enumerate(ends):
        occupied(calendar, f"there-{row}", 4, end, row)
    for number, each in enumerate(closed):
        calendar.close(f"closed-{number}", np.array([each.row]), each.start, each.end)
    entrances = [Entrance(f"closed-{number}", each.until) for number, each in enumerate(closed)]
    asked = replace(
        job("j", 4, duration, members), entrances=tuple(each for each in entrances if each.until > -math.inf)
    )
    before = [column.copy() for column in (calendar.timeline.starts, calendar.timeline.free)]
    slot = calendar.search(asked)
    assert (None if slot is None else slot.start) == earliest(closed, ends, duration, members)
    now = calendar.search_now(asked)
    assert (now is not None) == (slot is not None and slot.start == 0.0)
    after = (calendar.timeline.starts, calendar.timeline.free)
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True)), "nothing is changed by it"


def test_stages() -> None:
    entrances = [Entrance("a", 5.0), Entrance("b")]
    below = math.nextafter(5.0, -math.inf)
    assert [tuple(each) for each in stages(entrances, 0.0, 100.0)] == [
        (0.0, below, ("a", "b")),
        (5.0, 100.0, ("b",)),
    ]
    assert [tuple(each) for each in stages(entrances[:1], 6.0, 100.0)] == [(6.0, 100.0, ())]
