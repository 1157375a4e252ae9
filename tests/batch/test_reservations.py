"""Reservations: whose nodes, from when, for whom, and when they are given back."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.batch.closings import keep_closed
from fairway.batch.reservations import (
    InTheWay,
    NodeReservation,
    RowHolder,
    RowsChosen,
    choose_rows,
    entered_keys,
    last_use,
    reservation_closings,
    view_reservation,
)
from fairway.model.batch import ReservationFor, ReservationSpec
from fairway.model.duration import Duration
from fairway.plan import Calendar, member_need, run_pass
from tests.batch.extension_cases import closed
from tests.batch.jobs import interval
from tests.plan.situations import RULES, job, machine, occupied

ALL = np.ones(4, np.bool_)


def reservation(
    start: str = "1000", duration: float = 500, nodes: tuple[str, ...] = ("n0",), **more: Any
) -> NodeReservation:
    whom = more.pop("whom", ReservationFor(users=("ada",)))
    unused = more.pop("if_unused", None)
    spec = ReservationSpec(
        start=start, duration=Duration(duration), for_=whom, if_unused=None if unused is None else Duration(unused)
    )
    return NodeReservation("course", "u1", spec, more.pop("created", 0.0), nodes, **more)


@pytest.mark.parametrize(
    ("each", "now", "phase", "reasons"),
    [
        pytest.param(reservation(), 999.0, "Planned", [], id="to come"),
        pytest.param(reservation(), 1000.0, "Active", [], id="now"),
        pytest.param(reservation(), 1500.0, "Done", [], id="over"),
        pytest.param(reservation(nodes=()), 1200.0, "Pending", [], id="without nodes"),
        pytest.param(reservation(nodes=()), 1500.0, "Done", ["ReservationWithoutNodes"], id="never had any"),
        pytest.param(reservation(created=1500.0), 1500.0, "Done", ["ReservationInThePast"], id="in the past"),
        pytest.param(reservation(is_cancelled=True), 1200.0, "Cancelled", [], id="cancelled"),
        pytest.param(reservation(is_freed=True), 1200.0, "Done", [], id="given back"),
    ],
)
def test_phases(each: NodeReservation, now: float, phase: str, reasons: list[str]) -> None:
    view = view_reservation(each, now, may_be_span=True)
    assert (view.phase.value, [note.reason for note in view.notes]) == (phase, reasons)
    assert view.is_kept == (phase in ("Planned", "Active"))


def test_a_start_that_can_not_be_read_names_its_field() -> None:
    with pytest.raises(ValueError, match=r"^start: 'soon'"):
        view_reservation(reservation("soon"), 0.0)


@pytest.mark.parametrize(
    ("used", "now", "is_unused"),
    [
        pytest.param([], 1099.0, False, id="not for long"),
        pytest.param([], 1100.0, True, id="nobody ever came"),
        pytest.param([interval(1050, 1080, ["n0"])], 1179.0, False, id="used lately"),
        pytest.param([interval(1050, 1080, ["n0"])], 1180.0, True, id="used, but not lately"),
        pytest.param([interval(1050, math.inf, ["n0"])], 1400.0, False, id="in use"),
        pytest.param([interval(1050, math.inf, ["n9"])], 1400.0, True, id="in use elsewhere"),
        pytest.param([interval(0, 900, ["n0"])], 1100.0, True, id="used before it began"),
    ],
)
def test_it_is_given_back_when_nobody_uses_it(used: list[Any], now: float, is_unused: bool) -> None:
    kept = reservation(if_unused=100)
    view = view_reservation(kept, now, last_use(view_reservation(kept, now, may_be_span=True), used), may_be_span=True)
    assert (view.is_unused, view.is_kept) == (is_unused, not is_unused)
    assert [note.reason for note in view.notes] == (["ReservationUnused"] if is_unused else [])


def test_only_its_own_jobs_are_planned_inside() -> None:
    calendar = machine(1, 4)
    views = [view_reservation(reservation(), 0.0, may_be_span=True)]
    keep_closed(calendar, [], reservation_closings(views, {"n0": 0}))
    outside = calendar.search(job("j", 1, 1200.0))
    inside = calendar.without(entered_keys(views, "ada", [], "batch")).search(job("j", 1, 1200.0))
    assert outside is not None
    assert inside is not None
    assert (outside.start, inside.start) == (1500.0, 0.0)


@pytest.mark.parametrize(
    ("whom", "may_enter"),
    [
        (ReservationFor(users=("ada",)), True),
        (ReservationFor(users=("bob",)), False),
        (ReservationFor(accounts=("physics",)), True),
        (ReservationFor(accounts=("biology",)), False),
        (ReservationFor(queues=("batch",)), True),
        (ReservationFor(users=("bob",), queues=("batch",)), True),
    ],
)
def test_for_whom(whom: ReservationFor, may_enter: bool) -> None:
    views = [view_reservation(reservation(whom=whom), 0.0, may_be_span=True)]
    assert bool(entered_keys(views, "ada", ["physics/theory", "physics"], "batch")) == may_enter


def test_closings_follow_what_is_kept() -> None:
    calendar = machine(1, 4)
    before = reservation_closings([view_reservation(reservation(), 0.0, may_be_span=True)], {"n0": 0})
    keep_closed(calendar, [], before)
    calendar.has_changed = False
    keep_closed(calendar, before, list(before))
    assert not calendar.has_changed, "what is the same is not touched"
    longer = reservation_closings([view_reservation(reservation(duration=900), 0.0, may_be_span=True)], {"n0": 0})
    keep_closed(calendar, before, longer)
    moved = calendar.search(job("j", 1, 1200.0))
    assert moved is not None
    assert moved.start == 1900.0
    keep_closed(calendar, longer, [])
    gone = calendar.search(job("j", 1, 1200.0))
    assert gone is not None
    assert gone.start == 0.0


def test_rows_that_are_empty_first_are_taken() -> None:
    calendar = machine(4, 4)
    occupied(calendar, "a", 1, 900.0, row=0)
    occupied(calendar, "b", 1, 500.0, row=1)
    occupied(calendar, "c", 1, math.inf, row=3)
    chosen = choose_rows(calendar, ALL, 2, 1000.0, 1500.0, [])
    assert isinstance(chosen, RowsChosen)
    assert chosen.rows.tolist() == [1, 2]


def test_what_is_in_the_way() -> None:
    calendar = machine(4, 4)
    holders = [
        RowHolder("ml/a", 0, 1200.0),
        RowHolder("ml/b", 1, math.inf),
        RowHolder("ml/c", 2, 1100.0),
        RowHolder("ml/d", 2, 50.0),
    ]
    for each in holders:
        occupied(calendar, each.name, 1, each.end, each.row)
    found = choose_rows(calendar, ALL, 3, 1000.0, 1500.0, holders)
    assert found == InTheWay(2, (holders[2], holders[0]), "3 nodes wanted, 1 node can be had; in the way: ml/c, ml/a")
    few = choose_rows(calendar, ALL, 5, 1000.0, 1500.0, holders)
    assert isinstance(few, InTheWay)
    assert few.words == "5 nodes wanted, 4 nodes match"
    none = choose_rows(calendar, ~ALL, None, 1000.0, 1500.0, holders)
    assert isinstance(none, InTheWay)
    assert none.missing == 1


def test_promises_are_kept_where_that_is_possible_and_displaced_where_not() -> None:
    calendar = machine(4, 4)
    for row in range(4):
        occupied(calendar, f"there{row}", 4, 1000.0, row)
    run_pass(calendar, [job("wide", 4, 100.0, 2)], 0.0, RULES["easy"])
    kept = choose_rows(calendar, ALL, 2, 1000.0, 1500.0, [])
    assert isinstance(kept, RowsChosen)
    assert (kept.rows.tolist(), kept.displaced) == ([2, 3], ())
    all_of_them = choose_rows(calendar, ALL, None, 1000.0, 1500.0, [])
    assert isinstance(all_of_them, RowsChosen)
    assert (len(all_of_them.rows), all_of_them.displaced) == (4, ("wide",))


def test_one_that_began_without_nodes_gets_what_is_left_of_its_time() -> None:
    calendar = machine(4, 4, now=1200.0)
    closed(calendar, "w", 1000.0, 1300.0, [0, 1])
    chosen = choose_rows(calendar, ALL, 2, 1000.0, 1500.0, [])
    assert isinstance(chosen, RowsChosen)
    assert chosen.rows.tolist() == [2, 3]


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_chosen_rows_are_empty_all_the_time_and_as_many_as_there_are(data: st.DataObject) -> None:
    draw = data.draw
    calendar: Calendar = machine(4, 4)
    times = st.integers(0, 20).map(float)
    spans = draw(st.lists(st.tuples(st.integers(0, 3), times, times), max_size=6))
    holders = []
    for number, (row, begin, length) in enumerate(spans):
        until = begin + length + 1
        if begin < 5:
            calendar.occupy(f"o{number}", np.array([row]), member_need([1]), until)
        else:
            calendar.close(f"o{number}", np.array([row]), begin, until)
        holders.append(RowHolder(f"o{number}", row, until, begin if begin >= 5 else 0.0))
    eligible = np.array(draw(st.lists(st.booleans(), min_size=4, max_size=4)))
    start, count = draw(times), draw(st.integers(1, 4))
    end = start + draw(st.integers(1, 10))
    empty = [
        row
        for row in range(4)
        if eligible[row] and not any(each.row == row and each.start < end and each.end > start for each in holders)
    ]
    found = choose_rows(calendar, eligible, count, start, end, holders)
    if isinstance(found, RowsChosen):
        assert len(found.rows) == count
        assert set(found.rows.tolist()) <= set(empty)
        assert found.displaced == ()
    else:
        assert len(empty) < count
        if int(eligible.sum()) >= count:
            assert found.missing == count - len(empty)
            assert len({each.row for each in found.holders}) == found.missing
