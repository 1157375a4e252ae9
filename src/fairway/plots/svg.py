"""Drawings as SVG, for pages without scripts that load nothing: the one writer of them.

In: numbers and words. Out: markup that stands in a page as it is; words are escaped. Colours are CSS variables of the
page, `--c0` onwards for policies, so light and dark are the page's business. Drawings are as wide as the page lets them
be: places across are shares of the width, places up and down and the size of letters are pixels, so nothing that is
written shrinks on a small screen. A `Frame` is the rectangle of a plot with its axes, which are drawn outside it, in
the margins that the page leaves. Called by `line_plots` and by `experiments.svg_figures`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

__all__ = [
    "NUM_COLOURS",
    "Floats",
    "Frame",
    "colour",
    "dashes",
    "drawing",
    "element",
    "key",
    "percent",
    "points",
    "spread_lines",
    "stretched",
    "stroke",
    "text",
]

NUM_COLOURS: Final = 8
DASHES: Final = ("none", "10 8", "3 5", "16 5 3 5", "6 4", "16 4 3 4 3 4", "2 8", "24 8")
"""Of lines, by the place of their policy: where two run together, the one below is seen between the strokes above."""
UNITS: Final = 1000  # of what is stretched, across the whole width
LETTER: Final = 7.0  # pixels, the widest that letters of 12 pixels are on average
GAP: Final = 8.0  # pixels between two labels of an axis
NARROW: Final = 250.0  # pixels: the frame on a telephone
AT_END: Final = 0.97  # of the width: words from there on end where the frame ends
ROOMY: Final = 400.0  # pixels: the frame where the page shows labels of the class `roomy`

Floats = NDArray[np.float64]


def colour(number: int) -> str:
    """The colour of a policy by its place."""
    return f"var(--c{number % NUM_COLOURS})"


def dashes(number: int) -> str:
    """How the line of a policy is dashed, by its place."""
    return DASHES[number % len(DASHES)]


def key(number: int) -> Markup:
    """A short line as the policy at this place has it, for a legend."""
    line = element("line", x1=0, x2=28, y1=6, y2=6, class_="line", style=stroke(number))
    return element("svg", line, class_="key", width=28, height=12, aria_hidden="true")


def stroke(number: int) -> str:
    """The style of a policy's line."""
    return f"stroke:{colour(number)};stroke-dasharray:{dashes(number)}"


def element(tag: str, *inside: str, **attributes: str | float) -> Markup:
    """An element; `class_` is the attribute class, `text_anchor` is text-anchor. Words are escaped, markup is not."""
    written = Markup("").join(
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _number(value))
        for name, value in attributes.items()
    )
    if not inside:
        return Markup("<{}{}/>").format(tag, written)
    return Markup("<{}{}>{}</{}>").format(tag, written, Markup("").join(inside), tag)


def text(x: float | str, y: float, words: str, anchor: str, **attributes: str) -> Markup:
    """Words at a place; `anchor` is which end of them is there: start, middle, end."""
    return element("text", words, x=x, y=y, text_anchor=anchor, **attributes)


def percent(share: float) -> str:
    """A place across: a share of the width."""
    return _number(share * 100.0) + "%"


def points(x: Floats, y: Floats) -> str:
    """The corners of a line or an area."""
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def stretched(parts: Iterable[str], height: float) -> Markup:
    """Lines and areas with places across as `Frame.across` has them, over the whole width; strokes keep their width."""
    return element(
        "svg",
        Markup("\n").join(parts),
        viewBox=f"0 0 {UNITS} {height:g}",
        preserveAspectRatio="none",
        overflow="visible",
        width="100%",
        height=height,
    )


def spread_lines(low: float | str, high: float | str, y: float) -> list[Markup]:
    """From the mean less a standard deviation to the mean and one, across a bar: a line with an edge around it."""
    ends = {"x1": low, "x2": high, "y1": y, "y2": y}
    return [element("line", class_="spread-edge", **ends), element("line", class_="spread", **ends)]


def drawing(height: float, parts: Iterable[str], label: str, **attributes: str) -> Markup:
    """The whole; `label` is what it is called for people who do not see it."""
    body = Markup("\n").join(["", *parts, ""])
    return element("svg", body, width="100%", height=height, role="img", aria_label=label, **attributes)


def _number(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Frame:
    """The rectangle of a plot: where a value is in the drawing, and the lines and words around it."""

    height: float  # pixels
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    is_log: bool = False  # the x axis, from 1 on

    def share(self, x: Floats | float) -> Floats:
        """Where values of the x axis are, from 0 (left) to 1 (right)."""
        low, high = self.x_range
        return np.asarray(np.log1p(x) / math.log1p(high) if self.is_log else (np.asarray(x) - low) / (high - low))

    def across(self, x: Floats | float) -> Floats:
        """Where values of the x axis are in what is `stretched`."""
        return self.share(x) * UNITS

    def up(self, y: Floats | float) -> Floats:
        """Where values of the y axis are, in pixels from the top."""
        low, high = self.y_range
        return np.asarray(self.height * (1 - (np.asarray(y) - low) / (high - low)))

    def y_axis(self, values: Sequence[float], words: Callable[[float], str], name: str) -> list[Markup]:
        """A line across for each value, its words beside it, and the name of the axis above them."""
        parts = []
        for value in values:
            y = float(self.up(value))
            kind = "axis" if value == values[0] else "grid"
            parts.append(element("line", class_=kind, x1=0, x2="100%", y1=y, y2=y))
            parts.append(text(-8, y + 4, words(value), "end"))
        return [*parts, text(-44, -14, name, "start")]

    def x_axis(self, ticks: Sequence[tuple[float, str]], name: str) -> list[Markup]:
        """Words below the frame, with a small line for each, and the name of the axis.

        Of words that would touch each other every second, third … is there; the class `roomy` has those that fit
        unless the screen is narrow.
        """
        parts = []
        often = self._fitting(ticks, ROOMY)
        always = self._fitting(often, NARROW)
        for value, words in ticks:
            share = float(self.share(value))
            x = percent(share)
            parts.append(element("line", class_="axis", x1=x, x2=x, y1=self.height, y2=self.height + 4))
            if (value, words) in often:
                kind = {} if (value, words) in always else {"class_": "roomy"}
                anchor = "end" if share > AT_END else "middle"
                parts.append(text(x, self.height + 18, words, anchor, **kind))
        return [*parts, text("50%", self.height + 36, name, "middle")]

    def _fitting(self, ticks: Sequence[tuple[float, str]], width: float) -> Sequence[tuple[float, str]]:
        """All, or every second, third … of them: as many as do not touch in a frame so wide."""
        return next((kept for step in range(1, len(ticks)) if not self._touch(kept := ticks[::step], width)), ticks[:1])

    def _touch(self, ticks: Sequence[tuple[float, str]], width: float) -> bool:
        taken = -math.inf
        for value, words in ticks:
            share, length = float(self.share(value)), LETTER * len(words)
            begin = share * width - (length if share > AT_END else length / 2)
            if begin < taken:
                return True
            taken = begin + length + GAP
        return False
