"""An experiment as a page: one HTML file with everything in it, no scripts, nothing loaded from elsewhere.

In: `Results`, and what the experiment was. Out: HTML: the table of unallocated GPUs with the published values beside
ours, bars by trace, and for each trace the curves against load and what is idle by cause. Called by
`order_experiment`.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Final

from fairway import __version__
from fairway.compare.report_file import GENERATOR
from fairway.compare.svg_plots import colour
from fairway.experiments.figures import bars_by_family, lines_of_trace, stacks_of_trace
from fairway.experiments.order_scenario import OrderScenario
from fairway.experiments.results import Results
from fairway.experiments.svg_figures import bars_svg, lines_svg, stacks_svg

__all__ = ["order_html"]

STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #6b7280; --grid: #e5e7eb;
  --c0: #2563eb; --c1: #ea580c; --c2: #059669; --c3: #9333ea; --c4: #ca8a04; --c5: #64748b; --c6: #db2777;
  --c7: #0891b2; --q0: #7f1d1d; --q1: #dc2626; --q2: #f59e0b; --q3: #94a3b8; --q4: #475569; --q5: #7c3aed;
  --q6: #10b981; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --paper: #14171a; --soft: #9aa3ad; --grid: #2b3036;
  --c0: #60a5fa; --c1: #fb923c; --c2: #34d399; --c3: #c084fc; --c4: #facc15; --c5: #94a3b8; --c6: #f472b6;
  --c7: #22d3ee; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 92rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } h3 { font-size: .95rem; margin: 0 0 .3rem; }
table { border-collapse: collapse; } th, td { padding: .25rem 1.2rem .25rem 0; text-align: left; }
td { font-variant-numeric: tabular-nums; border-top: 1px solid var(--grid); } .soft { color: var(--soft); }
.plots { display: flex; flex-wrap: wrap; gap: 1.5rem; } .plots > div { flex: 1 1 24rem; }
svg { width: 100%; height: auto; } svg text { fill: var(--soft); font-size: 11px; }
.grid { stroke: var(--grid); } .line { fill: none; stroke-width: 1.6; } .band { opacity: .16; }
.dot { fill: var(--paper); stroke-width: 1.3; } .spread { stroke: var(--ink); stroke-width: 1.3; }
.published { fill: var(--paper); stroke: var(--ink); stroke-width: 1.2; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .35em; }
.legend span { margin-right: 1.1em; white-space: nowrap; }
"""


def order_html(results: Results, scenario: OrderScenario) -> str:
    """The whole page."""
    title = f"{results.name}: GPU sharing policies"
    policies = results.policies
    seeds = "one seed" if results.num_seeds == 1 else f"{results.num_seeds} seeds; ± is the standard deviation"
    sections = [
        f"<h1>{html.escape(title)}</h1>",
        f'<p class="soft">Pods arrive one by one and stay; arrivals {html.escape(_arrivals(scenario))}; {seeds}. '
        f"Fairway {__version__}.</p>",
        f"<h2>Unallocated GPU when pods have asked for {results.load} % of all, in %</h2>",
        _table(results),
        _legend(policies, published=bool(results.published)),
        '<div class="plots">',
        *(f"<div><h3>{html.escape(bars.title)}</h3>{bars_svg(bars)}</div>" for bars in bars_by_family(results)),
        "</div>",
    ]
    for trace in results.traces:
        stacks = stacks_of_trace(results, trace)
        plots = [
            f"<div><h3>{_titled(lines.title, lines.unit)}</h3>{lines_svg(lines)}</div>"
            for lines in lines_of_trace(results, trace)
        ]
        causes = [words for words, shares in stacks.parts.items() if shares.max(initial=0.0) >= 0.005]
        sections += [
            f"<h2>{html.escape(trace)}</h2>",
            _legend(policies, published=bool(results.published)),
            f'<div class="plots">{"".join(plots)}<div><h3>{html.escape(stacks.title)}</h3>{stacks_svg(stacks)}'
            f"{_cause_legend(list(stacks.parts), causes)}</div></div>",
        ]
        if (moved := _defragmented(results, trace)) is not None:
            sections.append(moved)
    head = f'<meta charset="utf-8">{GENERATOR}<title>{html.escape(title)}</title><style>{STYLE}</style>'
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = "\n".join(sections)
    return f'<!doctype html>\n<html lang="en"><head>{head}{view}</head>\n<body>\n{body}\n</body></html>\n'


def _arrivals(scenario: OrderScenario) -> str:
    spec = scenario.spec
    if spec.arrivals == "recorded":
        return "as recorded from the published runs"
    return f"drawn until they ask for {spec.load:g} times the GPUs" if spec.arrivals == "drawn" else spec.arrivals


def _titled(title: str, unit: str) -> str:
    return f'{html.escape(title)} <span class="soft">{html.escape(unit)}</span>'


def _table(results: Results) -> str:
    heads = "".join(f"<th>{html.escape(policy)}</th>" for policy in results.policies)
    rows = []
    for trace in results.traces:
        cells = [_cell(results, trace, policy) for policy in results.policies]
        rows.append(f"<tr><td>{html.escape(trace)}</td>{''.join(cells)}</tr>")
    note = ""
    if any(results.published.values()):
        note = '<p class="soft">Below each value the published one, as mean and standard deviation of its seeds.</p>'
    return f"<table><tr><th>trace</th>{heads}</tr>{''.join(rows)}</table>{note}"


def _cell(results: Results, trace: str, policy: str) -> str:
    ours = results.value("unallocated", trace, policy)
    theirs = results.value("unallocated", trace, policy, published=True)
    below = "" if theirs is None else f'<br><span class="soft">{theirs}</span>'
    return f"<td>{'–' if ours is None else ours}{below}</td>"


def _legend(policies: Sequence[str], *, published: bool) -> str:
    keys = [
        f'<span><span class="key" style="background:{colour(number)}"></span>{html.escape(policy)}</span>'
        for number, policy in enumerate(policies)
    ]
    if published:
        keys.append("<span>◇ ○ published</span>")
    return f'<p class="legend">{"".join(keys)}</p>'


def _cause_legend(causes: Sequence[str], shown: Sequence[str]) -> str:
    keys = (
        f'<span><span class="key" style="background:var(--q{number})"></span>{html.escape(cause)}</span>'
        for number, cause in enumerate(causes)
        if cause in shown
    )
    return f'<p class="legend">{"".join(keys)}</p>'


def _defragmented(results: Results, trace: str) -> str | None:
    """Before and after, where pods were moved at the end; means over seeds."""
    rows = []
    for policy in results.policies:
        found = [run.defragmented for key, run in results.runs.items() if key[:2] == (trace, policy)]
        moves: list[dict[str, Any]] = [each for each in found if each is not None]
        if moves:
            means = {name: sum(each[name] for each in moves) / len(moves) for name in moves[0]}
            cells = (
                f"{means['moved']:.0f} of {means['evicted']:.0f}",
                f"{means['lost']:.0f}",
                f"{means['frag_before'] / 1000:.2f}",
                f"{means['frag_after'] / 1000:.2f}",
                f"{means['used_before'] / 1000:.2f}",
                f"{means['used_after'] / 1000:.2f}",
            )
            rows.append(f"<tr><td>{html.escape(policy)}</td>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    if not rows:
        return None
    heads = ("policy", "placed elsewhere", "turned away", "fragmented before", "after", "allocated before", "after")
    head = "".join(f"<th>{cell}</th>" for cell in heads)
    return f"<h3>Defragmentation, in GPUs</h3><table><tr>{head}</tr>{''.join(rows)}</table>"
