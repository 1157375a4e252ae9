"""NodeResourcesBalancedAllocation: how even a node's resources are used with the pod, compared to without it."""

from __future__ import annotations

import numpy as np
import pytest

from fairway.model import Node, Pod
from fairway.plugins.allocation import ResourceSpec
from fairway.plugins.node_resources_balanced_allocation import (
    NodeResourcesBalancedAllocation,
    NodeResourcesBalancedAllocationArgs,
    balance,
)
from fairway.testing import cluster, node, pod
from fairway.testing.interview import Interview

GPU = "example.com/gpu"
NODE = node("n", cpu=4, memory="8Gi", resources={GPU: 2})


def scores(here: Node, there: Pod | None, incoming: Pod, *resources: str) -> dict[str, int]:
    args = NodeResourcesBalancedAllocationArgs(resources=tuple(ResourceSpec(name=name) for name in resources))
    plugin = NodeResourcesBalancedAllocation(cluster(here, () if there is None else there), args)
    return Interview(plugin, incoming).answers().scores


@pytest.mark.parametrize(
    ("there", "incoming", "expected"),
    [
        pytest.param(None, pod(cpu=1, memory="2Gi"), 75, id="even before and after"),
        pytest.param(None, pod(cpu=2), 62, id="uneven after: 75 for 100"),
        pytest.param(None, pod(cpu=4), 50, id="as uneven as can be: 50 for 100"),
        pytest.param(pod("t", node="n", cpu=2), pod(memory="4Gi"), 87, id="even after: 100 for 75"),
        pytest.param(pod("t", node="n", cpu=4), pod(memory="8Gi"), 100, id="made even: 100 for 50"),
        pytest.param(pod("t", node="n", cpu=8), pod(memory="4Gi"), 87, id="over-committed counts as full: 75 for 50"),
        pytest.param(pod("t", node="n"), pod(cpu=1, memory="2Gi"), 75, id="pods without requests do not count"),
    ],
)
def test_cpu_and_memory(there: Pod | None, incoming: Pod, expected: int) -> None:
    assert scores(NODE, there, incoming) == {"n": expected}


@pytest.mark.parametrize(
    ("here", "incoming", "resources", "expected"),
    [
        # Fractions 0, 0 and 1/2: deviation 0.2357, that is 76 for 100.
        pytest.param(NODE, pod(requests={GPU: 1}), ("cpu", "memory", GPU), 63, id="three resources"),
        pytest.param(NODE, pod(cpu=1, memory="2Gi"), ("cpu", "memory", GPU), 75, id="a device not wanted is left out"),
        pytest.param(node("n"), pod(requests={GPU: 1}), ("cpu", "memory", GPU), 75, id="as is one the node has not"),
        pytest.param(NODE, pod(cpu=2, requests={GPU: 2}), ("cpu", GPU), 62, id="two others: 1/2 and 1"),
        pytest.param(NODE, pod(cpu=4), ("cpu",), 75, id="one resource is always even"),
        pytest.param(NODE, pod(cpu=4), ("memory", "cpu"), 50, id="the order does not matter"),
    ],
)
def test_other_resources(here: Node, incoming: Pod, resources: tuple[str, ...], expected: int) -> None:
    assert scores(here, None, incoming, *resources) == {"n": expected}


@pytest.mark.parametrize(
    ("incoming", "resources"),
    [
        pytest.param(pod(), (), id="asks for nothing"),
        pytest.param(pod(requests={GPU: 1}), (), id="asks for nothing that is scored"),
        pytest.param(pod(cpu=1), (GPU,), id="asks for no such device"),
    ],
)
def test_pods_that_are_not_scored(incoming: Pod, resources: tuple[str, ...]) -> None:
    assert scores(NODE, None, incoming, *resources) == {}


def test_two_resources_and_the_general_rule_agree() -> None:
    used = np.array([[[1, 0, 7], [3, 0, 2]]], np.int64)  # (1, 2, 3)
    capacity = np.array([[4, 4, 5], [4, 8, 9]], np.int64)  # (2, 3)
    everything = np.ones((2, 3), bool)
    # Halves of |1/4 - 3/4|, 0 and |1 - 2/9|, taken from 1.
    assert balance(used, capacity, None).tolist() == [[75, 100, 61]]
    assert balance(used, capacity, everything).tolist() == [[75, 100, 61]]
