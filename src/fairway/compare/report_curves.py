"""The plots of a comparison's page: pods that wait, nodes that are used, utilisation, how long pods waited.

In: a `Comparison`, whose runs are opened, and where its policies part. Out: `PlotCard`s: a plot, what it says in
numbers, and a sentence about how far the policies are apart. Called by `report`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from fairway.compare.metrics import Comparison, PolicyRuns
from fairway.compare.partings import Parting
from fairway.plots.line_plots import Mark, PlotAxes, Ticks, line_plot
from fairway.plots.plot_card import PlotCard, card_of
from fairway.plots.readings import Line, means_over, reached_at
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

__all__ = ["axis_percent", "curves_over_time", "parting_marks", "waits_card"]

NUM_POINTS: Final = 480
NUM_READINGS: Final = 12
DAY: Final = 86_400

Text = Callable[[float], str]


def curves_over_time(comparison: Comparison, parted: Sequence[Parting]) -> list[PlotCard]:
    """Pods that wait, nodes that are used, and a plot for each resource: each policy's first seed."""
    histories, waiting = {}, {}
    for policy in comparison.policies:
        with Run.open(policy.paths[policy.seeds[0]]) as run:
            histories[policy.name] = load_history(run)
            waiting[policy.name] = waiting_curve(run, NUM_POINTS)
    end = max(history.end for history in histories.values())
    used = {name: nodes_used_curve(history, NUM_POINTS) for name, history in histories.items()}
    numbers = {policy.name: place for place, policy in enumerate(comparison.policies)}
    marks = parting_marks(comparison, parted)
    whose = _whose(comparison)

    def card(title: str, meaning: str, lines: Mapping[str, Line], words: tuple[Text, Text], unit: str) -> PlotCard:
        on_axis, in_table = words
        readings = means_over(lines, np.linspace(0.0, end, NUM_READINGS + 1).tolist(), clock_text)
        axes = PlotAxes(("time", unit), _time_ticks(end), on_axis, in_table)
        plot = line_plot(lines, axes, numbers=numbers, readings=readings, marks=marks)
        return card_of(title, meaning + whose, plot, "time", readings, in_table)

    counts, shares = (_count, _mean_count), (axis_percent, _exact_percent)
    cards = [
        card("Pods that wait", "Pods without a node, means over time", waiting, counts, "pods"),
        card("Nodes with pods", "Nodes that have at least one pod", used, counts, "nodes"),
    ]
    for resource in dict.fromkeys(name for history in histories.values() for name in history.resources):
        lines = {
            name: utilisation_curve(history, resource, NUM_POINTS)
            for name, history in histories.items()
            if resource in history.resources and history.there.integral()[history.resources.index(resource)] > 0
        }
        if lines:
            meaning = f"What pods hold of the {resource} of ready nodes"
            cards.append(card(f"Utilisation of {resource}", meaning, lines, shares, "utilisation"))
    return cards


def waits_card(comparison: Comparison) -> PlotCard:
    """What share of the pods waited no longer: all seeds together."""
    lines = {policy.name: wait_shares(_wait_seconds(policy), NUM_POINTS) for policy in comparison.policies}
    longest = max((float(x[-1]) for x, _ in lines.values()), default=1.0)
    ticks = [tick for tick in WAIT_TICKS if tick[0] <= max(longest, 1.0)]
    readings = reached_at(lines, ticks, longest)
    labels, lowest = ("waited at most", "share of pods"), lowest_share(lines.values())
    axes = PlotAxes(labels, ticks, axis_percent, _exact_percent, is_log=True, y_min=lowest)
    plot = line_plot(lines, axes, readings=readings)
    meaning = "Pods that got a node within so long, of all; those that never got one wait longer. All seeds together."
    return card_of("Waits", meaning, plot, "waited at most", readings, _exact_percent)


def _whose(comparison: Comparison) -> str:
    """Which seeds the curves are of."""
    if all(len(policy.seeds) == 1 for policy in comparison.policies):
        return "."
    seeds = dict.fromkeys(policy.seeds[0] for policy in comparison.policies)
    return f"; of seed {' and '.join(map(str, seeds))}."


def parting_marks(comparison: Comparison, parted: Sequence[Parting]) -> list[Mark]:
    """Where policies part, if it is in the seed whose curves are drawn."""
    first = comparison.first
    return [
        (parting.time, parting.sentence(first.name))
        for parting in parted
        if parting.time is not None and parting.seed == first.seeds[0]
    ]


def _count(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ") if value == int(value) else f"{value:.1f}"


def _mean_count(value: float) -> str:
    return _count(round(value, 1))


def axis_percent(share: float) -> str:
    """On an axis, whose steps may be of a half or a quarter per cent."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def _exact_percent(share: float) -> str:
    return f"{share:.1%}"


def _time_ticks(end: float) -> Ticks:
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


def _wait_seconds(policy: PolicyRuns) -> Floats:
    """Of all seeds, in order: (num_pods,)."""
    waits = []
    for path in policy.paths.values():
        with Run.open(path) as run:
            waits.append(wait_seconds(run))
    return np.sort(np.concatenate(waits)) if waits else np.zeros(0)
