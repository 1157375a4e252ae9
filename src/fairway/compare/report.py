"""A comparison as a page: one HTML file with everything in it, no scripts, nothing loaded from elsewhere.

In: a `Comparison`, where the policies part, the conditions that failed; the runs are opened for curves. Out: HTML:
what changes most, curves over time, the distribution of waits, and all metrics with spread. Called by
`compare --html`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from markupsafe import Markup

from fairway.compare.defragmentations import step_rows
from fairway.compare.metrics import Comparison, MetricRow, PolicyRuns
from fairway.compare.partings import Parting
from fairway.compare.text import delta_text, metric_title, shown_rows, value_text
from fairway.pages import render
from fairway.plots.line_plots import bar_plot, line_plot
from fairway.plots.svg import colour
from fairway.record import Run
from fairway.record.curves import (
    WAIT_TICKS,
    Floats,
    lowest_share,
    nodes_used_curve,
    utilisation_curve,
    wait_seconds,
    wait_shares,
    waiting_curve,
)
from fairway.record.load import load_history
from fairway.words import clock_text

__all__ = ["report_html"]

NUM_POINTS: Final = 480
NUM_CARDS: Final = 5
MOST_STEPS: Final = 100  # of defragmentation
DAY: Final = 86_400
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
    bars: Markup


def report_html(comparison: Comparison, parted: Sequence[Parting], failures: Sequence[str]) -> str:
    """The whole page."""
    names = [policy.name for policy in comparison.policies]
    num_seeds = max(len(policy.seeds) for policy in comparison.policies)
    return render(
        "comparison.html",
        title=" against ".join([", ".join(names[1:]), names[0]]) if len(names) > 1 else names[0],
        policies=[(name, colour(number)) for number, name in enumerate(names)],
        seeds="one seed" if num_seeds == 1 else f"{num_seeds} seeds; ± is the standard deviation over them",
        failures=failures,
        partings=[parting.sentence(comparison.first.name) for parting in parted],
        cards=_cards(comparison),
        plots=[*_over_time(comparison), _waits(comparison)],
        steps=step_rows(comparison.policies),
        most_steps=MOST_STEPS,
        rows=[_table_row(row, comparison) for row in shown_rows(comparison, everything=False)],
    )


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
        (policy.name, value.mean, value.std)
        for policy in comparison.policies
        if (value := row.values.get(policy.name)) is not None
    ]
    better = f" ({row.definition.better} is better)" if row.definition.better else ""
    cells = [_cell(row, policy, is_first=policy is comparison.first) for policy in comparison.policies]
    return TableRow(metric_title(row), row.definition.meaning + better, cells, bar_plot(bars))


def _cell(row: MetricRow, policy: PolicyRuns, *, is_first: bool) -> Cell:
    value, delta = row.values.get(policy.name), row.deltas.get(policy.name)
    if value is None:
        return Cell("–")
    spread = "" if not value.std else f" ±{value_text(value.std, row.definition)}"
    words = value_text(value.mean, row.definition) + spread
    if is_first:
        return Cell(words)
    change = "" if delta is None else delta_text(delta, row.definition)
    judged = None if delta is None or change in ("=", "≈") else delta.is_better
    return Cell(words, {True: "good", False: "bad", None: "soft"}[judged], change)


def _over_time(comparison: Comparison) -> list[tuple[str, Markup]]:
    """Pods that wait, nodes that are used, and a plot for each resource: each policy's first seed."""
    histories, waiting = {}, {}
    for policy in comparison.policies:
        with Run.open(policy.paths[policy.seeds[0]]) as run:
            histories[policy.name] = load_history(run)
            waiting[policy.name] = waiting_curve(run, NUM_POINTS)
    ticks = _time_ticks(max(history.end for history in histories.values()))
    used = {name: nodes_used_curve(history, NUM_POINTS) for name, history in histories.items()}
    plots = [
        ("Pods that wait", line_plot(waiting, ticks, _count, ("time", "pods"))),
        ("Nodes with pods", line_plot(used, ticks, _count, ("time", "nodes"))),
    ]
    for resource in dict.fromkeys(name for history in histories.values() for name in history.resources):
        lines = {
            name: utilisation_curve(history, resource, NUM_POINTS)
            for name, history in histories.items()
            if resource in history.resources and history.there.integral()[history.resources.index(resource)] > 0
        }
        if lines:
            plot = line_plot(lines, ticks, lambda share: f"{share:.0%}", ("time", "utilisation"))
            plots.append((f"Utilisation of {resource}", plot))
    return plots


def _count(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value == int(value) else f"{value:.1f}"


def _time_ticks(end: float) -> list[tuple[float, str]]:
    """Whole hours, minutes or days, four to eight of them."""
    steps = (1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, DAY, 7 * DAY, 28 * DAY)
    step = next((step for step in steps if end / step <= 8), math.ceil(end / 8))
    times = [step * number for number in range(int(end / step + 1e-9) + 1)]
    return [(time, _time_text(time, step)) for time in times]


def _time_text(time: float, step: float) -> str:
    if step >= DAY:
        return f"{time / DAY:.0f} d"
    if step >= 3600:
        return f"{time / 3600:.0f} h"
    return clock_text(time)[3:] if time < 3600 else clock_text(time)


def _waits(comparison: Comparison) -> tuple[str, Markup]:
    """What share of the pods waited no longer: all seeds together."""
    lines = {policy.name: wait_shares(_wait_seconds(policy), NUM_POINTS) for policy in comparison.policies}
    longest = max((float(x[-1]) for x, _ in lines.values()), default=1.0)
    ticks = [tick for tick in WAIT_TICKS if tick[0] <= max(longest, 1.0)]
    labels = ("waited at most", "share of pods")
    plot = line_plot(
        lines, ticks, lambda share: f"{share:.0%}", labels, is_log=True, y_min=lowest_share(lines.values())
    )
    return "How long pods waited for a node; those that never got one wait longer", plot


def _wait_seconds(policy: PolicyRuns) -> Floats:
    """Of all seeds, in order: (num_pods,)."""
    waits = []
    for path in policy.paths.values():
        with Run.open(path) as run:
            waits.append(wait_seconds(run))
    return np.sort(np.concatenate(waits)) if waits else np.zeros(0)
