"""A comparison as a page: one HTML file with everything in it, no scripts, nothing loaded from elsewhere.

In: a `Comparison`, where the policies part, the conditions that failed, how far they are from the best possible
placement, if that was asked for; the runs are opened for curves. Out: HTML: what it is about, what changes most, curves
over time, the distribution of waits, and all metrics with spread, those that change first. Called by `compare --html`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

from markupsafe import Markup

from fairway.compare.defragmentations import step_rows
from fairway.compare.metrics import Comparison, MetricRow, PolicyRuns
from fairway.compare.partings import Parting, why_commands
from fairway.compare.report_curves import curves_over_time, parting_marks, waits_card
from fairway.compare.report_facts import comparison_facts
from fairway.compare.text import NEARLY, SAME, delta_text, metric_title, shown_rows, value_text
from fairway.pages import render
from fairway.plots.line_plots import MARK, bar_plot
from fairway.plots.svg import element, key

__all__ = ["OptimumSection", "report_html"]

NUM_CARDS: Final = 5
MOST_STEPS: Final = 100  # of defragmentation
MOST_RUNS: Final = 8  # that fairway ui shows
CARDS: Final = (
    "pods_waiting",
    "wait_mean",
    "wait_p95",
    "slowdown_p95",
    "nodes_used_mean",
    "utilisation_{}",
    "fragmentation_{}",
    "preemptions",
    "throughput_per_hour",
)
"""What people ask about first, by the name of its definition."""
TELLING: Final = 0.01  # the least change that is worth a card


class Card(NamedTuple):
    """A metric that people ask about first: what it is now, and what it was."""

    title: str
    meaning: str
    value: str
    kind: str  # good or bad
    change: str
    before: str


class Cell(NamedTuple):
    """A policy's value in the table, and how it differs from the first policy's; None for that one itself."""

    value: str
    kind: str = "soft"
    change: str | None = None


class TableRow(NamedTuple):
    """A metric in the table."""

    title: str
    meaning: str
    cells: list[Cell]
    bars: Markup  # empty where nothing differs


class PartingText(NamedTuple):
    """Where a policy parts from the first, and the commands that say why, to paste."""

    sentence: str
    commands: list[str]


class OptimumSection(NamedTuple):
    """How far policies are from the best possible placement: rows of words, and what to know about them."""

    rows: Sequence[tuple[str, ...]]  # policy, goal, here, best, gap
    notes: Sequence[str]


def report_html(
    comparison: Comparison,
    parted: Sequence[Parting],
    failures: Sequence[str],
    *,
    is_kept: bool = True,
    optimum: OptimumSection | None = None,
) -> str:
    """The whole page; `is_kept` says that the runs stay where they are."""
    names = [policy.name for policy in comparison.policies]
    rows = [
        (_is_changed(row, comparison), _table_row(row, comparison)) for row in shown_rows(comparison, everything=False)
    ]
    is_alone = len(names) < 2  # nothing to change against, so nothing to fold away
    return render(
        "comparison.html",
        title=" against ".join([", ".join(names[1:]), names[0]]) if not is_alone else names[0],
        facts=comparison_facts(comparison.policies),
        policies=[(name, key(number)) for number, name in enumerate(names)],
        has_spread=any(len(policy.seeds) > 1 for policy in comparison.policies),
        failures=failures,
        partings=[_parting_text(parting, comparison, is_kept=is_kept) for parting in parted],
        is_kept=is_kept,
        look=_look_command(comparison.policies) if is_kept else "",
        cards=_cards(comparison),
        mark=element("span", MARK) if parting_marks(comparison, parted) else "",
        plots=[*curves_over_time(comparison, parted), waits_card(comparison)],
        steps=step_rows(comparison.policies),
        most_steps=MOST_STEPS,
        optimum=optimum,
        rows=[row for is_changed, row in rows if is_changed or is_alone],
        same_rows=[row for is_changed, row in rows if not is_changed and not is_alone],
    )


def _parting_text(parting: Parting, comparison: Comparison, *, is_kept: bool) -> PartingText:
    commands = why_commands(parting, comparison.policies) if is_kept else []
    return PartingText(parting.sentence(comparison.first.name), commands)


def _look_command(policies: Sequence[PolicyRuns]) -> str:
    """What serves each policy's first run as pages, as many as are shown at once."""
    return shlex.join(["fairway", "ui", *(policy.paths[policy.seeds[0]] for policy in policies[:MOST_RUNS])])


def _is_changed(row: MetricRow, comparison: Comparison) -> bool:
    """Does any policy differ from the first in it, by more than nothing to speak of, or does one lack it?"""
    if len(row.values) < len(comparison.policies):
        return True
    return any(delta_text(delta, row.definition) not in (SAME, NEARLY) for delta in row.deltas.values())


def _cards(comparison: Comparison) -> list[Card] | None:
    """What people ask about first, as far as it changes: the second policy against the first."""
    if len(comparison.policies) < 2:
        return None
    name = comparison.policies[1].name
    rows = [
        row
        for row in shown_rows(comparison, everything=False)
        if row.definition.name in CARDS and name in row.deltas and row.deltas[name].is_better is not None
    ]
    rows = [row for row in sorted(rows, key=_rank) if _size(row, name) >= TELLING]
    return [
        Card(
            title=metric_title(row),
            meaning=row.definition.meaning,
            value=value_text(row.values[name].mean, row.definition),
            kind="good" if row.deltas[name].is_better else "bad",
            change=delta_text(row.deltas[name], row.definition),
            before=value_text(row.values[comparison.first.name].mean, row.definition),
        )
        for row in rows[:NUM_CARDS]
    ]


def _rank(row: MetricRow) -> int:
    return CARDS.index(row.definition.name)


def _size(row: MetricRow, name: str) -> float:
    """How much a change is: of shares the difference, of others the part of the larger value."""
    delta = row.deltas[name]
    if row.definition.unit == "share":
        return abs(delta.mean)
    largest = max(abs(value.mean) for value in row.values.values())
    return abs(delta.mean) / largest if largest else 0.0


def _table_row(row: MetricRow, comparison: Comparison) -> TableRow:
    bars = [
        (number, f"{policy.name}: {_words(row, policy)}", value.mean, value.std)
        for number, policy in enumerate(comparison.policies)
        if (value := row.values.get(policy.name)) is not None
    ]
    meaning = row.definition.meaning
    if row.definition.better:
        meaning += f"; {row.definition.better} is better"
    cells = [_cell(row, policy, is_first=policy is comparison.first) for policy in comparison.policies]
    return TableRow(metric_title(row), meaning, cells, bar_plot(bars) if _is_changed(row, comparison) else Markup(""))


def _words(row: MetricRow, policy: PolicyRuns) -> str:
    """A policy's value and its spread."""
    value = row.values[policy.name]
    spread = "" if not value.std else f" ±{value_text(value.std, row.definition)}"
    return value_text(value.mean, row.definition) + spread


def _cell(row: MetricRow, policy: PolicyRuns, *, is_first: bool) -> Cell:
    delta = row.deltas.get(policy.name)
    if policy.name not in row.values:
        return Cell("–")
    words = _words(row, policy)
    if is_first:
        return Cell(words)
    change = "" if delta is None else delta_text(delta, row.definition)
    judged = None if delta is None or change in (SAME, NEARLY) else delta.is_better
    return Cell(words, {True: "good", False: "bad", None: "soft"}[judged], change)
