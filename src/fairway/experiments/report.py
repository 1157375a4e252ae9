"""An experiment as a page: one HTML file with everything in it, no scripts, nothing loaded from elsewhere.

In: `Results`, and what the experiment was. Out: HTML: the table of unallocated GPUs with the published values beside
ours, bars by trace, and for each trace the curves against load and what is idle by cause. Called by
`order_experiment`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from markupsafe import Markup

from fairway.experiments.figures import bars_by_family, lines_of_trace, stacks_of_trace
from fairway.experiments.order_scenario import OrderScenario
from fairway.experiments.results import Results, SeedValue
from fairway.experiments.svg_figures import bars_svg, cause_colour, lines_svg, stacks_svg
from fairway.pages import render
from fairway.plots.svg import colour

__all__ = ["order_html"]


class TracePart(NamedTuple):
    """What the page shows of one trace."""

    name: str
    lines: list[tuple[str, str, Markup]]  # title, unit, plot
    stacks_title: str
    stacks: Markup
    causes: list[tuple[str, str]]  # those that matter, with their colours
    moves: list[tuple[str, ...]]  # of each policy that moved pods at the end


def order_html(results: Results, scenario: OrderScenario) -> str:
    """The whole page."""
    policies = results.policies
    return render(
        "experiment.html",
        title=f"{results.name}: GPU sharing policies",
        policies=[(policy, colour(number)) for number, policy in enumerate(policies)],
        arrivals=_arrivals(scenario),
        seeds="one seed" if results.num_seeds == 1 else f"{results.num_seeds} seeds; ± is the standard deviation",
        load=results.load,
        rows=[(trace, [_values(results, trace, policy) for policy in policies]) for trace in results.traces],
        published=any(results.published.values()),
        bars=[(bars.title, bars_svg(bars)) for bars in bars_by_family(results)],
        traces=[_trace_part(results, trace) for trace in results.traces],
    )


def _trace_part(results: Results, trace: str) -> TracePart:
    stacks = stacks_of_trace(results, trace)
    return TracePart(
        name=trace,
        lines=[(lines.title, lines.unit, lines_svg(lines)) for lines in lines_of_trace(results, trace)],
        stacks_title=stacks.title,
        stacks=stacks_svg(stacks),
        causes=[
            (cause, cause_colour(number))
            for number, (cause, shares) in enumerate(stacks.parts.items())
            if shares.max(initial=0.0) >= 0.005
        ],
        moves=list(_moves(results, trace)),
    )


def _arrivals(scenario: OrderScenario) -> str:
    spec = scenario.spec
    if spec.arrivals == "recorded":
        return "as recorded from the published runs"
    return f"drawn until they ask for {spec.load:g} times the GPUs" if spec.arrivals == "drawn" else spec.arrivals


def _values(results: Results, trace: str, policy: str) -> tuple[SeedValue | None, SeedValue | None]:
    """Ours, and what was published."""
    ours = results.value("unallocated", trace, policy)
    return ours, results.value("unallocated", trace, policy, published=True)


def _moves(results: Results, trace: str) -> Iterator[tuple[str, ...]]:
    """Before and after, where pods were moved at the end; means over seeds."""
    for policy in results.policies:
        runs = [run for key, run in results.runs.items() if key[:2] == (trace, policy)]
        moves: list[dict[str, Any]] = [run.defragmented for run in runs if run.defragmented is not None]
        if moves:
            means = {name: sum(move[name] for move in moves) / len(moves) for name in moves[0]}
            gpus = (means[name] / 1000 for name in ("frag_before", "frag_after", "used_before", "used_after"))
            placed = f"{means['moved']:.0f} of {means['evicted']:.0f}"
            yield (policy, placed, f"{means['lost']:.0f}", *(f"{number:.2f}" for number in gpus))
