"""What a plot says in numbers: for those who do not see it, do not trust their eyes, or want to copy a value.

In: the lines of a plot, by policy. Out: `Reading`s, each a stretch of the x axis with every policy's value there, and a
sentence about how far the lines are apart. They stand in a table below the plot and appear under the pointer. Called
by `compare.report_curves` and `experiments.report`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairway.plots.svg import Floats

__all__ = ["Line", "Reading", "apart", "means_over", "reached_at"]

Line = tuple[Floats, Floats]  # x and y, each (num_points,)
Words = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Reading:
    """The values of all policies on a stretch of the x axis; None where a policy has no line."""

    begin: float
    end: float
    words: str  # which stretch
    values: dict[str, float | None]

    def title(self, text: Words) -> str:
        """All of it, a line a policy."""
        return "\n".join([self.words, *(f"{name}: {_said(value, text)}" for name, value in self.values.items())])

    def cells(self, text: Words) -> list[str]:
        """Its row of the table."""
        return [self.words, *(_said(value, text) for value in self.values.values())]


def means_over(lines: Mapping[str, Line], edges: Sequence[float], x_text: Words) -> list[Reading]:
    """The mean of each line's points between edges."""
    readings = []
    for begin, end in pairwise(edges):
        values = {name: _mean(line, begin, end) for name, line in lines.items()}
        readings.append(Reading(begin, end, f"{x_text(begin)} to {x_text(end)}", values))
    return readings


def reached_at(lines: Mapping[str, Line], ticks: Sequence[tuple[float, str]], x_max: float) -> list[Reading]:
    """What each line, a distribution, has come to at each tick; a reading lasts to the next tick."""
    ends = [*(x for x, _ in ticks[1:]), max([x_max, *(x for x, _ in ticks)])]
    return [
        Reading(x, end, words, {name: _reached(line, x) for name, line in lines.items()})
        for (x, words), end in zip(ticks, ends, strict=True)
    ]


def apart(readings: Sequence[Reading], text: Words) -> str:
    """Where the other policies are farthest from the first, in words; empty if there is nothing to compare."""
    farthest: tuple[float, str, Reading] | None = None
    num_compared = 0
    for reading in readings:
        first, *others = reading.values.items()
        for name, value in others:
            if value is None or first[1] is None:
                continue
            num_compared += 1
            distance = abs(value - first[1])
            if text(value) != text(first[1]) and (farthest is None or distance > farthest[0]):
                farthest = distance, name, reading
    if farthest is None:
        return "The lines lie on each other: no value below differs." if num_compared else ""
    _, name, reading = farthest
    base = next(iter(reading.values))
    ours, theirs = _said(reading.values[base], text), _said(reading.values[name], text)
    return f"Farthest apart, {reading.words}: {base} {ours}, {name} {theirs}."


def _said(value: float | None, text: Words) -> str:
    return "–" if value is None else text(value)


def _mean(line: Line, begin: float, end: float) -> float | None:
    x, y = line
    inside = y[(x >= begin) & (x < end)]
    return float(np.mean(inside)) if len(inside) else None


def _reached(line: Line, x: float) -> float | None:
    place = int(np.searchsorted(line[0], x, "right")) - 1
    return float(line[1][place]) if place >= 0 else None
