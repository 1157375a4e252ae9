"""Whole simulations with known answers: lives of pods, faults, racing schedulers, and books that balance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import Event, Verb
from fairway.model import (
    Container,
    CronJob,
    Node,
    ObjectMeta,
    Pod,
    PodSpec,
    PodTemplateSpec,
)
from fairway.model.controllers import CronJobSpec, JobSpec, JobTemplateSpec
from fairway.model.requests import pod_requests
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import Fault, Pause, Plan, SchedulerPlan, Simulation
from fairway.testing import node, pod
from fairway.trace.workload import Arrival
from tests.sim.diary import Diary, configuration, lasting, simulate


def test_a_pod_waits_for_room_runs_and_leaves() -> None:
    simulation, diary = simulate([node("a", cpu=2)], [(0, lasting("one", 100, cpu=2)), (10, lasting("two", 50, cpu=2))])
    assert diary.of("one") == [(0, "bound to a"), (1, "started"), (101, "Succeeded")]
    assert diary.of("two") == [(101, "bound to a"), (102, "started"), (152, "Succeeded")]
    assert (simulation.result.succeeded, simulation.result.waiting) == (2, 0)


def test_a_pod_that_fails_and_one_that_nobody_can_place() -> None:
    failing = pod("failing", annotations={"fairway.dev/fail-after": "5"})
    simulation, diary = simulate([node("a", cpu=1)], [(0, failing), (0, pod("huge", cpu=64))])
    assert diary.of("failing")[-1] == (6, "Failed")
    assert diary.of("huge") == []
    assert (simulation.result.failed, simulation.result.waiting) == (1, 1)


def test_pods_of_a_scheduler_that_is_not_there_are_told() -> None:
    simulation, diary = simulate([node("a", cpu=4)], [(0, pod("one")), (0, pod("two", scheduler_name="volcano"))])
    assert diary.of("two") == []
    assert simulation.result.problems == ["pods that wait for the scheduler volcano, which is not there: 1"]


def test_preemption_takes_the_time_that_termination_takes() -> None:
    _, diary = simulate(
        [node("a", cpu=2)], [(0, pod("low", cpu=2, priority=1)), (10, lasting("high", 5, cpu=2, priority=9))]
    )
    assert diary.of("low") == [(0, "bound to a"), (1, "started"), (12, "Preempted")]
    assert diary.of("high")[0] == (12, "bound to a")


def test_image_pull_takes_time_once_per_node() -> None:
    diary = Diary()
    arrivals = [Arrival(0, pod("one", images="app:1")), Arrival(100, pod("two", images="app:1"))]
    settings = KubeletSettings(start_latency=1, image_pull_latency=30)
    plan = Plan([node("a")], (), arrivals, [SchedulerPlan("default-scheduler", configuration())], kubelet=settings)
    Simulation(plan, diary).run()
    assert (31, "started") in diary.of("one")
    assert (101, "started") in diary.of("two")


def test_cron_jobs_need_an_end_or_get_one() -> None:
    template = PodTemplateSpec(spec=PodSpec(containers=(Container(name="c"),), restart_policy="Never"))
    job = JobTemplateSpec(spec=JobSpec(template=template))
    cron = CronJob(
        metadata=ObjectMeta(name="hourly", namespace="default"),
        spec=CronJobSpec(schedule="0 * * * *", job_template=job),
    )
    plan = Plan([node("a")], [cron], [], [SchedulerPlan("default-scheduler", configuration())])
    simulation = Simulation(plan, Diary())
    result = simulation.run()
    assert result.end == 86_400
    assert result.arrived >= 23
    assert "set an end" in result.problems[0]


# -- faults ------------------------------------------------------------------------------------------------------------


def test_a_lost_node_is_noticed_after_50_s_and_its_pods_evicted_300_s_later() -> None:
    tolerates = ("node.kubernetes.io/unreachable:NoExecute",)
    patient = pod("patient", cpu=1, tolerates=tolerates)
    simulation, diary = simulate(
        [node("a", cpu=1)], [(0, pod("impatient", cpu=0)), (0, patient)], faults=[Fault(100, "a", "lose")], end=1000
    )
    lost = simulation.api.find("Node", "", "a")
    assert lost is not None
    assert {taint.key for taint in lost.spec.taints} == {"node.kubernetes.io/unreachable"}
    assert simulation.api.pod("default/impatient").is_terminating  # type: ignore[union-attr]
    assert not simulation.api.pod("default/patient").is_terminating  # type: ignore[union-attr]
    assert diary.of("impatient")[-1][1] == "started"  # nobody on the node can end it


def test_a_node_that_returns_in_time_starts_its_pods_anew() -> None:
    _, diary = simulate(
        [node("a", cpu=1)], [(0, lasting("one", 100, cpu=1))], faults=[Fault(50, "a", "lose", seconds=20)]
    )
    assert diary.of("one")[-1] == (170, "Succeeded")


def test_drain_moves_pods_away_and_uncordons_later() -> None:
    simulation, diary = simulate(
        [node("a", cpu=1)], [(0, pod("one", cpu=1))], faults=[Fault(10, "a", "drain", seconds=30)]
    )
    assert diary.of("one")[-1] == (12, "Evicted")
    drained = simulation.api.find("Node", "", "a")
    assert drained is not None
    assert not drained.spec.unschedulable


def test_a_removed_node_takes_its_pods_along() -> None:
    simulation, diary = simulate([node("a"), node("b")], [(0, pod("one"))], faults=[Fault(10, "a", "remove")])
    assert simulation.api.find("Node", "", "a") is None
    assert len(simulation.api.objects("Pod")) == (1 if diary.of("one")[0][1] == "bound to b" else 0)


def test_a_node_that_was_removed_comes_back_as_good_as_new() -> None:
    faults = [
        Fault(10, "a", "cordon"),
        Fault(20, "a", "lose"),
        Fault(80, "a", "remove", seconds=20),
        Fault(90, "a", "return"),  # it is not there: nothing to return
    ]
    simulation, diary = simulate([node("a", cpu=1)], [(95, pod("one", cpu=1))], faults=faults, end=200)
    back = simulation.api.find("Node", "", "a")
    assert back is not None
    assert (back.spec.unschedulable, back.spec.taints) == (False, ())
    assert diary.of("one") == [(100, "bound to a"), (101, "started")]


def test_a_node_that_is_lost_again_is_noticed_50_s_after_that() -> None:
    faults = [Fault(100, "a", "lose", seconds=10), Fault(120, "a", "lose")]
    simulation, _ = simulate([node("a")], [(0, pod("one"))], faults=faults, end=165)
    assert simulation.api.find("Node", "", "a").spec.taints == ()  # type: ignore[union-attr]
    simulation, _ = simulate([node("a")], [(0, pod("one"))], faults=faults, end=175)
    assert len(simulation.api.find("Node", "", "a").spec.taints) == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(None, [(53, "NodeLost")], id="gone for good"),
        pytest.param(20, [(30, "bound to a"), (31, "started")], id="and soon back"),
    ],
)
def test_a_pod_bound_to_a_node_that_is_gone(seconds: float | None, expected: list[tuple[float, str]]) -> None:
    # The scheduler hears of the removal at 15; at 13 it still believes in the node.
    late = SchedulerPlan("default-scheduler", configuration(), SchedulerSettings(view_delay=5))
    simulation, diary = simulate(
        [node("a")], [(8, pod("one"))], [late], faults=[Fault(10, "a", "remove", seconds)], end=200
    )
    assert diary.of("one") == expected
    assert simulation.result.conflicts == 0


def test_a_scheduler_that_stops_for_five_minutes_loses_nothing() -> None:
    # 60 pods arrive, one every 5 s; from 50 to 350 nobody places any; pods that ended meanwhile made room.
    plan = SchedulerPlan("default-scheduler", configuration(), pauses=(Pause(50, 300),))
    arrivals = [(5.0 * number, lasting(f"p{number}", 100, cpu=1)) for number in range(60)]
    simulation, diary = simulate([node("a", cpu=10), node("b", cpu=50)], arrivals, [plan])
    bound = [time for time, what, _ in diary.lines if what.startswith("bound")]
    assert not [time for time in bound if 50 < time < 350]
    assert bound == sorted(bound)
    assert len([time for time in bound if time == 350]) == 50  # 10 were placed before
    assert (simulation.result.succeeded, simulation.result.waiting) == (60, 0)


def test_a_paused_scheduler_catches_up() -> None:
    plan = SchedulerPlan("default-scheduler", configuration(), pauses=(Pause(5, 300),))
    _, diary = simulate([node("a", cpu=8)], [(10, pod("one")), (20, pod("two"))], [plan])
    assert [time for time, what, _ in diary.lines if what.startswith("bound")] == [305, 305]


# -- several schedulers ------------------------------------------------------------------------------------------------


def test_two_schedulers_race_for_the_last_slot_and_the_kubelet_decides() -> None:
    slow = SchedulerSettings(view_delay=5)
    plans = [SchedulerPlan(name, configuration(name), slow) for name in ("red", "blue")]
    simulation, diary = simulate(
        [node("a", cpu=1)],
        [(10, pod("r", cpu=1, scheduler_name="red")), (10, pod("b", cpu=1, scheduler_name="blue"))],
        plans,
    )
    assert sorted(what for _, what, _ in diary.lines) == ["Rejected", "bound to a", "bound to a", "started"]
    assert simulation.result.failed == 1


def test_two_replicas_of_one_scheduler_bind_each_pod_once() -> None:
    slow = SchedulerSettings(view_delay=2, decision_latency=0.5)
    plans = [SchedulerPlan(name, configuration(), slow) for name in ("first", "second")]
    simulation, diary = simulate(
        [node("a", cpu=4), node("b", cpu=4)], [(10, pod(f"p{number}", cpu=1)) for number in range(6)], plans
    )
    bound = [who for _, what, who in diary.lines if what.startswith("bound")]
    assert sorted(bound) == [f"p{number}" for number in range(6)]
    assert simulation.result.conflicts >= 6  # every pod is wanted twice, and the API server gives it once
    refusals = [message for _, _, reason, message in diary.events if reason == "BindingFailed"]
    assert all("is already assigned to node" in message for message in refusals)


def test_a_decision_takes_the_time_it_takes() -> None:
    plan = SchedulerPlan("default-scheduler", configuration(), SchedulerSettings(decision_latency=2))
    _, diary = simulate([node("a")], [(0, pod("one")), (0, pod("two"))], [plan])
    assert [time for time, what, _ in diary.lines if what.startswith("bound")] == [2, 4]


# -- always ------------------------------------------------------------------------------------------------------------


class Auditor:
    """At every event: what runs on a node is no more than it has, and no pod is on two nodes."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._home: dict[str, str] = {}
        simulation.api.watch(self.audit)

    def audit(self, event: Event) -> None:
        item = event.object
        if isinstance(item, Pod) and item.spec.node_name and event.verb is not Verb.DELETED:
            assert self._home.setdefault(item.metadata.uid, item.spec.node_name) == item.spec.node_name
        for name, kubelet in self._simulation.kubelets.by_node.items():
            used: dict[str, int] = {}
            for uid in kubelet.residents:
                resident = self._simulation.api.pod(uid)
                for resource, amount in (pod_requests(resident) if resident else {}).items():
                    used[resource] = used.get(resource, 0) + amount
            assert all(amount <= kubelet.allocatable[resource] for resource, amount in used.items()), name


