"""The rows of a heat map: which node is where, by name and by pool.

In: a run. Out: `NodeRows`: nodes in the order in which they came, those of one pool together, and where each pool
begins and ends. A pool is what the label of a cloud's node pool says, or else the name without its number: `gpu-7` is
of `gpu`. Called by `fairway.plots.nodes`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairway.record import Run
from fairway.words import nodes_text, visible

__all__ = ["NodeRows", "Pool", "node_rows", "pool_of"]

POOL_LABELS: Final = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "karpenter.sh/nodepool",
    "kubernetes.azure.com/agentpool",
    "agentpool",
)
NUMBER: Final = re.compile(r"[-_.]?\d+$")
MOST_NAMES: Final = 40  # rows that are labelled one by one; pools of more nodes have one label each


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind: rows from `begin` to before `end`."""

    name: str
    begin: int
    end: int

    @property
    def label(self) -> str:
        """Its name and how many nodes it has had."""
        return f"{self.name}\n{nodes_text(self.end - self.begin)}"


@dataclass(frozen=True, slots=True)
class NodeRows:
    """The nodes from top to bottom."""

    node_ids: NDArray[np.int64]  # (num_nodes,)
    names: list[str]  # of each row
    pools: list[Pool]

    def ticks(self) -> tuple[list[float], list[str]]:
        """Where words stand, and which: every node's name, or every pool's where there are too many nodes."""
        if len(self.names) <= MOST_NAMES:
            return [row + 0.5 for row in range(len(self.names))], self.names
        return [(pool.begin + pool.end) / 2 for pool in self.pools], [pool.label for pool in self.pools]


def node_rows(run: Run) -> NodeRows:
    """Every node that the run has had."""
    found = run.sql(
        "SELECT node_id, any_value(node ORDER BY rowid) AS node, any_value(manifest ORDER BY rowid) AS manifest"
        " FROM nodes GROUP BY node_id ORDER BY node_id"
    )
    nodes = [(row["node_id"], row["node"], pool_of(row["node"], _labels(row["manifest"]))) for row in found.rows()]
    order = {pool: place for place, pool in enumerate(dict.fromkeys(pool for *_, pool in nodes))}
    nodes.sort(key=lambda node: order[node[2]])  # within a pool as they came
    pools, begin = [], 0
    for name, members in groupby(nodes, key=lambda node: node[2]):
        end = begin + len(list(members))
        pools.append(Pool(visible(name, one_line=True), begin, end))
        begin = end
    ids = np.array([node_id for node_id, *_ in nodes], np.int64)
    return NodeRows(ids, [visible(name, one_line=True) for _, name, _ in nodes], pools)


def pool_of(name: str, labels: dict[str, Any]) -> str:
    """The pool of a node: by label, or by name."""
    labelled = next((str(labels[label]) for label in POOL_LABELS if labels.get(label)), None)
    return labelled or NUMBER.sub("", name) or name


def _labels(manifest: str) -> dict[str, Any]:
    labels: Any = json.loads(manifest).get("metadata", {}).get("labels")
    return labels if isinstance(labels, dict) else {}
