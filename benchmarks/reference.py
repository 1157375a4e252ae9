"""Fairway's and kube-scheduler's decisions a second, on the same clusters and pods, one after the other.

For every size and mix a case is written and given to both: to `fairway bench`, and to kube-scheduler's own SchedulePod
with its cache told of each decision (tests/kube/cmd/reference). Fairway looks at all nodes; kube-scheduler is timed
looking at all of them (percentageOfNodesToScore 100), then with its default sampling. Needs Go, or fetches it.

    python benchmarks/reference.py                  all of it: minutes
    python benchmarks/reference.py plain-1000 ...   some of it

Exit code 0; what is printed is for people to judge. Called by `make bench-reference`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # the reference program is built by the tests

from fairway.bench.workloads import make_workload
from tests.kube.reference import time_reference
from tests.kube.workloads import case_of

REPEAT = 3
MIXES = ("plain", "classes", "spread", "antiaffinity", "mixed")
SIZES = {1000: 3000, 5000: 1500}
"""Nodes, and pods for them: as many as kube-scheduler decides in about half a minute."""


class Workload(NamedTuple):
    """A size and a mix."""

    mix: str
    nodes: int
    pods: int

    @property
    def name(self) -> str:
        """How it is asked for."""
        return f"{self.mix}-{self.nodes}"


WORKLOADS = [Workload(mix, nodes, pods) for nodes, pods in SIZES.items() for mix in MIXES]


def fairway_rate(case: bytes) -> float:
    """Pods a second of `fairway bench`: the median of several runs, in a process of its own."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "case.jsonl"
        file.write_bytes(case)
        command = [sys.executable, "-m", "fairway", "bench", str(file), "--repeat", str(REPEAT), "-o", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    (figures,) = json.loads(done.stdout)
    return float(figures["pods_per_second"])


def main(arguments: Sequence[str]) -> int:
    """Time the workloads named, or all."""
    names = [workload.name for workload in WORKLOADS]
    unknown = [name for name in arguments if name not in names]
    if unknown:
        print(f"no such workload: {', '.join(unknown)}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(f"the machine is busy (load {load:.1f} on {cores} cores): expect less than it can do", file=sys.stderr)
    print(f"{'WORKLOAD':<19}{'PODS':>6}  {'KUBE-SCHEDULER LOOKS AT':<24}{'FAIRWAY':>10}{'KUBE-SCHEDULER':>16}  PODS/S")
    for workload in WORKLOADS:
        if arguments and workload.name not in arguments:
            continue
        case = case_of(workload.name, make_workload(*workload[1:], workload.mix, num_newcomers=0))
        ours = fairway_rate(case)
        for percentage, words in ((100, "all nodes"), (0, "its default sample")):
            theirs = float(time_reference(case, percentage)["podsPerSecond"])
            what = f"{workload.name:<19}{workload.pods:>6}  {words:<24}"
            print(f"{what}{ours:>10.1f}{theirs:>16.1f}  ratio {ours / theirs:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
