"""The node table: one row a node, rows reused, tables widened."""

import datetime as dt

import numpy as np

from fairway.cluster import CPU, MEMORY, PODS, NodeTable
from fairway.model import Node, Taint
from fairway.testing import node


def put(table: NodeTable, thing: Node) -> int:
    row = table.row_of.get(thing.name)
    row = table.claim_row(thing.name) if row is None else row
    table.set(row, thing)
    return row


def test_a_node_becomes_a_row() -> None:
    table = NodeTable()
    row = put(table, node("a", cpu="1500m", memory="1Gi", pods=10, unschedulable=True, taints="gpu", features="f"))
    assert (table.row_of, table.names, table.num_rows, table.num_alive) == ({"a": 0}, ["a"], 1, 1)
    assert table.allocatable[row, [CPU, MEMORY, PODS]].tolist() == [1500, 2**30, 10]
    assert table.alive[row]
    assert table.unschedulable[row]
    assert table.taint_values[int(table.taint_sets[row])] == (Taint(key="gpu", effect="NoSchedule"),)
    assert table.feature_values[int(table.feature_sets[row])] == {"f"}


def test_cpu_is_in_thousandths_and_the_rest_in_whole_units_rounded_up() -> None:
    table = NodeTable()
    row = put(table, node("a", cpu="0.0001", memory="1500m", resources={"example.com/gpu": "3"}))
    assert table.allocatable[row, [CPU, MEMORY, 4]].tolist() == [1, 2, 3]


def test_a_new_resource_widens_both_tables_and_keeps_what_they_hold() -> None:
    table = NodeTable()
    row = put(table, node("a", cpu=1))
    table.requested[row, CPU] = 300
    assert table.resource_column("example.com/gpu") == 4
    assert table.resource_column("example.com/fpga") == 5
    assert table.allocatable.shape == table.requested.shape
    assert (table.allocatable[row, CPU], table.requested[row, CPU]) == (1000, 300)
    assert table.allocatable[row, 4] == 0


def test_a_resource_that_a_node_lost_reads_as_zero() -> None:
    table = NodeTable()
    row = put(table, node("a", resources={"example.com/gpu": 2}))
    put(table, node("a"))
    assert table.allocatable[row, table.resource_column("example.com/gpu")] == 0


def test_when_a_taint_was_added_does_not_count() -> None:
    table = NodeTable()
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    one = put(table, node("a", taints=Taint(key="x", effect="NoExecute", time_added=now)))
    other = put(table, node("b", taints=Taint(key="x", effect="NoExecute")))
    assert table.taint_sets[one] == table.taint_sets[other] != 0


def test_a_dead_row_reads_as_nothing_and_is_taken_by_the_next_node() -> None:
    table = NodeTable()
    table.labels.column("disk")
    put(table, node("a", unschedulable=True, taints="x", features="f", labels={"disk": "ssd"}, images={"i": 1}))
    put(table, node("b"))
    table.clear(0)
    assert (table.row_of, table.names, table.objects[0], table.num_alive) == ({"b": 1}, ["", "b"], None, 1)
    assert not table.alive[0]
    assert not table.unschedulable[0]
    assert (table.allocatable[0] == 0).all()
    assert (table.taint_sets[0], table.feature_sets[0]) == (0, 0)
    assert table.labels.column("disk").ids[0] == -1
    assert table.images.find("i") is None
    assert put(table, node("c", labels={"disk": "hdd"})) == 0
    assert (table.num_rows, table.names) == (2, ["c", "b"])
    assert table.labels.column("disk").values[int(table.labels.column("disk").ids[0])] == "hdd"


def test_growing_keeps_every_column() -> None:
    table = NodeTable(capacity=2)
    put(table, node("n0", labels={"disk": "0"}))
    column = table.labels.column("disk")
    for number in range(9):
        put(table, node(f"n{number}", cpu=number, labels={"disk": str(number)}, images={"i": 1}))
    assert table.capacity >= 9
    for array in (table.alive, table.allocatable, table.requested, table.nonzero, table.taint_sets, column.ids):
        assert len(array) == table.capacity
    assert table.allocatable[:9, CPU].tolist() == [1000 * number for number in range(9)]
    assert [column.values[number] for number in column.ids[:9].tolist()] == [str(number) for number in range(9)]
    image = table.images.find("i")
    assert image is not None
    assert np.flatnonzero(image.rows).tolist() == list(range(9))


def test_names_are_ranked_by_their_bytes_and_dead_rows_come_last() -> None:
    table = NodeTable()
    for name in ("b", "a-1", "\N{LATIN SMALL LETTER E WITH ACUTE}", "a.1", "Z"):
        put(table, node(name))
    table.clear(0)
    assert table.name_ranks().tolist() == [4, 1, 3, 2, 0]
    put(table, node("a"))
    assert table.name_ranks().tolist() == [1, 2, 4, 3, 0]
