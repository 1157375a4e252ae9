"""Where jobs run: rows by the name that people have for a job.

In: every pod that comes to a row or leaves it (a `Tally`). Out: `rows_of("ml/data")`, the rows on which that job's pods
are, bound or on their way. Kept for plugins that look for other jobs by name, such as `NearJob`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fairway.cluster.nodes import NodeTable
from fairway.cluster.pod_class import PodClass
from fairway.cluster.tallies.tally import RowsByKey
from fairway.model import Pod
from fairway.model.tenant import GROUP_ANNOTATIONS, job_name

__all__ = ["ANNOTATIONS", "JobPlaces"]

ANNOTATIONS: Final = GROUP_ANNOTATIONS
"""What the name of a pod's job depends on; who reads places declares it first."""


class JobPlaces:
    """How many pods of which job are where."""

    def __init__(self, nodes: NodeTable) -> None:
        self._rows: RowsByKey[str] = RowsByKey()

    def came(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """The pod is on that row now."""
        self._rows.add(job_name(pod), row)

    def left(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """It is there no longer."""
        self._rows.remove(job_name(pod), row)

    def grow(self, capacity: int) -> None:
        """Rows are kept by number: there is room."""

    def rows_of(self, job: str) -> Mapping[int, int]:
        """How many of its pods are on each row that has any."""
        return self._rows.rows(job)
