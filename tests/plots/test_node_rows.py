"""Rows of a heat map: nodes of a pool are together, in the order in which they came."""

from pathlib import Path
from typing import Any

import pytest

from fairway.plots.node_rows import MOST_NAMES, NodeRows, Pool, node_rows, pool_of
from fairway.record import Run
from fairway.testing import node
from tests.record.runs import writer

GKE = "cloud.google.com/gke-nodepool"


def rows_of(folder: Path, *nodes: Any) -> NodeRows:
    with writer(folder / "run") as made:
        for place, one in enumerate(nodes):
            made.node_added(float(place), one)
        made.close(100.0)
    with Run.open(folder / "run") as run:
        return node_rows(run)


@pytest.mark.parametrize(
    ("name", "labels", "pool"),
    [
        ("gpu-7", {}, "gpu"),
        ("gpu_12", {}, "gpu"),
        ("worker01.3", {}, "worker01"),
        ("17", {}, "17"),
        ("lonely", {}, "lonely"),
        ("gke-x-1", {GKE: "fast"}, "fast"),
        ("node-1", {GKE: ""}, "node"),
        ("node-1", {"agentpool": "b", GKE: "a"}, "a"),
    ],
)
def test_a_pool_is_a_label_or_a_name_without_its_number(name: str, labels: dict[str, str], pool: str) -> None:
    assert pool_of(name, labels) == pool


def test_nodes_of_a_pool_stand_together_as_they_came(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, node("cpu-1"), node("gpu-1"), node("cpu-0"), node("gpu-0"))
    assert rows.names == ["cpu-1", "cpu-0", "gpu-1", "gpu-0"]
    assert rows.node_ids.tolist() == [0, 2, 1, 3]
    assert rows.pools == [Pool("cpu", 0, 2), Pool("gpu", 2, 4)]
    assert rows.ticks() == ([0.5, 1.5, 2.5, 3.5], rows.names)


def test_labels_of_nodes_make_pools(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, node("x-1", labels={GKE: "big"}), node("y-2", labels={GKE: "big"}), node("z-3"))
    assert rows.pools == [Pool("big", 0, 2), Pool("z", 2, 3)]


def test_of_many_nodes_the_pools_are_named(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, *(node(f"cpu-{place}") for place in range(MOST_NAMES)), node("gpu-0"))
    assert rows.ticks() == ([MOST_NAMES / 2, MOST_NAMES + 0.5], [f"cpu\n{MOST_NAMES} nodes", "gpu\n1 node"])


def test_a_run_without_nodes_has_no_rows(tmp_path: Path) -> None:
    rows = rows_of(tmp_path)
    assert (rows.names, rows.pools, rows.ticks()) == ([], [], ([], []))
