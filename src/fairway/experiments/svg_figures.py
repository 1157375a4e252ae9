"""Figures of an experiment as SVG, written by hand, for pages that load nothing.

In: figures as `figures` describes them. Out: `<svg>` elements; colours are CSS variables of the page (`--c0`
onwards for policies, `--q0` onwards for causes), so light and dark are the page's business. Called by `report`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from fairway.compare.svg_plots import colour
from fairway.experiments.figures import Bars, Floats, Line, Lines, Stacks

__all__ = ["bars_svg", "lines_svg", "stacks_svg"]

WIDTH: Final = 480
HEIGHT: Final = 290
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 38
BAR: Final = 20


def lines_svg(figure: Lines) -> str:
    """Medians with bands from quartile to quartile; published medians as dots."""
    low, high = figure.x_range
    top = _round_up(figure.y_top)

    def across(x: Floats) -> Floats:
        return LEFT + (x - low) / max(high - low, 1) * (WIDTH - LEFT - RIGHT)

    def up(y: Floats) -> Floats:
        return HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    parts = _y_axis(top, figure.unit, WIDTH, HEIGHT)
    step = 5 if high - low <= 50 else 10 if high - low <= 70 else 20
    for load in range(-(-low // step) * step, high + 1, step):
        parts.append(_text(float(across(np.array(float(load)))), HEIGHT - BOTTOM + 15, str(load), "middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, "load: GPUs asked for, % of all", "middle"))
    for line in figure.lines:
        x, curve = across(line.loads), line.curve
        around = _points(np.concatenate([x, x[::-1]]), np.concatenate([up(curve.low), up(curve.high)[::-1]]))
        stroke = colour(line.number)
        parts.append(f'<polygon class="band" style="fill:{stroke}" points="{around}"/>')
        title = f"<title>{html.escape(line.policy)}</title>"
        points = _points(x, up(curve.median))
        parts.append(f'<polyline class="line" style="stroke:{stroke}" points="{points}">{title}</polyline>')
        parts += [
            f'<circle class="dot" style="stroke:{stroke}" cx="{cx}" cy="{cy}" r="2.6"/>'
            for cx, cy in _dots(line, x, up)
        ]
    return _svg(WIDTH, HEIGHT, parts, f"{figure.title} against load")


def bars_svg(figure: Bars) -> str:
    """Groups of bars, each with its standard deviation; published means as diamonds."""
    group = BAR * len(figure.policies) + 26
    width = LEFT + RIGHT + group * len(figure.traces)
    both = [*figure.values.values(), *figure.published.values()]
    top = _round_up(max((value.mean + value.std for value in both), default=1.0))

    def up(y: float) -> float:
        return HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM)

    parts = _y_axis(top, figure.unit, width, HEIGHT)
    for place, trace in enumerate(figure.traces):
        begin = LEFT + place * group + 13
        parts.append(_text(begin + BAR * len(figure.policies) / 2, HEIGHT - BOTTOM + 16, trace, "middle"))
        for number, policy in enumerate(figure.policies):
            value = figure.values.get((trace, policy))
            if value is None:
                continue
            x, y = begin + number * BAR, up(value.mean)
            theirs = figure.published.get((trace, policy))
            words = f"{trace}, {policy}: {value}" + (f"; published {theirs}" if theirs else "")
            fill = f"fill:{colour(number)}"
            box = f'x="{x + 1:.1f}" y="{y:.1f}" width="{BAR - 2}" height="{max(HEIGHT - BOTTOM - y, 0):.1f}"'
            parts.append(f'<rect {box} style="{fill}"><title>{html.escape(words)}</title></rect>')
            middle = x + BAR / 2
            if value.std:
                ends = f'y1="{up(value.mean + value.std):.1f}" y2="{up(max(value.mean - value.std, 0)):.1f}"'
                parts.append(f'<line class="spread" x1="{middle}" x2="{middle}" {ends}/>')
            if theirs is not None:
                at = up(theirs.mean)
                corners = f"{middle},{at - 4:.1f} {middle + 4},{at:.1f} {middle},{at + 4:.1f} {middle - 4},{at:.1f}"
                parts.append(f'<polygon class="published" points="{corners}"/>')
    return _svg(width, HEIGHT, parts, figure.title)


def stacks_svg(figure: Stacks) -> str:
    """A bar for each policy, made of causes."""
    left, right, bottom = 100, 54, 34
    totals = np.sum(list(figure.parts.values()), axis=0)
    scale = (WIDTH - left - right) / max(float(totals.max(initial=0.0)), 1e-9)
    parts = []
    for row, policy in enumerate(figure.policies):
        y = row * (BAR + 6)
        parts.append(_text(left - 8, y + BAR / 2 + 4, policy, "end"))
        x = float(left)
        for number, (cause, shares) in enumerate(figure.parts.items()):
            length = float(shares[row]) * scale
            words = f"{policy}, {cause}: {shares[row]:.2f} %"
            box = f'x="{x:.2f}" y="{y}" width="{length:.2f}" height="{BAR}"'
            parts.append(f'<rect {box} style="fill:var(--q{number})"><title>{html.escape(words)}</title></rect>')
            x += length
        parts.append(_text(x + 6, y + BAR / 2 + 4, f"{totals[row]:.2f} %", "start"))
    height = len(figure.policies) * (BAR + 6) + bottom
    parts.append(_text((left + WIDTH - right) / 2, height - 12, "% of all GPUs", "middle"))
    return _svg(WIDTH, height, parts, figure.title)


def _dots(line: Line, x: Floats, up: object) -> list[tuple[str, str]]:
    if line.published is None or not callable(up):
        return []
    every = slice(None, None, 5 if len(x) < 60 else 10)
    heights = up(line.published)
    return [(f"{cx:.1f}", f"{cy:.1f}") for cx, cy in zip(x[: len(heights)][every], heights[every], strict=True)]


def _y_axis(top: float, unit: str, width: int, height: int) -> list[str]:
    parts = []
    for part in range(5):
        y = height - BOTTOM - part / 4 * (height - TOP - BOTTOM)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{width - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 6, y + 4, f"{top * part / 4:g}", "end"))
    middle = (TOP + height - BOTTOM) / 2
    turned = f'<text transform="translate(11 {middle:.0f}) rotate(-90)" text-anchor="middle">{html.escape(unit)}</text>'
    return [*parts, turned]


def _points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    size = f'viewBox="0 0 {width:g} {height:g}" style="max-width:{width * 1.25:g}px"'
    body = "\n".join(parts)
    return f'<svg {size} role="img" aria-label="{html.escape(label)}">\n{body}\n</svg>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _round_up(value: float) -> float:
    """The next number that four equal steps reach in round numbers."""
    power: float = 10.0 ** math.floor(math.log10(max(value, 1e-9)))
    return next(
        power * factor for factor in (1, 1.2, 1.6, 2, 2.4, 3, 4, 6, 8, 10) if value <= power * factor * (1 + 1e-9)
    )
