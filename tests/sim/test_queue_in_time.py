"""The queue in virtual time: pods are tried when something may have helped, and at no other time."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from fairway.model import Namespace, ObjectMeta, Pod, Service, ServiceSpec
from fairway.sim.kubelets import KubeletSettings
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import Fault, Plan, SchedulerPlan, Simulation
from fairway.testing import claim, node, pod, storage_class, volume
from fairway.trace.workload import Arrival
from tests.sim.diary import Diary, configuration, lasting, simulate

HOSTNAME = "kubernetes.io/hostname"


def test_a_pod_without_cpu_is_retried_when_and_only_when_something_may_help() -> None:
    # The node has 4 CPUs, `base` holds 3 until 1000. `waiting` wants 3. Things that happen meanwhile:
    happenings: list[tuple[float, Any]] = [
        (10, pod("waiting", cpu=3)),
        (20, pod("small", cpu=1)),  # another pod arrives and is placed: no help
        (30, Namespace(metadata=ObjectMeta(name="elsewhere"))),  # no help
        (40, Service(metadata=ObjectMeta(name="web", namespace="default"), spec=ServiceSpec(selector={"a": "b"}))),
        (50, claim("unused")),  # no help
        (60, node("tiny", cpu=1)),  # a node that is too small: no help
        (70, node("tainted", cpu=8, taints="dedicated=others")),  # enough CPU: worth a try, in vain
        (80, node("large", cpu=8)),  # helps
    ]
    _, diary = simulate([node("a", cpu=4)], [(0, lasting("base", 1000, cpu=3)), *happenings], end=500)
    assert diary.tried("waiting") == [10, 70, 80]
    assert diary.of("waiting")[0] == (80, "bound to large")


def test_any_pod_that_leaves_a_node_may_help() -> None:
    # kube-scheduler does not ask what it frees (`isSchedulableAfterPodEvent`); a pod that was on no node helps nobody.
    _, diary = simulate(
        [node("a", cpu=4)],
        [
            (0, lasting("first", 100, cpu=2)),  # ends at 101: worth a try, in vain
            (0, lasting("idle", 50, memory="1Gi")),  # ends at 51: frees no CPU, but worth a try all the same
            (0, lasting("second", 200, cpu=2)),  # ends at 201: helps
            (10, pod("waiting", cpu=4)),
        ],
        end=1000,
    )
    assert diary.tried("waiting") == [10, 51, 101, 201]
    assert diary.of("waiting")[0] == (201, "bound to a")


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        pytest.param([Fault(50, "b", "uncordon")], [10, 50], id="uncordoned"),
        pytest.param([Fault(50, "a", "cordon")], [10], id="another is cordoned: that helps nobody"),
        pytest.param([Fault(50, "a", "lose", seconds=20)], [10], id="a node that is not noticed to be gone"),
        pytest.param(
            [Fault(50, "b", "remove"), Fault(90, "b", "add"), Fault(91, "b", "uncordon")],
            [10, 90, 91],
            id="removed, back, and uncordoned",
        ),
    ],
)
def test_what_happens_to_nodes(faults: list[Fault], expected: list[float]) -> None:
    _, diary = simulate(
        [node("a", cpu=1), node("b", cpu=4, unschedulable=True)],
        [(10, pod("waiting", cpu=4))],
        faults=faults,
        end=100,
    )
    assert diary.tried("waiting") == expected


def test_a_pod_that_nothing_helps_is_tried_again_after_five_minutes() -> None:
    # kube-scheduler looks every 30 s for pods that have waited for more than 300 s.
    _, diary = simulate([node("a", cpu=1)], [(0, pod("huge", cpu=64))], end=1000)
    assert diary.tried("huge") == [0, 330, 660, 990]


def test_attempts_that_break_back_off_longer_and_longer() -> None:
    # Blue sees everything 100 s late: it believes for that long that the disk is free that red's pod got at 105.
    late = SchedulerSettings(view_delay=100)
    plans = [SchedulerPlan("red", configuration("red")), SchedulerPlan("blue", configuration("blue"), late)]
    simulation, diary = simulate(
        [node("a")],
        [
            (10, pod("b", claims="claim-b", scheduler_name="blue")),
            (105, pod("r", claims="claim-r", scheduler_name="red")),
        ],
        plans,
        objects=[storage_class(), volume("disk"), claim("claim-r"), claim("claim-b")],
        end=300,
    )
    tries = diary.tried("b")
    assert tries[0] == 110
    waits = [later - earlier for earlier, later in pairwise(tries) if later < 205]
    # 1, 2, 4, 8, then 10 s; and the second in which a back-off ends has to be over.
    assert waits == [2, 3, 5, 9, 11, 11, 11, 11, 11, 11]
    assert simulation.result.conflicts == len([time for time in tries if time < 205])


def test_a_refused_pod_is_tried_early_if_there_is_nothing_else_to_do() -> None:
    # Each of the four helpers frees one CPU, a second after the other; with an idle scheduler there is no back-off.
    helpers = [(0.0, lasting(f"helper-{number}", 99 + number, cpu=1)) for number in range(4)]
    _, diary = simulate([node("a", cpu=4)], [*helpers, (10, pod("waiting", cpu=4))], end=400)
    assert diary.tried("waiting") == [10, 100, 101, 102, 103]


def test_a_refused_pod_rests_while_others_are_waiting_for_their_turn() -> None:
    # The same, but an attempt takes 100 ms and there is always somebody to be tried.
    helpers = [(0.0, lasting(f"helper-{number}", 99 + number, cpu=1)) for number in range(4)]
    crowd = [(95 + number / 10, pod(f"crowd-{number}", cpu=0)) for number in range(300)]
    busy = SchedulerPlan("default-scheduler", configuration(), SchedulerSettings(decision_latency=0.11))
    arrivals = sorted([*helpers, (10.0, pod("waiting", cpu=4)), *crowd], key=lambda one: one[0])
    _, diary = simulate([node("a", cpu=4, pods=400)], arrivals, [busy], end=400)
    first, second, *rest = diary.tried("waiting")
    assert first == 10
    assert second >= 100
    assert rest
    assert rest[0] - second >= 2  # 2 s after the second failure


# -- preemption and nominated pods -----------------------------------------------------------------------------------


def test_a_nominated_pod_gets_the_place_it_made() -> None:
    # At 10 the place is cleared, which takes 2 s; meanwhile less important pods arrive, and may not have it.
    _, diary = simulate(
        [node("a", cpu=2)],
        [
            (0, pod("victim", cpu=2, priority=1)),
            (10, lasting("important", 20, cpu=2, priority=9)),
            (11, lasting("sneaky", 5, cpu=2, priority=5)),
        ],
        end=100,
    )
    assert diary.of("victim")[-1] == (12, "Preempted")
    assert diary.of("important") == [(12, "bound to a"), (13, "started"), (33, "Succeeded")]
    assert diary.of("sneaky")[0] == (33, "bound to a")


def test_a_more_important_pod_may_take_it() -> None:
    _, diary = simulate(
        [node("a", cpu=2)],
        [
            (0, pod("victim", cpu=2, priority=1)),
            (10, lasting("important", 20, cpu=2, priority=5)),
            (11, lasting("urgent", 20, cpu=2, priority=9)),
        ],
        end=100,
    )
    assert diary.of("urgent")[0] == (12, "bound to a")
    assert diary.of("important")[0] == (33, "bound to a")
    assert [who for _, what, who in diary.lines if what == "Preempted"] == ["victim"]


def test_a_nominated_pod_goes_elsewhere_if_that_comes_first() -> None:
    _, diary = simulate(
        [node("a", cpu=2)],
        [
            (0, pod("victim", cpu=2, priority=1, termination_grace_period_seconds=30)),
            (10, pod("important", cpu=2, priority=9)),
            (11, node("b", cpu=2)),
        ],
        end=100,
    )
    assert diary.of("important")[0] == (11, "bound to b")
    assert diary.of("victim")[-1] == (12, "Preempted")


def test_a_nominated_pod_that_is_deleted_leaves_its_place_to_others() -> None:
    arrivals = [
        Arrival(0, pod("victim", cpu=2, priority=1)),
        Arrival(10, pod("important", cpu=2, priority=9)),
        Arrival(10.5, pod("modest", cpu=2, priority=5)),
    ]
    diary = Diary()
    plan = Plan(
        [node("a", cpu=2)],
        (),
        arrivals,
        [SchedulerPlan("default-scheduler", configuration())],
        kubelet=KubeletSettings(start_latency=1, termination_latency=5),
        end=100,
    )
    simulation = Simulation(plan, diary)

    def delete() -> None:
        found = simulation.api.pod("default/important")
        assert found is not None
        assert found.status.nominated_node_name == "a"
        simulation.api.delete(found)

    simulation.timeline.at(12, delete)
    simulation.run()
    assert [what for _, what, who in diary.lines if who == "important"] == ["Deleted"]
    assert diary.of("modest")[0] == (15, "bound to a")


def test_gates_keep_a_pod_out_until_they_are_lifted() -> None:
    gated = pod("gated", cpu=1, gates="example.com/hold")
    diary = Diary()
    plan = Plan([node("a")], (), [Arrival(10, gated)], [SchedulerPlan("default-scheduler", configuration())], end=100)
    simulation = Simulation(plan, diary)

    def lift() -> None:
        found = simulation.api.pod("default/gated")
        assert isinstance(found, Pod)
        spec = msgspec.structs.replace(found.spec, scheduling_gates=())
        simulation.api.update(msgspec.structs.replace(found, spec=spec))

    simulation.timeline.at(50, lift)
    simulation.run()
    assert diary.tried("gated") == [50]
    assert diary.of("gated")[0] == (50, "bound to a")
