"""Amounts and durations drawn from distributions.

In: a value, or one of the structs below as a scenario file has them: `{kind: lognormal, median: 10m, sigma: 1.2}`. Out:
what is wrong with it, or a `NumberSampler` that draws arrays of numbers from a generator. What a value means (seconds,
milli-CPU, bytes) is up to the function that reads it. Called by `synthetic_spec` and `synthetic`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Choices",
    "Distributed",
    "Exponential",
    "Lognormal",
    "NumberSampler",
    "Problem",
    "Read",
    "Uniform",
    "problems_of",
]

Problem: TypeAlias = tuple[str, str]
"""A field by its path, and what is wrong there."""
Scalar: TypeAlias = str | int | float
Read: TypeAlias = Callable[[Scalar], float]
"""Turns what is written into a number; `ValueError` says what is wrong."""


class _Distribution(
    msgspec.Struct, tag_field="kind", kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True
):
    """A way to draw values."""


class Choices(_Distribution, tag="choices", kw_only=True, frozen=True):
    """One of several values, each as likely as its weight says; without weights all alike."""

    values: tuple[Scalar, ...]
    weights: tuple[float, ...] = ()


class Lognormal(_Distribution, tag="lognormal", kw_only=True, frozen=True):
    """Half of the values are below the median; sigma is the standard deviation of their logarithms."""

    median: Scalar
    sigma: float
    min: Scalar | None = None
    max: Scalar | None = None
    step: Scalar | None = None


class Exponential(_Distribution, tag="exponential", kw_only=True, frozen=True):
    """Values without memory, of this mean."""

    mean: Scalar
    min: Scalar | None = None
    max: Scalar | None = None
    step: Scalar | None = None


class Uniform(_Distribution, tag="uniform", kw_only=True, frozen=True):
    """Any value from low to high."""

    low: Scalar
    high: Scalar
    step: Scalar | None = None


Distributed: TypeAlias = str | int | float | Choices | Lognormal | Exponential | Uniform
"""A value, or how to draw one."""

POSITIVE: Final = {"median", "mean", "step"}


def problems_of(value: Distributed, read: Read, field: str) -> Iterator[Problem]:
    """Everything that is wrong with a value or a distribution."""
    if not isinstance(value, _Distribution):
        yield from _scalar_problems(value, read, field)
        return
    if isinstance(value, Choices):
        yield from _choice_problems(value, read, field)
        return
    found: list[Problem] = []
    for name in value.__struct_fields__:
        part = getattr(value, name)
        if part is not None and name != "sigma":
            found += _scalar_problems(part, read, f"{field}.{name}", is_positive=name in POSITIVE)
    if isinstance(value, Lognormal) and not (math.isfinite(value.sigma) and 0 <= value.sigma <= 20):
        found.append((f"{field}.sigma", f"must be from 0 to 20, not {value.sigma}"))
    yield from found
    low, high = _bounds(value)
    if not found and low is not None and high is not None and read(low) > read(high):
        yield field, f"its lowest value, {low}, is above its highest, {high}"


def _bounds(value: Lognormal | Exponential | Uniform) -> tuple[Scalar | None, Scalar | None]:
    return (value.low, value.high) if isinstance(value, Uniform) else (value.min, value.max)


def _scalar_problems(value: Scalar, read: Read, field: str, *, is_positive: bool = False) -> Iterator[Problem]:
    try:
        number = read(value)
    except ValueError as error:
        yield field, str(error)
    else:
        if number < 0 or (is_positive and number == 0):
            yield field, f"must {'be more than 0' if is_positive else 'not be negative'}, not {value}"


def _choice_problems(choices: Choices, read: Read, field: str) -> Iterator[Problem]:
    if not choices.values:
        yield f"{field}.values", "must have at least one value"
    for index, value in enumerate(choices.values):
        yield from _scalar_problems(value, read, f"{field}.values[{index}]")
    if choices.weights:
        yield from weight_problems(choices.weights, f"{field}.weights")
        if len(choices.weights) != len(choices.values):
            yield f"{field}.weights", f"has {len(choices.weights)} weights for {len(choices.values)} values"


def weight_problems(weights: tuple[float, ...], field: str) -> Iterator[Problem]:
    """What is wrong with weights: they are finite, not negative, and not all 0."""
    wrong = [index for index, weight in enumerate(weights) if not math.isfinite(weight) or weight < 0]
    for index in wrong:
        yield f"{field}[{index}]", f"must be a finite number, not negative: {weights[index]}"
    if not wrong and not sum(weights) > 0:
        yield field, "must not all be 0"


class NumberSampler:
    """Draws numbers as a value or distribution says, rounded up to whole steps."""

    def __init__(self, value: Distributed, read: Read, step: float) -> None:
        self._value = value
        self._read = read
        self._step = step
        if isinstance(value, Lognormal | Exponential | Uniform) and value.step is not None:
            self._step = read(value.step)

    def draw(self, generator: np.random.Generator, number: int) -> NDArray[np.float64]:
        """So many values: an array of shape (number,)."""
        value, read = self._value, self._read
        match value:
            case Choices():
                numbers = np.array([read(one) for one in value.values])
                drawn = numbers[choose(generator, value.weights or (1.0,) * len(numbers), number)]
            case Lognormal():
                drawn = read(value.median) * np.exp(value.sigma * generator.standard_normal(number))
            case Exponential():
                drawn = read(value.mean) * generator.standard_exponential(number)
            case Uniform():
                drawn = read(value.low) + (read(value.high) - read(value.low)) * generator.random(number)
            case _:
                return np.full(number, read(value))
        if not isinstance(value, Choices):
            drawn = self._clipped(np.ceil(drawn / self._step - 1e-9) * self._step, value)
        return drawn

    def _clipped(self, drawn: NDArray[np.float64], value: Lognormal | Exponential | Uniform) -> NDArray[np.float64]:
        low, high = _bounds(value)
        lowest = 0.0 if low is None else self._read(low)
        highest = float(2**52) if high is None else self._read(high)
        return np.clip(drawn, lowest, highest)


def choose(generator: np.random.Generator, weights: tuple[float, ...], number: int) -> NDArray[np.intp]:
    """So many indices, each as likely as its weight says: an array of shape (number,)."""
    edges = np.cumsum(weights)
    chosen: NDArray[np.intp] = np.searchsorted(edges, generator.random(number) * edges[-1], side="right")
    return np.minimum(chosen, len(weights) - 1)
