"""Maintenance windows in a small simulation: who is placed where, who leaves, what is cordoned, and what is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fairway.batch.actions import CORDONED_BY
from fairway.batch.reasons import JobOutcome, JobState, Reason
from fairway.model import LabelSelector, Node, ObjectMeta, Pod, PodDisruptionBudget, PodDisruptionBudgetSpec
from fairway.model.batch import QueueLimits, WindowSpec
from fairway.model.duration import Duration
from fairway.sim.batch_world import SimDesk
from fairway.testing import pod
from tests.batch.room import Room, job
from tests.batch.upkeep.closed_times import window


def nodes(room: Room) -> dict[str, tuple[bool, str]]:
    """Of each node: is it cordoned, and by which window?"""
    found: list[Node] = room.simulation.api.objects("Node")
    return {
        each.metadata.name: (each.spec.unschedulable, each.metadata.annotations.get(CORDONED_BY, "")) for each in found
    }


def told(room: Room, *reasons: str) -> list[tuple[float, str, str]]:
    return [(time, name, reason) for time, name, reason, _ in room.told if reason in reasons]


def statuses(room: Room) -> dict[str, Any]:
    sim = room.simulation.schedulers[0].queues
    assert isinstance(sim, SimDesk)
    return {status.name: status for status in sim.statuses()}


def cordon_by_hand(room: Room, name: str) -> None:
    node: Any = room.simulation.api.find("Node", "", name)
    spec = msgspec.structs.replace(node.spec, unschedulable=True)
    room.simulation.api.update(msgspec.structs.replace(node, spec=spec))


def test_no_job_runs_into_it_a_short_one_passes_and_all_is_given_back() -> None:
    jobs = [(0.0, job("long", run=50, limit=200)), (0.0, job("short", run=30, limit=100))]
    room = Room(jobs, windows={"w": window(100, 50)})
    room.until(0.0)
    assert room.starts == {"short": 0.0}
    standing = room.find("long").standing
    assert (standing.reason, standing.detail) == (Reason.MAINTENANCE, {"window": "w", "start": 100.0, "end": 150.0})
    room.until(100.0)
    assert nodes(room) == {"n0": (True, "w")}
    room.until(1000.0)
    assert room.starts["long"] == 150.0
    assert nodes(room) == {"n0": (False, "")}
    assert [status.phase for status in statuses(room).values()] == ["Done"]
    assert told(room, "MaintenanceActive", "MaintenanceDone", "cordon", "uncordon") == [
        (100.0, "w", "MaintenanceActive"),
        (100.0, "n0", "cordon"),
        (150.0, "w", "MaintenanceDone"),
        (150.0, "n0", "uncordon"),
    ]
    assert told(room, "NodesUnavailable") == []


def test_a_simulation_without_an_end_waits_for_a_window_to_be_over() -> None:
    room = Room([(0.0, job("a", run=50, limit=200))], windows={"w": window(100, 5000)})
    room.simulation.run()
    assert room.starts == {"a": 5100.0}


ENDLESS = QueueLimits(default=Duration(float("inf")), max=Duration(float("inf")), kill_grace=Duration(0))


@pytest.mark.parametrize(("came", "start"), [(0.0, 0.0), (79.0, 79.0), (80.0, 150.0), (120.0, 150.0)])
def test_who_has_no_limit_comes_until_the_lead_before_it(came: float, start: float) -> None:
    room = Room(
        [(came, job("a", run=20, limit=None))],
        queues={"q": {"limits": ENDLESS}},
        windows={"w": window(100, 50, lead=20)},
    )
    room.until(1000.0)
    assert room.starts == {"a": start}


def test_who_has_no_limit_and_has_to_wait_is_promised_no_slot_within_the_lead() -> None:
    """The room comes free at 90, within the lead: not then."""
    room = Room(
        [(0.0, job("there", cpu=4, run=90, limit=90)), (1.0, job("a", run=20, limit=None))],
        queues={"q": {"limits": ENDLESS}},
        windows={"w": window(100, 50, lead=20)},
    )
    room.until(50.0)
    assert room.desk.machine.calendar.promises["default/a"].slot.start == 150.0
    room.until(1000.0)
    assert room.starts["a"] == 150.0


@pytest.mark.parametrize(
    ("mode", "gone"),
    [
        pytest.param("avoid", {}, id="avoid: all are left"),
        pytest.param("drain", {"outside": 80.0, "limited": 100.0}, id="drain: who has no limit first"),
        pytest.param("kill", {"outside": 100.0, "limited": 100.0}, id="kill: all at the start"),
    ],
)
def test_who_leaves_when(mode: str, gone: dict[str, float]) -> None:
    """A pod of no queue, and a job that was there before anybody knew of the window."""
    outside = pod("outside", cpu=1, annotations={"fairway.dev/duration": "1000"})
    room = Room([(0.0, outside), (0.0, job("limited", run=500, limit=600))])
    ended: dict[str, float] = {}

    def watch(event: Any) -> None:
        if isinstance(event.object, Pod) and event.object.is_terminating:
            ended.setdefault(event.object.metadata.name, room.simulation.timeline.now())

    room.simulation.api.watch(watch)
    room.until(10.0)
    make_known(room, {"w": window(100, 50, mode)})
    room.until(200.0)
    assert ended == gone
    assert told(room, "MaintenanceOverPods") == ([(100.0, "w", "MaintenanceOverPods")] if mode == "avoid" else [])
    ahead = [words for _, name, reason, words in room.told if (name, reason) == ("default/limited", "MaintenanceAhead")]
    assert len(ahead) == 1
    assert {"avoid": "left", "drain": "evicted", "kill": "ended"}[mode] in ahead[0]
    assert statuses(room)["w"].jobs == ("default/limited",)


def make_known(room: Room, windows: dict[str, WindowSpec]) -> None:
    """An operator makes windows."""
    room.desk.settings = replace(room.desk.settings, windows=windows)
    room.desk.is_due = True
    sim = room.simulation.schedulers[0].queues
    assert sim is not None
    sim.look()


def test_killed_jobs_wait_again_and_are_not_charged() -> None:
    room = Room([(0.0, job("a", run=60, limit=200, requeue="recreate"))])
    room.until(10.0)
    make_known(room, {"w": window(50, 50, "kill")})
    room.until(75.0)
    waiting = room.find("a")
    assert (waiting.state, waiting.standing.reason) == (JobState.QUEUED, Reason.MAINTENANCE)
    assert [(each.start, each.end, each.refund) for each in waiting.ledger.intervals] == [(0.0, 50.0, "Maintenance")]
    room.until(1000.0)
    assert room.desk.book.ended["default/a"].outcome is JobOutcome.SUCCEEDED


def test_a_bare_pod_that_is_evicted_is_made_anew_where_it_asks_for_it() -> None:
    jobs = [(0.0, job("a", run=60, limit=200, requeue="recreate")), (0.0, job("b", run=60, limit=200))]
    room = Room(jobs)
    room.until(10.0)
    make_known(room, {"w": window(50, 50, "drain")})
    room.until(75.0)
    assert room.find("a").state is JobState.QUEUED
    assert room.desk.book.ended["default/b"].outcome is JobOutcome.CANCELLED
    room.until(1000.0)
    assert room.desk.book.ended["default/a"].outcome is JobOutcome.SUCCEEDED


def test_budgets_are_honoured_and_asked_again() -> None:
    """One that must not go stays, is asked every five seconds, and goes when its budget is gone."""
    outside = pod("web", cpu=1, labels={"app": "web"}, annotations={"fairway.dev/duration": "100000"})
    selector = LabelSelector(match_labels={"app": "web"})
    budget = PodDisruptionBudget(
        metadata=ObjectMeta(name="budget", namespace="default"),
        spec=PodDisruptionBudgetSpec(selector=selector, min_available=1),
    )
    room = Room([(0.0, outside)], objects=[budget], windows={"w": window(100, 400, "drain")})
    room.until(122.0)
    assert told(room, "EvictionRefused") == [(80.0, "default/web", "EvictionRefused")]
    assert nodes(room) == {"n0": (True, "w")}
    assert [each.is_terminating for each in room.simulation.api.objects("Pod")] == [False]
    room.simulation.api.remove(room.simulation.api.find("PodDisruptionBudget", "default", "budget"))
    room.until(130.0)
    assert told(room, "Evicted") == [(125.0, "default/web", "Evicted")]


def test_the_plan_counts_on_rows_that_are_cleared() -> None:
    """A job of 4 cpus is promised the end of the window, though somebody without a limit is there."""
    outside = pod("outside", cpu=1, annotations={"fairway.dev/duration": "100000"})
    room = Room([(0.0, outside), (1.0, job("a", cpu=4, run=10, limit=60))], windows={"w": window(100, 50, "drain")})
    room.until(50.0)
    assert room.desk.machine.calendar.promises["default/a"].slot.start == 150.0
    room.until(300.0)
    assert room.starts["a"] == 150.0


def test_a_window_over_one_rack_leaves_the_other_alone() -> None:
    jobs = [(0.0, job(name, cpu=4, run=150, limit=200)) for name in ("a", "b")]
    room = Room(jobs, cpus=(4, 4), racks=("x", "y"), windows={"w": window(100, 50, rack="y")})
    room.until(120.0)
    assert nodes(room) == {"n0": (False, ""), "n1": (True, "w")}
    assert room.starts == {"a": 0.0}
    room.until(1000.0)
    assert room.starts == {"a": 0.0, "b": 150.0}


def test_overlapping_windows_are_a_union_and_a_persons_cordon_stays() -> None:
    windows = {"v": window(100, 50), "w": window(120, 60)}
    room = Room([(0.0, job("a", run=10, limit=101))], cpus=(4, 4), windows=windows)
    cordon_by_hand(room, "n1")
    seen = []
    for time in (99.0, 110.0, 130.0, 160.0, 180.0):
        room.until(time)
        seen.append(nodes(room))
    byhand = (True, "")
    assert [each["n1"] for each in seen] == [byhand] * 5
    assert [each["n0"][0] for each in seen] == [False, True, True, True, False]
    assert [each["n0"][1] for each in seen] == ["", "v", "v", "w", ""]
    assert room.starts == {"a": 180.0}


@pytest.mark.parametrize(
    ("spec", "phases", "reason"),
    [
        pytest.param(window(-100, 50), ["Done"], "MaintenanceInThePast", id="in the past"),
        pytest.param(window(100, 50, rack="z"), ["Active"], "MaintenanceWithoutNodes", id="none of the nodes exists"),
    ],
)
def test_windows_that_are_odd_are_told(spec: WindowSpec, phases: list[str], reason: str) -> None:
    room = Room([(0.0, job("a", run=10, limit=500))], racks=("x",), windows={"w": spec})
    room.until(120.0)
    assert [status.phase for status in statuses(room).values()] == phases
    assert (reason in {each[2] for each in told(room, reason)}) is True
    assert room.starts == {"a": 0.0}
    assert nodes(room) == {"n0": (False, "")}


def test_a_schedule_comes_again_and_two_of_them_are_planned() -> None:
    spec = WindowSpec(schedule="0 * * * *", duration=Duration(600), nodes=window(0, 1).nodes, drain_lead=Duration(60))
    limits = QueueLimits(max=Duration(100_000), kill_grace=Duration(0))
    jobs = [(10.0, job("a", run=2999, limit=2999)), (700.0, job("b", run=3001, limit=3001))]
    room = Room(jobs, windows={"w": spec}, queues={"q": {"limits": limits}}, horizon=100_000.0)
    room.until(5.0)
    closed = [(each.start, each.end) for each in room.desk.upkeep.closings.values()]
    assert closed == [(3600.0, 4200.0), (7200.0, 7800.0)]
    room.until(7000.0)
    assert room.starts == {"a": 10.0}, "b never fits between two of them"
    assert [time for time, _, _ in told(room, "MaintenanceActive")] == [3600.0]
    room.until(7300.0)
    assert nodes(room) == {"n0": (True, "w")}
    assert [time for time, _, _ in told(room, "MaintenanceActive")] == [3600.0, 7200.0]


def test_one_that_is_called_off_opens_its_nodes_at_once() -> None:
    room = Room([(0.0, job("a", run=10, limit=500))], windows={"w": window(100, 500)})
    room.until(120.0)
    assert nodes(room)["n0"] == (True, "w")
    room.desk.upkeep.windows.cancel("w")
    sim = room.simulation.schedulers[0].queues
    assert sim is not None
    sim.look()
    room.until(130.0)
    assert (nodes(room)["n0"], room.starts) == ((False, ""), {"a": 120.0})
    assert statuses(room)["w"].phase == "Cancelled"


def test_a_node_that_is_down_under_maintenance_comes_back_at_its_end_for_the_plan() -> None:
    room = Room([(0.0, job("a", run=10, limit=500))], windows={"w": window(100, 500)})
    room.until(120.0)
    assert room.desk.machine.calendar.promises["default/a"].slot.start == 600.0


def test_a_node_that_is_lost_is_named() -> None:
    room = Room([(0.0, job("a", cpu=4, run=100, limit=100)), (1.0, job("b", cpu=4))], cpus=(4, 4))
    cordon_by_hand(room, "n1")
    room.until(5.0)
    standing = room.find("b").standing
    assert (standing.reason, standing.detail) == (Reason.NODES_UNAVAILABLE, {"nodes": 1})
