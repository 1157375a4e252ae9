"""A comparison as a page: one HTML file with everything in it, no scripts, nothing loaded from elsewhere.

In: a `Comparison`, where the policies part, the conditions that failed; the runs are opened for curves. Out: HTML:
the table, utilisation over time, the distribution of waits, and a bar a metric with its spread. Called by
`compare --html`.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Final

import numpy as np

from fairway import __version__
from fairway.cli.compare_difference import Parting
from fairway.cli.compare_jobs import clock_text
from fairway.cli.compare_metrics import Comparison, MetricRow, Policy
from fairway.cli.compare_plots import Floats, Line, bar_plot, colour, line_plot
from fairway.cli.compare_text import delta_text, metric_title, shown_rows, value_text
from fairway.record import Run
from fairway.record.load import Curve, LoadHistory, load_history

__all__ = ["report_html"]

NUM_POINTS: Final = 480
WAITS: Final = ((0, "0"), (1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (36_000, "10 h"))

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #6b7280; --grid: #e5e7eb;
  --good: #157f3c; --bad: #b42318;
  --c0: #2563eb; --c1: #ea580c; --c2: #059669; --c3: #9333ea; --c4: #ca8a04; --c5: #db2777; --c6: #0891b2;
  --c7: #64748b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #14171a; --soft: #9aa3ad; --grid: #2b3036;
  --good: #4ade80; --bad: #f87171; --c0: #60a5fa; --c1: #fb923c; --c2: #34d399; --c3: #c084fc; --c4: #facc15;
  --c5: #f472b6; --c6: #22d3ee; --c7: #94a3b8; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; } h3 { font-size: .95rem; margin: 0 0 .3rem; }
table { border-collapse: collapse; } th, td { padding: .2rem 1rem .2rem 0; text-align: left; }
td { font-variant-numeric: tabular-nums; border-top: 1px solid var(--grid); } .soft { color: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1.5rem; }
svg { width: 100%; max-width: 44rem; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
.grid { stroke: var(--grid); } .line { fill: none; stroke-width: 1.6; }
.spread { stroke: var(--ink); stroke-width: 1.5; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .35em; }
"""


def report_html(comparison: Comparison, parted: Sequence[Parting], failures: Sequence[str]) -> str:
    """The whole page."""
    names = [policy.name for policy in comparison.policies]
    title = f"Fairway: {', '.join(names)}"
    num_seeds = max(len(policy.seeds) for policy in comparison.policies)
    seeds = "one seed" if num_seeds == 1 else f"{num_seeds} seeds; ± is the standard deviation over them"
    words = [
        *(f'<p class="bad">failed: {html.escape(sentence)}</p>' for sentence in failures),
        *(f"<p>{html.escape(parting.sentence(comparison.first.name))}</p>" for parting in parted),
    ]
    sections = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="soft">Compared with {html.escape(names[0])}; {seeds}. Fairway {__version__}.</p>',
        *words,
        _table(comparison),
        f"<h2>Utilisation over time</h2>{_legend(names)}<div class=plots>{''.join(_utilisations(comparison))}</div>",
        f"<h2>Waits</h2>{_legend(names)}<div class=plots>{_waits(comparison)}</div>",
        f"<h2>Metrics</h2><div class=plots>{''.join(_bars(comparison))}</div>",
    ]
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(sections)
    return f'<!doctype html>\n<html lang="en"><head>{head}{view}</head>\n<body>\n{body}\n</body></html>\n'


def _legend(names: Sequence[str]) -> str:
    keys = (
        f'<span class="key" style="background:{colour(number)}"></span>{html.escape(name)} &nbsp; '
        for number, name in enumerate(names)
    )
    return f"<p>{''.join(keys)}</p>"


def _table(comparison: Comparison) -> str:
    heads = "".join(f"<th>{html.escape(policy.name)}</th>" for policy in comparison.policies)
    rows = "".join(_table_row(row, comparison) for row in shown_rows(comparison, everything=False))
    return f"<table><tr><th></th>{heads}</tr>{rows}</table>"


def _table_row(row: MetricRow, comparison: Comparison) -> str:
    cells = []
    for policy in comparison.policies:
        value, delta = row.values.get(policy.name), row.deltas.get(policy.name)
        if value is None:
            cells.append("<td>–</td>")
            continue
        spread = "" if not value.std else f" ±{value_text(value.std, row.definition)}"
        text = html.escape(value_text(value.mean, row.definition) + spread)
        if delta is not None:
            kind = {True: "good", False: "bad", None: "soft"}[delta.is_better]
            text += f' <span class="{kind}">{html.escape(delta_text(delta, row.definition))}</span>'
        cells.append(f"<td>{text}</td>")
    meaning = html.escape(row.definition.meaning)
    return f'<tr><td title="{meaning}">{html.escape(metric_title(row))}</td>{"".join(cells)}</tr>'


