"""Recorded runs gathered into columns, and where two of them part."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from fairway.compare.metrics import compare_policies
from fairway.compare.partings import Parting, partings
from fairway.compare.policies import read_policies
from fairway.model import UserError
from fairway.record import RecordOptions, Run
from fairway.record.vocabulary import PodEnd
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, placed, writer


def run_file(path: Path, *nodes: str, policy: str = "default", seed: int = 1, decisions: str = "all") -> str:
    """Pods p0, p1, ... placed on these nodes, one a second."""
    options = RecordOptions(decisions=decisions)  # type: ignore[arg-type]
    with writer(path, options, policies=[policy], seed=seed, scenario={"metadata": {"name": "s"}}) as made:
        for name in ("a", "b"):
            made.node_added(0.0, node(name, cpu=8))
        for number, name in enumerate(nodes):
            one, time = pod(f"p{number}", cpu=1), float(number)
            made.pod_created(time, one, SCHEDULER)
            made.decided(time, SCHEDULER, 1, placed(one, name), 0.0)
            made.bound(time, one.metadata.uid, name)
            made.ended(time + 0.5, one.metadata.uid, PodEnd.SUCCEEDED)
        made.close(10.0)
    return str(path)


def test_runs_of_one_scenario_are_columns_by_policy_with_a_value_for_each_seed(tmp_path: Path) -> None:
    paths = [
        run_file(tmp_path / f"{policy}-{seed}.duckdb", "a", policy=policy, seed=seed)
        for seed in (1, 2)
        for policy in ("default", "packed")
    ]
    opened: list[Run] = []
    columns = read_policies(paths, opened.append)
    assert [(column.name, column.seeds) for column in columns] == [("default", [1, 2]), ("packed", [1, 2])]
    assert columns[1].paths == {1: paths[1], 2: paths[3]}
    assert len(opened) == 4
    assert all(flat["pods_placed"] == 1 for column in columns for flat in column.metrics.values())


def test_runs_that_call_their_policy_a_profile_are_columns_by_policy_too(tmp_path: Path) -> None:
    paths = [run_file(tmp_path / f"{number}.duckdb", "a", policy=f"p{number}") for number in range(2)]
    for path in paths:
        with duckdb.connect(path) as connection:
            connection.execute("UPDATE meta SET key = 'profiles' WHERE key = 'policies'")
    assert [column.name for column in read_policies(paths)] == ["p0", "p1"]
    with Run.open(paths[0]) as run:
        assert run.meta["policies"] == ["p0"]
        assert "profiles" not in run.meta


def test_runs_of_one_policy_are_named_after_their_files(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    paths = [run_file(tmp_path / "one.duckdb", "a"), run_file(tmp_path / "two.duckdb", "b")]
    assert [column.name for column in read_policies(paths)] == ["one", "two"]
    same = [run_file(tmp_path / "x" / "one.duckdb", "a"), paths[0]]
    assert [column.name for column in read_policies(same)] == same  # where the name alone is not clear


def test_a_run_given_twice_is_a_mistake(tmp_path: Path) -> None:
    path = run_file(tmp_path / "one.duckdb", "a")
    with pytest.raises(UserError, match="is given twice; leave one of them out"):
        read_policies([path, path])


def parting(*paths: str) -> Parting:
    (found,) = partings(compare_policies(read_policies(paths)))
    return found


def test_the_first_other_decision_is_found_and_told(tmp_path: Path) -> None:
    found = parting(run_file(tmp_path / "x.duckdb", "a", "a", "b"), run_file(tmp_path / "y.duckdb", "a", "b", "a"))
    assert (found.pod, found.number, found.time) == ("default/p1", 1, 1.0)
    assert found.sentence("x") == "first different decision: default/p1 at 00:00:01: x → a, y → b"
    document = found.document()
    assert (document["ours"]["node"], document["theirs"]["node"]) == ("a", "b")


def test_runs_that_decide_alike_do_not_part(tmp_path: Path) -> None:
    found = parting(run_file(tmp_path / "x.duckdb", "a", "b"), run_file(tmp_path / "y.duckdb", "a", "b"))
    assert found.pod is None
    assert found.sentence("x") == "no different decision: y decides everything as x does"


def test_a_run_that_goes_on_has_a_decision_more(tmp_path: Path) -> None:
    found = parting(run_file(tmp_path / "x.duckdb", "a"), run_file(tmp_path / "y.duckdb", "a", "b"))
    assert found.sentence("x").endswith("default/p1 at 00:00:01: x has no more decisions, y → b")


def test_why_nobody_knows_where_they_part_is_told(tmp_path: Path) -> None:
    few = parting(run_file(tmp_path / "x.duckdb", "a", decisions="none"), run_file(tmp_path / "y.duckdb", "a"))
    assert "only runs that kept all can be compared" in few.sentence("x")
    other = parting(run_file(tmp_path / "v.duckdb", "a", seed=1), run_file(tmp_path / "w.duckdb", "a", seed=2))
    assert other.sentence("v") == "first different decision: unknown; v and w have no seed in common"
