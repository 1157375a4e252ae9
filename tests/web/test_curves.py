"""Curves against SQL and against what is counted one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.testing import node
from fairway.web.curves import Named, equal_edges, rate_columns, span_means, step_curve
from tests.record.runs import lives
from tests.web.served import Served, served

TIMES = st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 3)), max_size=20)


def series(api: Served, url: str) -> dict[str, list[float]]:
    reply = api.ask(url)
    assert reply.status == 200, reply.body
    found: dict[str, list[float]] = reply.json["series"]
    return found


def number(api: Served, run: str, sql: str) -> float:
    (row,) = api.sources.find(run).rows(sql)
    return float(next(iter(row.values())))


@settings(max_examples=100, deadline=None)
@given(changes=TIMES, edges=st.lists(st.integers(-5, 45), min_size=2, max_size=6, unique=True).map(sorted))
def test_a_running_sum_is_averaged_over_each_stretch(changes: list[tuple[int, int]], edges: list[int]) -> None:
    times = np.array([time for time, _ in changes], np.float64)
    found = step_curve(times, np.array([change for _, change in changes], np.float64), np.array(edges, np.float64))
    for mean, begin, end in zip(found.tolist(), edges, edges[1:], strict=False):
        seconds = [sum(change for time, change in changes if time <= second) for second in range(begin, end)]
        assert mean == pytest.approx(sum(seconds) / len(seconds), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(
    spans=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20), st.integers(0, 9)), max_size=12),
    begin=st.integers(-9, 30),
    width=st.integers(1, 5),
)
def test_spans_are_averaged_over_each_stretch(spans: list[tuple[int, int, int]], begin: int, width: int) -> None:
    edges = np.array([begin, begin + width, begin + 2 * width, begin + 3 * width], np.float64)
    columns = [np.array(column, np.float64) for column in zip(*spans, strict=True)] or [np.zeros(0)] * 3
    found = span_means(columns[0], columns[0] + columns[1], columns[2], edges)
    for mean, first in zip(found.tolist(), edges[:-1].tolist(), strict=True):
        seconds = [
            sum(amount for since, length, amount in spans if since <= first + second < since + length)
            for second in range(width)
        ]
        assert mean == pytest.approx(sum(seconds) / width, abs=1e-9)


def test_rates_are_counted_where_they_fall() -> None:
    rows = Named(
        ["a", "b"],
        np.array([0, 1, 0, 0, 0, 1]),
        np.array([0.0, 1.0, 9.0, 10.0, 11.0, -1.0]),
        np.array([1.0, 8.0, 3.0, 5.0, 99.0, 99.0]),
    )
    found = rate_columns(rows, np.array([0.0, 5.0, 10.0]))
    assert {name: values.tolist() for name, values in found.items()} == {"a": [0.2, 1.6], "b": [1.6, 0.0]}


@pytest.mark.parametrize("begin", [0.0, 1e7, 1e12, -1e15])
def test_of_no_time_at_all_there_are_stretches_all_the_same(begin: float) -> None:
    edges = equal_edges(begin, begin, 480)
    assert (np.diff(edges) > 0).all()
    held = span_means(np.array([begin - 1e3]), np.array([begin + 1e3]), np.ones(1), edges)
    assert held == pytest.approx(np.ones(480))


def test_where_nothing_was_decided_nothing_is_drawn(tmp_path: Path) -> None:
    lives(path := tmp_path / "quiet.duckdb", [node("n", cpu=4)], end=10.0).close()
    with served([str(path)]) as quiet:
        for what in ("decisions", "refusals", "queue"):
            assert series(quiet, f"/runs/quiet/curves/{what}") == {}
        assert series(quiet, "/runs/quiet/curves/utilisation?points=2")["cpu"] == [0.0, 0.0]


def test_utilisation_over_the_whole_run_is_the_metric(api: Served) -> None:
    flat = {one["name"]: one["value"] for one in api.ask("/runs/busy/metrics").json["metrics"]}
    one = series(api, "/runs/busy/curves/utilisation?points=1")
    assert one["cpu"] == [pytest.approx(flat["utilisation_cpu"])]
    many = series(api, "/runs/busy/curves/utilisation?points=600")
    assert np.mean(many["cpu"]) == pytest.approx(flat["utilisation_cpu"])
    assert np.mean(series(api, "/runs/busy/curves/utilisation?points=9&from=600&to=1200")["cpu"]) == pytest.approx(
        number(
            api,
            "busy",
            "SELECT sum(cpu_milli * greatest(0, least(coalesce(to_seconds, 1800), 1200) "
            "- greatest(from_seconds, 600))) "
            "/ 600 / 20000 FROM occupancy",
        )
    )


def test_pods_that_wait_are_those_of_sql(api: Served) -> None:
    seconds = number(
        api, "busy", "SELECT sum(coalesce(bound_seconds, ended_seconds, 1800) - created_seconds) FROM pods"
    )
    assert np.mean(series(api, "/runs/busy/curves/waiting?points=50")["pods"]) * 1800 == pytest.approx(seconds)


def test_nodes_in_use_are_counted_once_however_many_pods_they_hold(api: Served) -> None:
    source = api.sources.find("busy")
    instants = np.arange(0.5, 1800.0, 1.0)
    rows = source.rows("SELECT node_id, from_seconds, coalesce(to_seconds, 1800) AS until FROM occupancy")
    used = [len({row["node_id"] for row in rows if row["from_seconds"] <= t < row["until"]}) for t in instants[::20]]
    found = series(api, "/runs/busy/curves/nodes-used?points=1800")["nodes"][::20]
    assert np.abs(np.array(found) - used).mean() < 0.1  # a mean over a second, and an instant of it
    assert max(found) <= 5


@pytest.mark.parametrize("run", ["busy", "slow"])
def test_counts_of_the_queue_are_never_negative_and_end_as_the_moves_do(api: Served, run: str) -> None:
    for points in (7, 480, 2000):
        found = series(api, f"/runs/{run}/curves/queue?points={points}")
        assert min(min(values) for values in found.values()) > -1e-9
    end = number(api, run, "SELECT max(time_seconds) FROM queue_moves")
    source = api.sources.find(run)
    last = series(api, f"/runs/{run}/curves/queue?points=1&from={end}&to={source.end}")
    rows = source.rows(
        "SELECT place, count(*) AS num FROM (SELECT pod_id, arg_max(place, rowid) AS place, "
        "arg_max(place IS NULL, rowid) AS gone FROM queue_moves GROUP BY pod_id) WHERE NOT gone GROUP BY place"
    )
    assert {name: value for name, (value,) in last.items() if value} == pytest.approx(
        {row["place"]: row["num"] for row in rows}
    )


def test_rates_add_up_to_what_was_counted(api: Served) -> None:
    for url, sql in (
        ("/runs/busy/curves/decisions?points=100", "SELECT count(*) FROM decisions"),
        ("/runs/busy/curves/moves?points=100", "SELECT count(*) FROM queue_moves"),
        (
            "/runs/busy/curves/refusals?points=100&by=reason",
            "SELECT count(DISTINCT (decision_id, plugin, reason)) FROM filter_counts",
        ),
    ):
        total = sum(sum(values) for values in series(api, url).values()) * 18.0
        assert total == pytest.approx(number(api, "busy", sql))
    spent = sum(sum(values) for values in series(api, "/runs/gpu/curves/plugin-time?points=1").values())
    assert spent * api.sources.find("gpu").end == pytest.approx(
        number(api, "gpu", "SELECT sum(cpu_seconds) FROM plugin_times")
    )


def test_models_add_up_to_what_is_allocated(api: Served) -> None:
    models = series(api, "/runs/gpu/curves/gpu-causes?points=30&by=model")
    assert len(models) > 1
    allocated = series(api, "/runs/gpu/curves/gpu-causes?points=30")["allocated"]
    assert np.sum(list(models.values()), axis=0) == pytest.approx(allocated, abs=1e-6)


def test_gpu_causes_and_what_is_allocated_add_up_to_all_devices(api: Served) -> None:
    found = series(api, "/runs/gpu/curves/gpu-causes?points=30")
    flat = {one["name"]: one["value"] for one in api.ask("/runs/gpu/metrics").json["metrics"]}
    whole = np.sum(list(found.values()), axis=0)
    assert whole == pytest.approx(np.full(30, api.ask("/runs/gpu/devices").json["total"]))
    assert np.mean(found["allocated"]) / whole[0] == pytest.approx(flat["gpu_allocated"])


def test_devices_are_held_as_the_metric_says(api: Served) -> None:
    source = api.sources.find("gpu")
    shares = source.devices.shares("gpu")
    flat = {one["name"]: one["value"] for one in api.ask("/runs/gpu/metrics").json["metrics"]}
    assert shares.mean() == pytest.approx(flat["gpu_allocated"])  # all of them are there all the time


def test_plugin_times_and_the_rest_are_the_cycles(api: Served) -> None:
    tree = api.ask("/runs/gpu/plugins").json
    between = number(api, "gpu", "SELECT coalesce(sum(cpu_seconds), 0) FROM plugin_times WHERE decision_id IS NULL")
    cycles = number(api, "gpu", "SELECT sum(cycle_seconds) FROM decisions")
    assert tree["cpu_seconds"] == pytest.approx(cycles + between)
    (scheduler,) = tree["children"]
    assert "rest" in {point["name"] for point in scheduler["children"]}
    for point in scheduler["children"]:
        if point["children"]:
            assert point["cpu_seconds"] == pytest.approx(sum(one["cpu_seconds"] for one in point["children"]))


def test_a_stretch_before_the_run_holds_nothing(api: Served) -> None:
    for what in ("utilisation", "waiting", "nodes-used", "decisions", "queue"):
        found = series(api, f"/runs/busy/curves/{what}?from=-100&to=-50&points=2")
        assert all(value == 0 for values in found.values() for value in values)


def test_waits_are_shares_that_grow(api: Served) -> None:
    found = api.ask("/runs/busy/waits").json
    assert found["waiting"] == 1
    assert found["share"] == sorted(found["share"])
    assert found["share"][-1] == pytest.approx(68 / 69)
