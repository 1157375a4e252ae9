"""A problem with one field of a file, and the words for it.

In: a value that was found, a word that nobody knows. Out: `Problem`s, each with the path of its field, and the parts
that their sentences share. Made by the strict decoder of `fairway.config` and by the checks of plugins' arguments.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

__all__ = ["Problem", "alternatives", "out_of_range", "shown"]


LONGEST_WORD: Final = 100
"""No longer ones are meant: to compare takes time."""


class Problem(NamedTuple):
    """What is wrong, and where: a path such as `profiles[0].plugins.score.enabled[1].name`, "" for the whole."""

    path: str
    text: str


def shown(value: Any) -> str:
    """A value as a person would find it in the file, cut to fit a message."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


def alternatives(word: str, allowed: Iterable[str]) -> str:
    """The end of a message about an unknown word: the one that was probably meant, and all that are allowed."""
    words = list(allowed)
    if not words:
        return "; none is allowed here"
    word = word[:LONGEST_WORD]
    folded = {known.lower(): known for known in words}
    close = difflib.get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    close = close or [known for known in folded if word and known.startswith(word.lower())]
    meant = f"; did you mean {folded[close[0]]}? Allowed: " if close else "; allowed: "
    return meant + ", ".join(words)


def out_of_range(path: str, value: float, low: float, high: float) -> Iterator[Problem]:
    """The problem of a number outside of its bounds, if it is."""
    if not low <= value <= high:
        yield Problem(path, f"{value:g} is out of range; allowed: {low} to {high}")
