"""How much of the GPUs could have been given away: the optimum of sharing them.

In: an `Instance`, what each pod needs of devices, and what is free of each device. Out: the placement that leaves least
of the devices unallocated. A share is of one device; whole devices are idle ones. Pods that need no device compete for
everything else, so those that were placed are placed here, too, wherever it suits. Called by `judgement`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairway.model import UserError
from fairway.model.device_need import WHOLE_DEVICE
from fairway.record.quality.instance import Instance
from fairway.record.quality.integer_program import IntegerProgram
from fairway.record.quality.optimum import TOLERANCE, Optimum
from fairway.record.quality.pod_kinds import MAX_VARIABLES, PodKinds

__all__ = ["GpuInstance", "least_unallocated", "unallocated"]


@dataclass(frozen=True, slots=True)
class GpuInstance:
    """Pods that need devices among pods that need none, and the devices."""

    instance: Instance
    milli: NDArray[np.int64]  # (num_pods,): thousandths of each device; 0: it needs none
    count: NDArray[np.int64]  # (num_pods,): devices
    free: NDArray[np.int64]  # (num_nodes, max_devices): thousandths left by pods that stay; 0: no such device
    total_milli: int  # of all devices, those included that pods which stay hold

    @property
    def needs(self) -> NDArray[np.int64]:
        """Thousandths of a device, all devices of a pod together: (num_pods,)."""
        return self.milli * self.count


def unallocated(gpus: GpuInstance, placement: NDArray[np.intp]) -> float:
    """What part of all devices nobody has."""
    left = int(gpus.free.sum()) - int(gpus.needs[placement >= 0].sum())
    return left / gpus.total_milli if gpus.total_milli else 0.0


def least_unallocated(gpus: GpuInstance, known: NDArray[np.intp], *, time_limit_seconds: float = 60.0) -> Optimum:
    """Place pods so that as little as possible of the devices is left; `known` is where the policy has them."""
    takes_part = (gpus.milli > 0) | (known >= 0)
    pods = np.flatnonzero(takes_part)
    instance = gpus.instance.only(takes_part)
    # Needs are resources of their own here, so that pods of a kind need the same; no node is short of them as such.
    wide = Instance(
        (*instance.resources, "milli", "count"),
        np.column_stack([instance.requests, gpus.milli[pods], gpus.count[pods]]),
        np.column_stack([instance.room, np.full((instance.num_nodes, 2), np.iinfo(np.int32).max)]),
        instance.allowed,
    )
    kinds = PodKinds(wide, in_favour=True)
    kinds.check_time(time_limit_seconds)
    solution = _program(kinds, gpus.free).solve(time_limit_seconds, "the pods without devices do not all fit")
    best = known
    if solution.values is not None:
        found = np.full(len(known), -1, np.intp)
        found[pods] = kinds.placement(solution.values)
        if gpus.instance.fits(found):
            best = min(known, found, key=lambda placement: unallocated(gpus, placement))
    value = unallocated(gpus, best)
    there = max(gpus.total_milli, 1)
    most = min(-solution.bound * WHOLE_DEVICE, float(gpus.needs.sum()))
    lowest = max(0.0, (float(gpus.free.sum()) - most) / there)
    is_proven = value - lowest <= TOLERANCE
    return Optimum(value, min(lowest, value), is_proven, best)


def _program(kinds: PodKinds, free: NDArray[np.int64]) -> IntegerProgram:
    """The most thousandths of devices that can be given away."""
    milli, count = kinds.requests[:, -2].tolist(), kinds.requests[:, -1].tolist()
    program = kinds.program([each * number / WHOLE_DEVICE for each, number in zip(milli, count, strict=True)])
    kinds.add_capacity(program, num_resources=len(kinds.instance.resources) - 2)
    sharing = [kind for kind, amount in enumerate(milli) if 0 < amount < WHOLE_DEVICE]
    taking = [kind for kind, amount in enumerate(milli) if amount >= WHOLE_DEVICE]
    if len(sharing) * free.size > MAX_VARIABLES:
        raise UserError(
            f"{len(sharing)} kinds of shares on {free.size} devices are too many for an exact answer",
            "take fewer nodes",
        )
    for row, amounts in enumerate(free.tolist()):
        devices = [amount for amount in amounts if amount > 0]
        whole = {}  # device to the variable that says whether it is given away as a whole
        for device, amount in enumerate(devices):
            if amount == WHOLE_DEVICE and taking:
                whole[device] = program.add_variables(1, upper=1.0, cost=0.0)
        given = {kinds.variable(kind, row): float(count[kind]) for kind in taking}
        if given:
            program.add_row({**given, **dict.fromkeys(whole.values(), -1.0)}, lower=0.0, upper=0.0)
        parts: dict[int, dict[int, float]] = {kind: {} for kind in sharing}
        for device, amount in enumerate(devices):
            held = {}
            for kind in sharing:
                variable = program.add_variables(1, upper=float(amount // milli[kind]), cost=0.0)
                parts[kind][variable] = 1.0
                held[variable] = float(milli[kind])
            if device in whole:
                held[whole[device]] = float(WHOLE_DEVICE)
            program.add_row(held, upper=float(amount))
        for kind, variables in parts.items():
            program.add_row({**variables, kinds.variable(kind, row): -1.0}, lower=0.0, upper=0.0)
    return program
