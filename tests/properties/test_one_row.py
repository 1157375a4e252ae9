"""Plugins with a shortcut for one row say the same with it and without."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cluster import Cluster, Nodes
from fairway.model import Pod
from fairway.plugin import Plugin
from fairway.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from fairway.plugins.node_resources_fit import NodeResourcesFit
from fairway.testing import cluster, node, pod

milli_cpu = st.integers(0, 70_000)
memory = st.integers(0, 2**38)
sizes = st.tuples(st.integers(1, 64_000), st.integers(1, 2**38))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Cluster, Pod]:
    """Nodes of any size with pods of any size on them, over-committed ones included, and a pod to come."""
    nodes = draw(st.lists(sizes, min_size=1, max_size=6))
    there = draw(st.lists(st.tuples(st.integers(0, len(nodes) - 1), milli_cpu, memory), max_size=12))
    incoming = pod("incoming", cpu=f"{draw(milli_cpu)}m", memory=draw(memory) + 1)  # something, so that it is scored
    here = cluster(
        [node(f"n{number}", cpu=f"{cpu}m", memory=size) for number, (cpu, size) in enumerate(nodes)],
        [
            pod(f"p{number}", node=f"n{place}", cpu=f"{cpu}m", memory=size)
            for number, (place, cpu, size) in enumerate(there)
        ],
    )
    return here, incoming


@pytest.mark.parametrize("kind", [NodeResourcesFit, NodeResourcesBalancedAllocation])
@given(world=worlds())
def test_one_row_at_a_time_scores_as_all_at_once(kind: type[Plugin], world: tuple[Cluster, Pod]) -> None:
    here, incoming = world
    plugin = kind(here)
    everywhere = Nodes(here)
    pod_class = here.classify(incoming)
    state = plugin.pre_score(pod_class, everywhere)
    one_by_one = [
        plugin.score(pod_class, Nodes(here, np.array([row])), state).tolist() for row in range(here.nodes.num_rows)
    ]
    assert one_by_one == [[score] for score in plugin.score(pod_class, everywhere, state).tolist()]
