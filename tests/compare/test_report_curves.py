"""The values beside a report's plots, and the facts at its head, against counts over random histories."""

from __future__ import annotations

import itertools
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairway.compare.metrics import Comparison, PolicyRuns, compare_policies
from fairway.compare.partings import Parting
from fairway.compare.report_curves import NUM_READINGS, axis_percent, curves_over_time, parting_marks, waits_card
from fairway.compare.report_facts import MOST_SEEDS, comparison_facts, range_text, seeds_text
from fairway.plots.line_plots import PlotAxes, line_plot
from tests.record.lifetimes import HISTORIES, History, tell


def comparison_of(first: History, second: History, folder: Path) -> Comparison:
    paths = {}
    for name, history in (("one", first), ("two", second)):
        paths[name] = str(folder / name)
        tell(history, folder / name).close()
    return compare_policies([PolicyRuns(name, {1: {}}, {1: path}) for name, path in paths.items()])


def means(value: Callable[[float], float], end: float) -> list[float]:
    """Of what changes at quarters of a second only, between the readings of a plot."""
    width = end / NUM_READINGS
    quarters = [number / 4 for number in range(int(width * 4))]
    return [
        sum(value(reading * width + quarter) for quarter in quarters) / len(quarters) for reading in range(NUM_READINGS)
    ]


def waiting(history: History, at: float) -> float:
    return sum(
        life.created <= at and all(time is None or at < time for time in (life.bound, life.ended))
        for life in history.lives
    )


def used(history: History, at: float) -> float:
    return len({life.node for life in history.lives if life.holds(at, history.end)})


def utilisation(history: History, resource: str, at: float) -> float:
    there = sum(history.there(machine, resource, at) for machine in history.machines)
    held = sum(history.held(machine, resource, at) for machine in history.machines)
    return 100 * held / there if there else 0.0


def within(history: History, seconds: float) -> float:
    """The share of pods that a scheduler was to place and that had a node after so long."""
    asked = [life for life in history.lives if life.is_of_a_scheduler]
    placed = sum(life.bound is not None and life.bound - life.created <= seconds for life in asked)
    return 100 * placed / len(asked) if asked else 0.0


@given(HISTORIES, HISTORIES)
@settings(max_examples=8)
def test_values_beside_the_plots_are_means_over_stretches_of_time(first: History, second: History) -> None:
    with tempfile.TemporaryDirectory() as name:
        comparison = comparison_of(first, second, Path(name))
        cards = {card.title: card for card in curves_over_time(comparison, [])}
        waits = waits_card(comparison)
        facts = dict(comparison_facts(comparison.policies))
    expected: dict[str, Callable[[History, float], float]] = {"Pods that wait": waiting, "Nodes with pods": used}
    for resource in first.resources:
        expected[f"Utilisation of {resource}"] = lambda history, at, resource=resource: utilisation(  # type: ignore[misc]
            history, resource, at
        )
    assert cards.keys() == expected.keys()
    for title, value in expected.items():
        card = cards[title]
        assert card.columns == ["time", "one", "two"]
        assert len(card.rows) == NUM_READINGS
        for column, history in ((1, first), (2, second)):
            cells = [float(row[column].removesuffix("%").replace(" ", "")) for row in card.rows]
            counted = means(lambda at, value=value, history=history: value(history, at), history.end)  # type: ignore[misc]
            assert cells == pytest.approx(counted, abs=0.0501), (title, column)
    seconds = {"0": 0, "1 s": 1, "10 s": 10}
    for row in waits.rows:
        if row[0] in seconds:
            for cell, history in zip(row[1:], (first, second), strict=True):
                assert float(cell.removesuffix("%")) == pytest.approx(within(history, seconds[row[0]]), abs=0.0501)
    assert facts["Policies"] == "one, two"
    assert facts["Pods"] == range_text({len(first.lives), len(second.lives)})
    assert facts["Nodes"] == range_text({len(first.machines), len(second.machines)})


@given(st.lists(st.integers(0, 99), min_size=1, max_size=12, unique=True))
def test_seeds_and_ranges_in_words(numbers: list[int]) -> None:
    text = seeds_text(numbers)
    if len(numbers) <= MOST_SEEDS:
        assert [int(part) for part in text.split(", ")] == numbers
    else:
        assert text == f"{len(numbers)} from {min(numbers)} to {max(numbers)}"
    parts = [int(part) for part in range_text(numbers).split(" to ")]
    assert (parts[0], parts[-1]) == (min(numbers), max(numbers))
    assert range_text([]) == "none"


def test_the_day_of_the_runs_is_that_of_the_latest(tmp_path: Path) -> None:
    history = History((), ())
    with tell(history, tmp_path / "run"):
        pass
    os.utime(tmp_path / "run", (86_400.0 * 365, 86_400.0 * 365))
    facts = dict(comparison_facts([PolicyRuns("only", {1: {}}, {1: str(tmp_path / "run")})]))
    assert (facts["Runs of"], facts["Scenario"], facts["Seeds"]) == ("1971-01-01", "unnamed", "1")


def test_a_parting_is_marked_if_it_is_in_the_seed_that_is_drawn() -> None:
    runs = [PolicyRuns(name, {3: {}, 4: {}}, {3: "", 4: ""}) for name in ("one", "two", "three")]
    partings = [
        Parting("two", 3, "default/p", 5.0, 0, None, None),
        Parting("three", 4, "default/p", 6.0, 0, None, None),
        Parting("three", 3),
    ]
    ((time, words),) = parting_marks(compare_policies(runs), partings)
    assert time == 5.0
    assert words == partings[0].sentence("one")


@given(lowest=st.sampled_from([step / 1000 for step in range(0, 996, 5)]))
def test_the_words_of_an_axis_are_as_far_apart_as_its_lines(lowest: float) -> None:
    """A step of 2.5 % is no step of 2 % and then of 3 %."""
    lines = {"a": (np.array([0.0, 60.0]), np.array([lowest, 1.0]))}
    axes = PlotAxes(("waited", "share"), [(0.0, "0"), (60.0, "1 min")], axis_percent, axis_percent, y_min=lowest)
    words = [float(number) for number in re.findall(r">([\d.]+)%</text>", line_plot(lines, axes))]
    steps = [later - earlier for earlier, later in itertools.pairwise(words)]
    assert len(words) > 1
    assert max(steps) - min(steps) < 0.02
