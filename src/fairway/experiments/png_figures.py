"""Figures of an experiment as PNG files, by matplotlib (the extra `plots`).

In: the results, of which `figures` says what is drawn, and a folder. Out: files. Called by the command `compare`, which
goes without when matplotlib is not installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fairway.experiments.figures import Bars, Lines, Stacks, bars_by_family, lines_of_trace, stacks_of_trace
from fairway.experiments.results import Results
from fairway.own_file import first_bytes, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["PALETTE", "draw_all", "draw_bars", "draw_lines", "draw_stacks"]

PALETTE: Final = ("#2563eb", "#ea580c", "#059669", "#9333ea", "#ca8a04", "#64748b", "#db2777", "#0891b2")
CAUSES: Final = ("#7f1d1d", "#dc2626", "#f59e0b", "#94a3b8", "#475569", "#7c3aed", "#10b981")
MARK: Final = "Fairway, with Matplotlib"  # in every figure: by it the next one knows what it may replace
INK: Final = "#1b1f24"
DPI: Final = 150
INCHES_A_KEY: Final = 1.2  # of a legend
STYLE: Final[Any] = {
    "font.size": 9,
    "axes.edgecolor": "#9aa3ad",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e7eb",
    "xtick.color": "#6b7280",
    "ytick.color": "#6b7280",
    "legend.frameon": False,
}


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
    figure, axes = _figure(len(panels), (4.4 * len(panels), 3.6))
    has_published = False
    for panel, ax in zip(panels, axes, strict=True):
        for line in panel.lines:
            colour = PALETTE[line.number % len(PALETTE)]
            ax.fill_between(line.loads, line.curve.low, line.curve.high, color=colour, alpha=0.18, linewidth=0)
            ax.plot(line.loads, line.curve.median, color=colour, linewidth=1.5, label=line.policy)
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
    _finish(figure, heading, path, handles, labels)


def draw_bars(bars: Bars, path: Path) -> None:
    """Groups of bars with standard deviations; published means as ticks across them."""
    figure, (ax,) = _figure(1, (max(5.0, 1.6 + 1.9 * len(bars.traces)), 3.6))
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
            color=PALETTE[number % len(PALETTE)],
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
    _finish(figure, bars.title, path, [handle for handle, _ in pairs], [label for _, label in pairs])


def draw_stacks(stacks: Stacks, heading: str, path: Path) -> None:
    """A bar for each policy, made of causes."""
    figure, (ax,) = _figure(1, (7.2, 0.9 + 0.38 * len(stacks.policies)))
    left = np.zeros(len(stacks.policies))
    for number, (cause, shares) in enumerate(stacks.parts.items()):
        if shares.max(initial=0.0) < 0.005:
            continue
        ax.barh(stacks.policies, shares, left=left, height=0.7, color=CAUSES[number % len(CAUSES)], label=cause)
        left += shares
    ax.invert_yaxis()
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("% of all GPUs")
    _finish(figure, heading, path, *ax.get_legend_handles_labels(), columns=4)


def _figure(num_panels: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    import matplotlib as mpl  # noqa: PLC0415 - an extra, and slow to load
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained", facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, num_panels, squeeze=False)
    return figure, list(axes[0])


def _finish(figure: Figure, heading: str, path: Path, handles: Any, labels: Any, columns: int | None = None) -> None:
    figure.suptitle(heading, fontsize=11, fontweight="bold", x=0.01, ha="left", color=INK)
    fitting = max(int(figure.get_figwidth() / INCHES_A_KEY), 1)
    columns = columns or min(len(labels), fitting)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, "a figure", _is_figure) as beside:
        figure.savefig(beside, dpi=DPI, format="png", metadata={"Software": MARK})


def _is_figure(path: Path) -> bool:
    return first_bytes(path).startswith(b"\x89PNG") and MARK.encode() in first_bytes(path)
