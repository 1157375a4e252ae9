"""Tiles of recorded runs against plain loops over what was told, and what is kept of them."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.record import Run
from fairway.testing import node, pod
from fairway.web.byte_cache import ByteCache
from fairway.web.heat import TILE
from fairway.web.heat_map import WHOLE_LEVEL, HeatMap, HeatView
from fairway.web.heat_subject import NodeSubject
from tests.record.lifetimes import HISTORIES, History, Machine, tell
from tests.record.runs import lives

SIXTEENTH = 1 / 16
"""Times of histories are quarters of a second: sums over sixteenths are exact."""


def heat_of(run: Run) -> HeatMap:
    return HeatMap(NodeSubject(run), run.end_seconds, ByteCache(), "run")


def grid_of(heat: HeatMap, view: HeatView, z: int, k: int, x: int = 0, y: int = 0) -> list[list[int]]:
    codes = heat.tile(view, z, k, x, y).codes
    return np.frombuffer(codes, np.uint8).reshape(TILE, TILE).tolist()


def seconds(history: History, amount: Callable[[float], float], begin: float, end: float) -> float:
    """The integral of what changes at quarters of a second at most."""
    last = min(end, history.end)
    steps = max(0, round((last - begin) / SIXTEENTH))
    return sum(amount(begin + step * SIXTEENTH) * SIXTEENTH for step in range(steps))


def naive(history: History, nodes: list[Machine], resource: str, begin: float, end: float) -> int:
    held = sum(seconds(history, lambda at, it=one: history.held(it, resource, at), begin, end) for one in nodes)  # type: ignore[misc]
    there = sum(seconds(history, lambda at, it=one: history.there(it, resource, at), begin, end) for one in nodes)  # type: ignore[misc]
    return 0 if not there else 1 + round(254 * min(held / there, 1.0))


@settings(max_examples=25, deadline=None)
@given(history=HISTORIES, z=st.integers(-2, 5), k=st.integers(0, 2), resource=st.sampled_from(["cpu", "memory"]))
def test_tiles_are_what_was_told(history: History, z: int, k: int, resource: str) -> None:
    with tempfile.TemporaryDirectory() as folder, tell(history, Path(folder) / "run.duckdb") as run:
        codes = grid_of(heat_of(run), HeatView(resource), z, k)
        names = NodeSubject(run).names
    machines = sorted(history.machines, key=lambda machine: names.index(machine.name))
    for group in range(-(-len(machines) >> k)):
        nodes = machines[group << k : (group + 1) << k]
        for column in range(math.ceil(math.ldexp(history.end, -z)) + 1):
            begin, end = math.ldexp(column, z), math.ldexp(column + 1, z)
            assert abs(codes[group][column] - naive(history, nodes, resource, begin, end)) <= 1
    assert not any(map(any, codes[-(-len(machines) >> k) :]))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Four nodes of 4 cpus for 64 s; node-10 half full, node-2 full from 32 s on."""
    nodes = [
        node("node-10", cpu=4, labels={"zone": "b", "pool": "x"}),
        node("node-2", cpu=4, labels={"zone": "a", "pool": "x"}),
        node("node-1", cpu=4, labels={"zone": "c"}),
        node("odd", cpu=4),
    ]
    return lives(
        tmp_path_factory.mktemp("run") / "run.duckdb",
        nodes,
        (pod("one", cpu=2), "node-10", 0.0, 0.0, None),
        (pod("two", cpu=4), "node-2", 0.0, 32.0, None),
        (pod("three", cpu=1), "node-1", 0.0, 0.0, 0.5),
        end=64.0,
    )


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("came", ["node-10", "node-2", "node-1", "odd"]),
        ("name", ["node-1", "node-2", "node-10", "odd"]),
        ("load", ["node-10", "node-2", "node-1", "odd"]),
        ("label:zone", ["node-2", "node-10", "node-1", "odd"]),
    ],
)
def test_rows_come_in_the_order_that_was_asked_for(run: Run, order: str, names: list[str]) -> None:
    heat = heat_of(run)
    assert [heat.subject.names[number] for number in heat.order(HeatView("cpu", order)).thing.tolist()] == names


