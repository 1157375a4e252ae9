"""A placement problem: so many pods, so many nodes, who may go where; and what a placement of it is worth.

In: arrays, or a run and a time. Out: an `Instance` for `optimum` to solve exactly, and the values that placements are
judged by. Taken from a run, the room for pods is a resource like any other, the last column. A whole cluster becomes an
instance in `explain.placement_problem`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairway.record.errors import RecordError
from fairway.record.run import Run

__all__ = [
    "Instance",
    "deviation",
    "instance_at",
    "nodes_used",
    "pods_placed",
    "shares",
    "spread",
    "utilisation_of_used",
]


@dataclass(frozen=True, slots=True)
class Instance:
    """Pods to place on nodes; constraints other than amounts go into `allowed`."""

    resources: tuple[str, ...]
    requests: NDArray[np.int64]  # (num_pods, num_resources)
    allocatable: NDArray[np.int64]  # (num_nodes, num_resources)
    allowed: NDArray[np.bool_] | None = None  # (num_pods, num_nodes); None: every pod may go to every node
    pods: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    held: NDArray[np.int64] | None = None  # (num_nodes, num_resources); None: nobody but these pods holds anything
    in_use: NDArray[np.bool_] | None = None  # (num_nodes,): nodes that are in use without these pods, too
    domains: NDArray[np.intp] | None = None  # (num_nodes,); None: every node is its own; -1: it is in none

    def __post_init__(self) -> None:
        num_resources = len(self.resources)
        shapes = {"requests": self.requests.shape, "allocatable": self.allocatable.shape}
        for name, shape in shapes.items():
            if len(shape) != 2 or shape[1] != num_resources:
                raise ValueError(
                    f"{name} has the shape {shape}; it needs a column for each of {num_resources} resources"
                )
        if (self.requests < 0).any() or (self.allocatable < 0).any():
            raise ValueError("amounts can not be negative")
        expected = self.num_pods, self.num_nodes
        if self.allowed is not None and self.allowed.shape != expected:
            raise ValueError(
                f"allowed has the shape {self.allowed.shape} instead of (num_pods, num_nodes) = {expected}"
            )

    @property
    def num_pods(self) -> int:
        """How many pods there are to place."""
        return len(self.requests)

    @property
    def num_nodes(self) -> int:
        """How many nodes there are."""
        return len(self.allocatable)

    @property
    def staying(self) -> NDArray[np.int64]:
        """Amounts held on each node whatever becomes of the pods: (num_nodes, num_resources)."""
        return np.zeros_like(self.allocatable) if self.held is None else self.held

    @property
    def room(self) -> NDArray[np.int64]:
        """Amounts that the pods may take: (num_nodes, num_resources)."""
        return np.asarray(np.maximum(self.allocatable - self.staying, 0), np.int64)

    @property
    def domain_of(self) -> NDArray[np.intp]:
        """The domain of each node, -1 if it is in none: (num_nodes,)."""
        return np.arange(self.num_nodes) if self.domains is None else self.domains

    def only(self, pods: NDArray[np.bool_]) -> Instance:
        """The same problem with some of the pods."""
        names = tuple(name for name, is_kept in zip(self.pods, pods.tolist(), strict=False) if is_kept)
        allowed = None if self.allowed is None else self.allowed[pods]
        return replace(self, requests=self.requests[pods], allowed=allowed, pods=names if self.pods else ())

    def loads(self, placement: NDArray[np.intp]) -> NDArray[np.int64]:
        """Amounts held on each node with a placement (-1: not placed): (num_nodes, num_resources)."""
        loads = self.staying.copy()
        is_placed = placement >= 0
        np.add.at(loads, placement[is_placed], self.requests[is_placed])
        return loads

    def fits(self, placement: NDArray[np.intp]) -> bool:
        """Whether every placed pod is allowed where it is and no node holds more than it has."""
        is_placed = np.flatnonzero(placement >= 0)
        is_allowed = self.allowed is None or bool(self.allowed[is_placed, placement[is_placed]].all())
        return is_allowed and bool((self.loads(placement) - self.staying <= self.room).all())


def instance_at(
    run: Run, at: float, *, waiting: bool = True, allowed: NDArray[np.bool_] | None = None
) -> tuple[Instance, NDArray[np.intp]]:
    """The pods and ready nodes of a run at one time, and where the pods were (-1: waiting).

    Without `waiting`, only pods on ready nodes. Taints, affinities and the like are not looked at: pass `allowed`.
    """
    ready = list(run.node_load(at).where("is_ready").rows())
    row_of = {row["node_id"]: number for number, row in enumerate(ready)}
    columns = list(run.resources.values())
    there = "created_seconds <= ? AND (? < ended_seconds OR ended_seconds IS NULL)"
    pods, placement = [], []
    for row in run.pods.where(there, at, at).rows():
        is_bound = row["bound_seconds"] is not None and row["bound_seconds"] <= at
        place = row_of.get(row["node_id"], -1) if is_bound else -1
        if place >= 0 or (waiting and not is_bound):
            pods.append(row)
            placement.append(place)
    if not ready:
        raise RecordError(f"{run.path} has no ready node at {at:g} s")
    requests = [[*(row[column] for column in columns), 1] for row in pods]
    allocatable = [[*(row[f"allocatable_{column}"] for column in columns), row["allocatable_pods"]] for row in ready]
    instance = Instance(
        (*run.resources, "pods"),
        np.array(requests, np.int64).reshape(len(pods), len(columns) + 1),
        np.array(allocatable, np.int64),
        allowed,
        tuple(row["pod"] for row in pods),
        tuple(row["node"] for row in ready),
    )
    return instance, np.array(placement, np.intp)


def nodes_used(instance: Instance, placement: NDArray[np.intp]) -> int:
    """How many nodes are in use with a placement."""
    return int(np.count_nonzero(_is_used(instance, placement)))


def utilisation_of_used(instance: Instance, placement: NDArray[np.intp], resource: str) -> float:
    """What part of a resource of the nodes in use is held."""
    column = instance.resources.index(resource)
    is_used = _is_used(instance, placement)
    there = int(instance.allocatable[is_used, column].sum())
    return float(instance.loads(placement)[is_used, column].sum() / there) if there else 0.0


def pods_placed(placement: NDArray[np.intp]) -> int:
    """How many pods it places."""
    return int(np.count_nonzero(placement >= 0))


def shares(instance: Instance, placement: NDArray[np.intp], resource: str) -> NDArray[np.float64]:
    """What part of a resource each domain that has any of it holds: (num_domains,)."""
    column = instance.resources.index(resource)
    domains = instance.domain_of
    is_member = domains >= 0
    number = int(domains.max(initial=-1)) + 1
    there = np.bincount(domains[is_member], instance.allocatable[is_member, column], number)
    held = np.bincount(domains[is_member], instance.loads(placement)[is_member, column], number)
    return np.asarray(held[there > 0] / there[there > 0])


def spread(instance: Instance, placement: NDArray[np.intp], resource: str) -> float:
    """Largest minus smallest utilisation of the domains that have any of the resource."""
    parts = shares(instance, placement, resource)
    return float(parts.max() - parts.min()) if len(parts) else 0.0


def deviation(instance: Instance, placement: NDArray[np.intp], resource: str) -> float:
    """How far the utilisation of a domain is from that of all of them, on average."""
    parts = shares(instance, placement, resource)
    return float(np.abs(parts - parts.mean()).mean()) if len(parts) else 0.0


def _is_used(instance: Instance, placement: NDArray[np.intp]) -> NDArray[np.bool_]:
    is_used = np.zeros(instance.num_nodes, np.bool_) if instance.in_use is None else instance.in_use.copy()
    is_used[placement[placement >= 0]] = True
    return is_used
