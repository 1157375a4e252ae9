"""Reads of datasets in numbers: a run worked out by hand, runs without any, and names of rungs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairway.record import Run
from fairway.record.data_metrics import rung_names
from fairway.record.metric_definitions import DEFINITIONS, definition_of
from fairway.record.vocabulary import DataRead, PodEnd
from fairway.testing import node, pod
from tests.record.runs import SCHEDULER, small_run, writer

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
GIB = 2**30


def test_a_run_worked_out_by_hand(tmp_path: Path) -> None:
    """One reads two datasets, of which one is near, for 10 h; two reads one from nowhere, is lost and begins anew."""
    hour = 3600.0
    with writer(tmp_path / "run") as made:
        for name in ("a", "b"):
            made.node_added(0.0, node(name))
        for name in ("one", "two"):
            made.pod_created(0.0, pod(name, uid=name), SCHEDULER)
            made.bound(0.0, name, "a")
            made.started(0.0, name)
        near = DataRead("default/x", "a", HOST, 10 * GIB, 1.0, 0.0)
        away = DataRead("default/y", "b", ZONE, 30 * GIB, 1.5, 0.2)
        made.data_read(0.0, "one", [near, away])
        made.data_read(0.0, "two", [DataRead("default/z", "", "", None, 4.0, 0.75)])
        made.data_read(4 * hour, "two", [DataRead("default/z", "b", ZONE, None, 1.5, 0.5)])
        made.data_read(4 * hour, "nobody", [near])
        made.ended(10 * hour, "one", PodEnd.SUCCEEDED)
        made.close(12 * hour)
    with Run.open(tmp_path / "run") as run:
        flat = {name: value for name, value in run.metrics().flat().items() if name.startswith("data_")}
        assert flat == pytest.approx(
            {
                "data_reads": 4,
                "data_share_hostname": 1 / 4,
                "data_share_zone": 2 / 4,
                "data_share_elsewhere": 1 / 4,
                "data_remote_share": 3 / 4,
                "data_remote_gib": 30,
                "data_remote_hours": 10 / 2 + 4 + 8,
                "data_extra_hours": 10 * 0.2 + 4 * 0.75 + 8 * 0.5,
            }
        )
        found = {definition_of(name) for name in flat}
        assert {one.name for one in found if one} == {one.name for one in DEFINITIONS if one.name.startswith("data_")}


def test_a_run_in_which_nobody_reads_has_no_such_numbers(tmp_path: Path) -> None:
    with small_run(tmp_path / "small") as run:
        assert run.metrics().data is None


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ([HOST, ZONE, None], ["hostname", "zone", "elsewhere"]),
        (["a.example/zone", ZONE], ["a.example/zone", ZONE]),
        (["rack"], ["rack"]),
        ([], []),
    ],
    ids=["usual", "two of a name", "without a domain", "none"],
)
def test_rungs_are_called_by_the_last_part_of_their_label(keys: list[str | None], names: list[str]) -> None:
    assert list(rung_names(keys).values()) == names
