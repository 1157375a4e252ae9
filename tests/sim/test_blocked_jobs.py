"""Jobs that fit and are not tried are found, and nothing changes by looking for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairway.record import Run
from fairway.scenario.scenario import Scenario, decode_scenario
from fairway.scenario.simulate import simulate


def source(name: str, start: str, count: int = 1, **one: Any) -> dict[str, Any]:
    arrivals = {"pattern": "even", "count": count, "over": "1s", "start": start}
    return {"synthetic": {"name": name, "arrivals": arrivals, "classes": [{"name": "x", **one}]}}


def scenario(gangs: dict[str, Any], looks: bool = True) -> Scenario:
    """A gang that lacks two of eight nodes, oldest of all, and one behind it that has room."""
    spec = {
        "end": "41s",
        "cluster": {"nodes": [{"name": "n-{}", "count": 6, "cpu": 2}]},
        "workload": [source("wide", "1s", gang=8, cpu="1500m"), source("narrow", "5s", gang=2, cpu="500m")],
        "schedulers": [{"decisionLatency": "100ms", "config": {"profiles": [{"fairway": {"gangs": gangs}}]}}],
        "record": {"gangs": looks},
    }
    return decode_scenario({"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}, "test")


OLDEST_FIRST = {"mode": "coscheduling", "lastFailureOrder": False}
CASES: dict[str, tuple[dict[str, Any], float]] = {
    "the oldest is tried again and again": (OLDEST_FIRST, 21.0),  # seen first at 20 s, and to the end
    "who has failed rests": ({"mode": "fairway"}, 0.0),
    "nobody holds anything": ({"mode": "kube"}, 0.0),
}


@pytest.mark.parametrize(("gangs", "seconds"), CASES.values(), ids=CASES.keys())
def test_jobs_that_fit_and_are_not_tried_are_found(tmp_path: Path, gangs: dict[str, Any], seconds: float) -> None:
    path = tmp_path / "run.duckdb"
    simulate(scenario(gangs), record=path)
    with Run.open(path) as run:
        assert run.metrics().flat()["blocked_ahead_seconds"] == seconds


@pytest.mark.parametrize("gangs", [OLDEST_FIRST, {"mode": "fairway"}])
def test_looking_changes_nothing(tmp_path: Path, gangs: dict[str, Any]) -> None:
    bindings = []
    for looks in (True, False):
        path = tmp_path / f"{looks}.duckdb"
        simulate(scenario(gangs, looks), record=path)
        with Run.open(path) as run:
            bindings.append(list(run.sql("SELECT pod, node_id, bound_seconds, attempts FROM pods ORDER BY pod")))
            assert ("blocked_ahead_seconds" in run.metrics().flat()) is looks
    assert bindings[0] == bindings[1]
