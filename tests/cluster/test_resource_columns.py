"""Columns follow what nodes have, not what pods ask for."""

from fairway.cluster import Event, Nodes, Verb
from fairway.cluster.resource_columns import MOST_IDLE, ResourceColumns
from fairway.testing import cluster, node, pod


def test_a_resource_has_a_column_while_a_node_has_it() -> None:
    columns = ResourceColumns(("cpu",))
    assert columns.find("gpu") == -1
    assert (columns.hold("gpu"), columns.hold("gpu")) == (True, False)
    assert (columns.find("gpu"), columns[1]) == (1, "gpu")
    assert (columns.release("gpu"), columns.release("gpu")) == (-1, -1)
    assert columns.find("gpu") == 1  # its node may come back


def test_the_longest_idle_column_goes_to_the_next_name() -> None:
    columns = ResourceColumns(("cpu",))
    for number in range(MOST_IDLE + 1):
        columns.hold(f"r{number}")
    freed = [columns.release(f"r{number}") for number in range(MOST_IDLE + 1)]
    assert freed == [-1] * MOST_IDLE + [1]
    assert (columns.find("r0"), columns.find("r1")) == (-1, 2)
    version = columns.version
    assert columns.hold("new")
    assert columns.find("new") == 1
    assert columns.version > version


def test_a_column_that_is_pinned_stays() -> None:
    columns = ResourceColumns(("cpu",))
    assert (columns.pin("gpu"), columns.pin("gpu")) == (True, False)
    version = columns.version
    columns.hold("gpu")  # pods that ask for it have to be looked at again: now there is some
    assert columns.version > version
    columns.release("gpu")
    for number in range(2 * MOST_IDLE):
        columns.hold(f"r{number}")
        columns.release(f"r{number}")
    assert columns.find("gpu") == 1
    assert len(columns) <= MOST_IDLE + 3


def test_pods_that_ask_for_what_no_node_has_make_no_column() -> None:
    made = cluster(node("a"), pod("p", node="a", requests={"example.com/gpu": 2}))
    assert made.nodes.resources.find("example.com/gpu") == -1
    assert made.pods.by_uid["default/p"].pod_class.missing == ("example.com/gpu",)
    assert Nodes(made).requested("example.com/gpu").tolist() == [2]
    assert Nodes(made).free("example.com/gpu").tolist() == [-2]


def test_a_column_that_comes_late_has_what_pods_asked_for_before() -> None:
    made = cluster(node("a"), pod("p", node="a", requests={"example.com/gpu": 2}))
    made.apply(Event(Verb.MODIFIED, node("a", resources={"example.com/gpu": 3})))
    column = made.nodes.resources.find("example.com/gpu")
    assert (made.nodes.allocatable[0, column], made.nodes.requested[0, column]) == (3, 2)
    placed = made.pods.by_uid["default/p"]
    assert placed.pod_class.missing == ()
    made.apply(Event(Verb.DELETED, placed.pod))
    assert made.nodes.requested[0, column] == 0
