"""Imagining: pods added to or taken from one node, judged, and put back.

In: a class's answers, a row and the pods to imagine. Out: inside the `with`, the cluster's tables and the plugins'
states read as if it were so, for that row; afterwards as before. Preemption and nominated pods are judged this way,
as kube-scheduler does with copies of node info and cycle state.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from fairway.cluster import Nodes, Placed, PodClass
from fairway.cycle.answers import Answers
from fairway.model import Pod
from fairway.plugin import Refusal


class Imagination:
    """Adds and removes pods on one row, keeping wide plugins' states in step."""

    __slots__ = ("_answers", "_cluster", "_log", "_row")

    def __init__(self, answers: Answers, row: int) -> None:
        self._answers = answers
        self._cluster = answers.cluster
        self._row = row
        self._log: list[tuple[Pod, PodClass, bool]] = []

    def add(self, pod: Pod, pod_class: PodClass) -> None:
        """Suppose the pod ran here too."""
        self._cluster.place(pod, pod_class, self._row)
        self._tell(pod, pod_class, True)
        self._log.append((pod, pod_class, True))

    def remove(self, pod: Pod, pod_class: PodClass) -> None:
        """Suppose the pod were gone."""
        self._tell(pod, pod_class, False)
        self._cluster.remove(pod.metadata.uid)
        self._log.append((pod, pod_class, False))

    def undo_states(self) -> None:
        """Bring the states back; the tables are undone by the cluster."""
        for pod, pod_class, added in reversed(self._log):
            self._tell(pod, pod_class, not added)

    def _tell(self, pod: Pod, pod_class: PodClass, added: bool) -> None:
        answers = self._answers
        for part in answers.hooked:
            hook = part.plugin.add_pod if added else part.plugin.remove_pod
            hook(answers.pod_class, part.state, pod, pod_class, self._row)


@contextlib.contextmanager
def imagined(
    answers: Answers, row: int, added: Sequence[Pod] = (), removed: Sequence[Placed] = ()
) -> Iterator[Imagination]:
    """Suppose these pods came to, and those left, that row."""
    cluster = answers.cluster
    with cluster.what_if(rows_only=True):
        imagination = Imagination(answers, row)
        try:
            for placed in removed:
                imagination.remove(placed.pod, placed.pod_class)
            for pod in added:
                imagination.add(pod, cluster.classify(pod, bound=True))
            yield imagination
        finally:
            imagination.undo_states()


def first_refusal(answers: Answers, row: int) -> tuple[str, Refusal] | None:
    """The first plugin, in order, that refuses this row as it is now, and its reason."""
    nodes = Nodes(answers.cluster, np.array([row], np.intp))
    for part in answers.filters:
        if not part.plugin.filter(answers.pod_class, nodes, part.state)[0]:
            words = part.plugin.explain(answers.pod_class, nodes, part.state)
            return part.plugin.name, words if isinstance(words, Refusal) else words[0]
    return None


def fits(answers: Answers, row: int) -> bool:
    """Does this row pass all filters as it is now?"""
    nodes = Nodes(answers.cluster, np.array([row], np.intp))
    return answers.passes_static(row) and all(
        part.plugin.filter(answers.pod_class, nodes, part.state)[0] for part in answers.moving_filters
    )