@given(seed=st.integers(0, 2**32 - 1), view_delay=st.sampled_from([0.0, 3.0]))
def test_nothing_is_overbooked_lost_or_run_twice(seed: int, view_delay: float) -> None:
    generator = np.random.default_rng(seed)
    nodes = [node(f"n{number}", cpu=4, pods=5) for number in range(4)]
    arrivals = []
    for number in range(25):
        name = ("red", "blue")[number % 2]
        made = lasting(
            f"p{number}",
            float(generator.integers(1, 60)),
            cpu=int(generator.integers(1, 4)),
            priority=int(generator.integers(0, 3)),
            scheduler_name=name,
        )
        arrivals.append(Arrival(float(generator.integers(0, 100)), made))
    faults = [
        Fault(
            float(generator.integers(0, 90)),
            f"n{generator.integers(4)}",
            action,
            seconds=float(generator.integers(1, 500)),
        )
        for action in ("lose", "drain", "cordon")
    ]
    settings = SchedulerSettings(view_delay=view_delay, decision_latency=0.1)
    plans = [SchedulerPlan(name, configuration(name), settings) for name in ("red", "blue")]
    arrivals.sort(key=lambda arrival: arrival.time)
    diary = Diary()
    simulation = Simulation(Plan(nodes, (), arrivals, plans, faults, seed=seed), diary)
    Auditor(simulation)
    simulation.run()
    endings = [
        who
        for _, what, who in diary.lines
        if what in ("Succeeded", "Failed", "Preempted", "Evicted", "Deleted", "Rejected", "NodeLost")
    ]
    assert len(endings) == len(set(endings))
    left = {item.metadata.name for item in simulation.api.objects("Pod")}
    assert set(endings) | left == {f"p{number}" for number in range(25)}


