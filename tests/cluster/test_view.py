"""What a plugin is handed: columns over just the rows meant."""

import numpy as np

from fairway.cluster import Cluster, Event, Nodes, Verb
from fairway.model import Node
from fairway.testing import cluster, node, pod


def some() -> Cluster:
    made = cluster(
        [node("a", cpu=1, labels={"disk": "ssd"}), node("b", cpu=2), node("c", cpu=3, labels={"disk": "hdd"})],
        [pod("p", node="c", cpu=1), pod("q", node="c")],
    )
    made.apply(Event(Verb.DELETED, node("b")))
    return made


def test_all_rows_include_dead_ones() -> None:
    nodes = some().view()
    assert (len(nodes), nodes.names, nodes.numbers.tolist()) == (3, ["a", "", "c"], [0, 1, 2])
    assert [one.name for one in nodes.objects] == ["a", "", "c"]
    assert nodes.objects[1] == Node()
    assert nodes.label("disk").tolist() == ["ssd", "", "hdd"]
    assert nodes.allocatable("cpu").tolist() == [1000, 0, 3000]


def test_some_rows_come_in_the_order_asked_for() -> None:
    nodes = Nodes(some(), np.array([2, 0], np.intp))
    assert (len(nodes), nodes.names, nodes.numbers.tolist()) == (2, ["c", "a"], [2, 0])
    assert nodes.label("disk").tolist() == ["hdd", "ssd"]
    assert nodes.requested("cpu").tolist() == [1000, 0]
    assert nodes.free("cpu").tolist() == [2000, 1000]
    assert nodes.num_pods.tolist() == [2, 0]


def test_no_rows_are_no_rows() -> None:
    nodes = Nodes(some(), np.array([], np.intp))
    assert (len(nodes), nodes.names, nodes.objects, nodes.label("disk").tolist()) == (0, [], [], [])
    assert nodes.free("cpu").tolist() == []


def test_a_resource_nobody_has_reads_as_none_of_it() -> None:
    nodes = cluster(2).view()
    for number in range(10):  # more than the tables have room for
        assert nodes.free(f"example.com/thing-{number}").tolist() == [0, 0]
        assert nodes.requested(f"example.com/other-{number}").tolist() == [0, 0]


def test_a_label_nobody_has_reads_as_empty() -> None:
    assert cluster(2).view().label("nobody").tolist() == ["", ""]
