"""What a pod adds to the resources that are scored, and which of them count for it."""

from __future__ import annotations

import pytest

from fairway.plugins.allocation import ResourceSpec, shares_of
from fairway.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocationArgs
from fairway.plugins.node_resources_fit_args import ScoringStrategy
from fairway.testing import cluster, node

GPU = "example.com/gpu"


@pytest.mark.parametrize(
    ("resources", "requests", "amounts", "counted"),
    [
        pytest.param(("cpu", "memory"), {"cpu": 500, "memory": 7}, [500, 7], [True, True], id="asked for"),
        pytest.param(("cpu", "memory"), {}, [0, 0], [True, True], id="cpu and memory count anyway"),
        pytest.param(("cpu", GPU), {"cpu": 1, GPU: 2}, [1, 2], [True, True], id="a device that is asked for"),
        pytest.param((GPU, "cpu"), {"cpu": 1}, [0, 1], [False, True], id="a device that is not"),
        pytest.param(("ephemeral-storage",), {}, [0], [True], id="disk counts anyway"),
        pytest.param(("hugepages-2Mi",), {}, [0], [False], id="huge pages do not"),
        pytest.param(("kubernetes.io/x",), {}, [0], [False], id="nor Kubernetes' own others"),
    ],
)
def test_amounts(resources: tuple[str, ...], requests: dict[str, int], amounts: list[int], counted: list[bool]) -> None:
    table = cluster(node(resources={GPU: 1})).nodes
    shares = shares_of(table, [ResourceSpec(name=name) for name in resources], requests)
    assert shares.amounts.tolist() == amounts
    assert shares.counted.tolist() == counted
    assert shares.all_counted is all(counted)
    assert [table.resources[column] for column in shares.columns] == list(resources)
    assert shares.added[:, 0].tolist() == amounts
    assert shares.both[:, :, 0].tolist() == [amounts, [0] * len(amounts)]


@pytest.mark.parametrize(
    ("resources", "cpu", "memory", "usual"),
    [
        pytest.param(("cpu", "memory"), 0, 1, True, id="as by default"),
        pytest.param(("memory", "cpu"), 1, 0, False, id="the other way round"),
        pytest.param(("cpu",), 0, -1, False, id="cpu alone"),
        pytest.param((GPU, "memory", "cpu"), 2, 1, False, id="with a device"),
    ],
)
def test_positions(resources: tuple[str, ...], cpu: int, memory: int, usual: bool) -> None:
    shares = shares_of(cluster(1).nodes, [ResourceSpec(name=name) for name in resources], {})
    assert (shares.cpu, shares.memory, shares.is_cpu_and_memory) == (cpu, memory, usual)


def test_a_resource_nobody_has_gets_a_column() -> None:
    table = cluster(1).nodes
    names = [f"example.com/thing-{number}" for number in range(20)]
    shares = shares_of(table, [ResourceSpec(name=name) for name in names], {})
    assert table.allocatable[0, shares.columns].tolist() == [0] * 20


def test_empty_values_become_the_defaults_however_a_struct_is_made() -> None:
    both = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))
    assert ResourceSpec(name="cpu", weight=0).weight == 1
    assert ScoringStrategy(type="MostAllocated", resources=()).resources == both
    assert NodeResourcesBalancedAllocationArgs().resources == both
