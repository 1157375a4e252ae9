"""Drawings as SVG, for pages without scripts that load nothing: the one writer of them.

In: numbers and words. Out: markup that stands in a page as it is; words are escaped. Colours are CSS variables of the
page, `--c0` onwards for policies, so light and dark are the page's business. A `Frame` is the rectangle of a plot with
its axes. Called by `line_plots` and by `experiments.svg_figures`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

__all__ = ["NUM_COLOURS", "Floats", "Frame", "colour", "drawing", "element", "points", "text"]

NUM_COLOURS: Final = 8

Floats = NDArray[np.float64]


def colour(number: int) -> str:
    """The colour of a policy by its place."""
    return f"var(--c{number % NUM_COLOURS})"


def element(tag: str, *inside: str, **attributes: str | float) -> Markup:
    """An element; `class_` is the attribute class, `text_anchor` is text-anchor. Words are escaped, markup is not."""
    written = Markup("").join(
        Markup(' {}="{}"').format(name.rstrip("_").replace("_", "-"), _number(value))
        for name, value in attributes.items()
    )
    if not inside:
        return Markup("<{}{}/>").format(tag, written)
    return Markup("<{}{}>{}</{}>").format(tag, written, Markup("").join(inside), tag)


def text(x: float, y: float, words: str, anchor: str) -> Markup:
    """Words at a place; `anchor` is which end of them is there: start, middle, end."""
    return element("text", words, x=x, y=y, text_anchor=anchor)


def points(x: Floats, y: Floats) -> str:
    """The corners of a line or an area."""
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def drawing(width: float, height: float, parts: Iterable[str], label: str, **attributes: str) -> Markup:
    """The whole; `label` is what it is called for people who do not see it."""
    body = Markup("\n").join(["", *parts, ""])
    return element("svg", body, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label, **attributes)


def _number(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Frame:
    """The rectangle of a plot: where a value is in the drawing, and the lines and words around it."""

    width: float
    height: float
    margins: tuple[float, float, float, float]  # left, right, top, bottom
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    is_log: bool = False  # the x axis, from 1 on

    def across(self, x: Floats | float) -> Floats:
        """Where values of the x axis are."""
        left, right, _, _ = self.margins
        low, high = self.x_range
        share = np.log1p(x) / math.log1p(high) if self.is_log else (np.asarray(x) - low) / (high - low)
        return np.asarray(left + share * (self.width - left - right))

    def up(self, y: Floats | float) -> Floats:
        """Where values of the y axis are."""
        _, _, top, bottom = self.margins
        low, high = self.y_range
        return np.asarray(self.height - bottom - (np.asarray(y) - low) / (high - low) * (self.height - top - bottom))

    def y_axis(self, values: Sequence[float], words: Callable[[float], str], name: str) -> list[Markup]:
        """A line across for each value, its words beside it, and the name of the axis."""
        left, right, top, bottom = self.margins
        parts = []
        for value in values:
            y = float(self.up(value))
            parts.append(element("line", class_="grid", x1=left, x2=self.width - right, y1=y, y2=y))
            parts.append(text(left - 8, y + 4, words(value), "end"))
        place = f"translate(12 {(top + self.height - bottom) / 2:.0f}) rotate(-90)"
        return [*parts, element("text", name, transform=place, text_anchor="middle")]

    def x_axis(self, ticks: Iterable[tuple[float, str]], name: str) -> list[Markup]:
        """Words below the frame, with a small line for each, and the name of the axis."""
        left, right, _, bottom = self.margins
        floor = self.height - bottom
        parts = []
        for value, words in ticks:
            x = float(self.across(value))
            parts.append(element("line", class_="grid", x1=x, x2=x, y1=floor, y2=floor + 4))
            # The last label may be wide: it ends where the plot ends rather than beyond it.
            parts.append(text(min(x, self.width - 3.2 * len(words)), floor + 17, words, "middle"))
        return [*parts, text((left + self.width - right) / 2, self.height - 5, name, "middle")]
