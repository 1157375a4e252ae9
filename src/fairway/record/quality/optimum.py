"""How good a placement could have been: the optimum, from an exact solver.

In: an `Instance`, and a placement that is known to fit, if there is one. Out: an `Optimum` for one of five goals:
fewest nodes, best use of the nodes in use, smallest spread or deviation between nodes or domains, most pods placed.
Called by `judgement` for the command line and by tests of policies. The solver is HiGHS, from the extra `quality`; it
works on integers scaled down by their common divisors, so it is exact down to a millionth of a node, and its answers
are valid beyond that. Where it runs out of time, the best placement found stands beside a bound.
Equal pods are one variable a node, not many, so instances of some hundred pods of few kinds are solved in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairway.model import UserError
from fairway.record.quality.instance import Instance, deviation, nodes_used, pods_placed, spread, utilisation_of_used
from fairway.record.quality.integer_program import IntegerProgram, Solution
from fairway.record.quality.pod_kinds import PodKinds

__all__ = ["Optimum", "best_utilisation", "fewest_nodes", "most_pods", "smallest_deviation", "smallest_spread"]

Placement = NDArray[np.intp]

TOLERANCE = 1e-6
DO_NOT_FIT = "the pods do not all fit on the nodes"


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best placement found, and what is known about better ones."""

    value: float  # of the placement found
    bound: float  # no placement is better than this
    is_proven: bool  # the placement found is the best there is
    placement: Placement  # (num_pods,) rows of nodes; -1: not placed

    @property
    def gap(self) -> float:
        """How much better a placement might be, relative to the one found; 0 if it is proven to be the best."""
        return 0.0 if self.is_proven else abs(self.value - self.bound) / max(abs(self.value), 1e-9)

    def gap_of(self, value: float) -> float:
        """How far a policy's value is from the optimum, relative to the optimum (absolute if that is 0)."""
        distance = abs(value - self.value)
        return distance / abs(self.value) if abs(self.value) > 1e-9 else distance


def fewest_nodes(instance: Instance, *, time_limit_seconds: float = 60.0, known: Placement | None = None) -> Optimum:
    """Place all pods so that as few nodes as possible are in use; `UserError` if they do not all fit."""
    found, bound = _least_in_use(instance, np.ones(instance.num_nodes), time_limit_seconds)
    placement = _best(found, _packed(instance, known), lambda one: nodes_used(instance, one), time_limit_seconds)
    value = nodes_used(instance, placement)
    lowest = max(float(np.ceil(bound - TOLERANCE)), _fewest_by_volume(instance))
    return Optimum(value, lowest, value <= lowest, placement)


def best_utilisation(
    instance: Instance, resource: str, *, time_limit_seconds: float = 60.0, known: Placement | None = None
) -> Optimum:
    """Place all pods so that as much as possible of a resource of the nodes in use is held."""
    column = _column(instance, resource)
    there = instance.allocatable[:, column].astype(np.float64)
    scale = float(there.max(initial=0.0)) or 1.0  # so that a node costs about 1
    found, bound = _least_in_use(instance, there / scale, time_limit_seconds)
    placement = _best(found, known, lambda one: -utilisation_of_used(instance, one, resource), time_limit_seconds)
    value = utilisation_of_used(instance, placement, resource)
    held = float(instance.requests[:, column].sum() + instance.staying[:, column].sum())
    least = bound * scale  # what the nodes in use have at least
    highest = min(1.0, held / least) if least > 0 else 1.0
    highest = max(highest, value)
    return Optimum(value, highest, highest - value <= TOLERANCE, placement)


