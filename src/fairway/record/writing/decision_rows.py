"""Rows that belong to a decision: the scores of its best nodes, and how near it brought the pod to data.

In: parts of a `Decision`, and its number. Out: rows of the tables `scores` and `data`, in the order of their
columns. Called by `RunWriter`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairway.cluster.datasets.data_step import DataStep
from fairway.record.recorder import Scored

__all__ = ["data_rows", "score_rows"]

Row = tuple[Any, ...]


def score_rows(number: int, best: Sequence[Scored]) -> Iterator[Row]:
    """Every plugin's share in the totals of these nodes, best first."""
    for rank, scored in enumerate(best, 1):
        for plugin, score in scored.shares.items():
            yield number, rank, scored.node, scored.total, plugin, score


def data_rows(number: int, steps: Sequence[DataStep]) -> Iterator[Row]:
    """Each dataset of the pod, in the pod's order."""
    for place, step in enumerate(steps):
        load = step.load if step.node else None
        near = (step.node or None, step.is_gateway, step.rung or None, load)
        yield number, place, step.dataset, *near, step.points, step.missing or None
