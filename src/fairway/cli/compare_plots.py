"""Plots as SVG, written by hand: lines over time, cumulative distributions, bars with spread.

In: numbers by policy. Out: `<svg>` elements that stand in a page as they are, without scripts; colours are CSS
variables of the page, `--c0` onwards. Called by `compare_report`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["NUM_COLOURS", "bar_plot", "colour", "line_plot"]

WIDTH, HEIGHT = 640, 240
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 10, 34
NUM_COLOURS: Final = 8
BAR_HEIGHT: Final = 16

Floats = NDArray[np.float64]
Line = tuple[Floats, Floats]  # x and y, each (num_points,)


def colour(number: int) -> str:
    """The colour of a policy by its place."""
    return f"var(--c{number % NUM_COLOURS})"


def line_plot(
    lines: Mapping[str, Line],
    x_ticks: Sequence[tuple[float, str]],
    y_text: Callable[[float], str],
    labels: tuple[str, str],
    *,
    is_log: bool = False,
) -> str:
    """A line for each policy; `labels` are the axes' names, `is_log` makes the x axis logarithmic from 1."""
    x_max = max([1e-9, *(float(x[-1]) for x, _ in lines.values() if len(x)), *(x for x, _ in x_ticks)])
    y_max = _round_up(max([1e-9, *(float(y.max()) for _, y in lines.values() if len(y))]))

    def across(x: Floats) -> Floats:
        share = np.log1p(x) / math.log1p(x_max) if is_log else x / x_max
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def up(y: Floats) -> Floats:
        return HEIGHT - BOTTOM - y / y_max * (HEIGHT - TOP - BOTTOM)

    parts = [_frame(labels)]
    for part in range(5):
        value = y_max * part / 4
        height = float(up(np.array(value)))
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}"/>')
        parts.append(_text(LEFT - 6, height + 4, y_text(value), "end"))
    for x, words in x_ticks:
        parts.append(_text(float(across(np.array(x))), HEIGHT - BOTTOM + 14, words, "middle"))
    for number, (name, (xs, ys)) in enumerate(lines.items()):
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across(xs), up(ys), strict=True))
        title = f"<title>{html.escape(name)}</title>"
        parts.append(f'<polyline class="line" style="stroke:{colour(number)}" points="{points}">{title}</polyline>')
    return _svg(WIDTH, HEIGHT, parts, " and ".join(labels))


def bar_plot(bars: Sequence[tuple[str, float, float | None, str]]) -> str:
    """A bar for each policy: its name, value, standard deviation, and the value in words."""
    left, right = 110, 150
    largest = max([1e-12, *(value + (spread or 0.0) for _, value, spread, _ in bars)])
    scale = (WIDTH - left - right) / largest
    parts = []
    for number, (name, value, spread, words) in enumerate(bars):
        y = number * (BAR_HEIGHT + 4)
        middle = y + BAR_HEIGHT / 2
        length = max(value, 0.0) * scale
        parts.append(_text(left - 8, middle + 4, name, "end"))
        parts.append(
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{BAR_HEIGHT}" style="fill:{colour(number)}"/>'
        )
        end = left + length
        if spread:
            low, high = left + max(value - spread, 0.0) * scale, left + (value + spread) * scale
            parts.append(f'<line class="spread" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>')
            end = max(end, high)
        parts.append(_text(end + 6, middle + 4, words, "start"))
    return _svg(WIDTH, len(bars) * (BAR_HEIGHT + 4), parts, "bars")


def _svg(width: int, height: int, parts: Sequence[str], label: str) -> str:
    body = "\n".join(parts)
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{html.escape(label)}">\n{body}\n</svg>'


def _frame(labels: tuple[str, str]) -> str:
    across, up = labels
    middle = (LEFT + WIDTH - RIGHT) / 2
    height = (TOP + HEIGHT - BOTTOM) / 2
    turned = f'<text transform="translate(12 {height}) rotate(-90)" text-anchor="middle">{html.escape(up)}</text>'
    return _text(middle, HEIGHT - 4, across, "middle") + turned


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    power: float = 10.0 ** math.floor(math.log10(value))
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if value <= power * factor * (1 + 1e-9))
