"""A pass as Slurm's backfill goes about it: where it finds a slot, and where it gives up."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.conformance.slurm.backfill import BackfillPass, run_backfill
from fairway.conformance.slurm.cases import PlanCase
from fairway.conformance.slurm.planned_case import CaseRoom, own_plan
from fairway.conformance.slurm.validity import PlannedStart, violations

SHAPE = {"tasks_per_node": 1, "cpus_per_task": 4, "mem_mb_per_node": 0, "gpus_per_node": 0, "exclusive": False}


def case(nodes: int, running: list[Any], pending: list[Any], windows: Any = (), **more: Any) -> PlanCase:
    """Nodes of four cores; (on, end) runs, (nodes, limit) waits, in this order; (on, start, end) is a window."""
    names = [f"n{number}" for number in range(nodes)]
    tree = {
        "id": "case",
        "mode": "conservative",
        "nodes": [{"name": name, "cpus": 4, "mem_mb": 1, "gpus": 0} for name in names],
        "running": [
            {"id": f"r{number}", "nodes": 1, "limit_s": end, **SHAPE, "on": [names[on]], "start": 0, "end": end}
            for number, (on, end) in enumerate(running)
        ],
        "windows": [
            {"kind": "maintenance", "on": [names[on]], "start": start, "end": end} for on, start, end in windows
        ],
        "pending": [
            {"id": f"j{number}", "priority": 1000 - number, "nodes": wide, "limit_s": limit, **SHAPE}
            for number, (wide, limit) in enumerate(pending)
        ],
        "expected": {"started": [], "planned": [], "refused": []},
    }
    return msgspec.convert(tree | more, PlanCase)


def passed(recorded: PlanCase, depth: float = 100) -> BackfillPass:
    room = CaseRoom(recorded)
    return run_backfill(room, [room.jobs[job.id] for job in room.ordered], depth)


def starts(outcome: BackfillPass) -> dict[str, float]:
    return {key: slot.start for key, slot in (outcome.started | outcome.booked).items()}


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        pytest.param(case(2, [(0, 50)], [(1, 10), (2, 10)]), {"j0": 0, "j1": 50}, id="after who runs"),
        pytest.param(case(2, [(0, 50)], [(2, 10), (1, 49)]), {"j0": 50, "j1": 0}, id="before a booking"),
        pytest.param(case(2, [(0, 50)], [(2, 10), (1, 50)]), {"j0": 50, "j1": 60}, id="behind a booking"),
        pytest.param(case(1, [], [(1, 30)], [(0, 20, 40)]), {"j0": 41}, id="a second after a window"),
        pytest.param(case(1, [], [(1, 20)], [(0, 20, 40)]), {"j0": 0}, id="before a window"),
    ],
)
def test_the_slots_of_a_pass(recorded: PlanCase, expected: dict[str, float]) -> None:
    assert starts(passed(recorded)) == expected


def test_one_who_meets_no_end_of_a_booking_within_its_sight_is_given_up_among_many_queues() -> None:
    """The long job holds both nodes for a day; the short one sees no more than its own length and an hour."""
    alone = case(2, [(0, 50)], [(2, 86_400), (1, 60)])
    assert starts(passed(alone)) == {"j0": 50, "j1": 86_450}
    many = case(2, [(0, 50)], [(2, 86_400), (1, 60)], setting="many")
    assert starts(passed(many)) == {"j0": 50}
    assert own_plan(CaseRoom(many)).slots["j1"].start == 86_450, "it has a date all the same"


def test_one_that_is_given_up_holds_nothing() -> None:
    many = case(2, [(0, 50)], [(2, 86_400), (2, 60), (1, 20)], setting="many")
    assert starts(passed(many)) == {"j0": 50, "j2": 0}


def test_easy_books_one_slot() -> None:
    recorded = case(2, [(0, 50), (1, 50)], [(2, 10), (2, 10), (1, 10)])
    assert starts(passed(recorded, depth=1)) == {"j0": 50}


TIMES = st.integers(1, 300)


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 3), TIMES), max_size=3),
    st.lists(st.tuples(st.integers(1, 4), TIMES), max_size=7),
    st.lists(st.tuples(st.integers(0, 3), TIMES, TIMES), max_size=2),
    st.sampled_from(["alone", "many"]),
)
def test_every_plan_can_be_carried_out_and_everybody_has_a_date(
    nodes: int,
    running: list[tuple[int, int]],
    pending: list[tuple[int, int]],
    windows: list[tuple[int, int, int]],
    setting: str,
) -> None:
    one_each = {on % nodes: (on % nodes, end) for on, end in running}
    recorded = case(
        nodes,
        list(one_each.values()),
        [(min(wide, nodes), limit) for wide, limit in pending],
        [(on % nodes, start, start + length) for on, start, length in windows],
        setting=setting,
    )
    room = CaseRoom(recorded)
    plan = own_plan(room)
    told = {
        key: PlannedStart(slot.start, [room.names[row] for row in slot.placements[0].rows.tolist()])
        for key, slot in plan.slots.items()
    }
    assert list(violations(recorded, told)) == []
    assert told.keys() == room.jobs.keys()
