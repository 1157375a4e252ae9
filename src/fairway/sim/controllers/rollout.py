"""The arithmetic of rolling updates: how many pods of which ReplicaSet.

In: sizes of ReplicaSets, and how many of their pods are available. Out: the sizes they should have next. Called by
the Deployment controller. Matches `deployment/rolling.go`, `deployment/sync.go` and `deployment_util.go` of
Kubernetes 1.36.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fairway.model import Deployment
from fairway.model.default_controllers import scaled

__all__ = ["Fences", "proportions", "scale_down_old"]


class Fences(NamedTuple):
    """Between which numbers of pods a Deployment stays."""

    replicas: int
    surge: int
    unavailable: int

    @classmethod
    def of(cls, deployment: Deployment) -> Fences:
        """Of a Deployment: surge is rounded up, unavailability down, and they are never both nothing."""
        replicas = deployment.spec.replicas or 0
        rolling = deployment.spec.strategy.rolling_update
        if rolling is None:
            return cls(replicas, 0, replicas)
        surge = scaled(rolling.max_surge, replicas, up=True)
        unavailable = scaled(rolling.max_unavailable, replicas, up=False)
        if surge == 0 and unavailable == 0:
            unavailable = 1
        return cls(replicas, surge, min(unavailable, replicas))

    @property
    def max_total(self) -> int:
        """How many pods there may be."""
        return self.replicas + self.surge

    @property
    def min_available(self) -> int:
        """How many pods have to be available."""
        return self.replicas - self.unavailable


def scale_down_old(
    sizes: Sequence[int], available: Sequence[int], new_size: int, new_available: int, fences: Fences
) -> list[int]:
    """The sizes that old sets, oldest first, should have: unavailable pods go first, then as many as can be spared."""
    sizes = list(sizes)
    spare = sum(sizes) + new_size - fences.min_available - (new_size - new_available)
    if spare <= 0:
        return sizes
    for number, size in enumerate(sizes):
        unhealthy = min(spare, max(0, size - available[number]))
        sizes[number] -= unhealthy
        spare -= unhealthy
    surplus = sum(available) + new_available - fences.min_available
    for number, size in enumerate(sizes):
        step = min(size, max(0, surplus))
        sizes[number] -= step
        surplus -= step
    return sizes


def proportions(sizes: Sequence[int], fences: Fences, max_before: int) -> list[int]:
    """The sizes of sets, oldest first, after the Deployment was scaled from `max_before` pods at most."""
    allowed = fences.max_total if fences.replicas else 0
    to_add = allowed - sum(sizes)
    if to_add == 0:
        return list(sizes)
    # The largest come first; of equals the newest when growing, the oldest when shrinking.
    order = sorted(range(len(sizes)), key=lambda number: (-sizes[number], -number if to_add > 0 else number))
    result = list(sizes)
    added = 0
    for number in order:
        size = sizes[number]
        if fences.replicas == 0:
            share = -size
        elif max_before == 0:
            share = 0
        else:
            share = math.floor(size * fences.max_total / max_before + 0.5) - size
        share = min(share, to_add - added) if to_add > 0 else max(share, to_add - added)
        result[number] += share
        added += share
    largest = order[0]
    result[largest] = max(0, result[largest] + to_add - added)
    return result
