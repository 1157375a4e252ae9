"""Figures of an experiment as SVG, for its page.

In: figures as `figures` describes them. Out: markup; see `plots.svg`. Causes have colours of their own, `--q0` onwards.
Called by `report`.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from markupsafe import Markup

from fairway.experiments.figures import Bars, Line, Lines, Stacks
from fairway.plots.svg import Frame, colour, drawing, element, points, text

__all__ = ["bars_svg", "cause_colour", "lines_svg", "stacks_svg"]

WIDTH: Final = 480
HEIGHT: Final = 290
LEFT, RIGHT, TOP, BOTTOM = 50, 10, 10, 38
BAR: Final = 20


def cause_colour(number: int) -> str:
    """The colour of a cause by its place."""
    return f"var(--q{number})"


def lines_svg(figure: Lines) -> Markup:
    """Medians with bands from quartile to quartile; published medians as dots."""
    low, high = figure.x_range
    frame = _frame(WIDTH, (low, max(high, low + 1)), figure.y_top)
    step = 5 if high - low <= 50 else 10 if high - low <= 70 else 20
    ticks = [(float(load), str(load)) for load in range(-(-low // step) * step, high + 1, step)]
    parts = [*_y_axis(frame, figure.unit), *frame.x_axis(ticks, "load: GPUs asked for, % of all")]
    for line in figure.lines:
        x, curve = frame.across(line.loads), line.curve
        band = points(np.concatenate([x, x[::-1]]), np.concatenate([frame.up(curve.low), frame.up(curve.high)[::-1]]))
        stroke = f"stroke:{colour(line.number)}"
        title = element("title", line.policy)
        parts.append(element("polygon", class_="band", style=f"fill:{colour(line.number)}", points=band))
        parts.append(element("polyline", title, class_="line", style=stroke, points=points(x, frame.up(curve.median))))
        parts += [element("circle", class_="dot", style=stroke, cx=cx, cy=cy, r=2.6) for cx, cy in _dots(line, frame)]
    return _drawing(WIDTH, HEIGHT, parts, f"{figure.title} against load")


def bars_svg(figure: Bars) -> Markup:
    """Groups of bars, each with its standard deviation; published means as diamonds."""
    group = BAR * len(figure.policies) + 26
    width = LEFT + RIGHT + group * len(figure.traces)
    both = [*figure.values.values(), *figure.published.values()]
    frame = _frame(width, (0, 1), max((value.mean + value.std for value in both), default=1.0))
    parts = _y_axis(frame, figure.unit)
    for place, trace in enumerate(figure.traces):
        begin = LEFT + place * group + 13
        parts.append(text(begin + BAR * len(figure.policies) / 2, HEIGHT - BOTTOM + 16, trace, "middle"))
        for number, policy in enumerate(figure.policies):
            parts += _bar(figure, trace, policy, begin + number * BAR, frame)
    return _drawing(width, HEIGHT, parts, figure.title)


def _bar(figure: Bars, trace: str, policy: str, x: float, frame: Frame) -> list[Markup]:
    value, theirs = figure.values.get((trace, policy)), figure.published.get((trace, policy))
    if value is None:
        return []
    y, middle = float(frame.up(value.mean)), x + BAR / 2
    title = element("title", f"{trace}, {policy}: {value}" + (f"; published {theirs}" if theirs else ""))
    box = {"x": x + 1, "y": y, "width": BAR - 2, "height": max(HEIGHT - BOTTOM - y, 0.0)}
    parts = [element("rect", title, **box, style=f"fill:{colour(figure.policies.index(policy))}")]
    if value.std:
        ends = {"y1": float(frame.up(value.mean + value.std)), "y2": float(frame.up(max(value.mean - value.std, 0)))}
        parts.append(element("line", class_="spread", x1=middle, x2=middle, **ends))
    if theirs is not None:
        at = float(frame.up(theirs.mean))
        corners = points(np.array([0, 4, 0, -4]) + middle, np.array([-4, 0, 4, 0]) + at)
        parts.append(element("polygon", class_="published", points=corners))
    return parts


def stacks_svg(figure: Stacks) -> Markup:
    """A bar for each policy, made of causes."""
    left, right, bottom = 100, 54, 34
    totals = np.sum(list(figure.parts.values()), axis=0)
    scale = (WIDTH - left - right) / max(float(totals.max(initial=0.0)), 1e-9)
    parts = []
    for row, policy in enumerate(figure.policies):
        y = row * (BAR + 6)
        parts.append(text(left - 8, y + BAR / 2 + 4, policy, "end"))
        x = float(left)
        for number, (cause, shares) in enumerate(figure.parts.items()):
            length = float(shares[row]) * scale
            title = element("title", f"{policy}, {cause}: {shares[row]:.2f} %")
            box = {"x": x, "y": y, "width": length, "height": BAR}
            parts.append(element("rect", title, **box, style=f"fill:{cause_colour(number)}"))
            x += length
        parts.append(text(x + 6, y + BAR / 2 + 4, f"{totals[row]:.2f} %", "start"))
    height = len(figure.policies) * (BAR + 6) + bottom
    parts.append(text((left + WIDTH - right) / 2, height - 12, "% of all GPUs", "middle"))
    return _drawing(WIDTH, height, parts, figure.title)


def _frame(width: float, x_range: tuple[float, float], y_top: float) -> Frame:
    return Frame(width, HEIGHT, (LEFT, RIGHT, TOP, BOTTOM), x_range, (0.0, _round_up(y_top)))


def _y_axis(frame: Frame, unit: str) -> list[Markup]:
    top = frame.y_range[1]
    return frame.y_axis([top * part / 4 for part in range(5)], lambda value: f"{value:g}", unit)


def _dots(line: Line, frame: Frame) -> list[tuple[float, float]]:
    """Every fifth or tenth of the published medians."""
    if line.published is None:
        return []
    every = slice(None, None, 5 if len(line.loads) < 60 else 10)
    x, y = frame.across(line.loads[: len(line.published)]), frame.up(line.published)
    return [(float(cx), float(cy)) for cx, cy in zip(x[every], y[every], strict=True)]


def _drawing(width: float, height: float, parts: list[Markup], label: str) -> Markup:
    return drawing(width, height, parts, label, style=f"max-width:{width * 1.25:g}px")


def _round_up(value: float) -> float:
    """The next number that four equal steps reach in round numbers."""
    power: float = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(
        power * factor for factor in (1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 10) if value <= power * factor * (1 + 1e-9)
    )
