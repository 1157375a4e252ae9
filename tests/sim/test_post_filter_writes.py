"""A post-filter that asks the world to write something, in the simulated world."""

from __future__ import annotations

from fairway.sim.simulation import SchedulerPlan, Simulation
from fairway.testing import node, pod
from tests.sim.diary import Diary, configuration, simulate

UNCORDON = "tests.user_plugins:Uncordon"


def play(**labels: str) -> tuple[Simulation, Diary]:
    plans = [SchedulerPlan("default-scheduler", configuration("default-scheduler", UNCORDON))]
    nodes = [node("a", cpu=1), node("b", cpu=4, unschedulable=True), node("c", cpu=4, unschedulable=True)]
    return simulate(nodes, [(10, pod("p", cpu=3, labels=labels))], plans, end=60)


def is_ready(simulation: Simulation, name: str) -> bool:
    found = simulation.api.find("Node", "", name)
    assert found is not None
    return not found.spec.unschedulable


def test_what_it_asks_for_is_written_and_helps() -> None:
    simulation, diary = play()
    assert diary.attempts[0] == (10, "p", "UNSCHEDULABLE")
    assert diary.of("p")[0][1] == "bound to b"
    assert (is_ready(simulation, "b"), is_ready(simulation, "c")) == (True, False)


def test_what_is_refused_is_told_and_ends_it() -> None:
    simulation, diary = play(mistake="name")
    failed = [(subject, message) for _, subject, reason, message in diary.events if reason == "WriteFailed"]
    assert failed[0] == ("default/p", 'patch Node not-there: nodes "not-there" not found')
    assert not is_ready(simulation, "b")


def test_writes_that_are_none_fail_the_attempt() -> None:
    simulation, diary = play(mistake="list")
    assert {outcome for _, _, outcome in diary.attempts} == {"ERROR"}
    assert "writes are ['uncordon']; they have to be a tuple of Patch and Create" in (
        simulation.schedulers[0].first_error
    )
