"""Figures of an experiment as PNG files (with the extra `plots`).

In: the results, of which `figures` says what is drawn, and a folder. Out: files. Called by the command `compare`, which
goes without when matplotlib is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from fairway.experiments.figures import Bars, Lines, Stacks, bars_by_family, lines_of_trace, stacks_of_trace
from fairway.experiments.results import Results
from fairway.plots.axes import INK, LINE_WIDTH, cause_colour, line_style, new_figure, policy_colour, save_figure

__all__ = ["draw_all", "draw_bars", "draw_lines", "draw_stacks"]


def draw_all(results: Results, folder: Path, advance: Callable[[float], None]) -> None:
    """Every figure of an experiment; `advance` hears of each trace."""
    for bars in bars_by_family(results):
        draw_bars(bars, folder / f"{bars.name}.png")
    for trace in results.traces:
        draw_lines(lines_of_trace(results, trace), f"{results.name}, trace {trace}", folder / f"load-{trace}.png")
        stacks = stacks_of_trace(results, trace)
        draw_stacks(stacks, f"{stacks.title}: trace {trace}", folder / f"{stacks.name}.png")
        advance(1)


def draw_lines(panels: Sequence[Lines], heading: str, path: Path) -> None:
    """Panels side by side: medians over seeds, bands from quartile to quartile, published medians as dots."""
    figure, axes = new_figure(len(panels), (4.4 * len(panels), 3.6))
    has_published = False
    for panel, ax in zip(panels, axes, strict=True):
        for line in panel.lines:
            colour = policy_colour(line.number)
            ax.fill_between(line.loads, line.curve.low, line.curve.high, color=colour, alpha=0.18, linewidth=0)
            style = line_style(line.number)
            ax.plot(
                line.loads, line.curve.median, color=colour, linewidth=LINE_WIDTH, linestyle=style, label=line.policy
            )
            if line.published is not None:
                has_published = True
                every = slice(None, None, 5 if panel.x_range[1] - panel.x_range[0] < 60 else 10)
                x = line.loads[: len(line.published)][every]
                ax.plot(x, line.published[every], "o", color=colour, markersize=3.2, markerfacecolor="white")
        ax.set_title(panel.title, fontsize=10, loc="left", color=INK)
        ax.set_xlabel("load: GPUs asked for, % of all")
        ax.set_ylabel(panel.unit)
        ax.set_xlim(*panel.x_range)
        ax.set_ylim(bottom=0)
    handles, labels = axes[0].get_legend_handles_labels()
    if has_published:
        (dots,) = axes[0].plot([], [], "o", color=INK, markersize=3.2, markerfacecolor="white")
        handles, labels = [*handles, dots], [*labels, "published"]
    save_figure(figure, heading, path, handles, labels)


def draw_bars(bars: Bars, path: Path) -> None:
    """Groups of bars with standard deviations; published means as ticks across them."""
    figure, (ax,) = new_figure(1, (max(5.0, 1.6 + 1.9 * len(bars.traces)), 3.6))
    width = 0.84 / max(len(bars.policies), 1)
    for number, policy in enumerate(bars.policies):
        places = [place for place, trace in enumerate(bars.traces) if (trace, policy) in bars.values]
        values = [bars.values[bars.traces[place], policy] for place in places]
        x = np.array(places) + (number - (len(bars.policies) - 1) / 2) * width
        spread = [value.std for value in values]
        ax.bar(
            x,
            [value.mean for value in values],
            width * 0.92,
            yerr=spread if any(spread) else None,
            color=policy_colour(number),
            error_kw={"elinewidth": 1, "ecolor": INK},
            label=policy,
        )
        for place, middle in zip(places, x, strict=True):
            theirs = bars.published.get((bars.traces[place], policy))
            if theirs is not None:
                ax.plot(middle, theirs.mean, "D", color=INK, markersize=3.4, markerfacecolor="white", zorder=5)
    if bars.published:
        ax.plot([], [], "D", color=INK, markersize=3.4, markerfacecolor="white", linestyle="none", label="published")
    ax.set_xticks(range(len(bars.traces)), bars.traces)
    ax.grid(axis="x", visible=False)
    ax.set_ylabel(bars.unit)
    pairs = sorted(zip(*ax.get_legend_handles_labels(), strict=True), key=lambda pair: pair[1] == "published")
    save_figure(figure, bars.title, path, [handle for handle, _ in pairs], [label for _, label in pairs])


def draw_stacks(stacks: Stacks, heading: str, path: Path) -> None:
    """A bar for each policy, made of causes."""
    figure, (ax,) = new_figure(1, (7.2, 0.9 + 0.38 * len(stacks.policies)))
    left = np.zeros(len(stacks.policies))
    for number, (cause, shares) in enumerate(stacks.parts.items()):
        if shares.max(initial=0.0) < 0.005:
            continue
        ax.barh(stacks.policies, shares, left=left, height=0.7, color=cause_colour(number), label=cause)
        left += shares
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("% of all GPUs")
    save_figure(figure, heading, path, *ax.get_legend_handles_labels(), columns=4)
