"""Small integer programs against every assignment of their variables; placement problems against every placement."""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.model import UserError
from fairway.record import RecordError
from fairway.record.quality.instance import Instance, instance_at, nodes_used, pods_placed, spread
from fairway.record.quality.integer_program import IntegerProgram
from fairway.record.quality.optimum import fewest_nodes, most_pods, smallest_spread
from fairway.record.quality.pod_kinds import MAX_AMOUNT
from tests.record.lifetimes import HISTORIES, History, tell

pytest.importorskip("highspy", reason="the solver has no build for this Python")

SIZE = 3
Row = tuple[tuple[int, int, int], int, int]  # factors, lower, upper
ROWS = st.lists(
    st.tuples(st.tuples(*[st.integers(-3, 3)] * SIZE), st.integers(-8, 4), st.integers(0, 8)).map(
        lambda row: (row[0], min(row[1], row[2]), max(row[1], row[2]))
    ),
    max_size=3,
)
SMALL = st.tuples(*[st.integers(0, 3)] * SIZE)
COSTS = st.tuples(*[st.integers(-3, 3)] * SIZE)


def holds(values: tuple[int, ...], rows: list[Row]) -> bool:
    return all(
        lower <= sum(factor * value for factor, value in zip(factors, values, strict=True)) <= upper
        for factors, lower, upper in rows
    )


@given(uppers=SMALL, costs=COSTS, rows=ROWS)
@settings(max_examples=60)
def test_no_assignment_is_cheaper(uppers: tuple[int, ...], costs: tuple[int, ...], rows: list[Row]) -> None:
    program = IntegerProgram()
    for number, (upper, cost) in enumerate(zip(uppers, costs, strict=True)):
        assert program.add_variables(1, upper=float(upper), cost=float(cost)) == number
    for factors, lower, upper in rows:
        given_factors = {number: float(factor) for number, factor in enumerate(factors) if factor}
        program.add_row(given_factors, lower=float(lower), upper=float(upper))
    prices = {
        values: sum(cost * value for cost, value in zip(costs, values, strict=True))
        for values in product(*(range(upper + 1) for upper in uppers))
        if holds(values, rows)
    }
    if not prices:
        with pytest.raises(UserError, match="it can not be"):
            program.solve(10.0, "it can not be")
        return
    solution = program.solve(10.0, "it can not be")
    assert solution.values is not None
    values = tuple(int(value) for value in np.rint(solution.values))
    assert np.allclose(solution.values, values, atol=1e-6)
    assert prices[values] == min(prices.values())
    assert solution.is_optimal
    assert solution.bound == pytest.approx(min(prices.values()), abs=1e-5)


def test_variables_between_integers_take_any_value() -> None:
    program = IntegerProgram()
    share = program.add_variables(1, upper=10.0, cost=1.0, is_integer=False)
    whole = program.add_variables(2, upper=[4.0, 5.0], cost=1.0)
    assert (share, whole) == (0, 1)
    program.add_row({share: 2.0}, lower=5.0)
    program.add_row({whole: 2.0}, lower=5.0)
    program.add_row({whole + 1: 1.0}, upper=3.0, lower=1.0)
    values = program.solve(10.0, "").values
    assert values is not None
    assert values.tolist() == pytest.approx([2.5, 3.0, 1.0])


def test_a_program_without_variables_is_solved() -> None:
    solution = IntegerProgram().solve(1.0, "never said")
    assert solution.values is not None
    assert (len(solution.values), solution.bound, solution.is_optimal) == (0, 0.0, True)


# -- placements --------------------------------------------------------------------------------------------------------

REQUESTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4)
NODES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=3)


def problem_of(requests: list[tuple[int, int]], allocatable: list[tuple[int, int]], factor: int = 1) -> Instance:
    return Instance(
        ("cpu", "memory"),
        np.array(requests, np.int64).reshape(-1, 2) * factor,
        np.array(allocatable, np.int64).reshape(-1, 2) * factor,
    )


@given(requests=REQUESTS, allocatable=NODES, choice=st.lists(st.integers(-1, 2), min_size=4, max_size=4))
def test_what_a_placement_is_worth(
    requests: list[tuple[int, int]], allocatable: list[tuple[int, int]], choice: list[int]
) -> None:
    problem = problem_of(requests, allocatable)
    where = [min(place, len(allocatable) - 1) for place in choice[: len(requests)]]
    placement = np.array(where, np.intp)
    loads = [
        [
            sum(request[column] for request, place in zip(requests, where, strict=True) if place == row)
            for column in (0, 1)
        ]
        for row in range(len(allocatable))
    ]
    assert problem.loads(placement).tolist() == loads
    is_within = all(load <= there for row, have in zip(loads, allocatable, strict=True)
                    for load, there in zip(row, have, strict=True))  # fmt: skip
    assert problem.fits(placement) == is_within
    assert nodes_used(problem, placement) == len({place for place in where if place >= 0})
    assert pods_placed(placement) == sum(place >= 0 for place in where)
    shares = [row[0] / have[0] for row, have in zip(loads, allocatable, strict=True) if have[0]]
    assert spread(problem, placement, "cpu") == pytest.approx(max(shares) - min(shares) if shares else 0.0)


