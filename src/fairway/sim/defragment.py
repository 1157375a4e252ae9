"""Defragmentation: pods to evict, so that placing them anew leaves less of the idle devices stranded.

In: a cluster with typical pods, and how many pods may be evicted. Out: the pods whose leaving reduces fragmentation
most: of each node one (nodes with most fragmentation first), or several (always the largest gain next). `defragment`
evicts them, lets a profile place them again, and tells what it came to. Called after order-only runs,
and at its time by simulations.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Cluster, Event, Fragmentation, Placed, Verb
from fairway.model import Pod
from fairway.model.requests import pod_requests

__all__ = ["Defragmented", "PerNode", "choose_victims", "defragment"]

PerNode = Literal["one", "several"]
MayGo = Callable[[Pod], bool]
LEAST_GAIN = 1e-6  # milli; less is rounding


@dataclass(frozen=True, slots=True)
class Defragmented:
    """Before and after."""

    evicted: int
    moved: int  # to another node, or to other devices
    lost: int  # that found no place any more
    frag_before: float  # milli of idle devices that typical pods cannot use
    frag_after: float
    used_before: int  # milli
    used_after: int

    def document(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


class _Gain(NamedTuple):
    """What evicting a pod would bring; a heap gives the largest first."""

    negative: float  # the gain in milli, negative
    row: int
    uid: str


def num_to_evict(num_pods: int, share: float) -> int:
    """At most so many: a share of the pods, rounded up."""
    return math.ceil(share * num_pods - 1e-9)


def choose_victims(cluster: Cluster, limit: int, per_node: PerNode = "one", may_go: MayGo | None = None) -> list[Pod]:
    """The pods to evict, in the order of choice; none whose leaving does not help, none that may not go."""
    if cluster.typical_pods is None:
        cluster.learn_typical_pods()
    assert cluster.typical_pods is not None
    measure = cluster.fragmentation(cluster.typical_pods)
    measure.refresh()
    rows = [row for row in np.argsort(-measure.amount, kind="stable").tolist() if measure.amount[row] > LEAST_GAIN]
    if per_node == "one":
        chosen: list[Pod] = []
        for row in rows:
            if len(chosen) == limit:
                break
            best = _best(cluster, measure, row, may_go)
            if best is not None:
                chosen.append(cluster.pods.by_uid[best.uid].pod)
        return chosen
    return _several(cluster, measure, rows, limit, may_go)


def _several(cluster: Cluster, measure: Fragmentation, rows: list[int], limit: int, may_go: MayGo | None) -> list[Pod]:
    chosen: list[Pod] = []
    heap = [best for row in rows if (best := _best(cluster, measure, row, may_go)) is not None]
    heapq.heapify(heap)
    with cluster.what_if():
        while heap and len(chosen) < limit:
            best = heapq.heappop(heap)
            chosen.append(cluster.remove(best.uid).pod)
            measure.refresh()
            following = _best(cluster, measure, best.row, may_go)
            if following is not None:
                heapq.heappush(heap, following)
    measure.refresh()
    return chosen


def _best(cluster: Cluster, measure: Fragmentation, row: int, may_go: MayGo | None) -> _Gain | None:
    """The pod of a node whose leaving reduces its fragmentation most."""
    placed = [each for each in cluster.pods.on_row(row) if may_go is None or may_go(each.pod)]
    if not placed:
        return None
    free = np.repeat(cluster.devices.free[row][None, :], len(placed), axis=0)  # (num_pods, max_devices)
    milli_cpu = np.repeat(measure.free_cpu(np.array([row])), len(placed))
    for place, each in enumerate(placed):
        milli_cpu[place] += _milli_cpu(each)
        need = each.pod_class.devices
        if need is not None:
            after = cluster.devices.free_without(each.pod.metadata.uid)
            free[place, : len(after)] = after
    amounts = _amounts(measure, free, milli_cpu, cluster.devices.model[row])
    gains = measure.amount[row] - amounts
    best = int(gains.argmax())
    if gains[best] <= LEAST_GAIN:
        return None
    return _Gain(-float(gains[best]), row, placed[best].pod.metadata.uid)


def _amounts(
    measure: Fragmentation, free: NDArray[np.int32], milli_cpu: NDArray[np.int64], model: np.int32
) -> NDArray[np.float64]:
    tallies = measure.tallies_of(free)
    return measure.amounts_if(tallies, free.sum(axis=1, dtype=np.int64), milli_cpu, np.full(len(free), model))


def _milli_cpu(placed: Placed) -> int:
    return pod_requests(placed.pod).get("cpu", 0)


def defragment(cluster: Cluster, place: Callable[[Pod], int], share: float, per_node: PerNode = "one") -> Defragmented:
    """Evict and place anew; `place` puts a pod somewhere and says on which row, -1 if nowhere."""
    num_pods = len(cluster.pods.by_uid)
    victims = choose_victims(cluster, num_to_evict(num_pods, share), per_node)
    assert cluster.typical_pods is not None
    measure, devices = cluster.fragmentation(cluster.typical_pods), cluster.devices
    frag_before, used_before = measure.total, devices.used_milli
    before = {}
    for pod in victims:
        uid = pod.metadata.uid
        before[uid] = cluster.pods.by_uid[uid].row, devices.indices_of(uid)
        cluster.apply(Event(Verb.DELETED, pod))
    moved = lost = 0
    for pod in victims:
        row = place(pod)
        if row < 0:
            lost += 1
        elif (row, devices.indices_of(pod.metadata.uid)) != before[pod.metadata.uid]:
            moved += 1
    return Defragmented(len(victims), moved, lost, frag_before, measure.total, used_before, devices.used_milli)
