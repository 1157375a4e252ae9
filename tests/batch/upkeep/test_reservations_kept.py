"""Reservations in a small simulation: whose nodes, for whom, what is in the way, and when they are given back."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.batch.reasons import Reason
from fairway.model.batch import AccountSpec, ReservationFor
from fairway.sim.batch_world import SimDesk
from fairway.testing import pod
from tests.batch.room import Room, job
from tests.batch.upkeep.closed_times import reservation, window


def status(room: Room, name: str = "r") -> Any:
    sim = room.simulation.schedulers[0].queues
    assert isinstance(sim, SimDesk)
    return next(each for each in sim.statuses() if each.name == name)


def test_others_wait_and_its_own_jobs_are_inside() -> None:
    jobs = [(0.0, job("other", run=50, limit=200)), (0.0, job("own", run=50, limit=200, user="ada"))]
    room = Room(jobs, reservations={"r": reservation(100, 100)})
    room.until(0.0)
    assert room.starts == {"own": 0.0}
    standing = room.find("other").standing
    assert (standing.reason, standing.detail["reservation"]) == (Reason.RESERVED, "r")
    assert (status(room).phase, status(room).nodes) == ("Planned", ("n0",))
    room.until(150.0)
    assert status(room).phase == "Active"
    room.until(1000.0)
    assert room.starts == {"own": 0.0, "other": 200.0}
    assert status(room).phase == "Done"


@pytest.mark.parametrize(
    ("whom", "starts"),
    [
        (ReservationFor(accounts=("physics",)), True),
        (ReservationFor(accounts=("theory",)), True),
        (ReservationFor(accounts=("biology",)), False),
        (ReservationFor(queues=("q",)), True),
        (ReservationFor(queues=("other",)), False),
    ],
)
def test_for_whom(whom: ReservationFor, starts: bool) -> None:
    accounts = {"physics": AccountSpec(), "theory": AccountSpec(parent="physics"), "biology": AccountSpec()}
    room = Room(
        [(10.0, job("a", account="theory"))], accounts=accounts, reservations={"r": reservation(0, 100, whom=whom)}
    )
    room.until(50.0)
    assert bool(room.starts) == starts


def test_its_nodes_are_those_that_are_free_first_and_stay_the_same() -> None:
    jobs = [(0.0, job("a", cpu=4, run=20, limit=150)), (0.0, job("b", cpu=4, run=90, limit=90))]
    room = Room(jobs, cpus=(4, 4, 4), reservations={"r": reservation(100, 100, 2)})
    room.until(0.0)
    assert len(status(room).nodes) == 2, "chosen before anybody came"
    kept = status(room).nodes
    room.until(150.0)
    assert status(room).nodes == kept
    placed = {each.spec.node_name for each in room.simulation.api.objects("Pod") if each.spec.node_name}
    assert not placed & set(kept)


def test_one_without_room_is_pending_and_says_who_is_in_the_way() -> None:
    outside = pod("outside", cpu=1, annotations={"fairway.dev/duration": "120"})
    room = Room([(0.0, job("a", run=30, limit=500))], objects=[outside], reservations={"r": reservation(10, 300)})
    room.until(5.0)
    assert status(room).phase == "Pending"
    assert "default/outside" in status(room).words
    room.until(121.0)
    assert (status(room).phase, status(room).nodes, status(room).words) == ("Active", ("n0",), "")


def test_it_is_given_back_when_nobody_comes() -> None:
    jobs = [(0.0, job("other", run=50, limit=500))]
    room = Room(jobs, reservations={"r": reservation(100, 1000, if_unused=60)})
    room.until(159.0)
    assert room.starts == {}
    room.until(2000.0)
    assert room.starts == {"other": 160.0}
    assert (status(room).phase, status(room).is_freed) == ("Done", True)
    assert ("r", "ReservationUnused") in {(name, reason) for _, name, reason, _ in room.told}


def test_it_is_not_given_back_while_somebody_is_inside_or_was_lately() -> None:
    own = job("own", run=100, limit=100, user="ada")
    jobs = [(0.0, job("other", run=50, limit=500)), (110.0, own)]
    room = Room(jobs, reservations={"r": reservation(100, 1000, if_unused=60)})
    room.until(2000.0)
    assert room.starts == {"own": 110.0, "other": 270.0}


def test_a_reservation_keeps_out_of_a_window() -> None:
    room = Room(
        [], cpus=(4, 4), racks=("x", "y"), reservations={"r": reservation(100, 100, 1)},
        windows={"w": window(150, 100, rack="x")},
    )  # fmt: skip
    room.until(0.0)
    assert status(room).nodes == ("n1",)
