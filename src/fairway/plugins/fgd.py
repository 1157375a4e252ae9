"""FGD, fragmentation gradient descent: place a pod where it strands the least of the idle devices.

The score of a node is a sigmoid of how much its fragmentation (`fairway.cluster.gpus.fragmentation`) would fall with
the pod on it: trunc(100 / (1 + exp(-delta))), delta in devices; 50 means no change. A share is tried on every device
that has enough left: the best of these scores is the node's, and at `reserve` the pod gets that device, the first among
equals.
"Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Cause, Cluster, Fragmentation, Shape, TypicalPods
from fairway.model import Pod
from fairway.model.device_need import WHOLE_DEVICE, DeviceNeed
from fairway.model.meta import Value
from fairway.plugin import MAX_SCORE, Nodes, Plugin, PluginArgs, PodClass, Problem
from fairway.plugins.argument_types import NotNegative

SHOWN = 5
NO_INDEX = np.array(-1, np.intp)
LACKS = {
    Cause.LACKS_BOTH: "CPU and GPU",
    Cause.LACKS_GPU: "GPU",
    Cause.LACKS_CPU: "CPU",
}


class FragmentationRequest(NamedTuple):
    """What a pod would take, and the measure to judge it by."""

    need: DeviceNeed | None
    milli_cpu: int
    measure: Fragmentation


class Tries(NamedTuple):
    """Ways to put a pod somewhere, in the order of rows and devices."""

    which: NDArray[np.intp]  # (num_tries,): an index into the rows
    device: NDArray[np.intp]  # (num_tries,): its number, -1 where any will do
    tallies: NDArray[np.int32]  # (num_tries, 2 * num_shapes), with the pod there, as all that follows
    left: NDArray[np.int64]  # (num_tries,)
    milli_cpu: NDArray[np.int64]  # (num_tries,)
    amounts: NDArray[np.float64]  # (num_tries,): fragmentation
    scores: NDArray[np.int64]  # (num_tries,)


class TypicalPodArgs(Value, frozen=True, kw_only=True):
    """A typical pod: what it needs, and how many such pods there are, compared with the others."""

    milli_cpu: NotNegative = 0
    gpu_milli: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    gpu_count: NotNegative = 0
    gpu_models: tuple[str, ...] = ()
    count: Annotated[float, msgspec.Meta(gt=0)] = 1


class FGDArgs(PluginArgs, frozen=True, kw_only=True):
    """The workload that fragmentation is measured against; none: the cluster's own typical pods."""

    typical_pods: tuple[TypicalPodArgs, ...] = ()

    def problems(self) -> Iterator[Problem]:
        """Needs for devices that make no sense."""
        for index, pod in enumerate(self.typical_pods):
            path = f"typicalPods[{index}]"
            if pod.gpu_count == 0 and (pod.gpu_milli or pod.gpu_models):
                yield Problem(f"{path}.gpuCount", "0, although gpuMilli or gpuModels is given; allowed: 1 or more")
            elif pod.gpu_count and not pod.gpu_milli:
                yield Problem(f"{path}.gpuMilli", "0 with a gpuCount; allowed: 1 to 1000")
            elif pod.gpu_count > 1 and pod.gpu_milli < 1000:
                text = f"{pod.gpu_milli} for {pod.gpu_count} devices; only a single device can be shared, allowed: 1000"
                yield Problem(f"{path}.gpuMilli", text)


