"""How good a placement could have been: the optimum, from an exact solver.

In: an `Instance` (`instance_at` takes one from a run). Out: an `Optimum` for one of three goals: fewest nodes, smallest
spread between nodes, most pods placed. Called by the command line and by tests of policies. The solver is HiGHS, from
the extra `quality`; it works on integers scaled down by their common divisors, and its answer is checked in integers.
Equal pods are one variable a node, not many, so instances of some hundred pods of few kinds are solved in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fairway.record.errors import RecordError
from fairway.record.instance import Instance, nodes_used, pods_placed, spread
from fairway.record.integer_program import IntegerProgram

__all__ = ["Optimum", "fewest_nodes", "most_pods", "smallest_spread"]

MAX_VARIABLES = 1_000_000


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best placement found, and what is known about better ones."""

    value: float  # of the placement found
    bound: float  # no placement is better than this
    is_proven: bool  # the placement found is the best there is
    placement: NDArray[np.intp]  # (num_pods,) rows of nodes; -1: not placed

    @property
    def gap(self) -> float:
        """How much better a placement might be, relative to the one found; 0 if it is proven to be the best."""
        return 0.0 if self.is_proven else abs(self.value - self.bound) / max(abs(self.value), 1e-9)

    def gap_of(self, value: float) -> float:
        """How far a policy's value is from the optimum, relative to the optimum (absolute if that is 0)."""
        distance = abs(value - self.value)
        return distance / abs(self.value) if abs(self.value) > 1e-9 else distance


def fewest_nodes(instance: Instance, *, time_limit_seconds: float = 60.0) -> Optimum:
    """Place all pods on as few nodes as possible."""
    kinds = PodKinds(instance)
    program = kinds.program(all_placed=True)
    used = program.add_variables(instance.num_nodes, upper=1.0, cost=1.0)
    kinds.add_capacity(program, used)
    # Equal nodes are filled in their order: it rules out the same answer under other names.
    for first, second in kinds.equal_nodes():
        program.add_row({used + first: 1.0, used + second: -1.0}, lower=0.0)
    solution = program.solve(time_limit_seconds, "the pods do not all fit on the nodes")
    placement = kinds.placement(solution.values)
    value = nodes_used(placement)
    bound = float(np.ceil(solution.bound - 1e-6))
    return Optimum(value, bound, value <= bound, placement)


def smallest_spread(instance: Instance, resource: str, *, time_limit_seconds: float = 60.0) -> Optimum:
    """Place all pods so that the largest and the smallest utilisation of a resource are as close as possible."""
    if resource not in instance.resources:
        raise ValueError(f"there is no resource {resource}; there are {', '.join(instance.resources)}")
    kinds = PodKinds(instance)
    program = kinds.program(all_placed=True)
    kinds.add_capacity(program, None)
    most = program.add_variables(1, upper=np.inf, cost=1.0, is_integer=False)
    least = program.add_variables(1, upper=np.inf, cost=-1.0, is_integer=False)
    column = instance.resources.index(resource)
    there = instance.allocatable[:, column]
    for row in np.flatnonzero(there > 0).tolist():
        shares = {
            kinds.variable(kind, row): kinds.requests[kind, column] / there[row] for kind in range(kinds.num_kinds)
        }
        program.add_row({**shares, most: -1.0}, upper=0.0)
        program.add_row({**shares, least: -1.0}, lower=0.0)
    solution = program.solve(time_limit_seconds, "the pods do not all fit on the nodes")
    placement = kinds.placement(solution.values)
    value = spread(instance, placement, resource)
    bound = max(0.0, solution.bound)
    return Optimum(value, min(bound, value), solution.is_optimal or value - bound <= 1e-6, placement)


