"""How much of the cluster's GPUs a workload asks for, in time.

In: a workload with nodes. Out: `OfferedLoad`: the peak and mean of what would be held if every pod started when it
arrives. `load_note` is what to tell somebody who replays the openb trace as it is, which fills one percent of
its cluster; `scaled_to` compresses arrivals until the load is what one wants; `smaller` takes part of the nodes. Called
when scenarios are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairway.model import DecodeError, Node, Pod
from fairway.model.device_need import GPU_COUNT, GPU_MODEL, GPU_RESOURCE, WHOLE_DEVICE, device_need
from fairway.trace import DURATION, FAIL_AFTER, Arrival, Workload, parse_seconds

__all__ = ["OfferedLoad", "load_note", "num_gpus", "offered_load", "scaled_to", "smaller"]

LITTLE = 0.2
"""Below this share of the GPUs, at the peak, policies have nothing to choose between."""

BISECTIONS = 60


@dataclass(frozen=True)
class OfferedLoad:
    """What pods ask for, as if each started when it arrives."""

    gpus: int  # that the nodes have
    begin: NDArray[np.float64]  # (num_pods,) seconds; pods that ask for GPUs
    seconds: NDArray[np.float64]  # (num_pods,) how long they run; infinite: for ever
    held: NDArray[np.float64]  # (num_pods,) GPUs

    @property
    def peak(self) -> float:
        """GPUs asked for at the same time, at most."""
        moments = np.concatenate([self.begin + self.seconds, self.begin])  # whoever ends makes room first
        order = np.argsort(moments, kind="stable")
        return float(np.cumsum(np.concatenate([-self.held, self.held])[order]).max(initial=0.0))

    def mean(self, factor: float = 1.0) -> float:
        """GPUs asked for on average from the first arrival to the last, times of arrival being multiplied."""
        since = self.begin * factor
        end = since.max(initial=0.0)
        span = end - since.min(initial=end)
        return float((np.minimum(self.seconds, end - since) * self.held).sum() / span) if span > 0 else np.inf


def num_gpus(nodes: Iterable[Node]) -> int:
    """The devices of these nodes."""
    total = 0
    for node in nodes:
        allocatable = node.status.allocatable
        found = allocatable.get(GPU_COUNT) or allocatable.get(GPU_RESOURCE)
        total += 0 if found is None else found.value
    return total


def offered_load(nodes: Iterable[Node], arrivals: Iterable[Arrival]) -> OfferedLoad:
    """Everybody who asks for GPUs."""
    rows = []
    for arrival in arrivals:
        pod = arrival.object
        need = device_need(pod) if isinstance(pod, Pod) else None
        if need is not None:
            said = pod.metadata.annotations
            text = said.get(DURATION) or said.get(FAIL_AFTER)
            seconds = np.inf if text is None else parse_seconds(text)
            rows.append((arrival.time, seconds, need.total / WHOLE_DEVICE))
    return OfferedLoad(num_gpus(nodes), *np.array(rows, float).reshape(-1, 3).T)


def load_note(nodes: Sequence[Node], arrivals: Iterable[Arrival]) -> str | None:
    """What somebody should know whose workload hardly touches the cluster; None if there is nothing to say."""
    load = offered_load(nodes, arrivals)
    peak = load.peak
    if not load.gpus or not peak or peak >= LITTLE * load.gpus:
        return None
    return (
        f"the pods of the trace never ask for more than {peak:.1f} of the {load.gpus} GPUs at once "
        f"({peak / load.gpus:.1%}), so policies will hardly differ; raise the load with workload.openb.load (or "
        "compression), workload.copies, or a smaller cluster with cluster.openb.share (docs/openb.md)"
    )


def scaled_to(workload: Workload, nodes: Sequence[Node], share: float) -> Workload:
    """With times of arrival multiplied so that pods ask for this share of the GPUs, on average until the last one."""
    load = offered_load(nodes, workload.arrivals)
    if not load.gpus:
        raise DecodeError("there is no node with GPUs, so there is no load to scale to", field="load")
    wanted = share * load.gpus
    low, high = 1e-9, 1e9
    most = load.mean(low) if len(load.held) > 1 else 0.0
    if not load.mean(high) < wanted < most:
        told = f"{share:g} cannot be reached: the pods ask for {most / load.gpus:.3g} of the GPUs at most"
        raise DecodeError(told, field="load")
    for _ in range(BISECTIONS):  # the more time there is between arrivals, the fewer run at the same time
        middle = (low * high) ** 0.5
        low, high = (middle, high) if load.mean(middle) > wanted else (low, middle)
    return workload.scaled(time=(low * high) ** 0.5)


def smaller(nodes: Sequence[Node], share: float) -> list[Node]:
    """A part of the nodes, of every model and size alike, at least one of each; evenly spread, in their order."""
    groups: dict[tuple[str, int], list[int]] = {}
    for place, node in enumerate(nodes):
        groups.setdefault((node.metadata.labels.get(GPU_MODEL, ""), num_gpus((node,))), []).append(place)
    kept: list[int] = []
    for places in groups.values():
        number = max(round(len(places) * share), 1)
        kept += [places[step * len(places) // number] for step in range(number)]
    return [nodes[place] for place in sorted(kept)]
