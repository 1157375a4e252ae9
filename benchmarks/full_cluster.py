"""Holds a cluster full of bound pods, and prints how much memory that took at most, in MiB.

In: a number of nodes and a number of pods. Out: one figure. Pods come in one at a time, as from a watch; then some
pods of new classes are decided about, so that caches count too. Called by `run.py`, in a process of its own.
"""

import sys

from fairway.bench.measurement import peak_mib
from fairway.bench.workloads import bound_pods, make_workload
from fairway.cluster import Cluster, Event, Verb
from fairway.config import default_configuration
from fairway.cycle import Outcome, Profile
from fairway.model import Pod, decode_object
from fairway.plugins.registry import REGISTRY


def main(num_nodes: int, num_pods: int) -> None:
    """Load, decide, print."""
    workload = make_workload(num_nodes, 20, "mixed")
    cluster = Cluster()
    cluster.load([decode_object(item) for item in workload.objects])
    for item in bound_pods(num_nodes, num_pods, "mixed"):
        cluster.apply(Event(Verb.ADDED, decode_object(item)))
    if len(cluster.pods) != num_pods:
        sys.exit(f"{len(cluster.pods)} pods are there, not {num_pods}")
    profile = Profile(default_configuration(REGISTRY).profiles[0], cluster, sampling="all")
    for item in workload.newcomers:
        pod = decode_object(item)
        if not isinstance(pod, Pod) or profile.decide(pod).outcome is not Outcome.SCHEDULED:
            sys.exit(f"{pod.metadata.name} found no place")
    print(peak_mib())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
