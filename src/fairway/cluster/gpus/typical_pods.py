"""Typical pods: the workload that fragmentation is measured against.

In: the pods of a workload. Out: `TypicalPods`, the most frequent shapes (CPU, share of a device, number of devices,
models; memory does not count) with the probability of each. Shapes are taken from the most frequent on until they stand
for a given part of all pods. As in "Beware of Fragmentation" (USENIX ATC 2023). Used by `fragmentation`; set as
`Cluster.typical_pods` by whoever knows the workload.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.model import Pod
from fairway.model.device_need import DeviceNeed, device_need
from fairway.model.requests import pod_requests

THRESHOLD = 95


class Shape(NamedTuple):
    """What tells typical pods apart."""

    milli_cpu: int
    gpu_milli: int  # of each device; 0: the pod needs none
    num_gpu: int
    models: str  # joined by "|", as written; empty: any

    @classmethod
    def of(cls, milli_cpu: int, need: DeviceNeed | None) -> Shape:
        """The shape of a pod with these needs."""
        if need is None:
            return cls(milli_cpu, 0, 0, "")
        return cls(milli_cpu, need.milli, need.count, "|".join(need.models))

    @classmethod
    def of_pod(cls, pod: Pod) -> Shape:
        """The shape of a pod."""
        return cls.of(pod_requests(pod).get("cpu", 0), device_need(pod))

    @property
    def text(self) -> str:
        """In words: `3.152 CPU, 810m of a GPU`."""
        cpu = f"{self.milli_cpu / 1000:g} CPU"
        if not self.num_gpu:
            return f"{cpu}, no GPU"
        models = tuple(self.models.split("|")) if self.models else ()
        return f"{cpu}, {DeviceNeed(self.num_gpu, self.gpu_milli, models).text}"


@dataclass(frozen=True, eq=False)
class TypicalPods:
    """Shapes, most frequent first, and how often each comes; columns for those who count."""

    shapes: tuple[Shape, ...]
    shares: tuple[float, ...]  # they add up to 1

    def __post_init__(self) -> None:
        if not self.shapes or len(self.shapes) != len(self.shares):
            raise ValueError("typical pods are at least one shape, and a share for each")
        if not all(share > 0 for share in self.shares):
            raise ValueError("the share of a typical pod is more than 0")

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def milli_cpu(self) -> NDArray[np.int64]:
        """The CPU of each shape."""
        return np.array([shape.milli_cpu for shape in self.shapes], np.int64)  # (num_shapes,)

    @property
    def gpu_milli(self) -> NDArray[np.int64]:
        """What each shape needs of each of its devices."""
        return np.array([shape.gpu_milli for shape in self.shapes], np.int64)  # (num_shapes,)

    @property
    def num_gpu(self) -> NDArray[np.int64]:
        """The number of devices of each shape."""
        return np.array([shape.num_gpu for shape in self.shapes], np.int64)  # (num_shapes,)

    @classmethod
    def of_counts(
        cls, counts: dict[Shape, int], *, threshold: float = THRESHOLD, step: int = 1, gpu_weight: float = 0.0
    ) -> TypicalPods:
        """From how often each shape comes.

        So many shapes, `step` at a time, that they stand for `threshold` per cent of all pods. With a `gpu_weight` w,
        a pod with n whole devices counts 1 + w × n times.
        """
        if not 0 < threshold <= 100 or step < 1 or gpu_weight < 0:
            raise ValueError("threshold is from above 0 to 100 per cent, step at least 1, the GPU weight not negative")
        if not counts:
            raise ValueError("typical pods are at least one shape; there are no pods to take it from")
        weights = {
            shape: count * (1 + gpu_weight * shape.num_gpu if gpu_weight and shape.gpu_milli == 1000 else 1)
            for shape, count in counts.items()
        }
        ordered = sorted(weights, key=lambda shape: (weights[shape], shape), reverse=True)
        total = sum(weights.values())
        kept, number = 0.0, 0
        while number < len(ordered) and kept * 100 < threshold * total:
            kept += sum(weights[shape] for shape in ordered[number : number + step])
            number += step
        chosen = tuple(ordered[:number])
        # First parts of all, then of those kept: the last bit of a share decides ties in the published experiments.
        part = kept / total
        return cls(chosen, tuple(weights[shape] / total / part for shape in chosen))

    @classmethod
    def of_pods(
        cls, pods: Iterable[Pod], *, threshold: float = THRESHOLD, step: int = 1, gpu_weight: float = 0.0
    ) -> TypicalPods:
        """From the pods of a workload, each counted once."""
        counts = Counter(Shape.of_pod(pod) for pod in pods)
        return cls.of_counts(counts, threshold=threshold, step=step, gpu_weight=gpu_weight)
