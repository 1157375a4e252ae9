"""Tables of `try`: some rows, in another order, and many pods in one row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.cli.trial_table import SCREEN, chosen_rows, folded_rows
from fairway.testing import node
from tests.cli.trial_files import Folder, controller

RESULTS = ["scheduled", "preempts", "unschedulable", "gated"]


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    number = draw(st.integers(0, 2 * SCREEN))
    made = []
    for index in range(number):
        result = draw(st.sampled_from(RESULTS))
        node = draw(st.sampled_from(["n1", "n2"])) if result in RESULTS[:2] else None
        owner = draw(st.sampled_from(["Deployment a/x", "Job a/y"]))
        detail = draw(st.sampled_from(["best of 2 nodes that fit", "fits on none of 2 nodes"]))
        made.append(
            {"pod": f"a/p{index}", "result": result, "node": node, "from": owner, "detail": detail, "priority": 0}
        )
    return made


@given(rows())
def test_no_pod_is_lost_when_rows_are_folded(some: list[dict[str, Any]]) -> None:
    folded = folded_rows(some)
    if len(some) <= SCREEN:
        assert folded == some
        return
    pairs = [(row["from"], row["result"]) for row in folded]
    assert set(pairs) == {(row["from"], row["result"]) for row in some}
    assert len(pairs) == len(set(pairs))
    counted = [int(row["detail"].split(" pods")[0]) if " pods" in row["detail"] else 1 for row in folded]
    assert sum(counted) == len(some)


@given(rows(), st.sampled_from(["failed", "placed", None]), st.sampled_from(["pod", "node", "result", None]))
def test_rows_that_are_asked_for_are_all_there(some: list[dict[str, Any]], only: str | None, sort: str | None) -> None:
    chosen = chosen_rows(some, only, sort)
    wanted = [row for row in some if only is None or (row["node"] is not None) == (only == "placed")]
    assert sorted(row["pod"] for row in chosen) == sorted(row["pod"] for row in wanted)
    if sort == "pod":
        assert [row["pod"] for row in chosen] == sorted(row["pod"] for row in chosen)
    if sort == "node":
        assert [row["node"] or "~" for row in chosen] == sorted(row["node"] or "~" for row in chosen)


@pytest.fixture
def big(folder: Folder) -> list[str]:
    cluster = folder.write("cluster.json", *(node(f"n{number}", cpu="8", pods=20) for number in range(4)))
    wanted = folder.write("wanted.json", controller("Deployment", "web", replicas=50))
    return ["try", "-f", wanted, "--cluster", cluster]


def test_many_pods_of_a_controller_are_one_row_and_the_summary_comes_first(folder: Folder, big: list[str]) -> None:
    printed = folder.run(*big)
    lines = printed.out.splitlines()
    assert lines[0] == "32 of 50 pods get a node, 18 fit nowhere"
    assert lines[2].split() == ["POD", "RESULT", "NODE", "DETAIL"]
    assert "32 pods, at most 8 on a node" in lines[3]
    assert lines[3].split()[:5] == ["Deployment", "default/web", "scheduled", "4", "nodes"]
    assert "18 pods: fits on none of 4 nodes" in lines[4]
    assert printed.out.count("32 of 50 pods") == 1
    assert "-o wide has all 50" in printed.err


def test_wide_and_programs_have_every_pod(folder: Folder, big: list[str]) -> None:
    assert folder.run(*big, "-o", "wide").out.count("default/web-") >= 50
    assert len(folder.run(*big, "-o", "json").document["pods"]) == 50
    assert len(folder.run(*big, "-o", "name").out.split()) == 50


def test_only_those_that_failed(folder: Folder, big: list[str]) -> None:
    printed = folder.run(*big, "--only", "failed", "-o", "json")
    assert (len(printed.document["pods"]), printed.document["placed"], printed.code) == (18, 32, 3)
    assert {one["result"] for one in printed.document["pods"]} == {"unschedulable"}
    table = folder.run(*big, "--only", "failed").out
    assert " scheduled " not in table
    assert table.rstrip().endswith("32 of 50 pods get a node, 18 fit nowhere")


def test_another_order(folder: Folder, big: list[str]) -> None:
    nodes = [one["node"] for one in folder.run(*big, "--sort", "node", "-o", "json").document["pods"]]
    assert nodes[:32] == sorted(nodes[:32])
    assert set(nodes[32:]) == {None}
