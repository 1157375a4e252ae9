"""Curves against a naive retelling: look at many instants, one pod and one node at a time."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.record import Run
from fairway.record.curves import (
    lowest_share,
    node_shares,
    nodes_used_curve,
    utilisation_curve,
    wait_seconds,
    wait_shares,
    waiting_curve,
)
from fairway.record.distribution import Distribution, jain_index
from fairway.record.load import load_history
from fairway.testing import node, pod
from tests.record.runs import lives, small_run

CPUS, END = 8, 60


class Life(NamedTuple):
    """A pod: how much, where and when, in whole seconds."""

    cpu: int
    node: int
    created: int
    wait: int
    length: int | None

    @property
    def bound(self) -> int:
        return self.created + self.wait

    @property
    def ended(self) -> int | None:
        return None if self.length is None else self.bound + self.length

    def holds(self, at: float) -> bool:
        return self.bound <= at < (END if self.ended is None else self.ended)

    def seconds_in(self, begin: float, end: float) -> float:
        """How long it holds something between these times."""
        ended = END if self.ended is None else self.ended
        return max(min(end, ended) - max(begin, self.bound), 0.0)


LIVES = st.lists(
    st.builds(
        Life,
        st.integers(1, 3),
        st.integers(0, 1),
        st.integers(0, 20),
        st.integers(0, 9),
        st.none() | st.integers(1, 25),
    ),
    min_size=1,
    max_size=8,
)


def record(folder: str, drawn: list[Life]) -> Run:
    nodes = [node(f"n{number}", cpu=CPUS) for number in range(2)]
    rows = [
        (
            pod(f"p{place}", cpu=one.cpu),
            f"n{one.node}",
            float(one.created),
            float(one.bound),
            None if one.ended is None else float(one.ended),
        )
        for place, one in enumerate(drawn)
    ]
    return lives(Path(folder) / "run", nodes, *rows, end=float(END))


@settings(max_examples=12, deadline=None)
@given(LIVES)
def test_curves_are_what_looking_at_every_second_gives(drawn: list[Life]) -> None:
    with tempfile.TemporaryDirectory() as folder, record(folder, drawn) as run:
        history = load_history(run)
        # All happens at whole seconds, so the middle of each tells of all of it, and 12 stretches are means of five.
        middles = np.arange(END) + 0.5
        held = np.array([sum(one.cpu for one in drawn if one.holds(at)) for at in middles])
        times, shares = utilisation_curve(history, "cpu", 12)
        assert times == pytest.approx(np.arange(12) * 5 + 2.5)
        assert shares == pytest.approx(held.reshape(12, 5).mean(axis=1) / (2 * CPUS))

        waiting = np.array([sum(one.created <= at < one.bound for one in drawn) for at in middles])
        _, counts = waiting_curve(run, 12)
        assert counts == pytest.approx(waiting.reshape(12, 5).mean(axis=1))

        instants, used = nodes_used_curve(history, 60)
        assert instants == pytest.approx(middles)
        assert used.tolist() == [len({one.node for one in drawn if one.holds(at)}) for at in middles]

        for num_columns in (60, 7):  # a column is a second, or longer than some pods and across the ends of others
            _, by_node = node_shares(history, "cpu", num_columns)
            edges = np.linspace(0, END, num_columns + 1)
            for number in range(2):
                expected = [
                    sum(one.cpu * one.seconds_in(*span) for one in drawn if one.node == number)
                    / (CPUS * END / num_columns)
                    for span in pairwise(edges)
                ]
                assert by_node[:, number] == pytest.approx(expected)

        assert wait_seconds(run).tolist() == sorted(float(one.wait) for one in drawn)


@given(st.lists(st.floats(0, 1e4), max_size=50), st.integers(0, 5), st.integers(2, 30))
def test_shares_of_waits_are_those_who_waited_no_longer(waits: list[float], unplaced: int, num_points: int) -> None:
    ordered = np.array([*sorted(waits), *[np.inf] * unplaced])
    seconds, shares = wait_shares(ordered, num_points)
    if not waits:
        assert (seconds.tolist(), shares.tolist()) == ([0.0], [0.0])
        return
    assert (np.diff(shares) >= 0).all()
    for second, share in zip(seconds, shares, strict=True):
        assert share == pytest.approx(sum(one <= second for one in ordered) / len(ordered))


@pytest.mark.parametrize(
    ("firsts", "lowest"), [([0.2, 0.9], 0.0), ([0.83, 0.97], 0.8), ([1.0], 0.95), ([], 0.0)], ids=str
)
def test_an_axis_begins_below_the_lowest_curve(firsts: list[float], lowest: float) -> None:
    curves = [(np.zeros(1), np.array([first])) for first in firsts]
    assert lowest_share(curves) == pytest.approx(lowest)


def test_pods_that_were_never_placed_waited_for_ever(tmp_path: Path) -> None:
    with small_run(tmp_path / "run") as run:
        assert wait_seconds(run).tolist() == [0.0, 0.0, 5.0, 5.0]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_a_distribution_is_what_sorting_gives(values: list[float]) -> None:
    found = Distribution.of(np.array(values))
    ordered = sorted(values)
    assert (found.count, found.max) == (len(values), ordered[-1])
    assert found.mean == pytest.approx(sum(values) / len(values), rel=1e-9, abs=1e-6)
    for percent, value in ((50, found.p50), (95, found.p95), (99, found.p99)):
        place = (len(ordered) - 1) * percent / 100  # interpolated between the neighbours
        low, high = ordered[int(place)], ordered[min(int(place) + 1, len(ordered) - 1)]
        assert value == pytest.approx(low + (high - low) * (place - int(place)), rel=1e-9, abs=1e-6)


def test_nothing_has_no_distribution() -> None:
    assert Distribution.of(np.array([])) == Distribution(0)


@given(st.lists(st.floats(0.001, 1e3), min_size=1, max_size=20), st.floats(0.01, 100))
def test_equal_shares_are_fair_and_scale_does_not_matter(shares: list[float], factor: float) -> None:
    index = jain_index(np.array(shares))
    assert index is not None
    assert 1 / len(shares) - 1e-9 <= index <= 1 + 1e-9
    assert jain_index(np.array(shares) * factor) == pytest.approx(index)
    assert jain_index(np.full(len(shares), factor)) == pytest.approx(1.0)
    assert jain_index(np.array([factor, *[0.0] * (len(shares) - 1)])) == pytest.approx(1 / len(shares))
    assert jain_index(np.zeros(len(shares))) is None
