"""The cluster at one moment of a run: what the tables say in one go, and what one gets by reading the rows in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairway.cluster import Cluster
from fairway.explain.run_moment import Moment, objects_seen
from fairway.explain.run_schedulers import run_schedulers
from fairway.explain.run_walk import RunWalk
from fairway.model import Node, Pod
from fairway.record import Run
from fairway.scenario.scenario import load_scenario
from fairway.scenario.simulate import simulate
from tests.explain.run_files import LATE, QUICK, SLOW, busy_run

EXAMPLES = Path(__file__).parents[2] / "examples" / "scenarios"


def naive_moment(run: Run, at: float) -> tuple[set[str], dict[str, str], set[str]]:
    """Nodes, pods with their nodes ("": none) and leaving pods at a time, row by row."""
    nodes: set[str] = set()
    for row in run.nodes:
        if row["from_seconds"] <= at and not (row["to_seconds"] is not None and row["to_seconds"] <= at):
            nodes.add(row["node"])
    pods: dict[str, str] = {}
    leaving: set[str] = set()
    for row in run.pods:
        if row["created_seconds"] > at or (row["ended_seconds"] is not None and row["ended_seconds"] <= at):
            continue
        is_bound = row["bound_seconds"] is not None and row["bound_seconds"] <= at
        pods[row["pod"]] = row["node"] if is_bound else ""
        if row["leaving_seconds"] is not None and row["leaving_seconds"] <= at:
            leaving.add(row["pod"])
    return nodes, pods, leaving


def seen(objects: list[Any]) -> tuple[set[str], dict[str, str], set[str]]:
    pods = [thing for thing in objects if isinstance(thing, Pod)]
    return (
        {thing.name for thing in objects if isinstance(thing, Node)},
        {pod.key: pod.spec.node_name for pod in pods},
        {pod.key for pod in pods if pod.is_terminating},
    )


@pytest.mark.parametrize("name", ["busy", "faults.yaml"])
def test_between_attempts_it_is_what_the_rows_say(tmp_path: Path, name: str) -> None:
    path = tmp_path / "run.duckdb"
    if name == "busy":
        path = Path(busy_run(tmp_path))
    else:
        simulate(load_scenario(EXAMPLES / name), record=path)
    with Run.open(path) as run:
        times = [run.end_seconds * share / 23 + 0.001 for share in range(23)]
        for at in times:
            assert seen(objects_seen(run, Moment(at))) == naive_moment(run, at)


def placements(cluster: Cluster) -> dict[str, str]:
    return {placed.pod.key: cluster.nodes.names[placed.row] for placed in cluster.pods.by_uid.values()}


@pytest.mark.parametrize("scheduler", [QUICK, SLOW, LATE], ids=["quick", "slow", "late"])
def test_before_an_attempt_it_is_what_one_who_walked_through_the_run_has_heard(tmp_path: Path, scheduler: str) -> None:
    """`RunWalk` hears of everything in its order and of nothing too early; own decisions are added as they are made."""
    with Run.open(busy_run(tmp_path, scheduler)) as run:
        (recorded,) = run_schedulers(run)
        walk = RunWalk(run, recorded)
        own: dict[int, str] = {}  # pods that it had chosen a node for, by number
        num_compared = 0
        for row in run.decisions:
            walk.hear(row["time_seconds"], row["decision_id"])
            heard = placements(walk.cluster)
            for number, node in own.items():
                pod = walk.pods[number]
                ended = pod["ended_seconds"]
                if ended is None or ended + recorded.recorded.view_delay > row["time_seconds"]:
                    heard.setdefault(pod["pod"], node)
            if row["decision_id"] % 5 == 0:
                moment = Moment(row["time_seconds"], row)
                _, pods, _ = seen(objects_seen(run, moment, recorded.recorded))
                assert {key: node for key, node in pods.items() if node} == heard, row
                num_compared += 1
            if row["outcome"] == "scheduled":
                own[row["pod_id"]] = row["node"]
        assert num_compared > 40
