"""`fairway metrics`: the glossary."""

from __future__ import annotations

import pytest

from fairway.record.metric_definitions import DEFINITIONS
from tests.cli.trial_files import Folder


def test_all_are_there_with_a_meaning(folder: Folder) -> None:
    found = folder.run("metrics", "-o", "json").document
    assert [one["metric"] for one in found] == [one.name for one in DEFINITIONS]
    assert all(one["meaning"] for one in found)


ASKED = {
    "by name": ("wait_p95", ["wait_p95"]),
    "as tables have it": ("wait p95", ["wait_p95"]),
    "for a resource": ("utilisation_nvidia.com/gpu", ["utilisation_{}"]),
    "by a part": ("waiting_age_p", ["waiting_age_p50", "waiting_age_p95", "waiting_age_p99"]),
}


@pytest.mark.parametrize(("name", "metrics"), ASKED.values(), ids=ASKED)
def test_some_are_asked_for(folder: Folder, name: str, metrics: list[str]) -> None:
    assert folder.run("metrics", name, "-o", "name").out.split() == metrics


def test_a_name_that_is_none_gets_near_ones(folder: Folder) -> None:
    printed = folder.run("metrics", "wait_p96")
    assert printed.code == 1
    assert "wait_p95" in printed.err.partition("did you mean ")[2]
