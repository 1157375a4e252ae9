"""Runs beside each other: pods that are treated otherwise, nodes, seeds; and what wakes pods that wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairway.queue.labels import TIMED_OUT
from fairway.record import Run
from fairway.scenario.scenario import decode_scenario
from fairway.scenario.simulate import simulate
from fairway.testing import node, pod
from fairway.web.waking import what_wakes
from tests.record.runs import lives
from tests.web.served import Served, served


def rows_of(api: Served, url: str) -> list[dict[str, Any]]:
    """A table as rows."""
    columns = api.ask(url).columns
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def waited(run: Run, row: dict[str, Any]) -> float:
    until = next(time for time in (row["bound_seconds"], row["ended_seconds"], run.end_seconds) if time is not None)
    return float(until - row["created_seconds"])


def test_pods_that_are_treated_otherwise_are_those_of_a_loop_in_a_loop(api: Served) -> None:
    one, other = (Run.open(api.sources.find(name).path) for name in ("busy", "slow"))
    expected = {}
    for row in one.pods:
        for twin in other.pods:
            delay = waited(other, twin) - waited(one, row)
            if row["pod"] == twin["pod"] and (row["node"] != twin["node"] or abs(delay) > 1e-6):
                expected[row["pod"]] = (row["node"], twin["node"], pytest.approx(delay))
    url = "/compare/pods?run=busy&run=slow&limit=1000"
    found = rows_of(api, url)
    assert {row["pod"]: (row["node"], row["other_node"], row["delay_seconds"]) for row in found} == expected
    assert len(expected) > 20
    answer = api.ask(url).json
    assert (answer["num_both"], answer["num_only_first"], answer["num_only_other"]) == (69, 0, 0)
    assert answer["num_elsewhere"] == sum(ours != theirs for ours, theirs, _ in expected.values()) > 0
    delays = [row["delay_seconds"] for row in found]
    assert delays == sorted(delays, reverse=True)
    assert rows_of(api, f"{url}&sort=delay") == found[::-1]


def test_pages_of_pods_hold_each_once(api: Served) -> None:
    url = "/compare/pods?run=busy&run=slow&sort=created"
    whole = rows_of(api, f"{url}&limit=1000")
    found, more = [], ""
    while more is not None:
        page = api.ask(f"{url}&limit=7{more and f'&next={more}'}").json
        found += page["columns"]["pod"]
        more = page["next"]
    assert found == [row["pod"] for row in whole]


def test_pods_of_one_name_are_the_same_in_their_order_and_what_one_run_has_alone_is_counted(tmp_path: Path) -> None:
    nodes = [node(name, cpu=4) for name in "abc"]
    twice = [
        (pod("same", cpu=1, uid=uid), "a", begin, begin, begin + 1.0) for uid, begin in (("u-1", 0.0), ("u-2", 5.0))
    ]
    late = (pod("same", cpu=1, uid="u-2"), "b", 5.0, 7.5, 9.0)
    lives(tmp_path / "one.duckdb", nodes, *twice, (pod("mine", cpu=1), "a", 0.0, 0.0, None), end=10.0).close()
    lives(
        tmp_path / "two.duckdb", nodes[:2], twice[0], late, (pod("theirs", cpu=1), "a", 0.0, 0.0, None), end=10.0
    ).close()
    with served([str(tmp_path / "one.duckdb"), str(tmp_path / "two.duckdb")]) as server:
        answer = server.ask("/compare/pods?run=one&run=two").json
        (nodes_of_two,) = server.ask("/compare?run=one&run=two").json["nodes"]
    assert (answer["num_both"], answer["num_only_first"], answer["num_only_other"]) == (2, 1, 1)
    columns = answer["columns"]
    assert (columns["created_seconds"], columns["node"], columns["other_node"]) == ([5.0], ["a"], ["b"])
    assert columns["delay_seconds"] == [2.5]
    assert nodes_of_two == {
        "run": "two", "num_both": 2, "num_only_first": 1, "num_only_other": 0, "only_first": ["c"], "only_other": [],
    }  # fmt: skip


def test_runs_of_other_seeds_are_told(tmp_path: Path) -> None:
    spec = {
        "end": "1m",
        "cluster": {"nodes": [{"name": "n-{}", "count": 1, "cpu": 4}]},
        "workload": [{"synthetic": {"name": "w", "arrivals": {"pattern": "poisson", "count": 2, "over": "30s"},
                                    "classes": [{"name": "c", "cpu": 1, "duration": "5s"}]}}],
    }  # fmt: skip
    for seed in (1, 2):
        file = {"apiVersion": "fairway.dev/v1alpha1", "kind": "Scenario", "spec": spec | {"seed": seed}}
        simulate(decode_scenario(file, str(tmp_path / "s.yaml")), record=tmp_path / f"{seed}.duckdb")
    with served([str(tmp_path / "1.duckdb"), str(tmp_path / "2.duckdb")]) as server:
        (note,) = server.ask("/compare?run=1&run=2").json["notes"]
    assert note == "1 has seed 1 and 2 seed 2: what is shown may be chance"


def test_runs_that_belong_together_have_the_same_nodes_and_no_note(api: Served) -> None:
    answer = api.ask("/compare?run=busy&run=slow").json
    assert (answer["notes"], answer["nodes"][0]["num_both"], answer["nodes"][0]["only_first"]) == ([], 5, [])
    other = api.ask("/compare?run=busy&run=gpu").json["nodes"][0]
    assert (other["num_both"], other["num_only_first"], other["num_only_other"]) == (0, 5, 6)


@pytest.mark.parametrize(
    ("place", "plugins", "words"),
    [
        ("active", ["NodeResourcesFit"], None),
        ("in_flight", [], None),
        ("backoff", ["NodeResourcesFit"], "BackoffComplete"),
        ("unschedulable", ["NodeName"], f"NodeAdd, {TIMED_OUT}"),
        ("unschedulable", ["NodeName", "NodePorts"], f"NodeAdd, PodDelete, {TIMED_OUT}"),
        ("unschedulable", ["FGD"], f"anything, {TIMED_OUT}"),
        ("unschedulable", ["mine:Own"], f"what mine:Own waits for, {TIMED_OUT}"),
        ("gated", ["SchedulingGates"], "PodUpdatePodSchedulingGatesEliminated"),
    ],
)
def test_what_wakes_a_pod_is_what_its_plugins_asked_to_hear_of(place: str, plugins: list[str], words: str) -> None:
    assert what_wakes(place, plugins) == words


def test_pods_that_were_woken_were_woken_by_what_was_said(api: Served) -> None:
    """Whenever one was let out for the next attempt, it was upon an event that it was said to wait for."""
    source = api.sources.find("busy")
    moves = source.rows(
        "SELECT time_seconds, event, p.pod FROM queue_moves JOIN pods p USING (pod_id) "
        "WHERE origin = 'unschedulable' AND place IS NOT NULL ORDER BY time_seconds"
    )
    assert moves
    for move in moves[::5]:
        found = rows_of(api, f"/runs/busy/queue?at={move['time_seconds'] - 1e-6}&limit=1000")
        (wakes,) = [row["wakes"] for row in found if row["pod"] == move["pod"]]
        told = wakes.split(", ")
        assert any(move["event"].endswith(word) for word in told), (move, wakes)
