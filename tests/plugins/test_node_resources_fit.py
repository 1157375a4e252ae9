"""NodeResourcesFit: room or not, in which words; scores by the three strategies; whose leaving makes room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairway.cluster import Action, Cluster, Nodes, Resource
from fairway.model import Container, Node, Pod, ResourceRequirements, parse_quantity
from fairway.plugins.allocation import ResourceSpec
from fairway.plugins.node_resources_fit import NodeResourcesFit
from fairway.plugins.node_resources_fit_args import (
    NodeResourcesFitArgs,
    RequestedToCapacityRatio,
    ScoringStrategy,
    UtilizationShapePoint,
)
from fairway.testing import cluster, node, pod
from fairway.testing.interview import Interview
from tests.plugins.volume_verdicts import OK, helps, judge

GPU, LINK = "example.com/gpu", "example.com/link"
NOW, NEVER = "Unschedulable", "UnschedulableAndUnresolvable"


def asking(cpu: str) -> Container:
    return Container(resources=ResourceRequirements(requests={"cpu": parse_quantity(cpu)}))


# -- filter ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("incoming", "expected"),
    [
        pytest.param(pod(), OK, id="asks for nothing"),
        pytest.param(pod(cpu=3, memory="6Gi"), OK, id="all that is left"),
        pytest.param(pod(cpu="3001m"), (NOW, "Insufficient cpu"), id="a thousandth more"),
        pytest.param(pod(memory=6 * 2**30 + 1), (NOW, "Insufficient memory"), id="a byte more"),
        pytest.param(pod(cpu=4), (NOW, "Insufficient cpu"), id="all of the node: if it were empty"),
        pytest.param(pod(cpu="4001m"), (NEVER, "Insufficient cpu"), id="more than the node"),
        pytest.param(pod(cpu=4, memory="7Gi"), (NOW, "Insufficient cpu", "Insufficient memory"), id="two things"),
        pytest.param(pod(cpu=4, memory="9Gi"), (NEVER, "Insufficient cpu", "Insufficient memory"), id="two, one never"),
        pytest.param(pod(requests={"ephemeral-storage": "11Gi"}), (NEVER, "Insufficient ephemeral-storage"), id="disk"),
        pytest.param(pod(requests={GPU: 1}), OK, id="the last device"),
        pytest.param(pod(requests={GPU: 2}), (NOW, f"Insufficient {GPU}"), id="two devices, one free"),
        pytest.param(pod(requests={LINK: 1}), (NEVER, f"Insufficient {LINK}"), id="a device it does not have"),
        pytest.param(pod(requests={LINK: 0}), OK, id="none of a device it does not have"),
        pytest.param(pod(images=[asking("2"), asking("2")]), (NOW, "Insufficient cpu"), id="containers add up"),
        pytest.param(
            pod(cpu=1, init_containers=[asking("3"), asking("4")]), (NOW, "Insufficient cpu"), id="init: the largest"
        ),
        pytest.param(pod(cpu=1, init_containers=[asking("3"), asking("2")]), OK, id="init: not the sum"),
    ],
)
def test_room(incoming: Pod, expected: object) -> None:
    here = node("n", cpu=4, memory="8Gi", resources={GPU: 2, "ephemeral-storage": "10Gi"})
    there = pod("there", node="n", cpu=1, memory="2Gi", requests={GPU: 1})
    assert judge(NodeResourcesFit(cluster(here, there)), incoming) == {"n": expected}


@pytest.mark.parametrize(
    ("pods", "incoming", "expected"),
    [
        pytest.param(2, pod(), OK, id="one more"),
        pytest.param(1, pod(), (NOW, "Too many pods"), id="full"),
        pytest.param(0, pod(), (NOW, "Too many pods"), id="none allowed: not hopeless all the same"),
        pytest.param(1, pod(cpu=5), (NEVER, "Too many pods", "Insufficient cpu"), id="the number of pods comes first"),
    ],
)
def test_the_number_of_pods(pods: int, incoming: Pod, expected: object) -> None:
    plugin = NodeResourcesFit(cluster(node("n", cpu=4, pods=pods), pod("there", node="n")))
    assert judge(plugin, incoming) == {"n": expected}


def test_a_pod_that_asks_for_nothing_fits_where_too_much_is_promised() -> None:
    what = cluster(node("n", cpu=1), pod("there", node="n", cpu=2))
    assert judge(NodeResourcesFit(what), pod()) == {"n": OK}
    assert judge(NodeResourcesFit(what), pod(memory=1)) == {"n": OK}
    assert judge(NodeResourcesFit(what), pod(cpu="1m")) == {"n": (NOW, "Insufficient cpu")}


@pytest.mark.parametrize(
    ("args", "resource", "is_ignored"),
    [
        pytest.param({"ignored_resources": (GPU,)}, GPU, True, id="by name"),
        pytest.param({"ignored_resources": (LINK,)}, GPU, False, id="another name"),
        pytest.param({"ignored_resource_groups": ("example.com",)}, GPU, True, id="by group"),
        pytest.param({"ignored_resource_groups": ("example.org",)}, GPU, False, id="another group"),
        pytest.param(
            {"ignored_resource_groups": ("a.kubernetes.io",)}, "a.kubernetes.io/b", False, id="Kubernetes' own"
        ),
        pytest.param({"ignored_resources": ("hugepages-2Mi",)}, "hugepages-2Mi", False, id="huge pages"),
        pytest.param({"ignored_resources": ("cpu",)}, "cpu", False, id="cpu"),
    ],
)
def test_ignored_resources(args: dict[str, Any], resource: str, is_ignored: bool) -> None:
    plugin = NodeResourcesFit(cluster(node("n")), NodeResourcesFitArgs(**args))
    expected = OK if is_ignored else (NEVER, f"Insufficient {resource}")
    assert judge(plugin, pod(requests={resource: "64"})) == {"n": expected}


# -- score -------------------------------------------------------------------------------------------------------------


def strategy(kind: Any, *resources: tuple[str, int], shape: tuple[tuple[int, int], ...] = ()) -> NodeResourcesFitArgs:
    points = tuple(UtilizationShapePoint(utilization=at, score=score) for at, score in shape)
    return NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(
            type=kind,
            resources=tuple(ResourceSpec(name=name, weight=weight) for name, weight in resources),
            requested_to_capacity_ratio=RequestedToCapacityRatio(shape=points) if points else None,
        )
    )


LEAST, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
UP, DOWN = ((0, 0), (100, 10)), ((0, 10), (100, 0))


@pytest.mark.parametrize(
    ("args", "incoming", "expected"),
    [
        # The node has 4 CPUs and 8 GiB; a container that asks for nothing counts as 100m and 200 MiB.
        pytest.param(None, pod(cpu=1, memory="2Gi"), 75, id="least: 75 and 75"),
        pytest.param(None, pod(cpu=2, memory="2Gi"), 62, id="least: 50 and 75, cut"),
        pytest.param(None, pod(), 97, id="least: 97.5 and 97.6, each cut"),
        pytest.param(None, pod(images=("x", "y")), 95, id="least: each container counts"),
        pytest.param(None, pod(cpu=4, memory="8Gi"), 0, id="least: full"),
        pytest.param(strategy(LEAST, ("cpu", 3), ("memory", 1)), pod(cpu=2, memory="2Gi"), 56, id="least: weighted"),
        pytest.param(strategy(LEAST, ("memory", 1), ("cpu", 3)), pod(cpu=2, memory="2Gi"), 56, id="least: any order"),
        pytest.param(strategy(MOST), pod(cpu=2, memory="2Gi"), 37, id="most: 50 and 25, cut"),
        pytest.param(strategy(MOST), pod(cpu=4, memory="8Gi"), 100, id="most: full"),
        pytest.param(
            strategy(RATIO, shape=UP), pod(cpu=2, memory="2Gi"), 38, id="ratio: 50 and 25, rounded up at half"
        ),
        pytest.param(strategy(RATIO, shape=DOWN), pod(cpu=2, memory="2Gi"), 63, id="ratio: downward, 50 and 75"),
        pytest.param(
            strategy(RATIO, shape=((0, 10), (30, 0))), pod(cpu=2, memory="2Gi"), 17, id="ratio: 0 drops out; cut to 0"
        ),
        pytest.param(
            strategy(RATIO, shape=((40, 2), (60, 8))), pod(cpu=2, memory="6Gi"), 65, id="ratio: 50 between, 80 beyond"
        ),
        pytest.param(
            strategy(RATIO, ("cpu", 1), shape=((40, 2), (60, 8))), pod(), 20, id="ratio: before the first point"
        ),
        pytest.param(
            strategy(RATIO, ("cpu", 1), shape=((0, 0), (50, 0), (100, 10))), pod(cpu=1), 0, id="ratio: none left"
        ),
        pytest.param(
            strategy(LEAST, ("cpu", 1), (GPU, 1)), pod(cpu=1, requests={GPU: 1}), 75, id="a device: 75 and 75"
        ),
        pytest.param(
            strategy(LEAST, ("cpu", 1), (GPU, 1)), pod(cpu=2), 50, id="a device that is not wanted is left out"
        ),
        pytest.param(
            strategy(LEAST, ("cpu", 1), (LINK, 1)), pod(cpu=2, requests={LINK: 1}), 50, id="nor one not there"
        ),
        pytest.param(strategy(LEAST, (LINK, 1)), pod(), 0, id="nothing to score by"),
    ],
)
def test_scores_of_an_empty_node(args: NodeResourcesFitArgs | None, incoming: Pod, expected: int) -> None:
    plugin = NodeResourcesFit(cluster(node("n", cpu=4, memory="8Gi", resources={GPU: 4})), args)
    assert Interview(plugin, incoming).answers().scores == {"n": expected}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        # 200m of 100m, and 400 MiB of 8 GiB.
        pytest.param(None, 47, id="least: 0 and 95"),
        pytest.param(strategy(MOST), 52, id="most: 100 and 4"),
        pytest.param(strategy(RATIO, shape=UP), 52, id="ratio: 100 and 4"),
    ],
)
def test_scores_beyond_what_a_node_has(args: NodeResourcesFitArgs | None, expected: int) -> None:
    plugin = NodeResourcesFit(cluster(node("n", cpu="100m", memory="8Gi"), pod("there", node="n")), args)
    assert Interview(plugin, pod()).answers().scores == {"n": expected}


@pytest.mark.parametrize("cpu", ["1P", "9P", "80T"])
def test_a_node_of_more_than_64_bits_of_hundredths_scores_the_same_alone_and_among_others(cpu: str) -> None:
    """kube-scheduler multiplies by 100 in 64 bits, which wraps around there."""
    there = cluster([node("a", cpu=cpu, memory="8Gi"), node("b", cpu=4, memory="8Gi")])
    plugin, pod_class = NodeResourcesFit(there, None), there.classify(pod(cpu=1))
    both, one = (Nodes(there, np.array(rows)) for rows in ([0, 1], [0]))
    state = plugin.pre_score(pod_class, both)
    assert plugin.score(pod_class, one, state)[0] == plugin.score(pod_class, both, state)[0]


# -- events ------------------------------------------------------------------------------------------------------------

SHRUNK = Action.UPDATE_POD_SCALE_DOWN
GREW = Action.UPDATE_NODE_ALLOCATABLE
ASSIGNED, WAITING = Resource.ASSIGNED_POD, Resource.UNSCHEDULED_POD


@pytest.mark.parametrize(
    ("resource", "action", "old", "new", "expected"),
    [
        pytest.param(ASSIGNED, Action.DELETE, pod("b", node="n"), None, True, id="any placed pod goes"),
        pytest.param(WAITING, Action.DELETE, pod("b"), None, False, id="a pod without a node goes"),
        pytest.param(
            WAITING, Action.DELETE, pod("b", nominated_node="n"), None, True, id="one that waited for a node goes"
        ),
        pytest.param(ASSIGNED, SHRUNK, pod("b", node="n", cpu=2), pod("b", node="n", cpu=1), True, id="less cpu"),
        pytest.param(
            ASSIGNED,
            SHRUNK,
            pod("b", node="n", memory=2),
            pod("b", node="n", memory=1),
            False,
            id="less of what it lacks not",
        ),
        pytest.param(ASSIGNED, SHRUNK, pod("b", node="n", cpu=1), pod("b", node="n", cpu=2), False, id="more cpu"),
        pytest.param(WAITING, SHRUNK, pod("b", cpu=2), pod("b", cpu=1), False, id="a waiting pod shrinks"),
        pytest.param(WAITING, SHRUNK, pod(cpu=8), pod(cpu=2), True, id="the pod itself shrinks"),
        pytest.param(ASSIGNED, Action.UPDATE_POD_LABEL, pod("b", node="n"), pod("b", node="n"), False, id="labels"),
        pytest.param(ASSIGNED, Action.ADD, None, pod("b", node="n"), False, id="a pod comes"),
        pytest.param(Resource.NODE, Action.ADD, None, node(cpu=2), True, id="a large enough node comes"),
        pytest.param(Resource.NODE, Action.ADD, None, node(cpu=1), False, id="a small node comes"),
        pytest.param(Resource.NODE, Action.ADD, None, node(cpu=2, pods=0), False, id="a node that takes no pods comes"),
        pytest.param(Resource.NODE, GREW, node(cpu=1), node(cpu=2), True, id="a node grows enough"),
        pytest.param(Resource.NODE, GREW, node(cpu="1"), node(cpu="1500m"), False, id="a node grows, not enough"),
        pytest.param(
            Resource.NODE, GREW, node(memory="1Gi"), node(memory="2Gi"), False, id="it grows in something else"
        ),
        pytest.param(Resource.NODE, GREW, node(pods=1), node(pods=2), True, id="it takes more pods"),
        pytest.param(Resource.NODE, GREW, node(cpu=8), node(cpu=4), False, id="a node shrinks"),
        pytest.param(Resource.NODE, Action.UPDATE_NODE_LABEL, node(cpu=1), node(cpu=2), False, id="only labels change"),
    ],
)
def test_events_that_help(
    resource: Resource, action: Action, old: Pod | Node | None, new: Pod | Node | None, expected: bool
) -> None:
    assert helps(NodeResourcesFit(Cluster()), pod(cpu=2), resource, action, old, new) is expected
