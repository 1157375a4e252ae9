"""Timelines and slots are what a slow recomputation says, whatever was taken and given back, in whatever order."""

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.plan import ConsecutiveRows, FreeTimeline, MemberClass, RowChoice, SmallestRest, earliest_slot
from tests.plan.naive_plan import Taking, Want, earliest_start, rooms_at, stretches, told

NUM_COLUMNS = 2
TIMES = st.integers(0, 12).map(float) | st.sampled_from([0.1, 0.2, 0.3, 1 / 3, 7.7])  # sums that are not exact, too
AMOUNTS = st.tuples(*[st.integers(0, 5)] * NUM_COLUMNS)


@st.composite
def capacities(draw: st.DrawFn, max_rows: int = 5) -> np.ndarray[Any, np.dtype[np.int64]]:
    rows = draw(st.lists(st.tuples(*[st.integers(0, 8)] * NUM_COLUMNS), min_size=1, max_size=max_rows))
    return np.array(rows, np.int64)


@st.composite
def takings(draw: st.DrawFn, num_rows: int) -> list[Taking]:
    found = []
    for _ in range(draw(st.integers(0, 10))):
        start = draw(TIMES)
        end = start + draw(TIMES) if draw(st.integers(0, 5)) else math.inf
        found.append(Taking(draw(st.integers(0, num_rows - 1)), draw(AMOUNTS), start, end))
    return found


def timeline_of(
    capacity: np.ndarray[Any, np.dtype[np.int64]], taken: list[Taking], origin: float = 0.0
) -> FreeTimeline:
    timeline = FreeTimeline(capacity, origin)
    for one in taken:
        timeline.take(np.array([one.row]), np.array(one.amounts), one.start, one.end)
    return timeline


@settings(max_examples=200)
@given(data=st.data(), capacity=capacities())
def test_a_timeline_is_its_recomputation_after_any_takes_and_gives(
    data: st.DataObject, capacity: np.ndarray[Any, np.dtype[np.int64]]
) -> None:
    timeline = FreeTimeline(capacity, 0.0)
    taken: list[list[Taking]] = []
    for _ in range(data.draw(st.integers(1, 12))):
        gives_back: bool = data.draw(st.booleans())
        if taken and gives_back:
            one = taken.pop(data.draw(st.integers(0, len(taken) - 1)))
            change = timeline.give
        else:
            rows = data.draw(st.lists(st.integers(0, len(capacity) - 1), unique=True, max_size=len(capacity)))
            start = data.draw(TIMES)
            end = data.draw(st.sampled_from([start, start + data.draw(TIMES), math.inf]))
            one = [Taking(row, data.draw(AMOUNTS), start, end) for row in rows]
            taken.append(one)
            change = timeline.take
        if one:
            amounts = np.array([part.amounts for part in one])
            change(np.array([part.row for part in one]), amounts, one[0].start, one[0].end)
        assert told(timeline) == stretches(capacity, [part for many in taken for part in many], 0.0)
    now = data.draw(TIMES)
    timeline.forget_before(now)
    assert told(timeline) == stretches(capacity, [part for many in taken for part in many], max(now, 0.0))


@settings(max_examples=100)
@given(data=st.data(), many=st.integers(9, 90))
def test_many_rows_at_once_are_as_one_after_another(data: st.DataObject, many: int) -> None:
    capacity = np.full((many, NUM_COLUMNS), 9, np.int64)
    together, singly = FreeTimeline(capacity, 0.0), FreeTimeline(capacity, 0.0)
    for _ in range(4):
        rows = data.draw(st.lists(st.integers(0, many - 1), unique=True, min_size=1))
        start, length = data.draw(TIMES), data.draw(TIMES)
        amounts = np.array([data.draw(AMOUNTS) for _ in rows])
        together.take(np.array(rows), amounts, start, start + length)
        for row, one in zip(rows, amounts, strict=True):
            singly.take(np.array([row]), one, start, start + length)
    assert told(together) == told(singly)
    now, until = data.draw(TIMES), data.draw(TIMES.map(lambda time: time + 13) | st.just(math.inf))
    free = {
        row: [own for one, start, end, own in told(singly) if one == row and start < until and end > now]
        for row in range(many)
    }
    least = [[min(column) for column in zip(*free[row], strict=True)] for row in range(many)]
    assert together.least_free(np.arange(many), now, until).tolist() == least
    assert together.free_at(now).tolist() == [list(free) for _, start, end, free in told(singly) if start <= now < end]


