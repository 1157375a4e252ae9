"""Groups of pods in a simulated cluster, scheduled as kube-scheduler does."""

from __future__ import annotations

from typing import Any

from fairway.config import Configuration, decode_configuration
from fairway.model import PodGroup
from fairway.plugins.registry import REGISTRY
from fairway.sim.simulation import SchedulerPlan, Simulation
from fairway.testing import node
from fairway.testing.group_builders import member, members, pod_group
from tests.sim.diary import lasting, simulate


def configuration(**gangs: Any) -> Configuration:
    profile = {"schedulerName": "default-scheduler", "fairway": {"sampling": "all", "gangs": {"mode": "kube", **gangs}}}
    tree = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    return decode_configuration(tree, "test", REGISTRY)


def plan(**gangs: Any) -> list[SchedulerPlan]:
    return [SchedulerPlan("default-scheduler", configuration(**gangs))]


def condition(simulation: Simulation, name: str = "train") -> tuple[str, str, int]:
    (group,) = (each for each in simulation.api.objects("PodGroup") if each.metadata.name == name)
    assert isinstance(group, PodGroup)
    told = group.condition
    assert told is not None
    return told.status, told.reason, told.observed_generation


def test_a_group_starts_when_its_last_member_comes() -> None:
    first, second = members(2, cpu=1)
    simulation, diary = simulate(
        [node("a", cpu=4)], [(0, first), (20, second)], plan(), objects=[pod_group("train", 2)], end=30
    )
    assert [diary.of(name)[0] for name in ("train-0", "train-1")] == [(20, "bound to a")] * 2
    assert condition(simulation) == ("True", "Scheduled", 1)


def test_a_group_that_does_not_fit_holds_nothing_and_comes_again() -> None:
    busy = lasting("busy", 100, cpu=2)
    simulation, diary = simulate(
        [node("a", cpu=4)],
        [(0, busy), *((1, each) for each in members(3, cpu=1)), (2, lasting("small", 10, cpu=2))],
        plan(),
        objects=[pod_group("train", 3)],
        end=200,
    )
    assert diary.of("small")[0] == (2, "bound to a")
    started = [diary.of(f"train-{number}")[0] for number in range(3)]
    assert len({time for time, _ in started}) == 1
    assert 100 <= started[0][0] <= 115  # within a back-off of the room
    assert condition(simulation) == ("True", "Scheduled", 1)


def test_a_group_that_never_fits_is_said_to_be_unschedulable() -> None:
    simulation, diary = simulate(
        [node("a", cpu=2)],
        [(1, each) for each in members(3, cpu=1)],
        plan(),
        objects=[pod_group("train", 3)],
        end=60,
    )
    assert all(diary.of(f"train-{number}") == [] for number in range(3))
    assert condition(simulation) == ("False", "Unschedulable", 1)
    tries = diary.tried("train-0")
    assert len(tries) == len(set(tries))  # it rests between them
    assert 5 <= len(tries) <= 12


def test_a_later_member_that_does_not_fit_takes_nothing_back() -> None:
    simulation, diary = simulate(
        [node("a", cpu=2)],
        [*((1, each) for each in members(2, cpu=1)), (5, member("late", cpu=1))],
        plan(),
        objects=[pod_group("train", 2)],
        end=20,
    )
    assert diary.of("late") == []
    assert condition(simulation) == ("True", "Scheduled", 1)


def test_victims_of_a_whole_group_leave_and_it_starts() -> None:
    low = [lasting(f"low-{number}", 1000, cpu=1) for number in range(2)]
    simulation, diary = simulate(
        [node("a", cpu=1), node("b", cpu=1)],
        [*((0, each) for each in low), *((10, each) for each in members(2, cpu=1))],
        plan(workloadPreemption=True),
        objects=[pod_group("train", 2, priority=7)],
        end=60,
    )
    assert {what for each in low for _, what in diary.of(each.metadata.name)} >= {"Preempted"}
    assert {what for number in range(2) for _, what in diary.of(f"train-{number}")[:1]} == {"bound to a", "bound to b"}
    assert condition(simulation) == ("True", "Scheduled", 1)
