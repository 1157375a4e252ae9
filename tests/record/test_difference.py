"""Two runs side by side: where they part."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairway.record import RecordError, RecordOptions, Run, first_difference
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, lives, placed, writer

NODES = [node("a"), node("b")]


def run_of(path: Path, *choices: str) -> Run:
    rows = [(pod(f"p{number}"), where, float(number), float(number), None) for number, where in enumerate(choices)]
    return lives(path, NODES, *rows, end=10.0)


def test_equal_runs_have_no_difference(tmp_path: Path) -> None:
    with run_of(tmp_path / "one", "a", "b") as one, run_of(tmp_path / "two", "a", "b") as two:
        assert first_difference(one, two) is None


def test_the_first_decision_that_differs(tmp_path: Path) -> None:
    with run_of(tmp_path / "one", "a", "b", "a") as one, run_of(tmp_path / "two", "a", "a", "b") as two:
        found = first_difference(one, two)
        assert found is not None
        assert (found.number, found.columns) == (1, ("node",))
        assert found.first is not None
        assert found.second is not None
        assert (found.first["pod"], found.first["node"], found.second["node"]) == ("default/p1", "b", "a")
        assert first_difference(one, two, columns=("time_seconds", "pod")) is None


def test_one_run_may_go_on_where_the_other_ends(tmp_path: Path) -> None:
    with run_of(tmp_path / "one", "a") as one, run_of(tmp_path / "two", "a", "b") as two:
        found = first_difference(one, two)
        assert found is not None
        assert (found.number, found.first) == (1, None)
        assert found.second is not None
        assert found.second["pod"] == "default/p1"


def test_runs_that_left_decisions_out_can_not_be_compared(tmp_path: Path) -> None:
    with writer(tmp_path / "failed", RecordOptions(decisions="failed")) as made:
        made.decided(0.0, SCHEDULER, 1, placed(pod("p0"), "a"), 0.0)
        made.close(1.0)
    with (
        run_of(tmp_path / "one", "a") as one,
        Run.open(tmp_path / "failed") as other,
        pytest.raises(RecordError, match="kept failed decisions"),
    ):
        first_difference(one, other)
