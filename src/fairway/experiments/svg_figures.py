"""Figures of an experiment as SVG, for its page.

In: figures as `figures` describes them. Out: markup; see `plots.svg`. Causes have colours of their own, `--q0` onwards.
Called by `report`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from markupsafe import Markup

from fairway.experiments.figures import Bars, Line, Lines, Stacks
from fairway.plots.line_plots import hover_columns
from fairway.plots.readings import Reading
from fairway.plots.svg import Frame, colour, drawing, element, percent, points, spread_lines, stretched, stroke, text

__all__ = ["bars_svg", "cause_colour", "lines_svg", "load_readings", "stacks_svg", "value_text"]

HEIGHT: Final = 220
BAR, BAR_GAP, HEADING = 12, 6, 26  # pixels
LABEL: Final = 18  # pixels above a bar, for its name


def cause_colour(number: int) -> str:
    """The colour of a cause by its place."""
    return f"var(--q{number})"


def value_text(value: float) -> str:
    """A percentage, as the tables of the experiment have it."""
    return f"{value:.2f}"


def load_ticks(figure: Lines) -> list[tuple[float, str]]:
    """Round loads."""
    low, high = figure.x_range
    step = 5 if high - low <= 50 else 10 if high - low <= 70 else 20
    return [(float(load), str(load)) for load in range(-(-low // step) * step, high + 1, step)]


def load_readings(figure: Lines) -> list[Reading]:
    """Every policy's median at round loads."""
    ticks = load_ticks(figure)
    ends = [*(load for load, _ in ticks[1:]), float(figure.x_range[1])]
    return [
        Reading(load, end, f"load {words} %", {line.policy: _median(line, load) for line in figure.lines})
        for (load, words), end in zip(ticks, ends, strict=True)
    ]


def _median(line: Line, load: float) -> float | None:
    place = np.flatnonzero(line.loads == load)
    return float(line.curve.median[place[0]]) if len(place) else None


def lines_svg(figure: Lines) -> Markup:
    """Medians with bands from quartile to quartile; published medians as dots."""
    low, high = figure.x_range
    frame = Frame(HEIGHT, (low, max(high, low + 1)), (0.0, _round_up(figure.y_top)))
    bands, lines = [], []
    dots: list[Markup] = []
    for line in figure.lines:
        x, curve = frame.across(line.loads), line.curve
        band = points(np.concatenate([x, x[::-1]]), np.concatenate([frame.up(curve.low), frame.up(curve.high)[::-1]]))
        title = element("title", line.policy)
        bands.append(element("polygon", class_="band", style=f"fill:{colour(line.number)}", points=band))
        corners = points(x, frame.up(curve.median))
        lines.append(element("polyline", title, class_="line", style=stroke(line.number), points=corners))
        dots += _dots(line, frame)
    parts = [
        *_y_axis(frame, figure.unit),
        *frame.x_axis(load_ticks(figure), "load: GPUs asked for, % of all"),
        stretched([*bands, *lines], HEIGHT),
        *dots,
        *hover_columns(frame, load_readings(figure), value_text),
    ]
    return drawing(HEIGHT, parts, f"{figure.title} against load", class_="plot")


def bars_svg(figure: Bars) -> Markup:
    """For each trace a bar for each policy under its value, standard deviations, published means as diamonds."""
    both = [*figure.values.values(), *figure.published.values()]
    scale = 0.99 / max(max((value.mean + value.std for value in both), default=1.0), 1e-9)
    parts: list[Markup] = []
    y = 0
    for trace in figure.traces:
        parts.append(text(0, y + 14, trace, "start", class_="ink head"))
        y += HEADING
        for number, policy in enumerate(figure.policies):
            parts += _bar(figure, (trace, policy), number, y, scale)
            y += LABEL + BAR + BAR_GAP
        y += BAR_GAP
    return drawing(y, parts, figure.title, class_="rows")


def _bar(figure: Bars, key: tuple[str, str], number: int, y: float, scale: float) -> list[Markup]:
    value, theirs = figure.values.get(key), figure.published.get(key)
    if value is None:
        return []
    title = element("title", f"{', '.join(key)}: {value}" + (f"; published {theirs}" if theirs else ""))
    label = text(0, y + 13, f"{key[1]}: {value}", "start")
    y += LABEL
    middle, length = y + BAR / 2, percent(value.mean * scale)
    parts = [label, element("rect", title, x=0, y=y, width=length, height=BAR, style=f"fill:{colour(number)}")]
    if value.std:
        low, high = percent(max(value.mean - value.std, 0.0) * scale), percent((value.mean + value.std) * scale)
        parts += spread_lines(low, high, middle)
    if theirs is not None:
        diamond = element("polygon", class_="published", points="0,-5 5,0 0,5 -5,0")
        at = percent(theirs.mean * scale)
        parts.append(element("svg", diamond, x=at, y=middle, overflow="visible", width=1, height=1))
    return parts


def stacks_svg(figure: Stacks) -> Markup:
    """A bar for each policy, made of causes, under its name and its sum."""
    totals = np.sum(list(figure.parts.values()), axis=0)
    scale = 1 / max(float(totals.max(initial=0.0)), 1e-9)
    parts = []
    height = LABEL + BAR + BAR_GAP
    for row, policy in enumerate(figure.policies):
        y = row * height
        parts.append(text(0, y + 13, f"{policy}: {totals[row]:.2f} %", "start", class_="ink"))
        begin = 0.0
        for number, (cause, shares) in enumerate(figure.parts.items()):
            length = float(shares[row]) * scale
            title = element("title", f"{policy}, {cause}: {shares[row]:.2f} %")
            box = {"x": percent(begin), "width": percent(length)}
            fill = f"fill:{cause_colour(number)}"
            parts.append(element("rect", title, **box, y=y + LABEL, height=BAR, class_="cause", style=fill))
            begin += length
    return drawing(len(figure.policies) * height, parts, figure.title, class_="rows")


def _y_axis(frame: Frame, unit: str) -> list[Markup]:
    top = frame.y_range[1]
    return frame.y_axis([top * part / 4 for part in range(5)], lambda value: f"{value:g}", unit)


def _dots(line: Line, frame: Frame) -> Sequence[Markup]:
    """Every fifth or tenth of the published medians."""
    if line.published is None:
        return []
    every = slice(None, None, 5 if len(line.loads) < 60 else 10)
    x, y = frame.share(line.loads[: len(line.published)]), frame.up(line.published)
    style = f"stroke:{colour(line.number)}"
    return [
        element("circle", class_="dot", style=style, cx=percent(float(share)), cy=float(at), r=3)
        for share, at in zip(x[every], y[every], strict=True)
    ]


def _round_up(value: float) -> float:
    """The next number that four equal steps reach in round numbers."""
    power: float = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(
        power * factor for factor in (1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 10) if value <= power * factor * (1 + 1e-9)
    )
