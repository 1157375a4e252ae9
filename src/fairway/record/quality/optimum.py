"""How good a placement could have been: the optimum, from an exact solver.

In: an `Instance` (`instance_at` takes one from a run). Out: an `Optimum` for one of three goals: fewest nodes, smallest
spread between nodes, most pods placed. Called by the command line and by tests of policies. The solver is HiGHS, from
the extra `quality`; it works on integers scaled down by their common divisors, so it is exact down to a millionth of a
node, and its answers are valid beyond that.
Equal pods are one variable a node, not many, so instances of some hundred pods of few kinds are solved in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fairway.record.errors import RecordError
from fairway.record.quality.instance import Instance, nodes_used, pods_placed, spread
from fairway.record.quality.integer_program import IntegerProgram, Solution

__all__ = ["Optimum", "fewest_nodes", "most_pods", "smallest_spread"]

Amounts = NDArray[np.int64]

MAX_VARIABLES = 1_000_000
MAX_AMOUNT = 2**20  # the solver's tolerance is a millionth: sums of such integers it gets right
TOLERANCE = 1e-6
DO_NOT_FIT = "the pods do not all fit on the nodes"


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
    """Place all pods on as few nodes as possible; `RecordError` if they do not all fit."""

    def solve(kinds: PodKinds) -> Solution:
        program = kinds.program(all_placed=True)
        used = program.add_variables(instance.num_nodes, upper=1.0, cost=1.0)
        kinds.add_capacity(program, used)
        # Equal nodes are filled in their order: it rules out the same answer under other names.
        for first, second in kinds.equal_nodes():
            program.add_row({used + first: 1.0, used + second: -1.0}, lower=0.0)
        return program.solve(time_limit_seconds, DO_NOT_FIT)

    placement, bound = _solve(instance, solve)
    value = nodes_used(placement)
    lowest = float(np.ceil(bound - TOLERANCE))
    return Optimum(value, lowest, value <= lowest, placement)


def smallest_spread(instance: Instance, resource: str, *, time_limit_seconds: float = 60.0) -> Optimum:
    """Place all pods so that the largest and the smallest utilisation of a resource are as close as possible."""
    if resource not in instance.resources:
        raise ValueError(f"there is no resource {resource}; there are {', '.join(instance.resources)}")
    column = instance.resources.index(resource)
    there = instance.allocatable[:, column]

    def solve(kinds: PodKinds) -> Solution:
        program = kinds.program(all_placed=True)
        kinds.add_capacity(program, None)
        most = program.add_variables(1, upper=np.inf, cost=1.0, is_integer=False)
        least = program.add_variables(1, upper=np.inf, cost=-1.0, is_integer=False)
        for row in np.flatnonzero(there > 0).tolist():
            shares = {
                kinds.variable(kind, row): float(kinds.requests[kind, column] / there[row])
                for kind in np.flatnonzero(kinds.requests[:, column]).tolist()
            }
            program.add_row({**shares, most: -1.0}, upper=0.0)
            program.add_row({**shares, least: -1.0}, lower=0.0)
        if not there.any():
            program.add_row({most: 1.0, least: -1.0}, lower=0.0)
        return program.solve(time_limit_seconds, DO_NOT_FIT)

    placement, bound = _solve(instance, solve)
    value = spread(instance, placement, resource)
    lowest = max(0.0, min(bound, value))
    return Optimum(value, lowest, value - lowest <= TOLERANCE, placement)


def most_pods(instance: Instance, *, time_limit_seconds: float = 60.0) -> Optimum:
    """Place as many pods as possible."""

    def solve(kinds: PodKinds) -> Solution:
        program = kinds.program(all_placed=False)
        kinds.add_capacity(program, None)
        return program.solve(time_limit_seconds, "there is no placement")

    placement, bound = _solve(instance, solve)
    value = pods_placed(placement)
    highest = float(np.floor(-bound + TOLERANCE))
    return Optimum(value, highest, value >= highest, placement)


def _solve(instance: Instance, solve: Callable[[PodKinds], Solution]) -> tuple[NDArray[np.intp], float]:
    """A placement that fits, and a bound on what any may cost.

    Amounts too large for the solver's floating point are rounded in the pods' favour. Nearly always the answer fits all
    the same; if not, they are rounded against them, and the first answer remains as a bound.
    """
    kinds = PodKinds(instance, in_favour=True)
    solution = solve(kinds)
    placement = kinds.placement(solution.values)
    if not kinds.is_rounded or instance.fits(placement):
        return placement, solution.bound
    strict = PodKinds(instance, in_favour=False)
    return strict.placement(solve(strict).values), solution.bound


class PodKinds:
    """Equal pods together: how many of each kind go to each node are the variables of a program."""

    def __init__(self, instance: Instance, *, in_favour: bool) -> None:
        self.instance = instance
        self.is_rounded = False
        self._in_favour = in_favour
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
        for column in range(len(self.instance.resources)):
            requests, allocatable = self._scaled(self.requests[:, column], self.instance.allocatable[:, column])
            asking = np.flatnonzero(requests).tolist()
            for row, there in enumerate(allocatable.tolist()):
                held = {self.variable(kind, row): float(requests[kind]) for kind in asking}
                if used is None:
                    program.add_row(held, upper=float(there))
                else:
                    program.add_row({**held, used + row: -float(there)}, upper=0.0)

    def _scaled(self, requests: Amounts, allocatable: Amounts) -> tuple[Amounts, Amounts]:
        """Amounts in units large enough that the solver counts them exactly."""
        unit = max(1, int(np.gcd.reduce(np.concatenate([requests, allocatable]))))
        requests, allocatable = requests // unit, allocatable // unit
        coarse = 1
        while allocatable.max(initial=0) // coarse > MAX_AMOUNT:
            coarse *= 2
        if coarse == 1:
            return requests, allocatable
        self.is_rounded = True
        if self._in_favour:
            return requests // coarse, -(-allocatable // coarse)
        return -(-requests // coarse), allocatable // coarse

    def equal_nodes(self) -> list[tuple[int, int]]:
        """Pairs of nodes that follow each other among equal ones."""
        features = np.hstack([self.instance.allocatable, self._allowed.T])
        _, group = np.unique(features, axis=0, return_inverse=True)
        group = group.reshape(-1)
        order = np.argsort(group, kind="stable")
        return [(one, other) for one, other in pairwise(order.tolist()) if group[one] == group[other]]

    def placement(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """Where each pod goes: (num_pods,)."""
        shape = self.num_kinds, self.instance.num_nodes
        counts = np.rint(values[: shape[0] * shape[1]]).astype(np.int64).reshape(shape)
        placement = np.full(self.instance.num_pods, -1, np.intp)
        for kind in range(self.num_kinds):
            pods = np.flatnonzero(self._kind_of == kind)
            rows = np.repeat(np.arange(shape[1]), counts[kind])
            placement[pods[: len(rows)]] = rows
        return placement
