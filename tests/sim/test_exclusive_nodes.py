"""Exclusive nodes in a simulation: who waits for whom, beside a scheduler that knows nothing of them, too."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from fairway.config import Configuration, decode_configuration
from fairway.model import (
    Container,
    Job,
    Node,
    ObjectMeta,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ResourceRequirements,
    parse_quantity,
)
from fairway.model.controllers import JobSpec
from fairway.plugins.registry import REGISTRY
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import SchedulerPlan, Simulation
from fairway.testing import node
from fairway.testing.group_builders import member as grouped
from fairway.testing.group_builders import pod_group
from tests.sim.diary import configuration, lasting, simulate

KEY = "fairway.dev/exclusive"


def exclusive_configuration(name: str, **own: Any) -> Configuration:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": name, "fairway": {"sampling": "all", "exclusive": True, **own}}],
    }
    return decode_configuration(config, "test", REGISTRY)


def member(name: str, seconds: float, **others: Any) -> Pod:
    return lasting(name, seconds, annotations={KEY: "node", "fairway.dev/gang": "train"}, **others)


def taints(simulation: Simulation, name: str) -> list[str]:
    found = simulation.api.find("Node", "", name)
    assert isinstance(found, Node)
    return [taint.key for taint in found.spec.taints]


def test_others_wait_until_the_last_member_is_gone() -> None:
    plans = [SchedulerPlan("default-scheduler", exclusive_configuration("default-scheduler"))]
    arrivals = [(0, member("m-0", 10)), (0, member("m-1", 50)), (5, lasting("small", 10)), (60, member("m-2", 10))]
    _, diary = simulate([node("a")], arrivals, plans)
    assert [diary.of(name)[0] for name in ("m-0", "m-1")] == [(0, "bound to a")] * 2
    assert diary.of("small")[0] == (51, "bound to a")  # a second to start, then 50
    assert diary.of("m-2")[0] == (62, "bound to a")


@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_the_taint_keeps_another_scheduler_off(delay: float) -> None:
    settings = SchedulerSettings(view_delay=delay)
    plans = [
        SchedulerPlan("fairway", exclusive_configuration("fairway", exclusiveGuard="taint"), settings),
        SchedulerPlan("default-scheduler", configuration(), settings),
    ]
    members = [(0, member(f"m-{number}", 50, scheduler_name="fairway")) for number in range(3)]
    simulation, diary = simulate([node("a")], [*members, (5, lasting("small", 10))], plans, end=200)
    assert all(diary.of(f"m-{number}")[0][1] == "bound to a" for number in range(3))
    ((time, what), *_) = diary.of("small")
    assert what == "bound to a"
    assert 51 <= time <= 55
    assert taints(simulation, "a") == []
    assert not [reason for _, _, reason, _ in diary.events if reason == "BindingFailed"]


def test_without_the_guard_another_scheduler_does_not_know() -> None:
    plans = [
        SchedulerPlan("fairway", exclusive_configuration("fairway")),
        SchedulerPlan("default-scheduler", configuration()),
    ]
    arrivals = [(0, member("m-0", 50, scheduler_name="fairway")), (5, lasting("small", 10))]
    simulation, diary = simulate([node("a")], arrivals, plans, end=200)
    assert diary.of("small")[0] == (5, "bound to a")
    assert taints(simulation, "a") == []


# -- what the job itself says ------------------------------------------------------------------------------------------


def job(name: str, seconds: int, **annotations: str) -> Job:
    """Two pods, which say nothing themselves."""
    container = Container(name="c", image="i", resources=ResourceRequirements(requests={"cpu": parse_quantity("1")}))
    own = ObjectMeta(annotations={"fairway.dev/duration": str(seconds)})
    template = PodTemplateSpec(metadata=own, spec=PodSpec(containers=(container,)))
    spec = JobSpec(parallelism=2, completions=2, template=template)
    return Job(metadata=ObjectMeta(name=name, namespace="default", annotations=annotations), spec=spec)


@pytest.mark.parametrize("guard", ["none", "taint"])
def test_what_a_job_says_counts_for_its_pods(guard: str) -> None:
    own = exclusive_configuration("default-scheduler", exclusiveGuard=guard)
    arrivals = [(0, job("train", 50, **{KEY: "node"})), (5, lasting("small", 10))]
    simulation, diary = simulate([node("a")], arrivals, [SchedulerPlan("default-scheduler", own)], end=200)
    assert diary.of("small")[0] == (51, "bound to a")
    assert taints(simulation, "a") == []
    _, shared = simulate(
        [node("a")], [(0, job("train", 50)), (5, lasting("small", 10))], [SchedulerPlan("default-scheduler", own)]
    )
    assert shared.of("small")[0] == (5, "bound to a")


def test_what_a_group_says_counts_for_its_members() -> None:
    own = exclusive_configuration("default-scheduler")
    said = pod_group("train", 2)
    said = msgspec.structs.replace(said, metadata=msgspec.structs.replace(said.metadata, annotations={KEY: "node"}))
    members = [(0, grouped(f"train-{n}", annotations={"fairway.dev/duration": "50"})) for n in range(2)]
    _, diary = simulate(
        [node("a")],
        [*members, (5, lasting("small", 10))],
        [SchedulerPlan("default-scheduler", own)],
        objects=[said],
    )
    assert diary.of("small")[0] == (51, "bound to a")