@given(requests=REQUESTS, allocatable=NODES, mask=st.lists(st.booleans(), min_size=12, max_size=12))
def test_a_pod_where_it_is_not_allowed_does_not_fit(
    requests: list[tuple[int, int]], allocatable: list[tuple[int, int]], mask: list[bool]
) -> None:
    size = len(requests), len(allocatable)
    allowed = np.array(mask[: size[0] * size[1]], np.bool_).reshape(size)
    free = problem_of(requests, allocatable)
    bound = Instance(free.resources, free.requests, free.allocatable, allowed)
    for choice in product(range(-1, size[1]), repeat=size[0]):
        placement = np.array(choice, np.intp)
        is_allowed = all(allowed[number, place] for number, place in enumerate(choice) if place >= 0)
        assert bound.fits(placement) == (free.fits(placement) and is_allowed)


@given(requests=REQUESTS, allocatable=NODES, factor=st.sampled_from([7, 2**30, MAX_AMOUNT * 3 + 1]))
@settings(max_examples=20)
def test_the_optimum_does_not_depend_on_the_unit(
    requests: list[tuple[int, int]], allocatable: list[tuple[int, int]], factor: int
) -> None:
    small, large = problem_of(requests, allocatable), problem_of(requests, allocatable, factor)
    assert most_pods(large).value == most_pods(small).value
    try:
        fewest = fewest_nodes(small)
    except UserError as error:
        with pytest.raises(UserError, match=str(error)):
            fewest_nodes(large)
        return
    assert fewest_nodes(large).value == fewest.value
    assert smallest_spread(large, "memory").value == pytest.approx(smallest_spread(small, "memory").value, abs=1e-6)


@given(
    requests=st.lists(st.integers(1, 2**24), min_size=1, max_size=4),
    allocatable=st.lists(st.integers(2**21, 2**24), min_size=1, max_size=3),
)
@settings(max_examples=30)
def test_amounts_too_fine_for_the_solver_still_give_a_placement_that_fits_and_a_true_bound(
    requests: list[int], allocatable: list[int]
) -> None:
    """Amounts without a common divisor, larger than the solver counts exactly."""
    problem = Instance(("cpu",), np.array(requests)[:, None], np.array(allocatable)[:, None])
    best = 0
    for choice in product(range(-1, problem.num_nodes), repeat=problem.num_pods):
        placement = np.array(choice, np.intp)
        if problem.fits(placement):
            best = max(best, pods_placed(placement))
    found = most_pods(problem)
    assert problem.fits(found.placement)
    assert found.value <= best <= found.bound
    assert not found.is_proven or found.value == best
    assert found.gap == (0.0 if found.is_proven else abs(found.value - found.bound) / max(found.value, 1e-9))


@given(requests=REQUESTS, allocatable=NODES)
@settings(max_examples=30)
def test_no_placement_is_more_even_and_the_bound_says_so(
    requests: list[tuple[int, int]], allocatable: list[tuple[int, int]]
) -> None:
    problem = problem_of(requests, allocatable)
    placements = [np.array(choice, np.intp) for choice in product(range(problem.num_nodes), repeat=problem.num_pods)]
    spreads = [spread(problem, placement, "cpu") for placement in placements if problem.fits(placement)]
    if not spreads:
        with pytest.raises(UserError, match="do not all fit"):
            smallest_spread(problem, "cpu")
        return
    found = smallest_spread(problem, "cpu")
    assert problem.fits(found.placement)
    assert found.value == pytest.approx(min(spreads), abs=1e-6)
    assert found.bound == pytest.approx(min(spreads), abs=1e-6)
    assert (found.is_proven, found.gap) == (True, 0.0)
    assert found.gap_of(max(spreads)) >= 0


# -- from a run --------------------------------------------------------------------------------------------------------


@given(HISTORIES, st.integers(0, 23), st.booleans())
@settings(max_examples=10)
def test_the_problem_of_a_moment_is_what_was_there(history: History, second: int, waiting: bool) -> None:
    at = float(second)
    ready = [machine for machine in history.machines if machine.is_ready(at, history.end)]
    with tempfile.TemporaryDirectory() as folder, tell(history, Path(folder) / "run") as run:
        if not ready:
            with pytest.raises(RecordError, match=f"no ready node at {at:g} s"):
                instance_at(run, at, waiting=waiting)
            return
        problem, placement = instance_at(run, at, waiting=waiting)
        order = list(run.resources)
    names = {machine.name for machine in ready}
    expected: dict[str, str | None] = {}
    for life in history.lives:
        if not life.created <= at < (life.ended if life.ended is not None else history.end + 1):
            continue
        if life.bound is not None and life.bound <= at:
            if life.node in names:
                expected[f"default/{life.name}"] = life.node
        elif waiting:
            expected[f"default/{life.name}"] = None
    found = {
        pod: None if place < 0 else problem.nodes[place] for pod, place in zip(problem.pods, placement, strict=True)
    }
    assert found == expected
    assert set(problem.nodes) == names
    assert problem.resources == (*order, "pods")
    lives = {f"default/{life.name}": life for life in history.lives}
    assert problem.requests.tolist() == [
        [*(lives[pod].amount(resource) for resource in order), 1] for pod in problem.pods
    ]
    machines = {machine.name: machine for machine in ready}
    assert problem.allocatable.tolist() == [
        [*(machines[name].amount(resource) for resource in order), 110] for name in problem.nodes
    ]