def _utilisations(comparison: Comparison) -> list[str]:
    """A plot for each resource: each policy's first seed."""
    histories = {}
    for policy in comparison.policies:
        with Run.open(policy.paths[policy.seeds[0]]) as run:
            histories[policy.name] = load_history(run)
    resources = dict.fromkeys(name for history in histories.values() for name in history.resources)
    end = max(history.end for history in histories.values())
    ticks = [(end * part / 4, clock_text(end * part / 4)) for part in range(5)]
    plots = []
    for resource in resources:
        lines = {
            name: _utilisation(history, resource)
            for name, history in histories.items()
            if resource in history.resources and history.there.integral()[history.resources.index(resource)] > 0
        }
        if lines:
            plot = line_plot(lines, ticks, lambda share: f"{share:.0%}", ("time", "utilisation"))
            plots.append(f"<div><h3>{html.escape(resource)}</h3>{plot}</div>")
    return plots


def _utilisation(history: LoadHistory, resource: str) -> Line:
    """Means over equal stretches of time: what is drawn has the same area as what happened."""
    edges = np.linspace(history.begin, max(history.end, history.begin + 1e-9), NUM_POINTS + 1)
    held = _means(history.curve(history.held, resource), edges)
    there = _means(history.curve(history.there, resource), edges)
    share = np.divide(held, there, out=np.zeros_like(held), where=there > 0)
    return (edges[:-1] + edges[1:]) / 2, share


def _means(curve: Curve, edges: Floats) -> Floats:
    """The mean of a step function between edges: (num_edges - 1,)."""
    widths = np.diff(curve.times)
    integral = np.concatenate([[0.0], np.cumsum(widths * curve.values[:-1])])
    place = np.maximum(np.searchsorted(curve.times, edges, "right") - 1, 0)
    whole = integral[place] + (edges - curve.times[place]) * curve.values[place]
    means: Floats = np.diff(whole) / np.diff(edges)
    return means


def _waits(comparison: Comparison) -> str:
    """What share of the pods waited no longer: all seeds together."""
    lines = {policy.name: _ecdf(_wait_seconds(policy)) for policy in comparison.policies}
    longest = max((float(x[-1]) for x, _ in lines.values()), default=1.0)
    ticks = [tick for tick in WAITS if tick[0] <= max(longest, 1.0)]
    labels = ("waited at most", "share of pods")
    plot = line_plot(lines, ticks, lambda share: f"{share:.0%}", labels, is_log=True)
    return f"<div><h3>From creation to binding; pods that never got a node count as waiting longer</h3>{plot}</div>"


def _wait_seconds(policy: Policy) -> Floats:
    """The waits of all pods that a scheduler was to place, infinite where it did not: (num_pods,)."""
    waits = []
    for path in policy.paths.values():
        with Run.open(path) as run:
            pods = run.pods.where("attempts > 0 OR bound_seconds IS NULL").numpy("created_seconds", "bound_seconds")
            waits.append(np.nan_to_num(pods["bound_seconds"] - pods["created_seconds"], nan=np.inf))
    return np.sort(np.concatenate(waits)) if waits else np.zeros(0)


def _ecdf(waits: Floats) -> Line:
    if not len(waits) or not np.isfinite(waits[0]):
        return np.zeros(1), np.zeros(1)
    places = np.unique(np.linspace(0, len(waits) - 1, NUM_POINTS).astype(np.intp))
    places = places[np.isfinite(waits[places])]
    shares = np.searchsorted(waits, waits[places], "right") / len(waits)
    return np.concatenate([[0.0], waits[places]]), np.concatenate([[0.0], shares])


def _bars(comparison: Comparison) -> list[str]:
    plots = []
    for row in shown_rows(comparison, everything=False):
        bars = []
        for policy in comparison.policies:
            value = row.values.get(policy.name)
            if value is not None:
                bars.append((policy.name, value.mean, value.std, value_text(value.mean, row.definition)))
        meaning = html.escape(row.definition.meaning)
        better = f"; {row.definition.better} is better" if row.definition.better else ""
        title = f'<h3 title="{meaning}">{html.escape(metric_title(row))}<span class=soft>{better}</span></h3>'
        plots.append(f"<div>{title}{bar_plot(bars)}</div>")
    return plots