def smallest_spread(
    instance: Instance, resource: str, *, time_limit_seconds: float = 60.0, known: Placement | None = None
) -> Optimum:
    """Place all pods so that the largest and the smallest utilisation of a resource are as close as possible."""

    def add_goal(kinds: PodKinds, program: IntegerProgram) -> None:
        most = program.add_variables(1, upper=np.inf, cost=1.0, is_integer=False)
        least = program.add_variables(1, upper=np.inf, cost=-1.0, is_integer=False)
        parts = _shares_of_domains(kinds, _column(instance, resource))
        for part, staying in parts:
            program.add_row({**part, most: -1.0}, upper=-staying)
            program.add_row({**part, least: -1.0}, lower=-staying)
        if not parts:
            program.add_row({most: 1.0, least: -1.0}, lower=0.0)

    return _evenest(instance, resource, add_goal, spread, time_limit_seconds, known)


def smallest_deviation(
    instance: Instance, resource: str, *, time_limit_seconds: float = 60.0, known: Placement | None = None
) -> Optimum:
    """Place all pods so that the utilisation of a resource is, on average, as close as possible to its mean."""

    def add_goal(kinds: PodKinds, program: IntegerProgram) -> None:
        parts = _shares_of_domains(kinds, _column(instance, resource))
        if not parts:
            return
        mean = program.add_variables(1, upper=np.inf, cost=0.0, is_integer=False)
        away = program.add_variables(len(parts), upper=np.inf, cost=1.0 / len(parts), is_integer=False)
        total: dict[int, float] = {}
        for number, (part, staying) in enumerate(parts):
            for variable, factor in part.items():
                total[variable] = total.get(variable, 0.0) + factor
            program.add_row({**part, mean: -1.0, away + number: -1.0}, upper=-staying)
            program.add_row({**part, mean: -1.0, away + number: 1.0}, lower=-staying)
        at_rest = -sum(staying for _, staying in parts)
        program.add_row({**total, mean: -float(len(parts))}, lower=at_rest, upper=at_rest)

    return _evenest(instance, resource, add_goal, deviation, time_limit_seconds, known)


def most_pods(instance: Instance, *, time_limit_seconds: float = 60.0, known: Placement | None = None) -> Optimum:
    """Place as many pods as possible."""

    def solve(kinds: PodKinds) -> Solution:
        program = kinds.program([1.0] * kinds.num_kinds)
        kinds.add_capacity(program)
        return program.solve(time_limit_seconds, "there is no placement")

    found, bound = _solve(instance, solve, time_limit_seconds)
    placement = _best(found, known, lambda one: -pods_placed(one), time_limit_seconds)
    value = pods_placed(placement)
    highest = float(min(np.floor(-bound + TOLERANCE), instance.num_pods))
    return Optimum(value, highest, value >= highest, placement)


def _least_in_use(instance: Instance, costs: NDArray[np.float64], seconds: float) -> tuple[Placement | None, float]:
    """A placement of all pods for which the nodes in use cost as little as possible, and a bound on the cost."""

    def solve(kinds: PodKinds) -> Solution:
        program = kinds.program()
        used = program.add_variables(instance.num_nodes, upper=1.0, cost=costs)
        kinds.add_capacity(program, used)
        if instance.in_use is not None:
            for row in np.flatnonzero(instance.in_use).tolist():
                program.add_row({used + row: 1.0}, lower=1.0)
        # Equal nodes are filled in their order: it rules out the same answer under other names.
        for first, second in kinds.equal_nodes():
            program.add_row({used + first: 1.0, used + second: -1.0}, lower=0.0)
        return program.solve(seconds, DO_NOT_FIT)

    return _solve(instance, solve, seconds)


def _packed(instance: Instance, known: Placement | None) -> Placement | None:
    """What first fit makes of it, largest pods and nodes first, if that is better than what is known."""
    room, there = instance.room.copy(), np.maximum(instance.allocatable.max(axis=0, initial=1), 1)
    in_use = np.zeros(instance.num_nodes, np.bool_) if instance.in_use is None else instance.in_use
    nodes = np.lexsort((-(room / there).sum(axis=1), ~in_use))  # (num_nodes,)
    placement = np.full(instance.num_pods, -1, np.intp)
    for pod in np.argsort(-(instance.requests / there).max(axis=1, initial=0), kind="stable").tolist():
        fits = (room[nodes] >= instance.requests[pod]).all(axis=1)
        if instance.allowed is not None:
            fits &= instance.allowed[pod, nodes]
        if not fits.any():
            return known
        placement[pod] = nodes[fits.argmax()]
        room[placement[pod]] -= instance.requests[pod]
    return placement if known is None or nodes_used(instance, placement) < nodes_used(instance, known) else known


