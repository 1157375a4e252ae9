"""Jobs in a simulated cluster, in mode fairway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairway.config import Configuration, decode_configuration
from fairway.plugins.registry import REGISTRY
from fairway.record import Run
from fairway.scenario.scenario import load_scenario
from fairway.scenario.simulate import simulate as simulate_scenario
from fairway.sim.scheduler_settings import SchedulerSettings
from fairway.sim.simulation import SchedulerPlan
from fairway.testing import node
from fairway.testing.group_builders import member, members, pod_group
from tests.sim.diary import lasting, simulate
from tests.sim.test_pod_groups import condition


def configuration(**gangs: Any) -> Configuration:
    profile = {"schedulerName": "default-scheduler", "fairway": {"sampling": "all", "gangs": gangs}}
    tree = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "profiles": [profile]}
    return decode_configuration(tree, "test", REGISTRY)


def plan(**gangs: Any) -> list[SchedulerPlan]:
    return [SchedulerPlan("default-scheduler", configuration(**gangs))]


def test_a_job_starts_when_its_last_member_comes() -> None:
    first, second = members(2, cpu=1)
    simulation, diary = simulate(
        [node("a", cpu=4)], [(0, first), (20, second)], plan(), objects=[pod_group("train", 2)], end=30
    )
    assert [diary.of(name)[0] for name in ("train-0", "train-1")] == [(20, "bound to a")] * 2
    assert condition(simulation) == ("True", "Scheduled", 1)


def test_a_job_that_does_not_fit_holds_nothing_and_starts_the_moment_it_fits() -> None:
    simulation, diary = simulate(
        [node("a", cpu=4)],
        [
            (0, lasting("busy", 100, cpu=2)),
            *((1, each) for each in members(3, cpu=1)),
            (2, lasting("small", 10, cpu=2)),
        ],
        plan(),
        objects=[pod_group("train", 3)],
        end=200,
    )
    assert diary.of("small")[0] == (2, "bound to a")
    ended = next(time for time, what in diary.of("busy") if what == "Succeeded")
    assert {diary.of(f"train-{number}")[0][0] for number in range(3)} == {ended}
    assert condition(simulation) == ("True", "Scheduled", 1)


@pytest.mark.parametrize("mode", ["fairway", "kube"])
def test_pods_of_an_indexed_job_start_together_where_jobs_make_groups(tmp_path: Path, mode: str) -> None:
    """The first node has room for two of the three."""
    (tmp_path / "job.yaml").write_text(
        """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml, annotations: {fairway.dev/arrival: 5s}}
spec:
  parallelism: 3
  completions: 3
  completionMode: Indexed
  template:
    metadata: {annotations: {fairway.dev/duration: "60"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}
"""
    )
    (tmp_path / "scenario.yaml").write_text(
        f"""\
apiVersion: fairway.dev/v1alpha1
kind: Scenario
metadata: {{name: groups}}
spec:
  end: 5m
  cluster: {{nodes: [{{name: "n-{{}}", count: 2, cpu: 4}}]}}
  workload:
    - files: [job.yaml]
    - synthetic:
        name: busy
        arrivals: {{pattern: even, count: 1, over: 1s}}
        classes: [{{name: web, cpu: 3, duration: 1m}}]
  controllers: {{podGroups: true}}
  policies: {{gangs: {{config: {{profiles: [{{fairway: {{gangs: {{mode: {mode}}}}}}}]}}}}}}
"""
    )
    path = tmp_path / "run.duckdb"
    simulate_scenario(load_scenario(tmp_path / "scenario.yaml"), record=path, policy="gangs")
    with Run.open(path) as run:
        (row,) = run.jobs
        assert (row["job"], row["spelling"], row["min_count"]) == ("ml/train", "scheduling.k8s.io", 3)
        starts = {each["bound_seconds"] for each in run.pods.where("owner = 'Job/train'")}
        assert starts == {row["started_seconds"]}
        assert row["ended"] == "Succeeded"


def test_a_job_that_never_fits_is_hardly_tried() -> None:
    simulation, diary = simulate(
        [node("a", cpu=2)],
        [(1, each) for each in members(3, cpu=1)],
        plan(),
        objects=[pod_group("train", 3)],
        end=600,
    )
    assert condition(simulation) == ("False", "Unschedulable", 1)
    assert len(set(diary.tried("train-0"))) == 2  # once, and once more when five minutes have passed


def test_two_jobs_that_want_the_same_room_do_not_wait_for_each_other() -> None:
    racks = [node(f"n{number}", cpu=1) for number in range(3)]
    one, other = members(2, "one", cpu=1), members(2, "other", cpu=1)
    together = [(1, each) for pair in zip(one, other, strict=True) for each in pair]
    _, diary = simulate(racks, together, plan(), objects=[pod_group("one", 2), pod_group("other", 2)], end=60)
    assert [len(diary.of(f"one-{number}")) > 0 for number in range(2)] == [True, True]
    assert [diary.of(f"other-{number}") for number in range(2)] == [[], []]


def test_people_hear_of_a_job_that_stays_incomplete() -> None:
    _, diary = simulate(
        [node("a", cpu=9)],
        [(10, each) for each in members(2, cpu=1)],
        plan(incompleteAfter="1m"),
        objects=[pod_group("train", 3)],
        end=400,
    )
    told = [event for event in diary.events if event[2] == "GangIncomplete"]
    assert told == [(70, "default/train", "GangIncomplete", "job default/train is incomplete: 2 of 3 members exist")]


def test_late_surplus_takes_nothing_back() -> None:
    simulation, diary = simulate(
        [node("a", cpu=2)],
        [*((1, each) for each in members(2, cpu=1)), (5, member("late", cpu=1))],
        plan(),
        objects=[pod_group("train", 2)],
        end=20,
    )
    assert diary.of("late") == []
    assert condition(simulation) == ("True", "Scheduled", 1)


def test_bindings_that_take_time_start_together() -> None:
    slow = SchedulerPlan(
        "default-scheduler", configuration(), SchedulerSettings(decision_latency=0.5, bind_latency=2.0)
    )
    _, diary = simulate(
        [node("a", cpu=2), node("b", cpu=2)],
        [(1, each) for each in members(4, cpu=1)],
        [slow],
        objects=[pod_group("train", 4)],
        end=30,
    )
    assert len({diary.of(f"train-{number}")[0][0] for number in range(4)}) == 1
