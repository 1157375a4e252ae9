"""Fields of scenario files that had another name before: they are still read, and a note names the new word.

In: the plain values of a file, and which words of its `spec` have changed. Out: the same values under the names of
today, and a note for each word. Called by `scenario` and by the order-only experiments, before they decode a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairway.config.fields import Problem

__all__ = ["in_words_of_today"]


def in_words_of_today(data: Any, words: Mapping[str, str], problems: list[Problem]) -> tuple[Any, tuple[str, ...]]:
    """The values with each former word of `spec` (key of `words`) as it is called now, and a note for each.

    A file that has both words is not guessed at: that is a problem.
    """
    spec = data.get("spec") if isinstance(data, dict) else None
    if not isinstance(spec, dict):
        return data, ()
    former = [word for word in words if word in spec]
    problems += [
        Problem(f"spec.{word}", f"is called {words[word]} now, which is there too; leave this one out")
        for word in former
        if words[word] in spec
    ]
    renamed = {words.get(key, key): value for key, value in spec.items()}
    notes = tuple(f"spec.{word} is called spec.{words[word]} now; the old name is still read" for word in former)
    return {**data, "spec": renamed}, notes
