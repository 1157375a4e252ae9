"""Defragmentation in a simulation: pods move together, go on where they stopped, and none is lost or there twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairway.cluster import Event, TypicalPods, Verb
from fairway.cluster.gpus.typical_pods import Shape
from fairway.config import decode_configuration
from fairway.experiments.gpu_policies import policy_config
from fairway.model import (
    Container,
    Deployment,
    LabelSelector,
    ObjectMeta,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    default_object,
)
from fairway.model.controllers import DeploymentSpec
from fairway.model.device_need import GPU_INDEX, GPU_MILLI
from fairway.plugins.registry import REGISTRY
from fairway.record import NullRecorder
from fairway.scenario.scenario import decode_scenario
from fairway.sim.defragment import PerNode
from fairway.sim.simulation import Fault, Plan, SchedulerPlan, Simulation
from fairway.sim.timed_defragmentation import LIMIT, DefragmentationStep
from fairway.testing import pod
from fairway.trace.openb_lookalike import write_lookalike
from tests.plugins.gpu_world import gpu_node
from tests.sim.diary import Diary, simulate
from tests.sim.test_drain import LABELS, ONE_CPU, budget

WHOLE_GPU = TypicalPods((Shape(0, 1000, 1, ""),), (1.0,))
"""Whatever is left of a GPU that somebody uses is of no use."""


def fgd() -> list[SchedulerPlan]:
    return [SchedulerPlan("default-scheduler", decode_configuration(policy_config("FGD"), "test", REGISTRY))]


def half(name: str, where: str, seconds: float | None = None, **others: Any) -> Pod:
    """Half a GPU, on its node from the start."""
    notes = {GPU_MILLI: "500", GPU_INDEX: "0"} | ({"fairway.dev/duration": str(seconds)} if seconds else {})
    notes |= others.pop("annotations", {})
    return pod(name, annotations=notes, node=where, cpu=1, **others)


def halves(*pods: Pod, at: float = 100, share: float = 0.5, **rest: Any) -> tuple[Simulation, Diary]:
    """Two nodes with a GPU each, both half used."""
    nodes = [gpu_node("a", 1, cpu=8), gpu_node("b", 1, cpu=8)]
    steps, arrivals, more = [DefragmentationStep(at, share)], rest.pop("arrivals", ()), rest.pop("more", ())
    return simulate(nodes, arrivals, fgd(), [*pods, *more], defragmentations=steps, typical_pods=WHOLE_GPU, **rest)


def told(diary: Diary) -> list[tuple[float, str, str]]:
    wanted = ("Defragmenting", "Defragmented")
    return [(time, reason, message) for time, _, reason, message in diary.events if reason in wanted]


def where(simulation: Simulation) -> dict[str, str]:
    return {item.metadata.name: item.spec.node_name for item in simulation.api.objects("Pod")}


def test_two_half_used_gpus_become_one_full_and_one_idle() -> None:
    simulation, diary = halves(half("x", "a"), half("y", "b"))
    # Each half that is idle is stranded, 1 GPU in all. x goes at 100, is gone at 102 and fits beside y: nothing is.
    assert told(diary) == [
        (100, "Defragmenting", "1 pod of 2 evicted, fragmentation 1.00 GPUs before"),
        (
            102,
            "Defragmented",
            "1 pod evicted, 0 of them not on a node again, fragmentation 1.00 GPUs before, 0.00 GPUs after",
        ),
    ]
    assert where(simulation) == {"x": "b", "y": "b"}
    assert simulation.schedulers[0].scheduler.cluster.devices.free[:2].max(axis=1).tolist() == [1000, 0]


def test_a_pod_goes_on_where_it_stopped() -> None:
    # x runs from 0 to 100, then from 103 on for the 50 of its 150 seconds that are left.
    simulation, diary = halves(half("x", "a", 150), half("y", "b", 1000))
    ends = [(time, what) for time, what, _ in diary.lines if what in ("Evicted", "Succeeded")]
    assert ends == [(102, "Evicted"), (153, "Succeeded"), (1000, "Succeeded")]
    assert simulation.result.succeeded == 2


def test_a_failure_comes_when_it_would_have_come() -> None:
    fails = half("x", "a", 500, annotations={"fairway.dev/fail-after": "150"})
    _, diary = halves(fails, half("y", "b", 1000))
    assert [time for time, what, _ in diary.lines if what == "Failed"] == [153]


@pytest.mark.parametrize("allowed", [0, 1])
def test_budgets_are_honoured(allowed: int) -> None:
    guarded = half("x", "a", labels=LABELS), half("y", "b", labels=LABELS)
    _, diary = halves(*guarded, share=1.0, more=[budget(min_available=2 - allowed)])
    evicted = [what for _, what, _ in diary.lines if what == "Evicted"]
    assert len(evicted) == allowed
    refused = [reason for _, _, reason, _ in diary.events if reason == "EvictionRefused"]
    assert len(refused) == 2 - allowed


def test_what_finds_no_place_is_told_when_the_limit_is_over() -> None:
    # a is cordoned, and somebody takes the rest of b before x is gone: x has to wait.
    simulation, diary = halves(
        half("x", "a"),
        half("y", "b"),
        arrivals=[(101, pod("z", annotations={GPU_MILLI: "500"}, cpu=1))],
        faults=[Fault(50, "a", "cordon")],
    )
    assert where(simulation) == {"x": "", "y": "b", "z": "b"}
    (end,) = (line for line in told(diary) if line[1] == "Defragmented")
    assert end[0] == 100 + LIMIT
    assert "1 of them not on a node again" in end[2]


@pytest.mark.parametrize(
    ("others", "faults"),
    [
        pytest.param({"scheduler_name": "absent"}, [], id="a scheduler that is not there"),
        pytest.param({"owner": "DaemonSet/agent"}, [], id="daemon"),
        pytest.param({}, [Fault(90, "a", "lose"), Fault(90, "b", "lose")], id="lost nodes"),
    ],
)
def test_pods_that_would_not_come_back_stay(others: dict[str, Any], faults: list[Fault]) -> None:
    _, diary = halves(half("x", "a", **others), half("y", "b", **others), faults=faults, end=130)
    assert [message for _, reason, message in told(diary) if reason == "Defragmenting"] == [
        "0 pods of 2 evicted, fragmentation 1.00 GPUs before"
    ]


def test_a_pod_that_asks_for_a_device_asks_for_it_again() -> None:
    pinned = pod("x", annotations={GPU_MILLI: "500", GPU_INDEX: "0"}, cpu=1)
    simulation, _ = halves(half("y", "b"), arrivals=[(0, pinned)], faults=[Fault(0, "b", "cordon", 50)], share=1.0)
    (found,) = (item for item in simulation.api.objects("Pod") if item.metadata.name == "x")
    assert found.metadata.uid != pinned.metadata.uid
    assert found.metadata.annotations[GPU_INDEX] == "0"


def test_pods_with_a_controller_are_left_to_it() -> None:
    # Others share the GPUs with two replicas until 50. The one on a goes; its replica set makes another, beside b's.
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels=LABELS, annotations={GPU_MILLI: "500"}),
        spec=PodSpec(containers=(Container(name="c", resources=ResourceRequirements(requests=ONE_CPU)),)),
    )
    spec = DeploymentSpec(replicas=2, selector=LabelSelector(match_labels=LABELS), template=template)
    web = default_object(Deployment(metadata=ObjectMeta(name="web", namespace="default"), spec=spec))
    simulation, diary = halves(
        half("filler", "a", 50), half("other", "b", 50), more=[web], faults=[Fault(60, "a", "cordon")]
    )
    assert sorted(where(simulation).values()) == ["b", "b"]
    assert told(diary)[-1][2].startswith("1 pod evicted, 0 of them not on a node again, fragmentation 1.00 GPUs before")
    assert told(diary)[-1][2].endswith("0.00 GPUs after")


class Census:
    """Who is there, by name: never two of a name."""

    def __init__(self, simulation: Simulation) -> None:
        self.present: set[str] = set()
        self.num_again = 0
        self.seen: set[str] = set()
        simulation.api.watch(self.look)

    def look(self, event: Event) -> None:
        item = event.object
        if isinstance(item, Pod) and event.verb is Verb.ADDED:
            assert item.key not in self.present
            self.num_again += item.key in self.seen
            self.present.add(item.key)
            self.seen.add(item.key)
        elif isinstance(item, Pod) and event.verb is Verb.DELETED:
            self.present.remove(item.key)


class Works(NullRecorder):
    """Counts evictions."""

    def __init__(self) -> None:
        super().__init__()
        self.num_evicted = 0

    def ended(self, t: float, uid: str, reason: str) -> None:
        self.num_evicted += reason == "Evicted"


@pytest.mark.parametrize("per_node", ["one", "several"])
def test_nothing_is_lost_and_nothing_runs_twice(tmp_path: Path, per_node: PerNode) -> None:
    write_lookalike(tmp_path, num_nodes=12, num_pods=150)
    (nodes,) = tmp_path.glob("openb_node_list*")
    spec = {
        "end": "12h",
        "cluster": {"openb": {"nodes": nodes.name}},
        "workload": {"openb": {"pods": "openb_pod_list_default.csv", "load": 0.8, "failures": False, "pending": False}},
        "schedulers": [{"config": policy_config("Random")}],
        "defragment": {"every": "10m", "share": 0.1, "perNode": per_node},
    }
    data = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    plan: Plan = decode_scenario(data, str(tmp_path / "s.yaml")).plan()
    writer = Works()
    simulation = Simulation(plan, writer)
    census = Census(simulation)
    result = simulation.run()
    assert writer.num_evicted == census.num_again > 10
    arrived = len(census.seen)
    assert result.arrived == arrived + census.num_again
    assert result.succeeded + len(census.present) == arrived
    free = simulation.schedulers[0].scheduler.cluster.devices.free
    assert ((free >= 0) & (free <= 1000)).all()


@pytest.mark.parametrize(
    ("spec", "times"),
    [
        pytest.param({"at": ["2h", 60]}, [60, 7200], id="at"),
        pytest.param({"every": "1h"}, [3600, 7200], id="every"),
    ],
)
def test_times_of_a_scenario(spec: dict[str, Any], times: list[float]) -> None:
    whole = {"end": "3h", "cluster": {"nodes": [{"count": 1}]}, "defragment": {**spec, "share": 0.2}}
    scenario = decode_scenario({"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": whole}, "s.yaml")
    assert [(step.at, step.share, step.per_node) for step in scenario.plan().defragmentations] == [
        (time, 0.2, "one") for time in times
    ]
    assert decode_scenario(scenario.as_dict(), "s.yaml") == scenario
