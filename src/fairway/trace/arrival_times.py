"""When things arrive: evenly, by chance, with the time of day, or in bursts.

In: a pattern as a scenario file has it, `{pattern: diurnal, count: 20000, over: 24h}`, and a generator. Out: times in
ascending order, in arrays of a few thousand, as many as the pattern says. Two of count, over and rate say how
many: count and over mean exactly so many within that time. Called by `synthetic`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.trace.annotations import parse_seconds
from fairway.trace.distribution import Problem

__all__ = ["ArrivalPattern", "Bursts", "Diurnal", "Even", "Poisson", "arrival_times", "pattern_problems"]

CHUNK: Final = 4096
KNOTS: Final = 2048
MAX_ARRIVALS: Final = 100_000_000  # which take a day to simulate, or longer
Seconds: TypeAlias = str | int | float


class _Pattern(
    msgspec.Struct, tag_field="pattern", kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True
):
    count: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=MAX_ARRIVALS)] | None, msgspec.Meta(description="How many arrive.")
    ] = None
    over: Annotated[Seconds | None, msgspec.Meta(description="In which time.")] = None
    rate: Annotated[
        Annotated[float, msgspec.Meta(gt=0)] | None, msgspec.Meta(description="How many a second, in the mean.")
    ] = None
    start: Annotated[Seconds, msgspec.Meta(description="When the first may arrive.")] = 0


class Even(_Pattern, tag="even", kw_only=True, frozen=True):
    """One after the other, at equal distances."""


class Poisson(_Pattern, tag="poisson", kw_only=True, frozen=True):
    """Independently of each other, at a constant rate."""


class Diurnal(_Pattern, tag="diurnal", kw_only=True, frozen=True):
    """By chance, at a rate that rises and falls with the time of day."""

    period: Seconds = "24h"
    peak: Annotated[Seconds, msgspec.Meta(description="When the rate is highest.")] = "14h"
    amplitude: Annotated[
        float,
        msgspec.Meta(
            ge=0, le=1, description="How far the rate goes above and below its mean; with 1 it falls to nothing."
        ),
    ] = 0.8


class Bursts(_Pattern, tag="bursts", kw_only=True, frozen=True):
    """By chance, a share of them in bursts at regular times."""

    every: Annotated[Seconds, msgspec.Meta(description="From one burst to the next; the first is at the start.")] = "1h"
    lasting: Seconds = "1m"
    share: Annotated[float, msgspec.Meta(ge=0, le=1, description="The share that arrives in bursts.")] = 0.8


ArrivalPattern: TypeAlias = Even | Poisson | Diurnal | Bursts


def pattern_problems(pattern: ArrivalPattern, field: str) -> Iterator[Problem]:
    """Everything that is wrong with a pattern."""
    wrong = False
    for name in ("over", "start", "period", "peak", "every", "lasting"):
        value = getattr(pattern, name, None)
        if value is None:
            continue
        try:
            if parse_seconds(value) == 0 and name not in {"start", "peak"}:
                raise ValueError("must be more than 0")
        except ValueError as error:
            wrong = True
            yield f"{field}.{name}", str(error)
    if pattern.rate is not None and not math.isfinite(pattern.rate):
        yield f"{field}.rate", f"must be a finite number, not {pattern.rate}"
    if sum(value is not None for value in (pattern.count, pattern.over, pattern.rate)) < 2:
        yield field, "must give two of count, over and rate"
    elif pattern.rate is not None and pattern.over is not None and pattern.count is None and not wrong:
        number = pattern.rate * parse_seconds(pattern.over)
        if number > MAX_ARRIVALS:
            yield field, f"rate times over comes to {number:.3g} arrivals; allowed: at most {MAX_ARRIVALS}"
    if isinstance(pattern, Bursts) and not wrong and parse_seconds(pattern.lasting) > parse_seconds(pattern.every):
        yield f"{field}.lasting", f"must not be longer than from one burst to the next, {pattern.every}"


def arrival_times(pattern: ArrivalPattern, generator: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    """The times in ascending order, to the microsecond; each array has shape (at most CHUNK,)."""
    shape = _Shape(pattern)
    start = parse_seconds(pattern.start)
    over = math.inf if pattern.over is None else parse_seconds(pattern.over)
    for even in _even_times(pattern, generator, math.inf if pattern.over is None else shape.mass(over)):
        times = np.maximum.accumulate(np.round(shape.when(even), 6))
        within = times[times < over] if pattern.rate is not None else np.minimum(times, over)
        yield start + within
        if len(within) < len(times):
            return


def _even_times(pattern: ArrivalPattern, generator: np.random.Generator, mass: float) -> Iterator[NDArray[np.float64]]:
    """The times if the rate were constant, at its mean; `mass` is the time these have with count and over."""
    count = pattern.count
    reached = 0.0
    first = 0
    while count is None or first < count:
        number = CHUNK if count is None else min(CHUNK, count - first)
        indices = np.arange(first, first + number)
        first += number
        if isinstance(pattern, Even):
            gap = 1 / pattern.rate if pattern.rate is not None else mass / (count or 1)
            yield np.asarray(indices * gap, np.float64)
        elif pattern.rate is not None:
            steps = reached + np.cumsum(generator.standard_exponential(number)) / pattern.rate
            reached = float(steps[-1])
            yield steps
        else:
            # Uniform and in order, one after the other: 1 - u[i+1] = (1 - u[i]) V^(1 / how many are left).
            assert count is not None
            steps = reached + np.cumsum(generator.standard_exponential(number) / (count - indices))
            reached = float(steps[-1])
            yield mass * -np.expm1(-steps)


class _Shape:
    """How the rate goes up and down around its mean of 1, periodically; arrivals so far as a function of time."""

    def __init__(self, pattern: ArrivalPattern) -> None:
        self.period = 1.0
        self.times: NDArray[np.float64] = np.array([0.0, 1.0])  # (num_knots,) within a period
        self.masses: NDArray[np.float64] = self.times  # (num_knots,) arrivals until then
        if isinstance(pattern, Diurnal):
            self.period = parse_seconds(pattern.period)
            turn = 2 * math.pi / self.period
            peak = parse_seconds(pattern.peak) - parse_seconds(pattern.start)
            self.times = np.linspace(0.0, self.period, KNOTS + 1)
            waves = (np.sin(turn * (self.times - peak)) + math.sin(turn * peak)) / turn
            self.masses = self.times + pattern.amplitude * waves
            self.masses[-1] = self.period
        elif isinstance(pattern, Bursts):
            self.period, lasting = parse_seconds(pattern.every), parse_seconds(pattern.lasting)
            self.times = np.array([0.0, lasting, self.period])
            base = (1 - pattern.share) * self.times
            self.masses = base + pattern.share * self.period * np.array([0.0, 1.0, 1.0])

    def mass(self, time: float) -> float:
        """How much has arrived until then, if all is `time` in the mean."""
        periods, rest = divmod(time, self.period)
        return periods * self.period + float(np.interp(rest, self.times, self.masses))

    def when(self, masses: NDArray[np.float64]) -> NDArray[np.float64]:
        """When that much has arrived."""
        if len(self.times) == 2:
            return masses
        periods = np.floor(masses / self.period)
        return periods * self.period + np.interp(masses - periods * self.period, self.masses, self.times)
