"""Simulates a day of a large cluster, and prints what that took as JSON.

In: how large (`--short`: 500 nodes and 10,000 pods; `--million`: 10,000 nodes and a million pods; otherwise 5,000
nodes and 100,000 pods), and `--no-record`. Out: CPU seconds, elapsed seconds, memory at most (until 16:00, when the
peak of the day is over, and until the end: the same, if nothing is kept of pods that are gone), pods, attempts, and the
size of the recorded run. Pods arrive with the time of day, run and leave; all default plugins judge them. Called by
`run.py`, in a process of its own, and by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from fairway.bench.measurement import peak_mib
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import Standing, simulate


class Size(NamedTuple):
    """How large a day is."""

    num_nodes: int
    num_pods: int


AFTER_THE_PEAK = 16 * 3600.0  # virtual seconds
SHORT, DAY, MILLION = Size(500, 10_000), Size(5_000, 100_000), Size(10_000, 1_000_000)


def day(size: Size) -> dict[str, Any]:
    """The scenario: pods of many sizes and six kinds; at the peak two fifths of the CPU are in use.

    A pod runs for as long as keeps the cluster equally busy at every size.
    """
    hours = 30 * size.num_nodes / size.num_pods  # the median: 90 minutes if each node gets 20 pods a day
    sizes = {
        "cpu": {"kind": "choices", "values": ["500m", 1, 2, 4, 8], "weights": [3, 4, 4, 2, 1]},
        "memory": {"kind": "choices", "values": ["1Gi", "2Gi", "4Gi", "8Gi"], "weights": [2, 3, 3, 2]},
        "duration": {"kind": "lognormal", "median": f"{3600 * hours:.0f}s", "sigma": 1.0, "min": "1m", "max": "20h"},
    }
    selector = {"matchLabels": {"app": "web"}}
    spread = {"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}
    large = {"cpu": 6, "memory": "16Gi"}
    term = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-1", "zone-2"]}
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    near = {"nodeAffinity": {preferred: [{"weight": 50, "preference": {"matchExpressions": [term]}}]}}
    cache = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "cache"}}}
    apart = {"podAntiAffinity": {preferred: [{"weight": 10, "podAffinityTerm": cache}]}}
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    classes = [
        {"name": "batch", "weight": 60, "users": 100, "failProbability": 0.02, **sizes},
        {"name": "large", "weight": 15, "users": 20, **sizes, **large},
        {
            "name": "web",
            "weight": 10,
            "priority": 1000,
            "labels": {"app": "web"},
            "template": {"spec": {"topologySpreadConstraints": [{**spread, "labelSelector": selector}]}},
            **sizes,
        },
        {"name": "near", "weight": 5, "template": {"spec": {"affinity": near}}, **sizes},
        {"name": "cache", "weight": 5, "labels": {"app": "cache"}, "template": {"spec": {"affinity": apart}}, **sizes},
        {
            "name": "train",
            "weight": 5,
            "requests": {"nvidia.com/gpu": {"kind": "choices", "values": [1, 2, 4]}},
            "template": {"spec": {"tolerations": tolerations}},
            **sizes,
        },
    ]
    num_gpu = size.num_nodes // 10
    gpu = {"resources": {"nvidia.com/gpu": 8}, "taints": [{"key": "nvidia.com/gpu", "value": "present"}]}
    arrivals = {"pattern": "diurnal", "count": size.num_pods, "over": "24h", "peak": "14h", "amplitude": 0.7}
    return {
        "apiVersion": "fairway.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": f"day-{size.num_nodes}"},
        "spec": {
            "seed": 1,
            "end": "24h",
            "cluster": {
                "nodes": [
                    {"name": "node-{}", "count": size.num_nodes - num_gpu, "cpu": 16, "memory": "64Gi", "zones": 10},
                    {"name": "gpu-{}", "count": num_gpu, "cpu": 64, "memory": "256Gi", "zones": 10, **gpu},
                ]
            },
            "workload": {"synthetic": {"name": "pod", "arrivals": arrivals, "classes": classes}},
        },
    }


def measure(size: Size, run: Path | None, *, is_told: bool) -> dict[str, float | int]:
    """Run it; the figures are for this process from its start."""
    mib_by_then = 0.0

    def tell(standing: Standing) -> None:
        nonlocal mib_by_then
        if standing.time >= AFTER_THE_PEAK and not mib_by_then:
            mib_by_then = peak_mib()
        if is_told:
            print(f"\r{standing.fraction:4.0%}  {standing.arrived} pods", end="", file=sys.stderr, flush=True)

    begun = perf_counter()
    done = simulate(decode_scenario(day(size), "<benchmark>"), record=run, progress=tell)
    elapsed = perf_counter() - begun
    if is_told:
        print(file=sys.stderr)
    return {
        "nodes": size.num_nodes,
        "pods": size.num_pods,
        "succeeded": done.result.succeeded,
        "waiting": done.result.waiting,
        "attempts": done.result.attempts,
        "cpu_seconds": round(done.cpu_seconds, 2),
        "elapsed_seconds": round(elapsed, 2),
        "mib_by_16h": round(mib_by_then, 1),
        "mib": round(peak_mib(), 1),
        "run_mib": 0 if run is None else round(run.stat().st_size / 2**20, 1),
    }


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description="Simulate a day of a large cluster.")
    how_large = parser.add_mutually_exclusive_group()
    how_large.add_argument("--short", action="store_true", help="500 nodes, 10,000 pods")
    how_large.add_argument("--million", action="store_true", help="10,000 nodes, a million pods")
    parser.add_argument("--no-record", action="store_true", help="keep nothing")
    wanted = parser.parse_args()
    size = SHORT if wanted.short else MILLION if wanted.million else DAY
    is_told = sys.stderr.isatty()
    if wanted.no_record:
        print(json.dumps(measure(size, None, is_told=is_told)))
        return
    with tempfile.TemporaryDirectory(prefix="fairway-") as folder:
        print(json.dumps(measure(size, Path(folder) / "run.duckdb", is_told=is_told)))


if __name__ == "__main__":
    main()