def most_pods(instance: Instance, *, time_limit_seconds: float = 60.0) -> Optimum:
    """Place as many pods as possible."""
    kinds = PodKinds(instance)
    program = kinds.program(all_placed=False)
    kinds.add_capacity(program, None)
    solution = program.solve(time_limit_seconds, "there is no placement")
    placement = kinds.placement(solution.values)
    value = pods_placed(placement)
    bound = float(np.floor(-solution.bound + 1e-6))
    return Optimum(value, bound, value >= bound, placement)


class PodKinds:
    """Equal pods together: how many of each kind go to each node are the variables of a program."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        allowed = instance.allowed
        features = instance.requests if allowed is None else np.hstack([instance.requests, allowed])
        _, first, self._kind_of, counts = np.unique(
            features, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        self._kind_of = self._kind_of.reshape(-1)  # (num_pods,); NumPy 2.0.0 gave it two dimensions
        self.num_kinds = len(first)
        self._counts = counts  # (num_kinds,)
        self.requests: NDArray[np.int64] = instance.requests[first]  # (num_kinds, num_resources)
        anywhere = np.ones((self.num_kinds, instance.num_nodes), np.bool_)
        self._allowed = anywhere if allowed is None else allowed[first]  # (num_kinds, num_nodes)
        if self.num_kinds * instance.num_nodes > MAX_VARIABLES:
            raise RecordError(
                f"{self.num_kinds} kinds of pods on {instance.num_nodes} nodes are too many for an exact answer; "
                "take fewer nodes, or pods that differ less"
            )

    def variable(self, kind: int, row: int) -> int:
        """The number of the variable that counts pods of a kind on a node."""
        return kind * self.instance.num_nodes + row

    def program(self, *, all_placed: bool) -> IntegerProgram:
        """A program with the variables, in which every pod is placed once, or once at most and that is the goal."""
        program = IntegerProgram()
        for count, allowed in zip(self._counts.tolist(), self._allowed, strict=True):
            upper = np.where(allowed, float(count), 0.0)
            begin = program.add_variables(len(upper), upper=upper, cost=0.0 if all_placed else -1.0)
            lower = float(count) if all_placed else 0.0
            program.add_row({begin + row: 1.0 for row in range(len(upper))}, lower=lower, upper=float(count))
        return program

    def add_capacity(self, program: IntegerProgram, used: int | None) -> None:
        """No node holds more than it has; with `used`, the first of variables for nodes, nothing if it is not used."""
        allocatable = self.instance.allocatable
        for column in range(len(self.instance.resources)):
            unit = float(np.gcd.reduce(np.concatenate([self.requests[:, column], allocatable[:, column]])) or 1)
            requests = self.requests[:, column] / unit
            asking = np.flatnonzero(requests).tolist()
            for row, there in enumerate((allocatable[:, column] / unit).tolist()):
                held = {self.variable(kind, row): float(requests[kind]) for kind in asking}
                if used is None:
                    program.add_row(held, upper=there)
                else:
                    program.add_row({**held, used + row: -there}, upper=0.0)

    def equal_nodes(self) -> list[tuple[int, int]]:
        """Pairs of nodes that follow each other among equal ones."""
        features = np.hstack([self.instance.allocatable, self._allowed.T])
        _, group = np.unique(features, axis=0, return_inverse=True)
        group = group.reshape(-1)
        order = np.argsort(group, kind="stable")
        return [(one, other) for one, other in pairwise(order.tolist()) if group[one] == group[other]]

    def placement(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """Where each pod goes, checked in integers: (num_pods,)."""
        shape = self.num_kinds, self.instance.num_nodes
        counts = np.rint(values[: shape[0] * shape[1]]).astype(np.int64).reshape(shape)
        placement = np.full(self.instance.num_pods, -1, np.intp)
        for kind in range(self.num_kinds):
            pods = np.flatnonzero(self._kind_of == kind)
            rows = np.repeat(np.arange(shape[1]), counts[kind])
            placement[pods[: len(rows)]] = rows
        try:
            self.instance.check(placement)
        except ValueError as error:
            raise RecordError(
                f"the solver's answer is wrong in the last digits ({error}): amounts differ too much"
            ) from error
        return placement
