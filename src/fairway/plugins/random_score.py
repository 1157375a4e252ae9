"""RandomScore: a seeded random score for every node; the baseline that every policy should beat.

Scores depend on the seed, the pod's uid and the node's name only, so a run can be repeated exactly.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.model.meta import Int64
from fairway.plugin import MAX_SCORE, Aspect, Nodes, Plugin, PluginArgs, PodClass


class RandomScoreArgs(PluginArgs, frozen=True, kw_only=True):
    """`seed`: other seeds, other scores."""

    seed: Int64 = 0


class RandomScore(Plugin):
    """Uniform over 0 to 100."""

    annotations = ()
    Args = RandomScoreArgs
    args: RandomScoreArgs
    reads = Aspect.NODE
    per_pod = True

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        """A hash of seed, pod and node."""
        start = zlib.crc32(f"{self.args.seed}/{pod.pod.metadata.uid}/{pod.name}/".encode())
        hashes = np.array([zlib.crc32(name.encode(), start) for name in nodes.names], np.uint64)
        mixed = (hashes * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
        return (mixed % np.uint64(MAX_SCORE + 1)).astype(np.int64)
