"""Lanes, jobs of queues, comparisons, names: what the API says of them beside what the run and the commands say."""

from __future__ import annotations

import itertools
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.explain.queues.job_list import JobChoice, job_list
from fairway.explain.queues.run_moment import RunMoment
from fairway.explain.queues.share_table import share_table
from fairway.explain.run_status import read_status
from fairway.record import first_difference
from fairway.testing import node, pod
from fairway.web.heat_rows import label_groups
from fairway.web.lanes import MOST_INTERVALS, first_fit
from tests.record.runs import lives
from tests.web.served import Served, at, served

INTERVALS = st.lists(
    st.tuples(st.integers(0, 20), st.integers(0, 9)).map(lambda pair: (float(pair[0]), float(sum(pair)))), max_size=20
).map(sorted)


@given(INTERVALS)
def test_lanes_hold_one_pod_at_a_time_and_there_are_no_more_than_needed(found: list[tuple[float, float]]) -> None:
    numbers = first_fit(found)
    placed = list(zip(numbers, found, strict=True))
    for (lane, (_, end)), (other, (begin, _)) in combinations(placed, 2):
        assert lane != other or begin >= end
    most = max((sum(begin <= time < max(end, begin + 0.5) for begin, end in found) for time, _ in found), default=0)
    assert len(set(numbers)) <= most


def test_a_pod_keeps_its_lane_however_the_window_moves(api: Served) -> None:
    def lanes(**window: float) -> dict[int, int]:
        found = api.ask(at("runs", "busy", "lanes", node=["n-0", "n-3"], **window)).json["lanes"]
        return dict(zip(found["pod_id"], found["lane"], strict=True))

    everybody = lanes()
    some = lanes(**{"from": 500.0, "to": 700.0})
    assert 0 < len(some) < len(everybody)
    assert some.items() <= everybody.items()
    rows = api.sources.find("busy").rows(
        "SELECT pod_id FROM occupancy WHERE node IN ('n-0', 'n-3') AND from_seconds < 700 AND to_seconds > 500"
    )
    assert some.keys() == {row["pod_id"] for row in rows}


def test_states_of_nodes_are_told_with_their_lanes(api: Served) -> None:
    (state,) = api.ask("/runs/busy/lanes?node=n-0").json["states"]
    assert (state["node"], state["from_seconds"], state["to_seconds"], state["is_ready"]) == ("n-0", 0.0, None, True)
    assert state["allocatable"]["cpu"] == 4000


def test_nodes_are_as_they_were_at_that_time(api: Served) -> None:
    run = api.sources.find("busy").run
    found = api.ask("/runs/busy/nodes?at=700&order=name&resource=memory").columns
    for row in run.node_load(700.0).rows():
        place = found["node"].index(row["node"])
        assert found["held"][place] == {"cpu": row["cpu_milli"], "memory": row["memory_bytes"], "pods": row["num_pods"]}
        assert found["share"][place] == pytest.approx(row["memory_bytes"] / row["allocatable_memory_bytes"])


@pytest.mark.parametrize("moment", [1800.0, 5400.0])
def test_jobs_stand_where_the_commands_say(api: Served, moment: float) -> None:
    run = api.sources.find("queues").run
    jobs = job_list(RunMoment(run, moment), JobChoice()).jobs
    found = api.ask(f"/runs/queues/jobs?at={moment}&limit=1000").columns
    assert found["job"] == [job.job for job in jobs]
    waiting = [job for job in jobs if job.waits]
    assert waiting, "somebody has to wait"
    for queue in {job.queue for job in waiting}:
        ours = api.ask(f"/runs/queues/jobs?at={moment}&limit=1000&queue={queue}").columns
        positions = [position for position in ours["position"] if position is not None]
        assert positions == list(range(1, len(positions) + 1))
    told = dict(zip(found["job"], found["likely_seconds"], strict=True))
    for job in waiting:
        assert job.dates is None or told[job.job] in (job.dates.likely, None)
    one = api.ask(at("runs", "queues", "jobs", *waiting[0].job.split("/"), at=moment)).json
    assert (one["job"], one["state"]) == (waiting[0].job, "Queued")


def test_shares_are_those_of_the_command(api: Served) -> None:
    table = share_table(RunMoment(api.sources.find("queues").run, 5400.0))
    answer = api.ask("/runs/queues/shares?at=5400").json
    rows = table.rows(exact=True)
    assert answer["at"] == 5400.0
    assert answer["columns"]["name"] == [row["name"] for row in rows]
    assert answer["columns"]["used"] == [row["used"] for row in rows]


