"""Plots as SVG, written by hand: lines over time, cumulative distributions, small bars with spread.

In: numbers by policy. Out: `<svg>` elements that stand in a page as they are, without scripts; colours are CSS
variables of the page, `--c0` onwards. Called by `report`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["NUM_COLOURS", "bar_plot", "colour", "line_plot"]

WIDTH, HEIGHT = 640, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 18, 12, 40
NUM_COLOURS: Final = 8
BAR_WIDTH, BAR_HEIGHT, BAR_GAP = 150, 7, 3
NUM_STEPS: Final = 5  # of an axis, at most

Floats = NDArray[np.float64]
Line = tuple[Floats, Floats]  # x and y, each (num_points,)
Ticks = Sequence[tuple[float, str]]


def colour(number: int) -> str:
    """The colour of a policy by its place."""
    return f"var(--c{number % NUM_COLOURS})"


def line_plot(
    lines: Mapping[str, Line],
    x_ticks: Ticks,
    y_text: Callable[[float], str],
    labels: tuple[str, str],
    *,
    is_log: bool = False,
    y_min: float = 0.0,
) -> str:
    """A line for each policy; `labels` are the axes' names, `is_log` makes the x axis logarithmic from 1."""
    x_max = max([1e-9, *(float(x[-1]) for x, _ in lines.values() if len(x)), *(x for x, _ in x_ticks)])
    heights = _heights(y_min, max([y_min + 1e-9, *(float(y.max()) for _, y in lines.values() if len(y))]))
    y_max = heights[-1]

    def across(x: Floats) -> Floats:
        share = np.log1p(x) / math.log1p(x_max) if is_log else x / x_max
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def up(y: Floats) -> Floats:
        return HEIGHT - BOTTOM - (y - y_min) / (y_max - y_min) * (HEIGHT - TOP - BOTTOM)

    parts = [_axis_names(labels)]
    for value in heights:
        y = float(up(np.array(value)))
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 8, y + 4, y_text(value), "end"))
    for place, words in x_ticks:
        x = float(across(np.array(place)))
        parts.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 4}"/>'
        )
        # The last label may be wide: it ends where the plot ends rather than beyond it.
        parts.append(_text(min(x, WIDTH - 3.2 * len(words)), HEIGHT - BOTTOM + 17, words, "middle"))
    for number, (name, (xs, ys)) in enumerate(lines.items()):
        drawn = list(zip(across(xs), up(ys), strict=True))
        if drawn and is_log:  # a share that was reached stays so up to the longest wait of all
            drawn.append((float(across(np.array(x_max))), drawn[-1][1]))
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
        title = f"<title>{html.escape(name)}</title>"
        kind = "line first" if number == 0 and len(lines) > 1 else "line"
        parts.append(f'<polyline class="{kind}" style="stroke:{colour(number)}" points="{points}">{title}</polyline>')
    return _svg(WIDTH, HEIGHT, parts, " and ".join(labels))


def bar_plot(bars: Sequence[tuple[str, float, float | None]]) -> str:
    """A small bar for each policy: its name, value and standard deviation."""
    largest = max([1e-12, *(value + (spread or 0.0) for _, value, spread in bars)])
    scale = BAR_WIDTH / largest
    parts = []
    for number, (name, value, spread) in enumerate(bars):
        y = number * (BAR_HEIGHT + BAR_GAP)
        length = max(value, 0.0) * scale
        title = f"<title>{html.escape(name)}</title>"
        parts.append(
            f'<rect x="0" y="{y}" width="{length:.1f}" height="{BAR_HEIGHT}" rx="1.5" style="fill:{colour(number)}">'
            f"{title}</rect>"
        )
        if spread:
            low, high = max(value - spread, 0.0) * scale, (value + spread) * scale
            middle = y + BAR_HEIGHT / 2
            parts.append(f'<line class="spread" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>')
    return _svg(BAR_WIDTH, len(bars) * (BAR_HEIGHT + BAR_GAP) - BAR_GAP, parts, "bars", "bars")


def _svg(width: int, height: int, parts: Sequence[str], label: str, kind: str = "plot") -> str:
    body = "\n".join(parts)
    name = html.escape(label)
    return f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" aria-label="{name}">\n{body}\n</svg>'


def _axis_names(labels: tuple[str, str]) -> str:
    across, up = labels
    middle = (LEFT + WIDTH - RIGHT) / 2
    height = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'<text transform="translate(12 {height}) rotate(-90)" text-anchor="middle">{html.escape(up)}</text>'
    return _text(middle, HEIGHT - 5, across, "middle") + turned


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _heights(low: float, high: float) -> list[float]:
    """Round numbers from `low` on, the last at or above `high`."""
    rough = (high - low) / NUM_STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if rough <= power * factor * (1 + 1e-9))
    count = math.ceil((high - low) / step - 1e-9)
    return [low + step * number for number in range(max(count, 1) + 1)]
