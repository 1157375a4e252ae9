"""Long work in steps, so that whoever has other things to do can do them in between.

A function that returns `Steps` yields wherever it may be left alone for a while; what it comes to is its generator's
return value. In: such steps. Out: with `finish`, their value, all at once, as a simulation wants it. A running
scheduler goes on with `next` for some milliseconds at a time. Between two yields lies one search or less.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

__all__ = ["Steps", "finish"]

T = TypeVar("T")
Steps: TypeAlias = Generator[None, None, T]


def finish(steps: Steps[T]) -> T:
    """Take all steps that are left, one after the other."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: T = end.value
            return value
