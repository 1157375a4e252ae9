"""Times order-only runs of the GPU sharing policies, one core each, and prints CPU seconds.

In: a folder with the openb trace (`python benchmarks/openb.py DATA`), or nothing: then a look-alike of the same size.
Out: a line for each policy on the default trace, metrics after each arrival included, reading the files not; and what
all six policies × ten seeds would take on two cores. Exit code 1 if a floor is missed: 8 s for FGD, 4 s for others.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from time import process_time

from fairway.cluster import TypicalPods
from fairway.experiments.gpu_policies import policy_profile
from fairway.experiments.openb_data import OpenbData, OrderedWorkload
from fairway.experiments.ordered_cluster import run_in_order
from fairway.trace.openb_lookalike import write_lookalike

FLOORS = {"FGD": 8.0, "BestFit": 4.0, "GpuPacking": 4.0, "GpuClustering": 4.0, "DotProd": 4.0, "Random": 4.0}
SEED = 42
NUM_NODES, NUM_PODS, LOAD = 1_213, 8_152, 1.3


def measure(workload: OrderedWorkload, policy: str) -> float:
    """CPU seconds of one run."""
    typical = TypicalPods.of_pods(workload.pods)
    config = policy_profile(policy)
    begun = process_time()
    run_in_order(workload, config, typical)
    return process_time() - begun


def main(args: list[str]) -> int:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", nargs="?", help="the csv folder of the openb trace, with its orders")
    parser.add_argument("--short", action="store_true", help="a small look-alike, in a second")
    wanted = parser.parse_args(args)
    with tempfile.TemporaryDirectory() as folder:
        if wanted.data:
            workload = OpenbData(wanted.data).recorded("default", SEED)
        else:
            size = (60, 400) if wanted.short else (NUM_NODES, NUM_PODS)
            write_lookalike(folder, num_nodes=size[0], num_pods=size[1])
            workload = OpenbData(folder).drawn("default", SEED, LOAD)
        print(f"{len(workload.nodes)} nodes, {len(workload.order)} arrivals, one core")
        missed = total = 0.0
        for policy, floor in FLOORS.items():
            seconds = measure(workload, policy)
            total += seconds
            missed += seconds > floor
            told = "   MISSED" if seconds > floor else ""
            print(f"{policy:14} {seconds:6.2f} s   floor {floor:g} s{told}", flush=True)
    print(f"six policies × ten seeds on two cores: {total * 10 / 2:.0f} s   floor 240 s")
    return 1 if missed or total * 5 > 240 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
