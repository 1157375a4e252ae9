"""What a pod needs of GPU devices: how many, how much of each, of which models.

In: a `Pod`. Out: its `DeviceNeed`, None if it needs no device. A pod asks by annotations as the users of shared GPUs
do (alibabacloud.com/gpu-milli, gpu-count, gpu-card-model; gpu-index pins it to given devices), or for whole devices by
the extended resource nvidia.com/gpu; both end in the same struct. A share is of one device only. `device_problem` says
what makes no sense. Called by `cluster/` for each class of pods and by whatever reads pods from outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from fairway.model.pod import Pod
from fairway.model.requests import pod_requests

__all__ = [
    "GPU_COUNT",
    "GPU_INDEX",
    "GPU_MILLI",
    "GPU_MODEL",
    "GPU_RESOURCE",
    "WHOLE_DEVICE",
    "DeviceNeed",
    "binding_annotations",
    "device_need",
    "device_problem",
    "index_text",
    "pinned_devices",
    "read_devices",
    "with_devices",
]

GPU_MILLI: Final = "alibabacloud.com/gpu-milli"  # thousandths of each device
GPU_COUNT: Final = "alibabacloud.com/gpu-count"
GPU_MODEL: Final = "alibabacloud.com/gpu-card-model"  # of pods: models joined by "|"; of nodes, a label: theirs
GPU_INDEX: Final = "alibabacloud.com/gpu-index"  # "3", or "0-1-2": the devices it has, or has to get
GPU_RESOURCE: Final = "nvidia.com/gpu"  # whole devices
WHOLE_DEVICE: Final = 1000
MOST_DEVICES: Final = 1024  # of a node: a larger number is a slip of the pen

Problem = tuple[str, str]
"""The annotation or resource that is wrong, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class DeviceNeed:
    """Devices that a pod needs."""

    count: int
    milli: int  # of each device; below 1000 only for one
    models: tuple[str, ...] = ()  # any of these, in the order written; none: any model at all
    pinned: tuple[int, ...] = ()  # exactly these devices

    @property
    def is_share(self) -> bool:
        """Less than a whole device?"""
        return self.milli < WHOLE_DEVICE

    @property
    def total(self) -> int:
        """Thousandths of a device, all devices together."""
        return self.count * self.milli

    @property
    def text(self) -> str:
        """In words: `470m of a GPU`, `2 GPUs T4|P100`."""
        amount = f"{self.milli}m of a GPU" if self.is_share else f"{self.count} GPU{'s' if self.count > 1 else ''}"
        return f"{amount} {'|'.join(self.models)}" if self.models else amount


def device_need(pod: Pod) -> DeviceNeed | None:
    """What the pod needs; None if nothing, or if what it says makes no sense (then `device_problem` says why)."""
    return read_devices(pod)[0]


def device_problem(pod: Pod) -> Problem | None:
    """What is wrong with the pod's wish for devices: the annotation, and why."""
    return read_devices(pod)[1]


def pinned_devices(pod: Pod) -> tuple[int, ...]:
    """The devices that alibabacloud.com/gpu-index names; none if it is absent or makes no sense."""
    text = pod.metadata.annotations.get(GPU_INDEX)
    if not text:
        return ()
    numbers = [_whole(part) for part in text.split("-")]
    if len(set(numbers)) < len(numbers) or any(number is None or number >= MOST_DEVICES for number in numbers):
        return ()
    return tuple(number for number in numbers if number is not None)


def index_text(indices: tuple[int, ...]) -> str:
    """Devices as alibabacloud.com/gpu-index writes them."""
    return "-".join(map(str, indices))


def with_devices(pod: Pod, indices: tuple[int, ...]) -> Pod:
    """The pod, saying which devices it got."""
    said = {**pod.metadata.annotations, GPU_INDEX: index_text(indices)}
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, annotations=said))


def binding_annotations(pod: Pod) -> dict[str, str]:
    """What a binding writes on the pod: the devices it got, if it got any."""
    text = pod.metadata.annotations.get(GPU_INDEX)
    return {GPU_INDEX: text} if text else {}


def read_devices(pod: Pod) -> tuple[DeviceNeed | None, Problem | None]:
    """What the pod needs, and what is wrong with its wish."""
    said = pod.metadata.annotations
    whole = _requested(pod)
    if GPU_MILLI not in said and GPU_COUNT not in said:
        return _completed(pod, whole, WHOLE_DEVICE) if whole else (None, None)
    numbers = {}
    for key, default in ((GPU_COUNT, 1), (GPU_MILLI, WHOLE_DEVICE)):
        number = _whole(said[key]) if key in said else default
        if number is None:
            return None, (key, f"must be a whole number, not {said[key]!r}")
        numbers[key] = number
    count, milli = numbers[GPU_COUNT], numbers[GPU_MILLI]
    if count == 0 and (milli == 0 or GPU_MILLI not in said):
        return (None, None) if not whole else (None, (GPU_COUNT, _contradiction(0, whole)))
    problem = _amount_problem(count, milli)
    if problem is None and whole and whole != count:
        problem = GPU_COUNT, _contradiction(count, whole)
    return (None, problem) if problem else _completed(pod, count, milli)


def _amount_problem(count: int, milli: int) -> Problem | None:
    if not 1 <= count <= MOST_DEVICES:
        return GPU_COUNT, f"must be from 1 to {MOST_DEVICES} for a pod that asks for {GPU_MILLI}, not {count}"
    if not 1 <= milli <= WHOLE_DEVICE:
        return GPU_MILLI, f"must be from 1 to {WHOLE_DEVICE}, thousandths of one device, not {milli}"
    if count > 1 and milli < WHOLE_DEVICE:
        return GPU_MILLI, f"must be {WHOLE_DEVICE} for {count} devices, not {milli}: only a single device can be shared"
    return None


def _completed(pod: Pod, count: int, milli: int) -> tuple[DeviceNeed | None, Problem | None]:
    said = pod.metadata.annotations
    models = tuple(part for part in said.get(GPU_MODEL, "").split("|") if part)
    pinned: tuple[int, ...] = ()
    if said.get(GPU_INDEX):
        pinned = pinned_devices(pod)
        if len(pinned) != count:
            wanted = "one device, such as 3" if count == 1 else f"{count} different devices, such as 0-1"
            return None, (GPU_INDEX, f"must name {wanted}; not {said[GPU_INDEX]!r}")
    return DeviceNeed(count, milli, models, pinned), None


def _contradiction(count: int, whole: int) -> str:
    return f"is {count}, but the pod requests {whole} of {GPU_RESOURCE}; ask in one way, or for the same number"


def _requested(pod: Pod) -> int:
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    if not any(GPU_RESOURCE in container.resources.requests for container in containers):
        return 0
    return pod_requests(pod).get(GPU_RESOURCE, 0)


def _whole(text: str) -> int | None:
    stripped = text.strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() and len(stripped) <= 9 else None
