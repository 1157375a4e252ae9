"""Gangs under the modes in which members hold nodes, in a whole simulation."""

from __future__ import annotations

from typing import Any

import pytest

from fairway.model import Pod
from fairway.record import NullRecorder
from fairway.scenario.scenario import decode_scenario
from fairway.sim.simulation import Simulation

MODES: dict[str, dict[str, Any]] = {
    "coscheduling": {"mode": "coscheduling"},
    "pfnet": {"mode": "pfnet", "prefix": "gang.example.com"},
}


def simulation(gangs: dict[str, Any], num_nodes: int, gang: int, until: str = "10m") -> Simulation:
    """One gang at the start, and a small pod every minute; nodes take one member each."""
    spec: dict[str, Any] = {
        "end": until,
        "cluster": {"nodes": [{"name": "n-{}", "count": num_nodes, "cpu": 4, "memory": "8Gi"}]},
        "workload": [
            {
                "synthetic": {
                    "name": "job",
                    "arrivals": {"pattern": "even", "count": 1, "over": "1s"},
                    "classes": [{"name": "gang", "cpu": 3, "gang": gang}],
                }
            },
            {
                "synthetic": {
                    "name": "small",
                    "arrivals": {"pattern": "even", "count": 10, "over": "10m", "start": "30s"},
                    "classes": [{"name": "pod", "cpu": "100m", "duration": "30s"}],
                }
            },
        ],
        "schedulers": [{"decisionLatency": "10ms", "config": {"profiles": [{"fairway": {"gangs": gangs}}]}}],
    }
    document = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    return Simulation(decode_scenario(document, "test").plan(), recorder=NullRecorder())


def members(run: Simulation) -> list[Pod]:
    return [pod for pod in run.api.objects("Pod") if pod.metadata.name.startswith("job-")]


@pytest.mark.parametrize("mode", MODES)
def test_a_gang_starts_together_where_there_is_room(mode: str) -> None:
    run = simulation(MODES[mode], 4, 4)
    result = run.run()
    assert (result.num_errors, len(members(run)), result.waiting) == (0, 4, 0)


@pytest.mark.parametrize("mode", MODES)
def test_a_gang_without_room_starts_not_at_all(mode: str) -> None:
    run = simulation(MODES[mode], 3, 4, until="1m")
    result = run.run()
    assert [pod.spec.node_name for pod in members(run)] == [""] * 4
    assert (result.num_errors, result.waiting) == (0, 4)


def test_a_pfnet_gang_is_deleted_together() -> None:
    run = simulation(MODES["pfnet"], 4, 4)
    run.timeline.at(300.0, lambda: run.api.delete(members(run)[1]))
    run.run()
    assert members(run) == []


def test_under_coscheduling_the_others_stay() -> None:
    run = simulation(MODES["coscheduling"], 4, 4)
    run.timeline.at(300.0, lambda: run.api.delete(members(run)[1]))
    run.run()
    assert len(members(run)) == 3
