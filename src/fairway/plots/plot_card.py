"""A plot with its words, as pages show it: title, meaning, how far its lines are apart, and a table of its values.

In: a drawing and its readings. Out: a `PlotCard`, which the macro `plot_card` of `pages/templates/parts.html` lays out.
Called by `compare.report_curves` and `experiments.report`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from fairway.plots.readings import Reading, apart

__all__ = ["PlotCard", "card_of"]


class PlotCard(NamedTuple):
    """A plot with its words."""

    title: str
    meaning: str  # what is drawn, in a sentence
    plot: Markup
    note: str  # how far the lines are apart; may be empty
    columns: list[str]  # of the table of values
    rows: list[list[str]]


def card_of(
    title: str,
    meaning: str,
    plot: Markup,
    heading: str,
    readings: Sequence[Reading],
    value_text: Callable[[float], str],
) -> PlotCard:
    """A plot of lines; `heading` says what the readings are at."""
    names = list(readings[0].values) if readings else []
    rows = [reading.cells(value_text) for reading in readings]
    return PlotCard(title, meaning, plot, apart(readings, value_text), [heading, *names], rows)
