"""The typical pods of a scenario: what its schedulers take for usual before the first pod has come.

In: the nodes of a workload, what is there at the start, and what arrives. Out: `TypicalPods`, or None where there is
no GPU or no pod that asks for one; then nothing is read twice. Pods that controllers will make are not known yet and do
not count. Called when a scenario becomes a plan; the simulation hands it to every scheduler's cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fairway.cluster import TypicalPods
from fairway.model import Node, Pod
from fairway.model.device_need import read_devices
from fairway.scenario.offered_load import num_gpus
from fairway.trace import Workload

__all__ = ["typical_of"]


def typical_of(workload: Workload, nodes: Iterable[Node]) -> TypicalPods | None:
    """The most frequent shapes of the pods of a workload, if these nodes have GPUs."""
    if not num_gpus(nodes):
        return None
    pods = []
    wants_devices = False
    for pod in _pods(workload):
        need, problem = read_devices(pod)
        if problem is None:  # a wish that makes no sense is refused, whatever there is
            pods.append(pod)
            wants_devices = wants_devices or need is not None
    return TypicalPods.of_pods(pods) if wants_devices else None


def _pods(workload: Workload) -> Iterator[Pod]:
    for thing in workload.objects:
        if isinstance(thing, Pod):
            yield thing
    for arrival in workload.arrivals:
        if isinstance(arrival.object, Pod):
            yield arrival.object
