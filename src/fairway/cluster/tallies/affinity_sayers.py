"""Rows with pods that speak of affinity to other pods, if only to say nothing: `podAffinity: {}`.

In: every pod that comes to a row or leaves it (a `Tally`). Out: the rows that have any, as kube-scheduler's snapshot
lists them (`podWithAffinity` in framework/types.go, 1.36). Those that carry terms are known by their counters; here are
all. Kept for cycles of groups, which have to know what that list overlooks.
"""

from __future__ import annotations

from fairway.cluster.nodes import NodeTable
from fairway.cluster.pod_class import PodClass
from fairway.model import Pod

__all__ = ["AffinitySayers"]


class AffinitySayers:
    """How many of them are where."""

    def __init__(self, nodes: NodeTable) -> None:
        self.rows: dict[int, int] = {}  # those that have any

    def came(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """The pod is on that row now."""
        if _says(pod):
            self.rows[row] = self.rows.get(row, 0) + 1

    def left(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """It is there no longer."""
        if not _says(pod):
            return
        if self.rows[row] > 1:
            self.rows[row] -= 1
        else:
            del self.rows[row]

    def grow(self, capacity: int) -> None:
        """Rows are kept by number: there is room."""


def _says(pod: Pod) -> bool:
    affinity = pod.spec.affinity
    return affinity is not None and (affinity.pod_affinity is not None or affinity.pod_anti_affinity is not None)