def risky(number: int) -> Pod:
    return lasting(f"p{number}", 100, cpu=1, annotations={"fairway.dev/fail-probability": "0.4"})


def test_the_luck_of_pods_does_not_depend_on_what_happens_to_others() -> None:
    arrivals = [(float(number), risky(number)) for number in range(60)]
    nodes = [node(f"n{number}", cpu=50) for number in range(3)]

    def fates(nodes: Sequence[Node], **rest: Any) -> dict[str, str]:
        _, diary = simulate(nodes, arrivals, **rest)
        return {who: what for _, what, who in diary.lines if what in ("Succeeded", "Failed")}

    calm = fates(nodes, seed=7)
    assert 10 < sum(fate == "Failed" for fate in calm.values()) < 40
    assert fates(nodes[:1], seed=7) == calm  # another cluster
    assert fates(nodes, seed=7, faults=[Fault(20, "n0", "cordon", 30), Fault(50, "n1", "cordon")]) == calm
    assert fates(nodes, seed=8) != calm


@pytest.mark.parametrize("seed", [3])
def test_same_plan_same_diary(seed: int) -> None:
    def run() -> list[tuple[float, str, str]]:
        generator = np.random.default_rng(seed)
        arrivals = [(float(t), lasting(f"p{t}", float(generator.integers(5, 90)), cpu=1)) for t in range(60)]
        return simulate([node(f"n{number}", cpu=3) for number in range(5)], arrivals)[1].lines

    assert run() == run()
