"""The pod table: who is on a row, and columns over pods."""

import numpy as np

from fairway.cluster import Cluster, Placed, PodTable
from fairway.model import Pod
from fairway.testing import pod


def put(table: PodTable, cluster: Cluster, thing: Pod, row: int) -> Placed:
    return table.insert(thing, cluster.classify(thing), row, assumed=False)


def uids(table: PodTable, row: int) -> list[str]:
    return [placed.pod.metadata.name for placed in table.on_row(row)]


def test_pods_of_a_row_stand_in_the_order_they_came() -> None:
    table, cluster = PodTable(), Cluster()
    for name, row in (("a", 0), ("b", 1), ("c", 0)):
        put(table, cluster, pod(name), row)
    assert (uids(table, 0), uids(table, 1), uids(table, 2), len(table)) == (["a", "c"], ["b"], [], 3)
    table.take("default/a")
    assert (uids(table, 0), "default/a" in table.by_uid) == (["c"], False)
    put(table, cluster, pod("a"), 0)
    assert uids(table, 0) == ["c", "a"]
    table.reorder(0, ["default/a", "default/gone", "default/c"])
    assert uids(table, 0) == ["a", "c"]


def test_slots_are_used_again_and_hold_the_newcomers_columns() -> None:
    table, cluster = PodTable(), Cluster()
    first = put(table, cluster, pod("a", priority=7, terminating=True, labels={"x": "1"}), 3)
    assert (table.row[first.slot], table.priority[first.slot], table.terminating[first.slot]) == (3, 7, True)
    table.take("default/a")
    assert table.row[first.slot] == -1
    second = put(table, cluster, pod("b"), 5)
    assert second.slot == first.slot
    assert (table.row[second.slot], table.priority[second.slot], table.terminating[second.slot]) == (5, 0, False)
    assert table.label_set[second.slot] == cluster.classify(pod("b")).label_set.id


def test_growing_keeps_every_column() -> None:
    table, cluster = PodTable(capacity=2), Cluster()
    for number in range(9):
        put(table, cluster, pod(f"p{number}", priority=number), number % 3)
    assert np.sort(table.priority[table.row >= 0]).tolist() == list(range(9))
    assert np.bincount(table.row[table.row >= 0]).tolist() == [3, 3, 3]


def test_pods_are_counted_by_label_set_and_row() -> None:
    table, cluster = PodTable(), Cluster()
    web, db = ({"app": "web"}, {"app": "db"})
    for name, labels, row, terminating in (
        ("a", web, 0, False),
        ("b", web, 2, False),
        ("c", db, 2, False),
        ("d", web, 2, True),
    ):
        put(table, cluster, pod(name, labels=labels, terminating=terminating), row)
    sets = {name: cluster.classify(pod(labels=labels)).label_set.id for name, labels in (("web", web), ("db", db))}
    assert table.count_by_row([sets["web"]], False, 4).tolist() == [1, 0, 2, 0]
    assert table.count_by_row([sets["web"]], True, 4).tolist() == [1, 0, 1, 0]
    assert table.count_by_row([sets["web"], sets["db"]], True, 4).tolist() == [1, 0, 2, 0]
    assert table.count_by_row([], False, 4).tolist() == [0] * 4
    table.take("default/a")
    assert table.count_by_row([sets["web"]], False, 4).tolist() == [0, 0, 2, 0]


def test_the_lowest_priority_of_a_row() -> None:
    table, cluster = PodTable(), Cluster()
    for name, priority, row in (("a", 5, 0), ("b", -3, 0), ("c", 9, 1)):
        put(table, cluster, pod(name, priority=priority), row)
    assert table.lowest_priorities(3, none=100).tolist() == [-3, 9, 100]
    table.take("default/b")
    assert table.lowest_priorities(3, none=100).tolist() == [5, 9, 100]


def test_whether_anybody_is_less_important() -> None:
    table, cluster = PodTable(), Cluster()
    assert not table.has_below(1)
    put(table, cluster, pod("a", priority=3), 0)
    put(table, cluster, pod("b", priority=5), 1)
    assert [table.has_below(priority) for priority in (3, 4, 6)] == [False, True, True]
    table.take("default/a")
    assert [table.has_below(priority) for priority in (4, 6)] == [False, True]
