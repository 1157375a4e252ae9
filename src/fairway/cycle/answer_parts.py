"""What each plugin has to say about a pod class before nodes are looked at, and what that comes to.

In: a plugin and its weight; the parts whose pre-filters were asked. Out: a `Part`, which holds a plugin's states and
scores for the class; and of all pre-filters together the refusal, the nodes they restrict the pod to, and where they
stopped. Called by `answers`; `scoring` reads the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.plugin import Code, Plugin, Refusal, Restriction

__all__ = ["NamedNodes", "Part", "PreFilterResults", "judge_pre_filters"]

NamedNodes = tuple[frozenset[str], tuple[str, ...]]
"""The only nodes that come into question, and the plugins that say so."""


class Part:
    """One plugin's part in a class's answers."""

    __slots__ = ("plugin", "pre_filtered", "pre_scored", "raw", "scaled", "weight", "weight_array")

    def __init__(self, plugin: Plugin, weight: int) -> None:
        self.plugin = plugin
        self.weight = weight
        self.weight_array = np.array(weight, np.int64)  # (): see UNFIT_ARRAY in `answers`
        self.pre_filtered: Any = None  # what pre_filter returned: a state, SKIP, a Refusal, a Restriction
        self.pre_scored: Any = None
        self.raw: NDArray[np.int64] | None = None  # (capacity,) raw scores, where they are normalised later
        self.scaled: tuple[int, NDArray[np.int64]] | None = None  # final ones (capacity,) for a highest raw one

    @property
    def state(self) -> Any:
        """What `filter` gets."""
        result = self.pre_filtered
        return result.state if isinstance(result, Restriction) else result


class PreFilterResults(NamedTuple):
    """What all pre-filters of a class came to."""

    refusal: tuple[str, Refusal] | None  # with the plugin's name; empty: several together leave no node
    restriction: NamedNodes | None
    stopped_at: int | None  # index into the parts: the ones after it do not count


def judge_pre_filters(parts: Sequence[Part]) -> PreFilterResults:
    """Read the pre-filters' results in order, as RunPreFilterPlugins does."""
    refusal: tuple[str, Refusal] | None = None
    names: frozenset[str] | None = None
    restricting: list[str] = []
    for index, part in enumerate(parts):
        result = part.pre_filtered
        if isinstance(result, Refusal):
            refusal = (part.plugin.name, result)
            if result.code is not Code.UNSCHEDULABLE:
                return PreFilterResults(refusal, None, index)
        elif isinstance(result, Restriction):
            restricting.append(part.plugin.name)
            names = result.names if names is None else names & result.names
            if not names:
                words = _nothing_left(restricting)
                refusal = ("", Refusal((words,), Code.UNRESOLVABLE))
                return PreFilterResults(refusal, (names, tuple(sorted(restricting))), index)
    return PreFilterResults(refusal, None if names is None else (names, tuple(sorted(restricting))), None)


def _nothing_left(restricting: Sequence[str]) -> str:
    if len(restricting) == 1:
        return f"node(s) didn't satisfy plugin {restricting[0]}"
    return f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(restricting))}] simultaneously"
