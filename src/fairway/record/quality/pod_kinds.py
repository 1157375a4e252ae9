"""Equal pods together: how many of each kind go to each node are the variables of an integer program.

In: an `Instance`. Out: `PodKinds`, which writes the rows that every goal shares (each pod placed once, no node over
full) and reads a placement out of a solution. Amounts are scaled down by their common divisors; those still too large
for the solver's floating point are rounded. Used by the goals in `optimum` and `gpu_optimum`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fairway.model import UserError
from fairway.record.quality.instance import Instance
from fairway.record.quality.integer_program import IntegerProgram

__all__ = ["MAX_AMOUNT", "MAX_VARIABLES", "PodKinds"]

Amounts = NDArray[np.int64]

MAX_VARIABLES = 1_000_000
ENTRIES_A_SECOND = 250_000
"""Of the rows of a program, as they are written down and handed over; on a machine of today, at least."""
GOAL_ENTRIES = 4  # at most, of each variable, in rows other than those of resources
LEAST_SECONDS = 10.0
"""What writing a program down may take in any case."""
MAX_AMOUNT = 2**20  # the solver's tolerance is a millionth: sums of such integers it gets right


class PodKinds:
    """Equal pods together: how many of each kind go to each node are the variables of a program."""

    def __init__(self, instance: Instance, *, in_favour: bool) -> None:
        self.instance = instance
        self.is_rounded = False
        self._in_favour = in_favour
        self.room = instance.room  # (num_nodes, num_resources)
        allowed = instance.allowed
        features = instance.requests
        if allowed is not None:
            features = np.hstack([features, np.packbits(allowed, axis=1)])  # eight nodes to a column
        _, first, self._kind_of, counts = np.unique(
            features, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        self._kind_of = self._kind_of.reshape(-1)  # (num_pods,); NumPy 2.0.0 gave it two dimensions
        self.num_kinds = len(first)
        self.counts = counts  # (num_kinds,)
        self.requests: NDArray[np.int64] = instance.requests[first]  # (num_kinds, num_resources)
        anywhere = np.ones((self.num_kinds, instance.num_nodes), np.bool_)
        self._allowed = anywhere if allowed is None else allowed[first]  # (num_kinds, num_nodes)
        if self.num_kinds * instance.num_nodes > MAX_VARIABLES:
            raise UserError(
                f"{self.num_kinds} kinds of pods on {instance.num_nodes} nodes are too many for an exact answer",
                "take fewer nodes, or pods that differ less",
            )

    def check_time(self, seconds: float) -> None:
        """Raise a `UserError` if it takes longer to write a program down than to solve it, which takes `seconds`."""
        asked = int(self.requests.any(axis=0).sum())
        num_entries = self.num_kinds * self.instance.num_nodes * (asked + GOAL_ENTRIES)
        writing = num_entries / ENTRIES_A_SECOND
        if writing > max(seconds, LEAST_SECONDS):
            raise UserError(
                f"{self.num_kinds} kinds of pods on {self.instance.num_nodes} nodes are too many for an exact answer "
                f"in {seconds:g} s: to write the question down for the solver takes about {writing:.0f} s",
                f"give it more time (--optimum-seconds {math.ceil(writing)}), or take fewer nodes, or pods that differ "
                "less",
            )

    def variable(self, kind: int, row: int) -> int:
        """The number of the variable that counts pods of a kind on a node."""
        return kind * self.instance.num_nodes + row

    def program(self, gains: Sequence[float] | None = None) -> IntegerProgram:
        """A program with the variables, in which every pod is placed once.

        With `gains` (num_kinds,), pods of which a placement gains something are placed once at most.
        """
        program = IntegerProgram()
        for kind, allowed in enumerate(self._allowed):
            count, gain = float(self.counts[kind]), 0.0 if gains is None else gains[kind]
            begin = program.add_variables(len(allowed), upper=np.where(allowed, count, 0.0), cost=-gain)
            lower = 0.0 if gain > 0 else count
            program.add_row({begin + row: 1.0 for row in range(len(allowed))}, lower=lower, upper=count)
        return program

    def add_capacity(self, program: IntegerProgram, used: int | None = None, num_resources: int | None = None) -> None:
        """No node holds more than it has of the first resources, of all if not said otherwise.

        With `used`, the first of variables for nodes, it holds nothing if it is not used.
        """
        for column in range(len(self.instance.resources) if num_resources is None else num_resources):
            requests, room = self._scaled(self.requests[:, column], self.room[:, column])
            asking = np.flatnonzero(requests).tolist()
            for row, there in enumerate(room.tolist()):
                held = {self.variable(kind, row): float(requests[kind]) for kind in asking}
                if used is None:
                    program.add_row(held, upper=float(there))
                else:
                    program.add_row({**held, used + row: -float(there)}, upper=0.0)
        if used is not None:
            for kind in np.flatnonzero(~self.requests.any(axis=1)).tolist():  # a node with such a pod is used, too
                for row in range(self.instance.num_nodes):
                    program.add_row({self.variable(kind, row): 1.0, used + row: -float(self.counts[kind])}, upper=0.0)

    def _scaled(self, requests: Amounts, room: Amounts) -> tuple[Amounts, Amounts]:
        """Amounts in units large enough that the solver counts them exactly."""
        unit = max(1, int(np.gcd.reduce(requests)))
        requests, room = requests // unit, room // unit  # what is left of a unit is of no use to any
        coarse = 1
        while room.max(initial=0) // coarse > MAX_AMOUNT:
            coarse *= 2
        if coarse == 1:
            return requests, room
        self.is_rounded = True
        if self._in_favour:
            return requests // coarse, -(-room // coarse)
        return -(-requests // coarse), room // coarse

    def equal_nodes(self) -> list[tuple[int, int]]:
        """Pairs of nodes that follow each other among equal ones."""
        in_use = self.instance.in_use
        parts = [self.instance.allocatable, self.room, self._allowed.T]
        features = np.hstack(parts if in_use is None else [*parts, in_use[:, None]])
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
