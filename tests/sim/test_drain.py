"""Drains and disruption budgets, with schedulers that find other places for what had to go."""

from __future__ import annotations

from typing import Any

from fairway.cluster import Event
from fairway.model import (
    Container,
    Deployment,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodDisruptionBudget,
    PodDisruptionBudgetSpec,
    PodSpec,
    PodTemplateSpec,
    Quantity,
    ResourceRequirements,
    default_object,
    parse_quantity,
)
from fairway.model.controllers import DeploymentSpec
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.simulation import Fault, Plan, SchedulerPlan, Simulation
from fairway.testing import node, pod
from tests.sim.diary import Diary, configuration, simulate

LABELS = {"app": "web"}
ONE_CPU: dict[str, Quantity] = {"cpu": parse_quantity("1")}


def deployment(replicas: int) -> Any:
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels=LABELS),
        spec=PodSpec(containers=(Container(name="c", resources=ResourceRequirements(requests=ONE_CPU)),)),
    )
    spec = DeploymentSpec(replicas=replicas, selector=LabelSelector(match_labels=LABELS), template=template)
    return default_object(Deployment(metadata=ObjectMeta(name="web", namespace="default"), spec=spec))


def budget(**spec: Any) -> PodDisruptionBudget:
    selector = LabelSelector(match_labels=LABELS)
    return PodDisruptionBudget(
        metadata=ObjectMeta(name="budget", namespace="default"), spec=PodDisruptionBudgetSpec(selector=selector, **spec)
    )


def running(simulation: Simulation) -> dict[str, int]:
    """How many pods run where."""
    found: dict[str, int] = {}
    for item in simulation.api.objects("Pod"):
        if item.status.phase == "Running" and not item.is_terminating:
            found[item.spec.node_name] = found.get(item.spec.node_name, 0) + 1
    return found


def test_a_drain_goes_on_as_replacements_run_elsewhere() -> None:
    # Four pods on a, two may be away: two go at 10, their replacements run on b at 11, the others go at 15.
    simulation, diary = simulate(
        [node("a", cpu=4), node("b", cpu=4)],
        [],
        objects=[budget(max_unavailable=2), deployment(4)],
        faults=[Fault(0, "b", "cordon"), Fault(5, "b", "uncordon"), Fault(10, "a", "drain")],
        end=60,
    )
    evicted = [time for time, what, _ in diary.lines if what == "Evicted"]
    assert evicted == [12, 12, 17, 17]
    assert running(simulation) == {"b": 4}
    refused = [(time, reason) for time, _, reason, _ in diary.events if reason == "EvictionRefused"]
    assert refused == [(10, "EvictionRefused")] * 2  # told once, tried every five seconds


def test_a_drain_without_room_elsewhere_waits_for_it() -> None:
    joins = node("b", cpu=4)
    simulation, diary = simulate(
        [node("a", cpu=2)],
        [(100, joins)],
        objects=[budget(min_available=1), deployment(2)],
        faults=[Fault(10, "a", "drain")],
        end=200,
    )
    evicted = [time for time, what, _ in diary.lines if what == "Evicted"]
    # One may go at 10; its replacement has no place until b joins at 100; one second later the other may go.
    assert evicted[0] == 12
    assert evicted[1] == 107  # asked again at 105
    assert running(simulation) == {"b": 2}


def test_a_drain_that_can_never_end_does_not_keep_the_simulation_alive() -> None:
    simulation, _ = simulate(
        [node("a", cpu=2)], [], objects=[budget(min_available=2), deployment(2)], faults=[Fault(10, "a", "drain")]
    )
    assert running(simulation) == {"a": 2}
    assert simulation.result.end < 1000


def test_an_uncordoned_node_is_drained_no_further() -> None:
    simulation, diary = simulate(
        [node("a", cpu=2), node("b", cpu=2)],
        [],
        objects=[budget(min_available=2), deployment(2)],
        faults=[Fault(10, "a", "drain", seconds=30), Fault(10, "b", "drain", seconds=30)],
        end=100,
    )
    assert [what for _, what, _ in diary.lines if what == "Evicted"] == []
    assert sum(running(simulation).values()) == 2


class Watchman:
    """At every event: no fewer pods run than the budget wants, once it was satisfied."""

    def __init__(self, simulation: Simulation, wanted: int) -> None:
        self._simulation = simulation
        self._wanted = wanted
        self._is_on_duty = False
        self.lowest = 10**9
        simulation.api.watch(self.look)

    def look(self, event: Event) -> None:
        if isinstance(event.object, Pod):
            number = sum(running(self._simulation).values())
            self._is_on_duty = self._is_on_duty or number >= self._wanted
            if self._is_on_duty:
                self.lowest = min(self.lowest, number)


def test_rolling_drains_never_go_below_the_budget() -> None:
    nodes = [node(f"n{number}", cpu=3) for number in range(4)]
    faults = [Fault(20 + 40 * number, f"n{number}", "drain", seconds=35) for number in range(4)]
    plan = Plan(
        nodes,
        [budget(min_available="80%"), deployment(8)],
        [],
        [SchedulerPlan("default-scheduler", configuration())],
        faults,
        kubelet=KubeletSettings(start_latency=3, termination_latency=2),
        end=300,
    )
    simulation = Simulation(plan, Diary())
    watchman = Watchman(simulation, 7)
    simulation.run()
    assert watchman.lowest == 7
    assert sum(running(simulation).values()) == 8


def test_preemption_spares_what_a_budget_protects() -> None:
    # Both nodes are full of less important pods; those on a may not be disrupted, so b's goes.
    guarded = pod("guarded", cpu=2, priority=1, labels=LABELS, node="a")
    loose = pod("loose", cpu=2, priority=1, node="b")
    _, diary = simulate(
        [node("a", cpu=2), node("b", cpu=2)],
        [(10, pod("important", cpu=2, priority=9))],
        objects=[budget(min_available=1), guarded, loose],
        end=60,
    )
    assert [who for _, what, who in diary.lines if what == "Preempted"] == ["loose"]


def test_preemption_may_take_what_a_budget_can_spare() -> None:
    # The same, but two guarded pods run and one is enough; the one on a is less important than b's.
    pods = [
        pod("guarded-1", cpu=2, priority=1, labels=LABELS, node="a"),
        pod("guarded-2", cpu=2, priority=9, labels=LABELS, node="c"),
        pod("loose", cpu=2, priority=2, node="b"),
    ]
    _, diary = simulate(
        [node("a", cpu=2), node("b", cpu=2), node("c", cpu=2)],
        [(10, pod("important", cpu=2, priority=9))],
        objects=[budget(min_available=1), *pods],
        end=60,
    )
    assert [who for _, what, who in diary.lines if what == "Preempted"] == ["guarded-1"]
