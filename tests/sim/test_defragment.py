"""Evicting pods to reduce fragmentation, and placing them anew."""

from pathlib import Path

import pytest

from fairway.cluster import TypicalPods
from fairway.experiments.gpu_policies import policy_profile
from fairway.experiments.openb_data import OpenbData
from fairway.experiments.ordered_cluster import OrderedCluster
from fairway.sim.defragment import PerNode, choose_victims, defragment, num_to_evict
from fairway.trace.openb_lookalike import write_lookalike


@pytest.fixture
def ordered(tmp_path: Path) -> OrderedCluster:
    write_lookalike(tmp_path, num_nodes=20, num_pods=120)
    workload = OpenbData(tmp_path).drawn("default", 1, 0.9)
    made = OrderedCluster(workload, policy_profile("Random", 1), TypicalPods.of_pods(workload.pods), 1)
    made.fill()
    return made


def books(ordered: OrderedCluster) -> tuple[object, ...]:
    cluster = ordered.cluster
    where = {uid: (placed.row, cluster.devices.indices_of(uid)) for uid, placed in cluster.pods.by_uid.items()}
    return where, cluster.devices.free.tolist(), cluster.nodes.requested.tolist(), ordered.fragmentation.total


@pytest.mark.parametrize("per_node", ["one", "several"])
def test_choosing_changes_nothing(ordered: OrderedCluster, per_node: PerNode) -> None:
    before = books(ordered)
    victims = choose_victims(ordered.cluster, 10, per_node)
    assert 0 < len(victims) <= 10
    assert len({pod.metadata.uid for pod in victims}) == len(victims)
    assert books(ordered) == before


def test_one_of_each_node(ordered: OrderedCluster) -> None:
    victims = choose_victims(ordered.cluster, 100, "one")
    rows = [ordered.cluster.pods.by_uid[pod.metadata.uid].row for pod in victims]
    assert len(set(rows)) == len(rows)
    amounts = [ordered.fragmentation.amount[row] for row in rows]
    assert amounts == sorted(amounts, reverse=True)


def test_the_largest_gain_comes_first(ordered: OrderedCluster) -> None:
    """By brute force: removing any other pod would bring less."""
    cluster, measure = ordered.cluster, ordered.fragmentation
    (victim,) = choose_victims(cluster, 1, "several")
    before = measure.total
    gains = {}
    for uid in list(cluster.pods.by_uid):
        with cluster.what_if():
            cluster.remove(uid)
            gains[uid] = before - measure.total
    assert gains[victim.metadata.uid] == pytest.approx(max(gains.values()))


@pytest.mark.parametrize("per_node", ["one", "several"])
def test_fragmentation_falls_and_books_balance(ordered: OrderedCluster, per_node: PerNode) -> None:
    num_pods = len(ordered.cluster.pods.by_uid)
    done = defragment(ordered.cluster, ordered.place, 0.2, per_node)
    assert done.evicted <= num_to_evict(num_pods, 0.2)
    assert done.moved > 0
    assert done.frag_after < done.frag_before
    assert len(ordered.cluster.pods.by_uid) == num_pods - done.lost
    assert done.used_after == ordered.cluster.devices.used_milli
    free = ordered.cluster.devices.free
    assert ((free >= 0) & (free <= 1000)).all()


@pytest.mark.parametrize(
    ("num_pods", "share", "expected"), [(100, 0.05, 5), (101, 0.05, 6), (10, 1.0, 10), (0, 0.5, 0)]
)
def test_a_share_is_rounded_up(num_pods: int, share: float, expected: int) -> None:
    assert num_to_evict(num_pods, share) == expected
