"""Who goes first when there are too many."""

import datetime as dt

import pytest

from fairway.model import Pod
from fairway.sim.controllers.deletion_order import by_progress, by_rank
from fairway.testing import pod

NOW = dt.datetime(2030, 1, 2, tzinfo=dt.UTC)


def ago(seconds: float) -> dt.datetime:
    return NOW - dt.timedelta(seconds=seconds)


def running(name: str, on: str = "n1", since: float = 1000, cost: str = "") -> Pod:
    notes = {"controller.kubernetes.io/pod-deletion-cost": cost} if cost else {}
    return pod(name, node=on, phase="Running", started=ago(since), annotations=notes)


CASES = {
    "without a node": ([running("b"), pod("a")], {}, "a"),
    "not running": ([running("b"), pod("a", node="n1", phase="Pending")], {}, "a"),
    "cheap": ([running("a", cost="5"), running("b", cost="-5")], {}, "b"),
    "a cost that is no number counts as none": ([running("a", cost="much"), running("b", cost="-5")], {}, "b"),
    "on a crowded node": ([running("a", "n1"), running("b", "n2")], {"n1": 1, "n2": 2}, "b"),
    "cheap on an empty node before dear on a crowded one": (
        [running("a", "n1", cost="-1"), running("b", "n2")],
        {"n1": 1, "n2": 9},
        "a",
    ),
    "young": ([running("a", since=1000), running("b", since=10)], {}, "b"),
    "of the same age by order of magnitude": ([running("b", since=1001), running("a", since=1000)], {}, "a"),
}


@pytest.mark.parametrize(("pods", "neighbours", "first"), CASES.values(), ids=CASES)
def test_by_rank(pods: list[Pod], neighbours: dict[str, int], first: str) -> None:
    for order in (pods, pods[::-1]):
        assert by_rank(order, neighbours, NOW)[0].metadata.name == first


def test_by_progress_takes_the_youngest_of_those_that_run() -> None:
    pods = [running("old", since=1001), running("new", since=1000), pod("waiting")]
    assert [one.metadata.name for one in by_progress(pods)] == ["waiting", "new", "old"]