def choices(num_rows: int) -> st.SearchStrategy[RowChoice]:
    ranks = np.arange(num_rows)[::-1].copy()
    return st.sampled_from(
        (
            SmallestRest(np.array([1.0, 0.5]), ranks),
            ConsecutiveRows(np.arange(num_rows), np.arange(num_rows) // 2, column=0),
        )
    )


@settings(max_examples=300)
@given(data=st.data(), capacity=capacities())
def test_the_earliest_slot_is_what_trying_all_change_points_finds(
    data: st.DataObject, capacity: np.ndarray[Any, np.dtype[np.int64]]
) -> None:
    num_rows = len(capacity)
    taken = data.draw(takings(num_rows))
    timeline = timeline_of(capacity, taken)
    want = Want(
        data.draw(AMOUNTS.filter(any)),
        data.draw(st.integers(1, 6)),
        tuple(data.draw(st.lists(st.booleans(), min_size=num_rows, max_size=num_rows))),
        data.draw(st.booleans()),
    )
    duration = data.draw(TIMES.filter(bool) | st.just(math.inf))
    not_before = data.draw(TIMES)
    latest = data.draw(st.sampled_from([math.inf, 5.0]))
    members = MemberClass(np.array(want.need), want.members, np.array(want.eligible), want.one_per_row)
    before = told(timeline)

    slot = earliest_slot(timeline, [members], duration, data.draw(choices(num_rows)), not_before, latest)

    expected = earliest_start(capacity, taken, want, duration, not_before)
    assert told(timeline) == before
    if slot is None:
        assert expected is None or expected > latest
        return
    assert (slot.start, slot.end) == (expected, slot.start + duration)
    placement = slot.placements[0]
    rooms = rooms_at(capacity, taken, want, slot.start, duration)
    assert len(set(placement.rows.tolist())) == len(placement.rows)
    assert placement.counts.sum() == want.members
    for row, count in zip(placement.rows.tolist(), placement.counts.tolist(), strict=True):
        assert 0 < count <= rooms[row]


@settings(max_examples=200)
@given(data=st.data(), capacity=capacities(max_rows=4))
def test_classes_of_one_job_start_together_and_share_what_there_is(
    data: st.DataObject, capacity: np.ndarray[Any, np.dtype[np.int64]]
) -> None:
    num_rows = len(capacity)
    taken = data.draw(takings(num_rows))
    timeline = timeline_of(capacity, taken)
    everywhere = tuple([True] * num_rows)
    wants = [Want(data.draw(AMOUNTS.filter(any)), data.draw(st.integers(1, 2)), everywhere) for _ in range(2)]
    duration = data.draw(TIMES.filter(bool))
    classes = [MemberClass(np.array(want.need), want.members) for want in wants]
    choice = SmallestRest(np.array([1.0, 0.5]), np.arange(num_rows))
    before = told(timeline)

    slot = earliest_slot(timeline, classes, duration, choice)

    assert told(timeline) == before
    points = {time for taking in taken for time in (taking.start, taking.end) if 0 < time < math.inf}
    for start in (0.0, *sorted(points)):
        # The rule is: the first class takes its rows, then the second looks at what is left.
        first = earliest_slot(timeline, classes[:1], duration, choice, start, start)
        if first is None:
            continue
        rows, counts = (column.tolist() for column in first.placements[0])
        first_takes = [
            Taking(row, tuple(count * need for need in wants[0].need), start, start + duration)
            for row, count in zip(rows, counts, strict=True)
        ]
        if sum(rooms_at(capacity, taken + first_takes, wants[1], start, duration)) >= wants[1].members:
            assert slot is not None
            assert slot.start == start
            for placement, want in zip(slot.placements, wants, strict=True):
                assert placement.counts.sum() == want.members
            return
    assert slot is None
