"""NearJob: a pod that names another job would rather be near its pods.

In: `fairway.dev/connect-to: NAME[,NAMESPACE/NAME...]` with `fairway.dev/connect-mode: near`, and where those jobs run
(`tallies.job_places`). Out: 100 for a node on which one of their pods is, 75 for the same rack (`fairway.dev/rack`), 50
for the same zone, 25 for the same region, else 0: the best over all their pods, of all the jobs named. Where none of
them has a pod yet, nothing is said. It never refuses a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.tallies.job_places import ANNOTATIONS, JobPlaces
from fairway.plugin import MAX_SCORE, SKIP, Aspect, Cluster, Locality, Nodes, Plugin, PodClass, Skip

__all__ = ["CONNECT_MODE", "CONNECT_TO", "NearJob", "peers_of"]

CONNECT_TO: Final = "fairway.dev/connect-to"
CONNECT_MODE: Final = "fairway.dev/connect-mode"
NEAR: Final = "near"
LEVELS: Final = (
    ("region", "topology.kubernetes.io/region", 25),
    ("zone", "topology.kubernetes.io/zone", 50),
    ("rack", "fairway.dev/rack", 75),
)
"""What nodes may share, from far to near, the label that says it, and what it is worth."""


class NearJob(Plugin):
    """Compares labels of nodes with those of the nodes where the other jobs are."""

    annotations = (CONNECT_TO, CONNECT_MODE, *ANNOTATIONS)
    locality = Locality.CLUSTER
    reads = Aspect.NODE | Aspect.PODS

    def __init__(self, cluster: Cluster, args: object = None) -> None:
        super().__init__(cluster, args)
        cluster.read_annotations(ANNOTATIONS)
        self._places = cluster.tally(JobPlaces)

    def pre_score(self, pod: PodClass, nodes: Nodes) -> NDArray[np.intp] | Skip:
        """The rows where the other jobs are."""
        if not pod.annotations or pod.annotations.get(CONNECT_MODE) != NEAR:
            return SKIP
        rows = {row for job in peers_of(pod) for row in self._places.rows_of(job)}
        return np.array(sorted(rows), np.intp) if rows else SKIP

    def score(self, pod: PodClass, nodes: Nodes, state: NDArray[np.intp]) -> NDArray[np.int64]:
        """The nearest that any of their pods is."""
        scores = np.zeros(len(nodes), np.int64)
        for _, label, worth in LEVELS:
            scores[self._shares(nodes, label, state)] = worth
        scores[np.isin(nodes.numbers, state)] = MAX_SCORE
        return scores

    def _shares(self, nodes: Nodes, label: str, peers: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Nodes with the same value of that label as one of those rows."""
        ids = nodes.table.labels.column(label).ids
        theirs = ids[peers]
        return np.isin(nodes.of(ids), theirs[theirs >= 0])

    def explain_score(self, pod: PodClass, nodes: Nodes, state: NDArray[np.intp]) -> Sequence[Sequence[str]]:
        """How near, and to whom."""
        words = {MAX_SCORE: "on a node of", **{worth: f"in a {name} of" for name, _, worth in LEVELS}}
        jobs = " or ".join(peers_of(pod))
        scores = self.score(pod, nodes, state).tolist()
        return [(f"{words[score]} {jobs}",) if score else () for score in scores]


def peers_of(pod: PodClass) -> list[str]:
    """The jobs that a pod names, each as `namespace/name`."""
    names = (name.strip() for name in pod.annotations.get(CONNECT_TO, "").split(","))
    return [name if "/" in name else f"{pod.namespace}/{name}" for name in names if name]
