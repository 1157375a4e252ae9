"""A comparison as a page: one HTML file with everything in it, no scripts, nothing loaded from elsewhere.

In: a `Comparison`, where the policies part, the conditions that failed; the runs are opened for curves. Out: HTML:
what changes most, curves over time, the distribution of waits, and all metrics with spread. Called by
`compare --html`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from fairway import __version__
from fairway.compare.defragmentations import defragmentation_table
from fairway.compare.metrics import Comparison, MetricRow, Policy
from fairway.compare.partings import Parting
from fairway.compare.report_file import GENERATOR
from fairway.compare.svg_plots import bar_plot, colour, line_plot
from fairway.compare.text import delta_text, metric_title, shown_rows, value_text
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

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fafafa; --card: #fff; --soft: #667085; --grid: #e4e7ec;
  --good: #157f3c; --bad: #b42318;
  --c0: #2563eb; --c1: #ea580c; --c2: #059669; --c3: #9333ea; --c4: #ca8a04; --c5: #db2777; --c6: #0891b2;
  --c7: #64748b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #101316; --card: #181c20; --soft: #98a2b3;
  --grid: #2c3238; --good: #4ade80; --bad: #f87171; --c0: #60a5fa; --c1: #fb923c; --c2: #34d399; --c3: #c084fc;
  --c4: #facc15; --c5: #f472b6; --c6: #22d3ee; --c7: #94a3b8; } }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 76rem; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .7rem; }
h3 { font-size: .95rem; margin: 0 0 .4rem; font-weight: 600; } p { margin: .3rem 0; }
code { font: .9em ui-monospace, monospace; } .soft { color: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); }
.card { background: var(--card); border: 1px solid var(--grid); border-radius: 10px; padding: 1rem 1.1rem; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(28rem, 100%), 1fr)); gap: 1rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 1rem; margin: 1.2rem 0; }
.cards b { display: block; font-size: 1.5rem; font-variant-numeric: tabular-nums; line-height: 1.3; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { padding: .28rem .9rem .28rem 0; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, th:last-child { text-align: left; } td:last-child { width: 11rem; padding-right: 0; }
th { color: var(--soft); font-weight: 600; }
td { font-variant-numeric: tabular-nums; border-top: 1px solid var(--grid); }
tr:hover td { background: color-mix(in srgb, var(--c0) 7%, transparent); }
td .delta { display: inline-block; min-width: 5.5em; text-align: left; padding-left: .7em; }
svg.plot { width: 100%; height: auto; display: block; } svg text { fill: var(--soft); font-size: 12px; }
svg.bars { width: 10rem; height: auto; display: block; overflow: visible; }
.grid { stroke: var(--grid); } .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; }
.first { stroke-width: 3.6; opacity: .6; } .spread { stroke: var(--ink); stroke-width: 1.3; }
.key { display: inline-block; width: .75em; height: .75em; border-radius: 2px; margin: 0 .4em 0 .9em; }
@media print { body { margin: 0; max-width: none; } .card { break-inside: avoid; } }
"""


def report_html(comparison: Comparison, parted: Sequence[Parting], failures: Sequence[str]) -> str:
    """The whole page."""
    names = [policy.name for policy in comparison.policies]
    title = " against ".join([", ".join(names[1:]), names[0]]) if len(names) > 1 else names[0]
    num_seeds = max(len(policy.seeds) for policy in comparison.policies)
    seeds = "one seed" if num_seeds == 1 else f"{num_seeds} seeds; ± is the standard deviation over them"
    words = [
        *(f'<p class="bad">failed: {html.escape(sentence)}</p>' for sentence in failures),
        *(f"<p>{html.escape(parting.sentence(comparison.first.name))}</p>" for parting in parted),
    ]
    sections = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="soft">Changes are against {html.escape(names[0])}; {seeds}. Fairway {__version__}.</p>',
        *words,
        _cards(comparison),
        f"<h2>Curves {_legend(names)}</h2>",
        f"<div class=plots>{''.join(_over_time(comparison))}{_waits(comparison)}</div>",
        defragmentation_table(comparison.policies),
        f"<h2>Metrics {_legend(names)}</h2>{_table(comparison)}",
    ]
    head = f'<meta charset="utf-8">{GENERATOR}<title>Fairway: {html.escape(title)}</title><style>{STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(sections)
    return f'<!doctype html>\n<html lang="en"><head>{head}{view}</head>\n<body>\n{body}\n</body></html>\n'


def _cards(comparison: Comparison) -> str:
    """What people ask about first, as far as it changes: the second policy against the first."""
    if len(comparison.policies) < 2:
        return ""
    name = comparison.policies[1].name
    rows = [
        row
        for row in shown_rows(comparison, everything=False)
        if row.definition.name in CARDS and name in row.deltas and row.deltas[name].is_better is not None
    ]
    rows = [row for row in sorted(rows, key=_rank) if _size(row, name) >= TELLING]
    cards = []
    for row in rows[:NUM_CARDS]:
        value, delta = row.values[name], row.deltas[name]
        before = value_text(row.values[comparison.first.name].mean, row.definition)
        kind = "good" if delta.is_better else "bad"
        cards.append(
            f'<div class="card" title="{html.escape(row.definition.meaning)}">'
            f'<span class="soft">{html.escape(metric_title(row))}</span>'
            f"<b>{html.escape(value_text(value.mean, row.definition))}</b>"
            f'<span class="{kind}">{html.escape(delta_text(delta, row.definition))}</span> '
            f'<span class="soft">from {html.escape(before)}</span></div>'
        )
    return f"<div class=cards>{''.join(cards)}</div>"


