"""What exclusive nodes cost those who do not use them: decisions a second with the plugin and without, in one run.

The same pods are decided in turn on two clusters of 5,000 nodes, one profile with `exclusive: true`, the other without:
whatever else the machine does meanwhile happens to both. A figure is the median over pods, which such things hardly
move. A third cluster, where every tenth pod is exclusive, is for information. The target of the first ratio is 0.97;
exit code 1 below a floor, which leaves some room for a busy machine.

    $ python benchmarks/exclusive.py [NODES] [PODS]
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import msgspec
import numpy as np

from fairway.bench.workloads import make_workload
from fairway.cluster import Cluster
from fairway.config import decode_configuration
from fairway.cycle import Profile
from fairway.cycle.placing import place
from fairway.model import Pod, decode_object
from fairway.plugins.registry import REGISTRY

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
FLOOR = 0.94
MIXES = ("plain", "mixed")


def main() -> int:
    """Print a line a mix; 1 if one is below the floor."""
    num_nodes, num_pods = (int(text) for text in (*sys.argv[1:3], *("5000", "6000")[len(sys.argv[1:3]) :]))
    ratios = []
    for mix in MIXES:
        workload = make_workload(num_nodes, num_pods, mix)
        things = [decode_object(item, mix) for item in workload.objects]
        pods = [pod for item in workload.pods if isinstance(pod := decode_object(item, mix), Pod)]
        profiles = [_profile(things, fairway) for fairway in ({}, {"exclusive": True}, {"exclusive": True})]
        seconds = np.zeros((len(profiles), len(pods)))  # (num_profiles, num_pods)
        for number, pod in enumerate(pods):
            for place_in in np.roll([0, 1, 2], number):
                wanted = _exclusive(pod) if place_in == 2 and number % 10 == 0 else pod
                begun = perf_counter()
                place(profiles[place_in], wanted)
                seconds[place_in, number] = perf_counter() - begun
        without, unused, used = np.median(seconds, axis=1)
        ratios.append(without / unused)
        print(
            f"{mix:<8} without {1 / without:7.0f} pods/s   enabled, unused {1 / unused:7.0f} ({ratios[-1]:.3f})"
            f"   every tenth exclusive {1 / used:7.0f} ({without / used:.3f})"
        )
    return int(min(ratios) < FLOOR)


def _profile(things: list[Any], fairway: dict[str, Any]) -> Profile:
    cluster = Cluster()
    cluster.load(things)
    config = decode_configuration({**HEADER, "profiles": [{"fairway": fairway}]}, "benchmark", REGISTRY)
    return Profile(config.profiles[0], cluster, sampling="all")


def _exclusive(pod: Pod) -> Pod:
    annotations = {**pod.metadata.annotations, "fairway.dev/exclusive": "node"}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=annotations))


if __name__ == "__main__":
    sys.exit(main())
