"""What NodeResourcesFit and NodeResourcesBalancedAllocation score: some resources, and what pods add to each.

In: the resources named in a plugin's arguments and a pod's requests. Out: their columns in the node table, the amounts,
and which of them count for this pod: an extended resource that the pod does not request is left out of its score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster import CPU, MEMORY, Nodes, NodeTable, PodClass
from fairway.model.meta import Int64, Value
from fairway.model.requests import is_scalar_resource


class ResourceSpec(Value, frozen=True, kw_only=True):
    """A resource that is scored, and how much it counts; a weight of 0 means 1."""

    name: str = ""
    weight: Int64 = 1

    def __post_init__(self) -> None:
        if self.weight == 0:
            msgspec.structs.force_setattr(self, "weight", 1)


CPU_AND_MEMORY: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


class Shares(NamedTuple):
    """Columns to look at and what the pod adds."""

    columns: NDArray[np.intp]  # (num_scored,)
    amounts: NDArray[np.int64]  # (num_scored,)
    counted: NDArray[np.bool_]  # (num_scored,)
    added: NDArray[np.int64]  # (num_scored, 1): the amounts again, to be added to columns
    both: NDArray[np.int64]  # (2, num_scored, 1): what is added with the pod, and without it
    cpu: int  # where cpu is among them, -1 if it is not
    memory: int
    all_counted: bool
    is_cpu_and_memory: bool  # just these two, in this order, as by default


def shares_of(table: NodeTable, resources: Sequence[ResourceSpec], requests: Mapping[str, int]) -> Shares:
    """The pod's part in the resources that are scored."""
    names = [each.name for each in resources]
    amounts = [requests.get(name, 0) for name in names]
    counted = [bool(amount) or not is_scalar_resource(name) for name, amount in zip(names, amounts, strict=True)]
    return Shares(
        np.array([table.resource_column(name) for name in names], np.intp),
        np.array(amounts, np.int64),
        np.array(counted, bool),
        np.array(amounts, np.int64)[:, None],
        np.array([amounts, [0] * len(amounts)], np.int64)[:, :, None],
        names.index("cpu") if "cpu" in names else -1,
        names.index("memory") if "memory" in names else -1,
        all(counted),
        names == ["cpu", "memory"],
    )


def taken_together(resources: Sequence[ResourceSpec], nodes: Nodes, pods: Sequence[PodClass]) -> int:
    """From 0 to 100, how much of these nodes would be taken if they were one, with these pods on them.

    A resource that a node does not have is not counted there, nor is an extended one that none of the pods requests
    (`scorePlacement` in plugins/noderesources/resource_allocation.go, 1.36).
    """
    table, rows = nodes.table, nodes.numbers
    total = weights = 0
    for each in resources:
        requested = sum(pod.scoring.get(each.name, 0) for pod in pods)
        column = table.resource_column(each.name)
        if not requested and is_scalar_resource(each.name):
            continue
        capacity = table.allocatable[rows, column]
        taken = table.nonzero[rows, column] if column in (CPU, MEMORY) else table.requested[rows, column]
        requested += int(taken[capacity != 0].sum())
        room = int(capacity.sum())
        if room:
            total += min(requested, room) * 100 // room * each.weight
            weights += each.weight
    return total // weights if weights else 0
