"""Policies side by side: means, spread and what changed, against a naive reckoning."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairway.compare.metrics import Comparison, PolicyRuns, compare_policies
from fairway.compare.text import comparison_document, comparison_lines, delta_text, metric_title, shown_rows, value_text

NUMBERS = st.floats(-1e6, 1e6).map(lambda number: round(number, 3))
SEEDS = st.dictionaries(st.integers(0, 6), NUMBERS, min_size=1, max_size=5)


def policy(name: str, metric: str, values: dict[int, float]) -> PolicyRuns:
    return PolicyRuns(name, {seed: {metric: value} for seed, value in values.items()}, dict.fromkeys(values, ""))


def side_by_side(metric: str, *columns: dict[int, float]) -> Comparison:
    return compare_policies([policy(f"p{place}", metric, values) for place, values in enumerate(columns)])


@given(SEEDS, SEEDS)
def test_values_and_changes_are_means_over_seeds(first: dict[int, float], other: dict[int, float]) -> None:
    row = side_by_side("wait_mean", first, other).row("wait_mean")
    assert row is not None
    for name, values in (("p0", first), ("p1", other)):
        assert row.values[name].mean == pytest.approx(float(np.mean(list(values.values()))), abs=1e-6)
        spread = row.values[name].std
        assert (spread is None) == (len(values) == 1)
        if spread is not None:
            assert spread == pytest.approx(float(np.std(list(values.values()), ddof=1)), abs=1e-6)
    both = sorted(first.keys() & other.keys())
    changes = [other[seed] - first[seed] for seed in both]
    delta = row.deltas["p1"]
    if both:
        assert delta.mean == pytest.approx(float(np.mean(changes)), abs=1e-6)
        base = float(np.mean([first[seed] for seed in both]))
    else:
        base = float(np.mean(list(first.values())))
        assert delta.mean == pytest.approx(float(np.mean(list(other.values()))) - base, abs=1e-6)
        assert delta.std is None
    if delta.relative is not None and base:
        assert delta.relative == pytest.approx(delta.mean / abs(base), abs=1e-6, rel=1e-6)


@given(st.dictionaries(st.integers(0, 6), NUMBERS, min_size=2, max_size=5), NUMBERS)
def test_a_change_that_is_the_same_for_every_seed_is_no_chance(first: dict[int, float], change: float) -> None:
    """Each seed is compared with itself, so what both owe to the seed cancels out."""
    row = side_by_side("wait_mean", first, {seed: value + change for seed, value in first.items()}).row("wait_mean")
    assert row is not None
    delta = row.deltas["p1"]
    if abs(change) > 1e-3:
        assert delta.is_better is (change < 0)  # a shorter wait is better


def test_a_change_within_the_spread_may_be_chance() -> None:
    row = side_by_side("wait_mean", {1: 10, 2: 10, 3: 10}, {1: 5, 2: 15, 3: 11}).row("wait_mean")
    assert row is not None
    assert row.deltas["p1"].mean == pytest.approx(1 / 3)
    assert row.deltas["p1"].is_better is None


@pytest.mark.parametrize(
    ("metric", "change", "is_better"),
    [("wait_mean", -1.0, True), ("wait_mean", 1.0, False), ("pods_placed", 1.0, True), ("nodes_used_ever", 1.0, None)],
    ids=["lower is better", "higher is worse", "higher is better", "nobody can tell"],
)
def test_which_direction_is_better_is_part_of_a_metrics_definition(
    metric: str, change: float, is_better: bool | None
) -> None:
    row = side_by_side(metric, {1: 10.0}, {1: 10.0 + change}).row(metric)
    assert row is not None
    assert row.deltas["p1"].is_better is is_better


def test_what_was_measured_on_the_clock_is_not_compared() -> None:
    made = compare_policies(
        [PolicyRuns("a", {1: {"timing_cycle_mean": 3.0, "attempts": 2, "unheard_of": 1.0}}, {1: ""})]
    )
    assert [row.name for row in made.rows] == ["attempts"]


def test_a_metric_that_only_one_policy_has_has_no_change() -> None:
    made = compare_policies([policy("a", "wait_mean", {1: 1.0}), policy("b", "attempts", {1: 2.0})])
    waits = made.row("wait_mean")
    assert waits is not None
    assert (list(waits.values), waits.deltas) == (["a"], {})
    (_, line, _) = comparison_lines(made, made.rows)
    assert line.split()[-2:] == ["1", "–"]
    assert made.row("happiness") is None


@pytest.mark.parametrize(
    ("metric", "before", "after", "title", "value", "change"),
    [
        ("wait_p95", 100.0, 150.0, "wait p95 (s)", "150", "+50%"),
        ("wait_p95", 100.0, 100.4, "wait p95 (s)", "100", "+0.4%"),
        ("wait_p95", 0.0, 2.5, "wait p95 (s)", "2.50", "▴ +2.50"),
        ("wait_p95", 7.0, 7.0, "wait p95 (s)", "7", "="),
        ("utilisation_nvidia.com/gpu", 0.5, 0.625, "utilisation gpu", "62.5%", "▴ +12.5"),
        ("utilisation_cpu", 0.5, 0.50001, "utilisation cpu", "50.0%", "≈"),
        ("fragmentation_cpu", 0.3, 0.1, "fragmentation cpu", "0.10", "▾ −0.20"),
        ("pods_placed", 20_000.0, 10_000.0, "pods placed", "10 000", "−50%"),
    ],
)
def test_numbers_in_words(metric: str, before: float, after: float, title: str, value: str, change: str) -> None:
    row = side_by_side(metric, {1: before}, {1: after}).row(metric)
    assert row is not None
    assert metric_title(row) == title
    assert value_text(after, row.definition) == value
    assert delta_text(row.deltas["p1"], row.definition) == change


@given(st.lists(SEEDS, min_size=1, max_size=4))
def test_tables_line_up_and_documents_have_everything(columns: list[dict[int, float]]) -> None:
    made = side_by_side("wait_mean", *columns)
    heading, line = comparison_lines(made, made.rows)
    assert heading.split() == [f"p{place}" for place in range(len(columns))]
    assert line.startswith("wait mean (s)")
    for place in range(len(columns)):
        start = heading.index(f"p{place}")
        assert line[start - 1] == " "
        assert line[start] != " "
    document = comparison_document(made)
    assert document["baseline"] == "p0"
    values = document["metrics"]["wait_mean"]["values"]
    assert {name: {int(seed): number for seed, number in one["by_seed"].items()} for name, one in values.items()} == {
        f"p{place}": column for place, column in enumerate(columns)
    }
    assert all(math.isfinite(one["mean"]) for one in document["metrics"]["wait_mean"]["deltas"].values())


def test_rows_of_zeros_and_of_devices_that_nobody_shares_are_not_shown() -> None:
    flat = {"pods_created": 5.0, "pods_evicted": 0.0, "gpu_allocated": 0.5, "attempts": 5.0, "nodes_used_ever": 2.0}
    made = compare_policies([PolicyRuns("a", {1: flat}, {1: ""})])
    assert [row.name for row in shown_rows(made, everything=False)] == ["pods_created", "attempts"]
    assert {row.name for row in shown_rows(made, everything=True)} == flat.keys()