def _fewest_by_volume(instance: Instance) -> int:
    """So many nodes are in use at least, because fewer do not have enough of some resource."""
    in_use = np.zeros(instance.num_nodes, np.bool_) if instance.in_use is None else instance.in_use
    more = 0
    for column in range(len(instance.resources)):
        missing = instance.requests[:, column].sum() - instance.room[in_use, column].sum()
        rooms = np.cumsum(np.sort(instance.room[~in_use, column])[::-1])
        more = max(more, int(np.searchsorted(rooms, missing)) + 1 if missing > 0 else 0)
    return int(np.count_nonzero(in_use)) + more


def _shares_of_domains(kinds: PodKinds, column: int) -> list[tuple[dict[int, float], float]]:
    """For each domain that has a resource: what each variable adds to its utilisation, and what is there anyway."""
    instance, parts = kinds.instance, []
    asking = np.flatnonzero(kinds.requests[:, column]).tolist()
    for domain in np.unique(instance.domain_of[instance.domain_of >= 0]).tolist():
        rows = np.flatnonzero(instance.domain_of == domain).tolist()
        there = float(instance.allocatable[rows, column].sum())
        if there > 0:
            amounts = kinds.requests[:, column] / there
            factors = {kinds.variable(kind, row): float(amounts[kind]) for row in rows for kind in asking}
            parts.append((factors, float(instance.staying[rows, column].sum()) / there))
    return parts


def _evenest(
    instance: Instance,
    resource: str,
    add_goal: Callable[[PodKinds, IntegerProgram], None],
    judge: Callable[[Instance, Placement, str], float],
    seconds: float,
    known: Placement | None,
) -> Optimum:
    """Place all pods so that what `add_goal` adds to the program, and `judge` reads off a placement, is least."""
    _column(instance, resource)

    def solve(kinds: PodKinds) -> Solution:
        program = kinds.program()
        kinds.add_capacity(program)
        add_goal(kinds, program)
        return program.solve(seconds, DO_NOT_FIT)

    found, bound = _solve(instance, solve, seconds)
    placement = _best(found, known, lambda one: judge(instance, one, resource), seconds)
    value = judge(instance, placement, resource)
    lowest = max(0.0, min(bound, value))
    return Optimum(value, lowest, value - lowest <= 2 * TOLERANCE, placement)


def _column(instance: Instance, resource: str) -> int:
    if resource not in instance.resources:
        raise ValueError(f"there is no resource {resource}; there are {', '.join(instance.resources)}")
    return instance.resources.index(resource)


def _best(
    found: Placement | None, known: Placement | None, cost: Callable[[Placement], float], seconds: float
) -> Placement:
    """The better one of what the solver found and what was known before."""
    placements = [one for one in (found, known) if one is not None]
    if not placements:
        raise UserError(f"the solver found no placement within {seconds:g} s", "give it more time")
    return min(placements, key=cost)


def _solve(instance: Instance, solve: Callable[[PodKinds], Solution], seconds: float) -> tuple[Placement | None, float]:
    """A placement that fits, None if there was no time for one; and a bound on what any may cost.

    Amounts too large for the solver's floating point are rounded in the pods' favour. Nearly always the answer fits all
    the same; if not, they are rounded against them, and the first answer remains as a bound.
    """
    kinds = PodKinds(instance, in_favour=True)
    kinds.check_time(seconds)
    solution = solve(kinds)
    if solution.values is None:
        return None, solution.bound
    placement = kinds.placement(solution.values)
    if not kinds.is_rounded or instance.fits(placement):
        return placement, solution.bound
    strict = PodKinds(instance, in_favour=False)
    values = solve(strict).values
    return None if values is None else strict.placement(values), solution.bound
