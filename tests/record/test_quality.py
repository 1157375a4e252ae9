"""The optimum of small problems: known answers, and every placement tried."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fairway.model import UserError
from fairway.record import RecordError
from fairway.record.quality.gpu_optimum import GpuInstance, least_unallocated, unallocated
from fairway.record.quality.instance import (
    Instance,
    deviation,
    instance_at,
    nodes_used,
    pods_placed,
    spread,
    utilisation_of_used,
)
from fairway.record.quality.optimum import (
    Optimum,
    best_utilisation,
    fewest_nodes,
    most_pods,
    smallest_deviation,
    smallest_spread,
)
from fairway.record.quality.pod_kinds import PodKinds
from tests.record.runs import small_run

pytest.importorskip("highspy", reason="the solver has no build for this Python")

GIB = 2**30


def instance(
    requests: list[list[int]], allocatable: list[list[int]], allowed: list[list[bool]] | None = None
) -> Instance:
    resources = ("cpu", "memory")[: len(allocatable[0])]
    shape = len(requests), len(resources)
    return Instance(
        resources,
        np.array(requests, np.int64).reshape(shape),
        np.array(allocatable, np.int64),
        None if allowed is None else np.array(allowed, np.bool_),
    )


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (instance([[4000]] * 6 + [[3000]] * 6, [[10_000]] * 10), 5),  # 42 in bins of 10
        (instance([[6000]] * 4, [[10_000]] * 4), 4),  # no two fit together
        (instance([[1000, 3 * GIB]] * 3, [[9000, 8 * GIB]] * 3), 2),  # memory decides
        (instance([[3000]] * 2, [[4000], [4000], [6000]]), 1),  # the large node
        (instance([[1000]] * 2, [[4000]] * 2, [[True, False], [False, True]]), 2),  # kept apart
        (instance([], [[4000]]), 0),
    ],
    ids=["bins", "halves", "memory", "unequal nodes", "allowed", "no pods"],
)
def test_fewest_nodes(problem: Instance, expected: int) -> None:
    found = fewest_nodes(problem)
    assert (found.value, found.bound, found.is_proven, found.gap) == (expected, expected, True, 0.0)
    assert problem.fits(found.placement)
    assert (found.placement >= 0).all()


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (instance([[4], [4], [3], [3]], [[10], [10]]), 0.0),
        (instance([[4], [4], [4]], [[10], [10]]), 0.4),
        (instance([[4], [4]], [[8], [16]]), 0.25),  # half and a quarter
        (instance([[5]], [[10], [0]]), 0.0),  # a node without the resource does not count
        (instance([[5], [5]], [[10], [10]], [[True, False], [True, False]]), 1.0),
    ],
    ids=["even", "odd", "unequal nodes", "node without", "allowed"],
)
def test_smallest_spread(problem: Instance, expected: float) -> None:
    found = smallest_spread(problem, "cpu")
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.is_proven
    assert spread(problem, found.placement, "cpu") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (instance([[6]] * 5, [[10]] * 3), 3),
        (instance([[9], [4], [4]], [[10]]), 2),  # two small ones rather than one large
        (instance([[1]] * 3, [[10]], [[True], [False], [True]]), 2),
        (instance([[11]], [[10]]), 0),
    ],
    ids=["large", "small first", "allowed", "nothing fits"],
)
def test_most_pods(problem: Instance, expected: int) -> None:
    found = most_pods(problem)
    assert (found.value, found.bound, found.is_proven) == (expected, expected, True)
    assert pods_placed(found.placement) == expected
    assert problem.fits(found.placement)


def every_placement(problem: Instance) -> list[NDArray[np.intp]]:
    found = []
    for choice in product(range(-1, problem.num_nodes), repeat=problem.num_pods):
        placement = np.array(choice, np.intp)
        if problem.fits(placement):
            found.append(placement)
    return found


@given(
    requests=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=4),
    allocatable=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=3),
    mask=st.lists(st.booleans(), min_size=12, max_size=12),
)
@settings(max_examples=40)
def test_no_placement_is_better(
    requests: list[tuple[int, int]], allocatable: list[tuple[int, int]], mask: list[bool]
) -> None:
    allowed = [[mask[3 * row + column] for column in range(len(allocatable))] for row in range(len(requests))]
    problem = instance([list(one) for one in requests], [list(one) for one in allocatable], allowed)
    placements = every_placement(problem)
    assert most_pods(problem).value == max(map(pods_placed, placements))
    whole = [placement for placement in placements if (placement >= 0).all()]
    if not whole:
        with pytest.raises(UserError, match="do not all fit"):
            fewest_nodes(problem)
        return
    assert fewest_nodes(problem).value == min(nodes_used(problem, placement) for placement in whole)
    best = min(spread(problem, placement, "cpu") for placement in whole)
    assert smallest_spread(problem, "cpu").value == pytest.approx(best, abs=1e-6)


NEEDS = [(0, 0), (300, 1), (500, 1), (700, 1), (1000, 1), (1000, 2)]  # thousandths of a device, devices
amounts = st.tuples(st.integers(0, 5), st.integers(1, 5))


@given(
    requests=st.lists(amounts, min_size=1, max_size=4),
    nodes=st.lists(st.tuples(amounts, st.booleans(), st.integers(-1, 1)), min_size=1, max_size=3),
    held=st.lists(amounts, min_size=3, max_size=3),
)
@settings(max_examples=40, deadline=None)
def test_no_placement_is_better_beside_pods_that_stay(
    requests: list[tuple[int, int]], nodes: list[tuple[tuple[int, int], bool, int]], held: list[tuple[int, int]]
) -> None:
    problem = Instance(
        ("cpu", "memory"),
        np.array(requests, np.int64),
        np.array([[2 + 2 * cpu, 2 + 2 * memory] for (cpu, memory), _, _ in nodes], np.int64),
        held=np.array(held[: len(nodes)], np.int64),
        in_use=np.array([in_use for _, in_use, _ in nodes], np.bool_),
        domains=np.array([domain for _, _, domain in nodes], np.intp),
    )
    whole = [placement for placement in every_placement(problem) if (placement >= 0).all()]
    if not whole:
        with pytest.raises(UserError, match="do not all fit"):
            smallest_deviation(problem, "cpu")
        return
    assert fewest_nodes(problem).value == min(nodes_used(problem, one) for one in whole)
    assert smallest_spread(problem, "cpu").value == pytest.approx(
        min(spread(problem, one, "cpu") for one in whole), abs=1e-5
    )
    assert smallest_deviation(problem, "cpu").value == pytest.approx(
        min(deviation(problem, one, "cpu") for one in whole), abs=1e-5
    )
    best = max(utilisation_of_used(problem, one, "cpu") for one in whole)
    found = best_utilisation(problem, "cpu")
    assert found.value <= best + 1e-9
    assert found.bound >= best - 1e-6  # pods that stay without making a node used are not weighed up: a bound


def device_loads(free: list[int], needs: list[tuple[int, int]]) -> bool:
    """Do these needs (thousandths, devices) fit on the devices of a node? Every way is tried."""
    if not needs:
        return True
    (milli, count), *others = needs
    for chosen in combinations(range(len(free)), count):
        if all(free[device] >= milli for device in chosen):
            left = [amount - milli * (device in chosen) for device, amount in enumerate(free)]
            if device_loads(left, others):
                return True
    return False


@given(
    needs=st.lists(
        st.sampled_from([(0, 0), (300, 1), (500, 1), (700, 1), (1000, 1), (1000, 2)]), min_size=1, max_size=5
    ),
    free=st.lists(st.lists(st.sampled_from([0, 400, 1000]), min_size=2, max_size=2), min_size=1, max_size=2),
)
@settings(max_examples=60, deadline=None)
def test_no_sharing_of_devices_leaves_less(needs: list[tuple[int, int]], free: list[list[int]]) -> None:
    problem = instance([[2]] * len(needs), [[5]] * len(free))
    milli, count = (np.array(column, np.int64) for column in zip(*needs, strict=True))
    gpus = GpuInstance(problem, milli, count, np.array(free, np.int64), 2000 * len(free))
    nowhere = np.full(len(needs), -1, np.intp)
    on_nodes = [
        placement
        for placement in every_placement(problem)
        if (placement[milli == 0] < 0).all()  # nobody had placed the pods without devices
        and all(
            device_loads(free[row], [need for need, place in zip(needs, placement, strict=True) if place == row])
            for row in range(len(free))
        )
    ]
    found = least_unallocated(gpus, nowhere)
    assert found.value == pytest.approx(min(unallocated(gpus, placement) for placement in on_nodes))
    assert found.is_proven


def test_amounts_that_differ_by_a_byte_do_not_fit() -> None:
    found = fewest_nodes(instance([[1, 32 * GIB + 1], [1, 32 * GIB - 1], [1, 32 * GIB + 1]], [[10, 64 * GIB]] * 3))
    assert (found.value, found.bound, found.is_proven) == (2, 2, True)
    found = fewest_nodes(instance([[1, 32 * GIB + 1]] * 2 + [[1, 32 * GIB]], [[10, 64 * GIB]] * 3))
    assert (found.value, found.bound, found.is_proven) == (3, 2, False)  # the solver does not see the byte
    assert fewest_nodes(instance([[1, 32 * GIB - 1], [1, 32 * GIB]], [[10, 64 * GIB]] * 2)).is_proven


def test_a_policys_gap() -> None:
    nowhere = np.zeros(0, np.intp)
    assert Optimum(5.0, 5.0, True, nowhere).gap_of(6.0) == pytest.approx(0.2)
    assert Optimum(0.0, 0.0, True, nowhere).gap_of(0.25) == 0.25
    assert Optimum(10.0, 8.0, False, nowhere).gap == pytest.approx(0.2)


def test_without_time_there_is_a_bound_or_no_answer() -> None:
    generator = np.random.default_rng(1)
    problem = instance(generator.integers(1, 40, (60, 2)).tolist(), [[100, 100]] * 30)
    with pytest.raises(UserError, match="no placement within 0 s; give it more time"):
        smallest_spread(problem, "cpu", time_limit_seconds=0.0)
    found = fewest_nodes(problem, time_limit_seconds=0.0)  # what first fit says, and the sum of all pods
    assert problem.fits(found.placement)
    assert found.bound == np.ceil(problem.requests.sum(axis=0).max() / 100)
    assert found.value == nodes_used(problem, found.placement)
    assert found.is_proven == (found.value == found.bound)
    known = found.placement
    assert smallest_spread(problem, "cpu", time_limit_seconds=0.0, known=known).placement is known


def test_without_the_solver_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "highspy.py").write_text("raise ImportError('not installed')\n")
    code = (
        "import numpy as np\n"
        "from fairway.record.quality.instance import Instance\n"
        "from fairway.record.quality.optimum import most_pods\n"
        "most_pods(Instance(('cpu',), np.array([[1]]), np.array([[1]])))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "UserError: the best possible placement needs a solver; pip install 'fairway[quality]'" in done.stderr


def test_a_problem_too_large_is_refused() -> None:
    problem = instance([[number] for number in range(1, 1001)], [[5000]] * 1001)
    with pytest.raises(UserError, match="1000 kinds of pods on 1001 nodes are too many"):
        most_pods(problem)


def test_an_instance_from_a_run(tmp_path: Path) -> None:
    with small_run(tmp_path / "run") as run:
        problem, placement = instance_at(run, 12.0)
        assert (problem.pods, problem.nodes) == (("default/two", "team/three"), ("a", "b"))
        assert problem.resources == ("cpu", "memory", "pods")
        assert problem.requests.tolist() == [[2000, GIB, 1], [8000, 2 * GIB, 1]]
        assert problem.allocatable.tolist() == [[8000, 8 * GIB, 110]] * 2
        assert placement.tolist() == [0, 1]
        assert fewest_nodes(problem).value == nodes_used(problem, placement) == 2
        waiting, where = instance_at(run, 2.0)
        assert (waiting.pods, where.tolist()) == (("default/one", "default/two"), [0, -1])
        assert instance_at(run, 2.0, waiting=False)[0].pods == ("default/one",)
        with pytest.raises(RecordError, match="no ready node"):
            instance_at(run, -1.0)


@pytest.mark.parametrize(
    ("requests", "allocatable", "allowed", "words"),
    [
        ([[1, 1]], [[1]], None, "requests has the shape"),
        ([[-1]], [[1]], None, "negative"),
        ([[1]], [[1]], [[True, True]], "allowed has the shape"),
    ],
    ids=["columns", "negative", "mask"],
)
def test_arrays_that_do_not_match_are_errors(
    requests: list[list[int]], allocatable: list[list[int]], allowed: list[list[bool]] | None, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        Instance(("cpu",), np.array(requests), np.array(allocatable), None if allowed is None else np.array(allowed))


def test_an_unknown_resource_is_named() -> None:
    with pytest.raises(ValueError, match="no resource gpu; there are cpu"):
        smallest_spread(instance([[1]], [[1]]), "gpu")


@pytest.mark.parametrize(
    "goal",
    [most_pods, fewest_nodes, *(partial(goal, resource="cpu") for goal in (smallest_spread, smallest_deviation))],
    ids=["pods", "nodes", "spread", "deviation"],
)
def test_a_question_that_takes_too_long_to_write_down_is_not_begun(goal: Callable[..., Optimum]) -> None:
    """900,000 variables: half a minute before the solver gets to see them, whatever its own limit is."""
    requests = np.column_stack([np.arange(1, 901), np.ones(900)]).astype(np.int64)
    instance = Instance(("cpu", "pods"), requests, np.full((1000, 2), 1000, np.int64))
    with pytest.raises(UserError, match=r"too many for an exact answer in 1 s: .* takes about 22 s") as refused:
        goal(instance, time_limit_seconds=1.0)
    assert "--optimum-seconds 22" in refused.value.hint


@pytest.mark.parametrize("num_nodes", [1, 7, 8, 9, 17])
def test_pods_that_may_go_elsewhere_are_of_another_kind(num_nodes: int) -> None:
    allowed = np.ones((4, num_nodes), np.bool_)
    allowed[2, num_nodes - 1] = False
    instance = Instance(("cpu",), np.ones((4, 1), np.int64), np.full((num_nodes, 1), 9, np.int64), allowed)
    kinds = PodKinds(instance, in_favour=True)
    assert sorted(kinds.counts.tolist()) == [1, 3]
