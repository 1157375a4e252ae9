"""Random: one of the feasible nodes, each as likely; the baseline of the published experiments.

Which one follows from the seed, the pod's needs and what is requested in all, so a run can be repeated exactly. Combine
it with GpuShare's `deviceChoice: random`.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.cluster import PODS
from fairway.plugin import MAX_SCORE, Locality, Nodes, Plugin, PluginArgs, PodClass
from fairway.plugins.argument_types import Seed

MIXER = 0x9E3779B97F4A7C15  # the golden ratio in 64 bits: neighbouring hashes end far apart


class RandomArgs(PluginArgs, frozen=True, kw_only=True):
    """`seed`: other seeds, other choices."""

    seed: Seed = 0


class Random(Plugin):
    """100 for one node, 0 for the others."""

    annotations = ()
    Args = RandomArgs
    args: RandomArgs
    locality = Locality.CLUSTER

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        """A hash of the seed, the pod and the cluster as it is."""
        scores = np.zeros(len(nodes), np.int64)
        if len(nodes):
            table = nodes.table
            requested = table.requested[: table.num_rows, : PODS + 1].sum(axis=0).tolist()
            text = f"{self.args.seed} {requested} {sorted(pod.requests.items())} {pod.devices} {pod.labels}"
            mixed = zlib.crc32(text.encode()) * MIXER % 2**64
            ranks = table.name_ranks()[nodes.rows]  # by name, so that the order in which nodes came plays no part
            place = mixed * len(ranks) >> 64
            scores[np.argpartition(ranks, place)[place]] = MAX_SCORE
        return scores