def test_where_two_runs_part_is_where_their_decisions_do(api: Served) -> None:
    first, second = api.sources.find("busy"), api.sources.find("slow")
    difference = first_difference(first.run, second.run)
    assert difference is not None
    row = difference.first or difference.second
    assert row is not None
    found = api.ask("/compare?run=busy&run=slow").json
    (parting,) = found["first"]
    assert (parting["run"], parting["pod"], parting["time"]) == ("slow", row["pod"], row["time_seconds"])
    metric = next(one for one in found["metrics"] if one["name"] == "wait_p95")
    assert metric["differences"] == [pytest.approx(metric["values"][1] - metric["values"][0])]
    assert api.ask("/compare?run=busy&run=gpu").json["notes"] != []


def test_what_begins_so_is_found_first(api: Served) -> None:
    found = api.ask("/runs/busy/search?text=n-&limit=20").json
    assert found["name"][:5] == [f"n-{number}" for number in range(5)]
    assert found["kind"][:5] == ["node"] * 5
    assert api.ask("/runs/busy/search?text=HUGE-0").json == {"kind": ["pod"], "name": ["default/never-huge-0"]}
    assert api.ask("/runs/busy/search?text=%25").json["name"] == [], "a percent sign is no wildcard"
    assert len(api.ask("/runs/busy/search?text=s-&limit=3").json["name"]) == 3


@pytest.mark.parametrize(("run", "moment"), [("busy", 900.0), ("busy", 1800.0), ("queues", 5400.0)])
def test_who_waits_for_what_is_what_status_says(api: Served, run: str, moment: float) -> None:
    status = read_status(api.sources.find(run).run, moment)
    found = api.ask(f"/runs/{run}/waiting?at={moment}").json
    assert found["waiting"] == status.num_waiting > 0
    assert found["columns"]["reason"] == [one.reason for one in status.waiting]
    assert found["columns"]["pods"] == [one.num_pods for one in status.waiting]
    (count,) = api.sources.find(run).rows("SELECT count(*) AS n FROM pods WHERE ended_seconds <= $at", at=moment)
    assert sum(found["ended"].values()) == count["n"] > 0


@given(st.lists(st.sampled_from("ab"), max_size=12))
def test_groups_of_rows_are_what_stands_together(values: list[str]) -> None:
    together = [(value, list(some)) for value, some in itertools.groupby(values)]
    starts = itertools.accumulate([len(some) for _, some in together], initial=0)
    assert label_groups(values) == [(value, begin) for (value, _), begin in zip(together, starts, strict=False)]
    assert label_groups([str(number) for number in range(1001)]) == []


def test_rows_of_a_picture_are_named_as_the_nodes_are_and_say_when_they_took_no_pods(tmp_path: Path) -> None:
    nodes = [node(f"n-{number}", cpu=4, labels={"zone": "ab"[number % 2]}) for number in range(6)]
    nodes.append(node("shut", cpu=4, unschedulable=True, labels={"zone": "c"}))
    lives(tmp_path / "some.duckdb", nodes, (pod("p", cpu=1), "n-1", 0.0, 0.0, 5.0), end=60.0).close()
    with served([str(tmp_path / "some.duckdb")]) as api:
        rows = api.ask("/runs/some/heat/cpu/rows?order=label:zone&first=2&count=9").json
        named = api.ask("/runs/some/nodes?order=label:zone").columns
    assert (rows["total"], rows["names"]) == (7, named["node"][2:])
    assert list(zip(rows["groups"], rows["group_rows"], strict=True)) == [("a", 0), ("b", 3), ("c", 6)]
    assert "zone" in rows["labels"]
    spans = rows["spans"]
    assert (spans["row"], spans["from_seconds"], spans["is_unschedulable"]) == ([6], [0.0], [True])


def test_of_too_many_pods_there_is_how_many_and_what_they_held(tmp_path: Path) -> None:
    pods = [(pod(f"p-{number}", cpu="1m"), "n", 0.0, 0.0, 30.0) for number in range(MOST_INTERVALS + 1)]
    lives(tmp_path / "many.duckdb", [node("n", cpu=4)], *pods, end=60.0).close()
    with served([str(tmp_path / "many.duckdb")]) as api:
        found = api.ask("/runs/many/lanes?node=n").json
    assert (found["collapsed"], found["num_intervals"], found["lanes"]["pod"]) == (True, len(pods), [])
    held = found["counts"]["series"]
    assert held["pods"] == held["cpu"] == [float(len(pods))] * 240 + [0.0] * 240
