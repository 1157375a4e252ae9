"""What it costs to put pods near their data: decisions a second with DataLocality and without, in one run.

In: nothing, or `--nodes`, `--pods`, `--repeat`. Out: a table: pods of a few hundred jobs, and pods of which each uses
datasets of its own choice, on 5,000 nodes, with 500 datasets of 3 copies each and 1 to 3 datasets a pod; exit code 1 if
fewer than 60 % of the decisions a second are left. Runs with and without the plugin take turns in one process, and the
median of their ratios counts, so that it does not matter how fast the machine is. Called by `make bench-data`.
"""

from __future__ import annotations

import argparse
import sys
from statistics import median
from typing import Any, Final

import msgspec
import numpy as np

from fairway.bench.measurement import measure
from fairway.bench.workloads import ZONES, make_workload

FLOOR: Final = 0.6
NUM_DATASETS: Final = 500
NUM_COPIES: Final = 3
NUM_JOBS: Final = 300
RACK: Final = 40  # nodes
GROUPS: Final = ("datashim.io/v1alpha1", "com.ie.ibm.hpsys/v1alpha1")
CONFIG: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "DataLocality", "weight": 2}]}}}],
}


def objects(num_nodes: int, generator: np.random.Generator) -> list[bytes]:
    """Nodes in racks and zones, and datasets whose gateways are on some of them."""
    found = []
    for item in make_workload(num_nodes, 0, "plain", num_newcomers=0).objects:
        thing = msgspec.json.decode(item)
        if thing["kind"] == "Node":
            number = int(thing["metadata"]["name"].removeprefix("node-"))
            thing["metadata"]["labels"]["fairway.dev/rack"] = f"rack-{number % ZONES}-{number // ZONES // RACK}"
        found.append(msgspec.json.encode(thing))
    for number in range(NUM_DATASETS):
        meta = {"name": f"data-{number}", "namespace": "default", "uid": f"data-{number}"}
        rows = generator.choice(num_nodes, NUM_COPIES, replace=False).tolist()
        placements = [{"key": "kubernetes.io/hostname", "value": f"node-{row:05}"} for row in rows]
        version = GROUPS[number % 2]
        status = {"caching": {"placements": {"gateways": placements}}}
        size = {"size": f"{int(generator.integers(1, 500))}Gi"}
        found += map(
            msgspec.json.encode,
            (
                {"apiVersion": version, "kind": "Dataset", "metadata": meta, "spec": {"local": size}},
                {"apiVersion": version, "kind": "DatasetInternal", "metadata": meta, "status": status},
            ),
        )
    return found


def pods(number: int, kind: str, generator: np.random.Generator) -> list[bytes]:
    """Pods that use one to three datasets each: those of a job the same ones, or each its own."""
    found = []
    jobs = [_labels(generator) for _ in range(NUM_JOBS)]
    for item in make_workload(1, number, "plain", num_newcomers=0).pods:
        thing: dict[str, Any] = msgspec.json.decode(item)
        labels = jobs[int(generator.integers(NUM_JOBS))] if kind == "jobs" else _labels(generator)
        thing["metadata"]["labels"] = {**thing["metadata"].get("labels", {}), **labels}
        found.append(msgspec.json.encode(thing))
    return found


def _labels(generator: np.random.Generator) -> dict[str, str]:
    names = generator.choice(NUM_DATASETS, int(generator.integers(1, 4)), replace=False).tolist()
    return {f"dataset.{place}.id": f"data-{name}" for place, name in enumerate(names)}


def ratio(kind: str, num_nodes: int, num_pods: int, repeat: int) -> tuple[float, float, float]:
    """Decisions a second without the plugin and with it, medians both, and the median of their ratios."""
    generator = np.random.default_rng(1)
    world, incoming = objects(num_nodes, generator), pods(num_pods, kind, generator)
    without, with_it = [], []
    for _ in range(repeat):
        without.append(measure(world, incoming).pods_per_second)
        with_it.append(measure(world, incoming, config=CONFIG).pods_per_second)
    shares = [one / other for one, other in zip(with_it, without, strict=True)]
    return median(without), median(with_it), median(shares)


def main(arguments: list[str]) -> int:
    """Measure both kinds of pods."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args(arguments)
    print(f"{'PODS':<8}{'WITHOUT/S':>11}{'WITH/S':>9}{'LEFT':>7}  FLOOR  OK")
    missed = False
    for kind, number in (("jobs", given.pods), ("apart", max(given.pods // 5, 1))):
        without, with_it, left = ratio(kind, given.nodes, number, given.repeat)
        is_ok = left >= FLOOR
        missed |= not is_ok
        verdict = "yes" if is_ok else "NO"
        print(f"{kind:<8}{without:>11.0f}{with_it:>9.0f}{left:>7.0%}  {FLOOR:.0%}    {verdict}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
