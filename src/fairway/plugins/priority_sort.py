"""PrioritySort: higher priority first, then who has waited longer.

Matches kube-scheduler 1.36.4 `queuesort/priority_sort.go`.
"""

from __future__ import annotations

from fairway.plugin import Aspect, Plugin, Waiting


class PrioritySort(Plugin):
    """Orders the active queue."""

    annotations = ()
    reads = Aspect(0)

    def queue_sort(self, waiting: Waiting) -> tuple[int, float]:
        return -(waiting.pod.spec.priority or 0), waiting.timestamp