def test_a_filter_leaves_the_others_out(run: Run) -> None:
    heat = heat_of(run)
    view = HeatView("cpu", "name", "pool=x")
    assert [heat.subject.names[number] for number in heat.order(view).thing.tolist()] == ["node-2", "node-10"]
    assert [row[:2] for row in grid_of(heat, view, 5, 0)[:3]] == [[1, 255], [128, 128], [0, 0]]
    assert grid_of(heat, HeatView("cpu", "name", "pool=none"), 5, 0) == [[0] * TILE] * TILE


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (HeatView("cpu", "size"), "there is no order 'size'; there are came, name, load and label:KEY"),
        (HeatView("cpu", "came", "pool in"), "expected"),
    ],
    ids=["order", "filter"],
)
def test_what_is_no_order_and_no_filter_is_told(run: Run, view: HeatView, words: str) -> None:
    with pytest.raises(ValueError, match="(?i)" + words):
        heat_of(run).tile(view, 0, 0, 0, 0)


def test_the_mean_and_the_largest_of_several_nodes(run: Run) -> None:
    heat = heat_of(run)
    assert grid_of(heat, HeatView("cpu"), 5, 2)[0][:3] == [
        1 + round(254 / 8 * (1 + 1 / 128)),
        1 + round(254 * 3 / 8),
        0,
    ]
    assert grid_of(heat, HeatView("cpu", statistic="max"), 5, 2)[0][:3] == [128, 255, 0]


def test_a_pod_of_half_a_second_is_seen_at_every_zoom(run: Run) -> None:
    heat = heat_of(run)
    row = [grid_of(heat, HeatView("cpu", "name"), z, 0)[0] for z in (-10, -1, 0, 6)]
    assert [codes[0] for codes in row] == [1 + round(254 * share) for share in (0.25, 0.25, 0.125, 0.25 * 0.5 / 64)]
    assert row[1][1] == 1


def test_levels_kept_whole_and_tiles_worked_out_alone_agree(run: Run) -> None:
    assert 4 * 64 * 2**10 < WHOLE_LEVEL < 4 * 64 * 2**20
    heat = heat_of(run)
    alone = heat._part(HeatView("cpu"), heat.order(HeatView("cpu")), -3, 0, TILE, TILE, 0, 4)  # noqa: SLF001 - as if the level were large
    whole = grid_of(heat, HeatView("cpu"), -3, 0, x=1)
    assert [[1 + round(254 * share) for share in row] for row in alone.tolist()] == whole[:4]


def test_a_cell_says_whose_it_is(run: Run) -> None:
    cell = heat_of(run).cell(HeatView("cpu", "name"), 4, 1, 20.0, 1)
    assert (cell.begin, cell.end, cell.share, cell.pods) == (16.0, 32.0, 0.0, [])
    assert [NodeSubject(run).names[number] for number in cell.things] == ["node-1", "node-2"]
    first = heat_of(run).cell(HeatView("cpu", "name"), 4, 1, 3.0, 0)
    assert first.share == 0.125 * 0.5 / 16
    assert [run.pod(number)["pod"] for number in first.pods] == ["default/three"]


def test_pods_count_as_a_resource(run: Run) -> None:
    assert [row[0] for row in grid_of(heat_of(run), HeatView("pods"), 6, 0)[:2]] == [1 + round(254 / 110), 2]


def test_the_cache_keeps_what_was_used_last_and_no_more_than_its_bound() -> None:
    cache = ByteCache(10)
    made: list[str] = []

    def value(key: str, size: int) -> str:
        return cache.value(key, lambda: made.append(key) or key, lambda _: size)  # type: ignore[func-returns-value]

    for key, size in (("a", 4), ("b", 4), ("a", 4), ("c", 4), ("a", 4), ("b", 4), ("huge", 11), ("huge", 11)):
        assert value(key, size) == key
        assert cache.num_bytes <= 10
    assert made == ["a", "b", "c", "b", "huge", "huge"]
