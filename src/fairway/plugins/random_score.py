"""RandomScore: a seeded random score for every node; the baseline that every policy should beat.

Scores depend on the seed, the pod's uid and the node's name only, so a run can be repeated exactly.
"""

from __future__ import annotations

import zlib
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.plugin import MAX_SCORE, Aspect, Cluster, Nodes, Plugin, PodClass


class RandomScoreArgs(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """`seed`: other seeds, other scores."""

    seed: int = 0


class RandomScore(Plugin):
    """Uniform over 0 to 100."""

    reads = Aspect.NODE
    per_pod = True

    def __init__(self, cluster: Cluster, args: Any = None) -> None:
        super().__init__(cluster, args)
        self._seed = msgspec.convert(args or {}, RandomScoreArgs).seed

    def score(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.int64]:
        """A hash of seed, pod and node."""
        start = zlib.crc32(f"{self._seed}/{pod.pod.metadata.uid}/{pod.name}/".encode())
        hashes = np.array([zlib.crc32(name.encode(), start) for name in nodes.names], np.uint64)
        mixed = (hashes * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)
        return (mixed % np.uint64(MAX_SCORE + 1)).astype(np.int64)
