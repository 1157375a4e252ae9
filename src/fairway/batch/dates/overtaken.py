"""Queues whose dates somebody above may move: what is booked there is kept, but is no promise.

In: the queues, the nodes. Out: the names of those that share a node with a queue of a higher tier. A promise is kept
against everything but failures, orders and pods of no queue; a higher tier is planned before what is booked for lower
ones, so their dates are estimates, and say so. Called by forecasts, and by answers about runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairway.model import Node
from fairway.model.batch import QueueSpec

__all__ = ["overtaken_queues"]


def overtaken_queues(queues: Mapping[str, QueueSpec], nodes: Iterable[Node | None]) -> frozenset[str]:
    """The queues that do not have their nodes before all others."""
    tiers = {name: spec.tier or 0 for name, spec in queues.items()}
    if len(set(tiers.values())) < 2:
        return frozenset()
    found: set[str] = set()
    for node in nodes:
        if node is None:
            continue
        here = [name for name, spec in queues.items() if spec.nodes.matches(node.metadata.labels)]
        highest = max((tiers[name] for name in here), default=0)
        found.update(name for name in here if tiers[name] < highest)
    return frozenset(found)
