"""The plots of a comparison: lines over time, cumulative distributions, small bars with spread.

In: numbers by policy. Out: SVG for a page; see `svg`. Called by `compare.report`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from markupsafe import Markup

from fairway.plots.svg import Floats, Frame, colour, drawing, element, points

__all__ = ["bar_plot", "line_plot"]

WIDTH, HEIGHT = 640, 250
MARGINS: Final = (58, 18, 12, 40)  # left, right, top, bottom
BAR_WIDTH, BAR_HEIGHT, BAR_GAP = 150, 7, 3
NUM_STEPS: Final = 5  # of an axis, at most

Line = tuple[Floats, Floats]  # x and y, each (num_points,)
Ticks = Sequence[tuple[float, str]]


def line_plot(
    lines: Mapping[str, Line],
    x_ticks: Ticks,
    y_text: Callable[[float], str],
    labels: tuple[str, str],
    *,
    is_log: bool = False,
    y_min: float = 0.0,
) -> Markup:
    """A line for each policy; `labels` are the axes' names, `is_log` makes the x axis logarithmic from 1."""
    x_max = max([1e-9, *(float(x[-1]) for x, _ in lines.values() if len(x)), *(x for x, _ in x_ticks)])
    heights = _heights(y_min, max([y_min + 1e-9, *(float(y.max()) for _, y in lines.values() if len(y))]))
    frame = Frame(WIDTH, HEIGHT, MARGINS, (0.0, x_max), (y_min, heights[-1]), is_log)
    parts = [*frame.y_axis(heights, y_text, labels[1]), *frame.x_axis(x_ticks, labels[0])]
    for number, (name, (xs, ys)) in enumerate(lines.items()):
        drawn = points(frame.across(xs), frame.up(ys))
        if drawn and is_log:  # a share that was reached stays so up to the longest wait of all
            drawn += f" {float(frame.across(x_max)):.1f},{float(frame.up(ys[-1])):.1f}"
        kind = "line first" if number == 0 and len(lines) > 1 else "line"
        title = element("title", name)
        parts.append(element("polyline", title, class_=kind, style=f"stroke:{colour(number)}", points=drawn))
    return drawing(WIDTH, HEIGHT, parts, " and ".join(labels), class_="plot")


def bar_plot(bars: Sequence[tuple[str, float, float | None]]) -> Markup:
    """A small bar for each policy: its name, value and standard deviation."""
    largest = max([1e-12, *(value + (spread or 0.0) for _, value, spread in bars)])
    scale = BAR_WIDTH / largest
    parts = []
    for number, (name, value, spread) in enumerate(bars):
        y = number * (BAR_HEIGHT + BAR_GAP)
        box = {"x": 0, "y": y, "width": max(value, 0.0) * scale, "height": BAR_HEIGHT, "rx": 1.5}
        parts.append(element("rect", element("title", name), **box, style=f"fill:{colour(number)}"))
        if spread:
            low, high = max(value - spread, 0.0) * scale, (value + spread) * scale
            middle = y + BAR_HEIGHT / 2
            parts.append(element("line", class_="spread", x1=low, x2=high, y1=middle, y2=middle))
    return drawing(BAR_WIDTH, len(bars) * (BAR_HEIGHT + BAR_GAP) - BAR_GAP, parts, "bars", class_="bars")


def _heights(low: float, high: float) -> list[float]:
    """Round numbers from `low` on, the last at or above `high`."""
    rough = (high - low) / NUM_STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if rough <= power * factor * (1 + 1e-9))
    count = math.ceil((high - low) / step - 1e-9)
    return [low + step * number for number in range(max(count, 1) + 1)]