class FGD(Plugin):
    """The least growth of fragmentation."""

    annotations = ()
    Args = FGDArgs
    args: FGDArgs

    def __init__(self, cluster: Cluster, args: FGDArgs | None = None) -> None:
        super().__init__(cluster, args)
        self._told = _typical(self.args) if self.args.typical_pods else None

    def typical_pods(self) -> TypicalPods:
        """Those of the arguments, or of the cluster, or what runs there when they are first needed."""
        cluster = self.cluster
        if self._told is not None:
            return self._told
        if cluster.typical_pods is None:
            cluster.learn_typical_pods()
        assert cluster.typical_pods is not None
        return cluster.typical_pods

    def pre_score(self, pod: PodClass, nodes: Nodes) -> FragmentationRequest:
        """What the pod would take."""
        return FragmentationRequest(
            pod.devices, pod.requests.get("cpu", 0), self.cluster.fragmentation(self.typical_pods())
        )

    def score(self, pod: PodClass, nodes: Nodes, state: FragmentationRequest) -> NDArray[np.int64]:
        """The sigmoid of the fall of fragmentation; 0 where the pod does not fit anyway."""
        tries = self._tries(nodes.numbers, state)
        scores = np.zeros(len(nodes), np.int64)
        if len(tries.which):
            np.maximum.at(scores, tries.which, tries.scores)
        return scores

    def explain_score(self, pod: PodClass, nodes: Nodes, state: FragmentationRequest) -> Sequence[Sequence[str]]:
        """By how much fragmentation changes, and which typical pods would be stranded."""
        measure, devices = state.measure, self.cluster.devices
        tries = self._tries(nodes.numbers, state)
        scores = np.full(len(nodes), -1, np.int64)
        np.maximum.at(scores, tries.which, tries.scores)
        # The first of the best tries of each node, as `reserve` will choose it.
        is_best = np.flatnonzero(tries.scores == scores.take(tries.which))
        fitting, first = np.unique(tries.which.take(is_best), return_index=True)
        best = is_best.take(first)
        rows = nodes.numbers.take(fitting)
        model = devices.model.take(rows)
        now = measure.causes_if(measure.tallies.take(rows, 0), devices.left.take(rows), measure.free_cpu(rows), model)
        then = measure.causes_if(tries.tallies[best], tries.left[best], tries.milli_cpu[best], model)
        words: list[Sequence[str]] = [()] * len(nodes)
        for number, row, place, before, after in zip(
            fitting.tolist(), rows.tolist(), best.tolist(), now, then, strict=True
        ):
            change = _change_text(float(measure.amount[row]), float(tries.amounts[place]), int(tries.left[place]))
            where = f"on GPU {tries.device[place]}, " if tries.device[place] >= 0 else ""
            words[number] = [f"{where}{change}", *_stranded_lines(measure.typical, before, after)]
        return words

    def _tries(self, rows: NDArray[np.intp], state: FragmentationRequest) -> Tries:
        """Every way to put the pod on these rows that differs in its outcome."""
        measure, devices = state.measure, self.cluster.devices
        measure.refresh()
        free_cpu = measure.free_cpu(rows)
        has_cpu = free_cpu >= state.milli_cpu
        if state.need is not None and state.need.is_share:
            milli = state.need.milli
            which, index, change = self._try_shares(rows, has_cpu, state)
        else:  # whole devices are idle ones, which are all alike; a pod without devices takes CPU alone
            count = 0 if state.need is None else state.need.count
            milli = count * WHOLE_DEVICE
            which = (has_cpu & (devices.idle.take(rows) >= count)).nonzero()[0]
            index = NO_INDEX
            change = count * (measure.per_device[:1] - measure.per_device[WHOLE_DEVICE])
        those = rows.take(which)
        tallies = measure.tallies.take(those, 0) + change
        left, milli_cpu = devices.left.take(those) - milli, free_cpu.take(which) - state.milli_cpu
        amounts = measure.amounts_if(tallies, left, milli_cpu, devices.model.take(those))
        scores = gradient(measure.amount.take(those), amounts)
        return Tries(which, np.broadcast_to(index, which.shape), tallies, left, milli_cpu, amounts, scores)

    def _try_shares(
        self, rows: NDArray[np.intp], has_cpu: NDArray[np.bool_], state: FragmentationRequest
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int32]]:
        """Devices with enough left; idle ones are all alike, so the first stands for them."""
        assert state.need is not None
        milli, pinned, per_device = state.need.milli, state.need.pinned, state.measure.per_device
        free = self.cluster.devices.free.take(rows, 0)  # (num_rows, max_devices)
        tried = (free >= milli) & has_cpu[:, None]
        if pinned:
            tried[:, [index for index in range(free.shape[1]) if index not in pinned]] = False
        else:
            idle = free == WHOLE_DEVICE
            idle[:, 1:] &= np.logical_or.accumulate(idle, axis=1)[:, :-1]
            idle[:, 0] = False
            tried &= ~idle
        which, index = tried.nonzero()
        before = free[which, index]
        return which, index, per_device.take(before - milli, 0) - per_device.take(before, 0)

    def reserve(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """Move a share to the device with the best score."""
        need = pod_class.devices
        if need is None or not need.is_share or need.pinned:
            return
        free = self.cluster.devices.free_without(pod.metadata.uid)
        enough = [index for index, amount in enumerate(free) if amount >= need.milli]
        if len({free[index] for index in enough}) < 2:  # nothing to choose; the first of equals is booked already
            return
        measure = self.cluster.fragmentation(self.typical_pods())
        before = measure.per_device.take(free, 0).sum(axis=0, dtype=np.int32)
        those = np.array([free[index] for index in enough])
        changes = measure.per_device.take(those - need.milli, 0) - measure.per_device.take(those, 0)
        left = np.full(len(enough) + 1, sum(free), np.int64)
        left[1:] -= need.milli
        milli_cpu = np.full(len(left), measure.free_cpu(np.array([row]))[0])  # the pod is counted already
        milli_cpu[0] += pod_class.requests.get("cpu", 0)
        model = np.full(len(left), self.cluster.devices.model[row])
        amounts = measure.amounts_if(np.vstack((before, before + changes)), left, milli_cpu, model)
        scores = gradient(amounts[0], amounts[1:])
        self.cluster.give_devices(pod.metadata.uid, (enough[int(scores.argmax())],))


def gradient(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.int64]:
    """From fragmentation, in thousandths of a device, to a score."""
    delta = (before - after) / WHOLE_DEVICE
    scores: NDArray[np.int64] = (MAX_SCORE / (1 + np.exp(-delta))).astype(np.int64)
    return scores


def _change_text(before: float, after: float, left: int) -> str:
    """Fragmentation then and now; all in thousandths of a device."""
    change = "stays at" if before == after else f"goes from {before / WHOLE_DEVICE:.3f} to"
    return f"fragmentation {change} {after / WHOLE_DEVICE:.3f} GPUs, of {left / WHOLE_DEVICE:.3f} idle then"


def _stranded_lines(typical: TypicalPods, before: NDArray[np.intp], after: NDArray[np.intp]) -> list[str]:
    """The typical pods that fit before and not after, most frequent first."""
    stranded = np.flatnonzero((before == Cause.USABLE) & (after != Cause.USABLE)).tolist()
    if not stranded:
        return ["strands no typical pod"]
    shapes, shares = typical.shapes, typical.shares
    percent = 100 * sum(shares[number] for number in stranded)
    lines = [f"strands {len(stranded)} of {len(shapes)} typical pods, {percent:.1f} % of arrivals:"]
    for number in sorted(stranded, key=lambda number: -shares[number])[:SHOWN]:
        lacks = LACKS[Cause(int(after[number]))]
        lines.append(f"  {shapes[number].text} ({100 * shares[number]:.1f} %) then lacks {lacks}")
    if len(stranded) > SHOWN:
        lines.append(f"  and {len(stranded) - SHOWN} more")
    return lines


def _typical(args: FGDArgs) -> TypicalPods:
    """The shapes as listed, and their parts of the whole."""
    total = sum(each.count for each in args.typical_pods)
    return TypicalPods(
        tuple(
            Shape(each.milli_cpu, each.gpu_milli, each.gpu_count, "|".join(each.gpu_models))
            for each in args.typical_pods
        ),
        tuple(each.count / total for each in args.typical_pods),
    )
