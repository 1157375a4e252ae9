"""An experiment as a page: one HTML file with everything in it, no scripts, nothing loaded from elsewhere.

In: `Results`, and what the experiment was. Out: HTML: the table of unallocated GPUs with the published values beside
ours, bars by trace, and for each trace the curves against load and what is idle by cause. Called by
`order_experiment`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from fairway import __version__
from fairway.compare.report_facts import Facts, range_text, seeds_text
from fairway.experiments.figures import Bars, Lines, bars_by_family, lines_of_trace, stacks_of_trace
from fairway.experiments.order_scenario import OrderScenario
from fairway.experiments.results import Results, SeedValue
from fairway.experiments.svg_figures import (
    bars_svg,
    cause_colour,
    lines_svg,
    load_readings,
    stacks_svg,
    value_text,
)
from fairway.pages import render
from fairway.plots.plot_card import PlotCard, card_of
from fairway.plots.svg import key as line_key

__all__ = ["order_html"]

LEAST: Final = 0.005  # percent of all GPUs: a cause of less is not worth a colour


class TracePart(NamedTuple):
    """What the page shows of one trace."""

    name: str
    lines: list[PlotCard]
    stacks: PlotCard
    causes: list[tuple[str, Markup]]  # those that matter, with the keys of their colours
    moves: list[tuple[str, ...]]  # of each policy that moved pods at the end


def order_html(results: Results, scenario: OrderScenario, known: Facts) -> str:
    """The whole page; `known` is what the caller knows of the runs: how many nodes, of which day."""
    policies = results.policies
    return render(
        "experiment.html",
        title=f"{results.name}: GPU sharing policies",
        facts=_facts(results, known),
        policies=[(policy, line_key(number)) for number, policy in enumerate(policies)],
        arrivals=_arrivals(scenario),
        has_spread=results.num_seeds > 1,
        load=results.load,
        rows=[(trace, [_values(results, trace, policy) for policy in policies]) for trace in results.traces],
        published=any(results.published.values()),
        bars=[_bars_card(bars) for bars in bars_by_family(results)],
        traces=[_trace_part(results, trace) for trace in results.traces],
    )


def _facts(results: Results, known: Facts) -> Facts:
    """What the experiment was."""
    facts = [
        ("Scenario", results.name),
        ("Traces", ", ".join(results.traces)),
        ("Seeds", seeds_text(list(dict.fromkeys(key.seed for key in results.runs)))),
        ("Pods", range_text({run.num_arrivals for run in results.runs.values()})),
        ("GPUs", range_text({round(run.capacity / 1000) for run in results.runs.values()})),
    ]
    return [*facts, *known, ("Fairway", __version__)]


def _bars_card(bars: Bars) -> PlotCard:
    rows = [[trace, *(str(bars.values.get((trace, policy), "–")) for policy in bars.policies)] for trace in bars.traces]
    title, _, meaning = bars.title.partition(":\n")
    words = f"{meaning or 'All traces'}, in {bars.unit}."
    return PlotCard(title, words[0].upper() + words[1:], bars_svg(bars), "", ["trace", *bars.policies], rows)


def _trace_part(results: Results, trace: str) -> TracePart:
    stacks = stacks_of_trace(results, trace)
    telling = [
        (number, cause) for number, (cause, shares) in enumerate(stacks.parts.items()) if shares.max(initial=0) >= LEAST
    ]
    rows = [
        [policy, *(f"{stacks.parts[cause][place]:.2f}" for _, cause in telling)]
        for place, policy in enumerate(stacks.policies)
    ]
    columns = ["policy", *(cause for _, cause in telling)]
    meaning = "What keeps a typical pod from using them, in % of all GPUs."
    return TracePart(
        name=trace,
        lines=[_lines_card(lines) for lines in lines_of_trace(results, trace)],
        stacks=PlotCard(stacks.title, meaning, stacks_svg(stacks), "", columns, rows),
        causes=[(cause, _box(number)) for number, cause in telling],
        moves=list(_moves(results, trace)),
    )


def _lines_card(lines: Lines) -> PlotCard:
    meaning = f"In {lines.unit}: medians over seeds, and bands from quartile to quartile."
    return card_of(lines.title, meaning, lines_svg(lines), "load", load_readings(lines), value_text)


def _box(number: int) -> Markup:
    """The key of a cause."""
    return Markup('<span class="box" style="background:{}"></span>').format(cause_colour(number))


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
