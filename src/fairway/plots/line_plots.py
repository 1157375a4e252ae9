"""The plots of a comparison: lines over time, cumulative distributions, small bars with spread.

In: numbers by policy. Out: SVG for a page; see `svg`. Called by `compare.report` and `compare.report_curves`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from fairway.plots.readings import Line, Reading
from fairway.plots.svg import Frame, colour, drawing, element, percent, points, spread_lines, stretched, stroke, text

__all__ = ["MARK", "PlotAxes", "bar_plot", "hover_columns", "line_plot"]

HEIGHT: Final = 200
BAR_WIDTH, BAR_HEIGHT, BAR_GAP = 150, 8, 3
MARK: Final = "▾"
NUM_STEPS: Final = 5  # of an axis, at most

Ticks = Sequence[tuple[float, str]]
Mark = tuple[float, str]  # a place on the x axis and what is there


@dataclass(frozen=True)
class PlotAxes:
    """What is on the axes of a plot of lines, and how its values are written."""

    labels: tuple[str, str]  # the names of x and y
    x_ticks: Ticks
    y_text: Callable[[float], str]
    value_text: Callable[[float], str]  # in readings, where there is more room
    is_log: bool = False  # the x axis, from 1 on
    y_min: float = 0.0


def line_plot(
    lines: Mapping[str, Line],
    axes: PlotAxes,
    *,
    numbers: Mapping[str, int] | None = None,
    readings: Sequence[Reading] = (),
    marks: Sequence[Mark] = (),
) -> Markup:
    """A line for each policy; `numbers` are the places of policies, where some have no line.

    Readings appear under the pointer.
    """
    x_ticks, labels, y_min = axes.x_ticks, axes.labels, axes.y_min
    x_max = max([1e-9, *(float(x[-1]) for x, _ in lines.values() if len(x)), *(x for x, _ in x_ticks)])
    heights = _heights(y_min, max([y_min + 1e-9, *(float(y.max()) for _, y in lines.values() if len(y))]))
    frame = Frame(HEIGHT, (0.0, x_max), (y_min, heights[-1]), axes.is_log)
    drawn = []
    for place, (name, (xs, ys)) in enumerate(lines.items()):
        corners = points(frame.across(xs), frame.up(ys))
        if corners and axes.is_log:  # a share that was reached stays so up to the longest wait of all
            corners += f" {float(frame.across(x_max)):.1f},{float(frame.up(ys[-1])):.1f}"
        style = stroke(numbers[name] if numbers is not None else place)
        drawn.append(element("polyline", element("title", name), class_="line", style=style, points=corners))
    parts = [
        *frame.y_axis(heights, axes.y_text, labels[1]),
        *frame.x_axis(x_ticks, labels[0]),
        *(_mark(frame, mark) for mark in marks),
        stretched(drawn, HEIGHT),
        *hover_columns(frame, readings, axes.value_text),
    ]
    return drawing(HEIGHT, parts, f"{labels[1]} by {labels[0]}: {', '.join(lines)}", class_="plot")


def _mark(frame: Frame, mark: Mark) -> Markup:
    """A small arrow above a place of the x axis, and a line down from it."""
    x, words = percent(float(frame.share(mark[0]))), element("title", mark[1])
    line = element("line", class_="mark", x1=x, x2=x, y1=0, y2=frame.height)
    return element("g", words, text(x, -1, MARK, "middle", class_="ink"), line)


def hover_columns(frame: Frame, readings: Iterable[Reading], said: Callable[[float], str]) -> list[Markup]:
    """An unseen column for each reading, which shows itself and its values under the pointer."""
    columns = []
    for reading in readings:
        begin, end = float(frame.share(reading.begin)), float(frame.share(reading.end))
        width, title = percent(max(end - begin, 0.0)), element("title", reading.title(said))
        columns.append(element("rect", title, class_="column", x=percent(begin), y=0, width=width, height=frame.height))
    return columns


def bar_plot(bars: Sequence[tuple[int, str, float, float | None]]) -> Markup:
    """A small bar for each policy: its place, what is said of it, its value and standard deviation.

    They grow from a line that stands for 0, so that a bar of no length is told from one that is missing. The table
    around it has the values, so people who do not see it miss nothing.
    """
    largest = max([1e-12, *(value + (spread or 0.0) for _, _, value, spread in bars)])
    scale = (BAR_WIDTH - 2) / largest
    height = len(bars) * (BAR_HEIGHT + BAR_GAP) - BAR_GAP
    parts = []
    for place, (number, words, value, spread) in enumerate(bars):
        y = place * (BAR_HEIGHT + BAR_GAP)
        box = {"x": 2, "y": y, "width": max(value, 0.0) * scale, "height": BAR_HEIGHT}
        parts.append(element("rect", element("title", words), **box, style=f"fill:{colour(number)}"))
        if spread:
            low, high = max(value - spread, 0.0) * scale, (value + spread) * scale
            middle = y + BAR_HEIGHT / 2
            parts += spread_lines(low + 2, high + 2, middle)
    parts.append(element("line", class_="axis", x1=1, x2=1, y1=-1, y2=height + 1))
    body = Markup("").join(parts)
    return element("svg", body, class_="bars", width=BAR_WIDTH, height=height, aria_hidden="true")


def _heights(low: float, high: float) -> list[float]:
    """Round numbers from `low` on, the last at or above `high`."""
    rough = (high - low) / NUM_STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if rough <= power * factor * (1 + 1e-9))
    count = math.ceil((high - low) / step - 1e-9)
    return [low + step * number for number in range(max(count, 1) + 1)]
