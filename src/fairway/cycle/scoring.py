"""Scores of the feasible nodes: normalised, weighted, added up.

In: a class's answers and the feasible rows. Out: totals, and, for those who ask why, every plugin's share. Node-local
scores that need no normalising are already summed in the answers; here come those that depend on which nodes are
feasible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import Nodes
from fairway.cycle.answer_parts import Part
from fairway.cycle.answers import Answers
from fairway.plugin import MAX_SCORE, SKIP

if TYPE_CHECKING:
    from fairway.cluster import Cluster


class FeasibleNodes(Nodes):
    """The rows of a mask, worked out when somebody looks."""

    __slots__ = ("_mask",)

    def __init__(self, cluster: Cluster, mask: NDArray[np.bool_]) -> None:
        self.cluster = cluster
        self.table = cluster.nodes
        self._amounts = None
        self._mask = mask

    def __getattr__(self, name: str) -> Any:
        if name != "rows":
            raise AttributeError(name)
        self.rows = self._mask.nonzero()[0]
        return self.rows


def wide_scores(answers: Answers, feasible: Nodes) -> list[tuple[Part, Any]]:
    """The wide plugins that want to score, with what their `pre_score` prepared."""
    prepared = []
    for part in answers.wide_scores:
        state = part.plugin.pre_score(answers.pod_class, feasible)
        if state is not SKIP:
            prepared.append((part, state))
    return prepared


def add_scores(answers: Answers, feasible: Nodes, wide: list[tuple[Part, Any]], totals: NDArray[np.int64]) -> None:
    """Add what varying and wide plugins give to `totals`, in place."""
    for part in answers.varying:
        assert part.raw is not None
        raw = feasible.of(part.raw)
        if part.plugin.normalize == "own":
            totals += final_scores(answers, part, feasible, part.pre_scored, raw)
        else:
            totals += feasible.of(_scaled(part, int(raw[raw.argmax()])))
    for part, state in wide:
        raw = part.plugin.score(answers.pod_class, feasible, state)
        totals += final_scores(answers, part, feasible, state, raw)


def final_scores(
    answers: Answers, part: Part, feasible: Nodes, state: Any, raw: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Raw scores normalised as the plugin wants it, times its weight."""
    plugin = part.plugin
    if plugin.normalize == "none":
        scores = raw
    elif plugin.normalize == "own":
        scores = plugin.normalize_scores(answers.pod_class, feasible, state, raw)
    else:
        scores = normalized(raw, plugin.normalize == "reverse")
    return scores if part.weight == 1 else scores * part.weight_array


def _scaled(part: Part, highest: int) -> NDArray[np.int64]:
    """Final scores of all rows, if `highest` is the highest raw one of the feasible; kept, as it seldom changes."""
    assert part.raw is not None
    if part.scaled is None or part.scaled[0] != highest:
        part.scaled = highest, normalized(part.raw, part.plugin.normalize == "reverse", highest) * part.weight
    return part.scaled[1]


def normalized(raw: NDArray[np.int64], reverse: bool, highest: int | None = None) -> NDArray[np.int64]:
    """kube-scheduler's DefaultNormalizeScore: 100 × score / highest, or 100 minus that."""
    highest = int(raw.max()) if highest is None else highest
    if highest == 0:
        return np.full_like(raw, MAX_SCORE) if reverse else raw
    if highest < len(raw) and raw.min() >= 0:  # few different scores: divide each once
        # (rows that do not fit may have more; what they get does not matter)
        scores = (MAX_SCORE * np.arange(highest + 1) // highest).take(raw, mode="clip")
    else:
        scores = MAX_SCORE * raw // highest
    return MAX_SCORE - scores if reverse else scores
