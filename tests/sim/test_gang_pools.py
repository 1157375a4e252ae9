"""How long gangs of mode pfnet stand ready until any pod gets a node: against what arrivals say."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.record import Run
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate

LATENCY = 0.01


def flat_metrics(path: Path, gangs: list[int], others: list[int], mode: dict[str, Any]) -> dict[str, float]:
    """Gangs of two and lone pods that arrive in these seconds; there is room for all of them."""

    def source(name: str, second: int, **one: Any) -> dict[str, Any]:
        arrivals = {"pattern": "even", "count": 1, "over": "1s", "start": f"{second}s"}
        return {"synthetic": {"name": name, "arrivals": arrivals, "classes": [{"name": "x", "cpu": "100m", **one}]}}

    workload = [source(f"gang-{number}", second, gang=2) for number, second in enumerate(gangs)]
    workload += [source(f"lone-{number}", second) for number, second in enumerate(others)]
    spec = {
        "end": "5m",
        "cluster": {"nodes": [{"name": "n-{}", "count": 4, "cpu": 8}]},
        "workload": workload,
        "schedulers": [
            {"decisionLatency": f"{LATENCY}s", "config": {"profiles": [{"fairway": {"gangs": mode}}]}},
        ],
    }
    document = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec}
    simulate(decode_scenario(document, "test"), record=path)
    with Run.open(path) as run:
        return run.metrics().flat()


PFNET = {"mode": "pfnet", "prefix": "gang.example.com"}
SECONDS = st.integers(0, 120)


@settings(max_examples=8, deadline=None)
@given(
    st.lists(SECONDS.map(lambda second: 2 * second), min_size=1, max_size=4, unique=True),
    st.lists(SECONDS.map(lambda second: 2 * second + 1), max_size=4, unique=True),
)
def test_a_gang_waits_for_the_next_that_arrives(gangs: list[int], others: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = flat_metrics(Path(folder) / "run.duckdb", gangs, others, PFNET)
    waits = [min((other for other in others if other > second), default=300) - second for second in gangs]
    assert found["pooled_seconds"] == pytest.approx(sum(waits), abs=len(gangs) * 10 * LATENCY)
    assert found["jobs_started"] == sum(any(other > second for other in others) for second in gangs)


@pytest.mark.parametrize("mode", [{"mode": "fairway"}, {"mode": "kube"}, {"mode": "coscheduling"}], ids=str)
def test_other_modes_have_no_pool(tmp_path: Path, mode: dict[str, Any]) -> None:
    found = flat_metrics(tmp_path / "run.duckdb", [1], [3], mode)
    assert found["jobs_started"] == 1
    assert "pooled_seconds" not in found
