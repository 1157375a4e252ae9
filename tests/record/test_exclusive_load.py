"""What is allocated where nodes are exclusive: against a look at every instant at which something changes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

import fairway
from fairway.record import Run

SCENARIO: dict[str, Any] = {
    "apiVersion": "fairway.dev/v1alpha1",
    "kind": "Scenario",
    "metadata": {"name": "exclusive"},
    "spec": {
        "seed": 2,
        "end": "2h",
        "cluster": {"nodes": [{"name": "n-{}", "count": 5, "cpu": 8, "memory": "32Gi"}]},
        "workload": {
            "synthetic": {
                "name": "w",
                "arrivals": {"pattern": "poisson", "count": 60, "over": "1h"},
                "classes": [
                    {
                        "name": "alone",
                        "cpu": 2,
                        "memory": "1Gi",
                        "gang": 2,
                        "duration": "10m",
                        "template": {"metadata": {"annotations": {"fairway.dev/exclusive": "node"}}},
                    },
                    {"name": "small", "weight": 3, "cpu": 1, "memory": "2Gi", "duration": "7m"},
                ],
            }
        },
        "policies": {
            "exclusive": {"config": {"profiles": [{"fairway": {"exclusive": True}}]}},
            "shared": {},
        },
    },
}


def naive(run: Run) -> float:
    """The share of all CPU that was allocated, instant by instant and node by node."""
    exclusive = {row["pod_id"] for row in run.pods.rows() if "exclusive" in (row["annotations"] or "")}
    held = [dict(row) for row in run.occupancy.rows()]
    end = run.end_seconds
    times = sorted({0.0, end, *(row["from_seconds"] for row in held), *(row["to_seconds"] or end for row in held)})
    allocated = 0.0
    for begin, until in itertools.pairwise(times):
        for number in range(5):
            here = [
                row
                for row in held
                if row["node"] == f"n-{number}" and row["from_seconds"] <= begin < (row["to_seconds"] or end)
            ]
            is_exclusive = any(row["pod_id"] in exclusive for row in here)
            allocated += (8000 if is_exclusive else sum(row["cpu_milli"] for row in here)) * (until - begin)
    return allocated / (5 * 8000 * end)


def test_exclusive_nodes_count_as_a_whole(tmp_path: Path) -> None:
    run = fairway.simulate(SCENARIO, policy="exclusive", save=tmp_path / "run.duckdb")
    found = run.metrics()
    assert found.utilisation_allocated["cpu"] == pytest.approx(naive(run))
    assert found.utilisation_allocated["cpu"] > found.utilisation["cpu"] + 0.05
    assert found.flat()["utilisation_allocated_cpu"] == found.utilisation_allocated["cpu"]


def test_where_the_annotation_means_nothing_nothing_is_said() -> None:
    assert fairway.simulate(SCENARIO, policy="shared").metrics().utilisation_allocated == {}


JOBS = """
apiVersion: batch/v1
kind: Job
metadata: {name: alone, annotations: {fairway.dev/exclusive: node}}
spec:
  parallelism: 2
  completions: 2
  template:
    metadata: {annotations: {fairway.dev/duration: 10m}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: x, resources: {requests: {cpu: 6}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: shared}
spec:
  parallelism: 2
  completions: 2
  template:
    metadata: {annotations: {fairway.dev/duration: 20m}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: x, resources: {requests: {cpu: 2}}}]
"""


def test_what_a_job_says_for_its_pods_counts(tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(JOBS)
    document = {
        "apiVersion": "fairway.dev/v1alpha1",
        "kind": "Scenario",
        "spec": {
            "end": "1h",
            "cluster": {"nodes": [{"name": "n-{}", "count": 4, "cpu": 8, "memory": "32Gi"}]},
            "workload": {"files": [str(tmp_path / "jobs.yaml")]},
            "schedulers": [{"config": {"profiles": [{"fairway": {"exclusive": True}}]}}],
        },
    }
    run = fairway.simulate(document, save=tmp_path / "run.duckdb")
    spans: dict[str, dict[str, set[tuple[float, float]]]] = {"alone": {}, "shared": {}}
    for row in run.occupancy.rows():
        job = row["pod"].removeprefix("default/").partition("-")[0]
        spans[job].setdefault(row["node"], set()).add((row["from_seconds"], row["to_seconds"]))
    assert spans["alone"].keys().isdisjoint(spans["shared"])
    assert all(len(each) == 1 for each in spans["alone"].values())  # its pods start and end together
    alone = sum(8 * (end - begin) for each in spans["alone"].values() for begin, end in each)
    shared = sum(
        row["cpu_milli"] / 1000 * (row["to_seconds"] - row["from_seconds"])
        for row in run.occupancy.rows()
        if "shared" in row["pod"]
    )
    assert run.metrics().utilisation_allocated["cpu"] == pytest.approx((alone + shared) / (4 * 8 * 3600))
    assert run.metrics().utilisation_allocated["cpu"] > run.metrics().utilisation["cpu"]
