"""A comparison as text: whatever the numbers, columns stand under their names and numbers can be read back."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairway.compare.metrics import Comparison, Delta, PolicyRuns, compare_policies
from fairway.compare.text import comparison_lines, delta_text, metric_title, shown_rows, value_text
from fairway.record.metric_definitions import DEFINITIONS, Definition, definition_of

RESOURCES = ("cpu", "memory", "nvidia.com/gpu", "example.com/a/b")
NAMES = st.sampled_from([one.name for one in DEFINITIONS if not one.name.startswith("timing_")])
METRICS = st.builds(lambda name, resource: name.replace("{}", resource), NAMES, st.sampled_from(RESOURCES))
VALUES = st.one_of(st.just(0.0), st.floats(1e-6, 1e7), st.integers(1, 10**6).map(float))
COLUMNS = st.lists(st.dictionaries(METRICS, VALUES, min_size=1, max_size=6), min_size=1, max_size=3)
TITLES = st.lists(st.text("abc xyz\x1b\n\t", min_size=1, max_size=8), min_size=3, max_size=3, unique=True)


def comparison_of(
    columns: Sequence[dict[str, float]], names: Sequence[str] = ("first", "second", "third")
) -> Comparison:
    return compare_policies([PolicyRuns(name, {1: flat}, {1: ""}) for name, flat in zip(names, columns, strict=False)])


def defined(name: str) -> Definition:
    found = definition_of(name)
    assert found is not None
    return found


@given(columns=COLUMNS)
def test_every_cell_begins_under_its_policys_name(columns: list[dict[str, float]]) -> None:
    comparison = comparison_of(columns)
    lines = comparison_lines(comparison, comparison.rows)
    begins = [lines[0].index(policy.name) for policy in comparison.policies]
    assert len(lines) == 1 + len(comparison.rows)
    for line, row in zip(lines[1:], comparison.rows, strict=True):
        assert line[: begins[0]].rstrip() == metric_title(row)
        for policy, begin, until in zip(comparison.policies, begins, [*begins[1:], None], strict=True):
            cell = line[begin:until]
            assert until is None or cell.endswith("   ")
            if policy.name not in row.values:
                assert cell.strip() == "–"
                continue
            text = value_text(row.values[policy.name].mean, row.definition)
            if policy.name in row.deltas:
                text += f"  {delta_text(row.deltas[policy.name], row.definition)}"
            assert cell.strip() == text
        assert line == line.rstrip()


@given(columns=COLUMNS, names=TITLES)
def test_names_add_no_lines_and_no_escapes(columns: list[dict[str, float]], names: list[str]) -> None:
    lines = comparison_lines(comparison_of(columns, names), comparison_of(columns, names).rows)
    assert not re.search(r"[\x00-\x1f]", "".join(lines))


@given(columns=COLUMNS)
def test_only_what_is_better_or_worse_is_painted(columns: list[dict[str, float]]) -> None:
    """And paint is all that differs: painted text without it is the plain one."""
    comparison = comparison_of(columns)
    painted: list[bool] = []

    def paint(cell: str, is_better: bool) -> str:
        painted.append(is_better)
        return f"<{cell}>"

    lines = comparison_lines(comparison, comparison.rows, paint)
    plain = comparison_lines(comparison, comparison.rows)
    assert [re.sub("[<>]", "", line) for line in lines] == plain
    judged = [
        delta.is_better
        for row in comparison.rows
        for delta in row.deltas.values()
        if delta.is_better is not None and delta_text(delta, row.definition) != "≈"
    ]
    assert sorted(painted) == sorted(judged)


def test_a_difference_that_is_none_is_not_painted() -> None:
    comparison = comparison_of([{"pods_placed": 1e5}, {"pods_placed": 1e5 + 1}])
    assert comparison.rows[0].deltas["second"].is_better
    lines = comparison_lines(comparison, comparison.rows, lambda cell, is_better: f"<{cell}>")
    assert lines[1].endswith("≈")
    assert "<" not in lines[1]


@given(columns=COLUMNS)
def test_a_table_shows_what_is_worth_a_row_in_one_order(columns: list[dict[str, float]]) -> None:
    comparison = comparison_of(columns)
    assert shown_rows(comparison, everything=True) == list(comparison.rows)
    rows = shown_rows(comparison, everything=False)
    assert {row.name for row in rows} <= {row.name for row in comparison.rows}
    assert not any(row.name.startswith("gpu_") for row in rows)  # no column says that devices are shared
    for name in ("pods_failed", "pods_evicted", "waiting_age_max"):
        is_there = any(flat.get(name) for flat in columns)
        assert any(row.name == name for row in rows) == is_there
    again = shown_rows(comparison_of([dict(reversed(flat.items())) for flat in columns]), everything=False)
    order = list(dict.fromkeys(row.definition.name for row in rows))
    assert order == list(dict.fromkeys(row.definition.name for row in again))


def test_rows_of_devices_are_shown_where_they_are_shared() -> None:
    plain = {"gpu_allocated": 0.5, "utilisation_nvidia.com/gpu": 0.5}
    shared = {"gpu_allocated": 0.5, "utilisation_alibabacloud.com/gpu-count": 0.0}
    assert [row.name for row in shown_rows(comparison_of([plain]), False)] == ["utilisation_nvidia.com/gpu"]
    assert [row.name for row in shown_rows(comparison_of([shared]), False)] == ["gpu_allocated"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("utilisation_nvidia.com/gpu", "utilisation gpu"),
        ("imbalance_example.com/a/b_std", "imbalance b std"),
        ("wait_p95", "wait p95 (s)"),
        ("makespan_seconds", "makespan (s)"),
        ("pods_placed", "pods placed"),
        ("nodes_used_mean", "nodes used mean"),
    ],
)
def test_titles(name: str, title: str) -> None:
    (row,) = comparison_of([{name: 1.0}]).rows
    assert metric_title(row) == title


# -- numbers read back -------------------------------------------------------------------------------------------------


def number_in(text: str) -> float:
    """The first number of a text, as people read it: a space between thousands, a minus of its own."""
    found = re.search(r"[+−]?\d[\d ]*(?:\.\d+)?", text)
    assert found is not None, text
    return float(found[0].replace(" ", "").replace("−", "-"))


@given(value=VALUES, name=METRICS)
def test_a_value_can_be_read_back(value: float, name: str) -> None:
    definition = defined(name)
    text = value_text(value, definition)
    factor = 100 if text.endswith("%") else 1
    assert text.endswith("%") == (definition.unit == "share" and not definition.name.startswith("fragmentation"))
    shown = value * factor
    assert number_in(text) == pytest.approx(shown, abs=0.5 if shown >= 100 and factor == 1 else 0.0501, rel=1e-9)


@given(before=VALUES, after=VALUES, name=METRICS)
def test_a_change_says_its_direction_and_its_size(before: float, after: float, name: str) -> None:
    assume(before != after)
    definition = defined(name)
    (row,) = comparison_of([{name: before}, {name: after}]).rows
    text = delta_text(row.deltas["second"], definition)
    if text == "≈":
        share = definition.unit == "share"
        assert abs(after - before) * 100 < 0.5 if share else abs(after - before) / before * 100 < 0.05
        return
    assert ("+" in text, "−" in text) == (after > before, after < before)
    assert {"▴": after > before, "▾": after < before}.get(text[0], True)
    if text.endswith("%"):
        percent = (after - before) / before * 100
        assert number_in(text) == pytest.approx(percent, abs=0.5001 if abs(percent) >= 0.95 else 0.05001, rel=1e-9)


def test_no_change_is_said_in_a_sign_and_spread_goes_with_a_change() -> None:
    wait, share = defined("wait_mean"), defined("utilisation_cpu")
    assert delta_text(Delta(0.0, None, 0.0, None), wait) == "="
    assert delta_text(Delta(5.0, 1.0, 0.5, False), wait) == "+50% ±10%"
    assert delta_text(Delta(5.0, 1.0, 0.5, False, 0.02), wait) == "+50% ±2%"
    assert delta_text(Delta(-5.0, 0.4, -1.0, True, 0.0), wait) == "−100%"
    assert delta_text(Delta(-5.0, 0.4, -1.0, True), wait) == "−100%"
    assert delta_text(Delta(-0.125, 0.05, -0.25, False), share) == "▾ −12.5 ±5"
    assert delta_text(Delta(0.01, None, None, True), share) == "▴ +1.0"