def _rank(row: MetricRow) -> int:
    return CARDS.index(row.definition.name)


def _size(row: MetricRow, name: str) -> float:
    """How much a change is: of shares the difference, of others the part of the larger value."""
    delta = row.deltas[name]
    if row.definition.unit == "share":
        return abs(delta.mean)
    largest = max(abs(value.mean) for value in row.values.values())
    return abs(delta.mean) / largest if largest else 0.0


def _legend(names: Sequence[str]) -> str:
    keys = (
        f'<span class="key" style="background:{colour(number)}"></span>{html.escape(name)}'
        for number, name in enumerate(names)
    )
    return f'<span class="soft" style="font-weight:400;font-size:.9rem">{"".join(keys)}</span>'


def _table(comparison: Comparison) -> str:
    heads = "".join(f"<th>{html.escape(policy.name)}</th>" for policy in comparison.policies)
    rows = "".join(_table_row(row, comparison) for row in shown_rows(comparison, everything=False))
    return f'<div class="card wide"><table><tr><th></th>{heads}<th></th></tr>{rows}</table></div>'


def _table_row(row: MetricRow, comparison: Comparison) -> str:
    cells, bars = [], []
    for policy in comparison.policies:
        value, delta = row.values.get(policy.name), row.deltas.get(policy.name)
        if value is None:
            cells.append("<td>–</td>")
            continue
        bars.append((policy.name, value.mean, value.std))
        spread = "" if not value.std else f" ±{value_text(value.std, row.definition)}"
        text = html.escape(value_text(value.mean, row.definition) + spread)
        if policy is not comparison.first:
            kind = {True: "good", False: "bad", None: "soft"}[None if delta is None else delta.is_better]
            words = "" if delta is None else delta_text(delta, row.definition)
            kind = "soft" if words in ("=", "≈") else kind
            text += f'<span class="delta {kind}">{html.escape(words)}</span>'
        cells.append(f"<td>{text}</td>")
    better = f" ({row.definition.better} is better)" if row.definition.better else ""
    title = f'<td title="{html.escape(row.definition.meaning + better)}">{html.escape(metric_title(row))}</td>'
    return f"<tr>{title}{''.join(cells)}<td>{bar_plot(bars)}</td></tr>"


def _over_time(comparison: Comparison) -> list[str]:
    """Pods that wait, nodes that are used, and a plot for each resource: each policy's first seed."""
    histories, waiting = {}, {}
    for policy in comparison.policies:
        with Run.open(policy.paths[policy.seeds[0]]) as run:
            histories[policy.name] = load_history(run)
            waiting[policy.name] = waiting_curve(run, NUM_POINTS)
    ticks = _time_ticks(max(history.end for history in histories.values()))
    used = {name: nodes_used_curve(history, NUM_POINTS) for name, history in histories.items()}
    plots = [
        _card("Pods that wait", line_plot(waiting, ticks, _count, ("time", "pods"))),
        _card("Nodes with pods", line_plot(used, ticks, _count, ("time", "nodes"))),
    ]
    for resource in dict.fromkeys(name for history in histories.values() for name in history.resources):
        lines = {
            name: utilisation_curve(history, resource, NUM_POINTS)
            for name, history in histories.items()
            if resource in history.resources and history.there.integral()[history.resources.index(resource)] > 0
        }
        if lines:
            plot = line_plot(lines, ticks, lambda share: f"{share:.0%}", ("time", "utilisation"))
            plots.append(_card(f"Utilisation of {resource}", plot))
    return plots


def _card(title: str, plot: str) -> str:
    return f'<div class="card"><h3>{html.escape(title)}</h3>{plot}</div>'


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


def _waits(comparison: Comparison) -> str:
    """What share of the pods waited no longer: all seeds together."""
    lines = {policy.name: wait_shares(_wait_seconds(policy), NUM_POINTS) for policy in comparison.policies}
    longest = max((float(x[-1]) for x, _ in lines.values()), default=1.0)
    ticks = [tick for tick in WAIT_TICKS if tick[0] <= max(longest, 1.0)]
    labels = ("waited at most", "share of pods")
    plot = line_plot(
        lines, ticks, lambda share: f"{share:.0%}", labels, is_log=True, y_min=lowest_share(lines.values())
    )
    return _card("How long pods waited for a node; those that never got one wait longer", plot)


def _wait_seconds(policy: Policy) -> Floats:
    """Of all seeds, in order: (num_pods,)."""
    waits = []
    for path in policy.paths.values():
        with Run.open(path) as run:
            waits.append(wait_seconds(run))
    return np.sort(np.concatenate(waits)) if waits else np.zeros(0)
