"""NodeName: a pod that names its node runs there or nowhere.

In: `spec.nodeName` of a pending pod, which is rare: whoever sets it usually means to bypass the scheduler. Out: a mask
with that one node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.plugin import Action, Aspect, ClusterEvent, Code, Hint, Nodes, Plugin, PodClass, Refusal, Resource

REFUSAL = Refusal(("node(s) didn't match the requested node name",), Code.UNRESOLVABLE)


class NodeName(Plugin):
    """Refuses every node but the one in spec.nodeName."""

    annotations = ()
    reads = Aspect.NODE

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """The named node, or all if none is named."""
        name = pod.spec.node_name
        if not name:
            return np.ones(len(nodes), bool)
        is_named: NDArray[np.bool_] = nodes.numbers == nodes.table.row_of.get(name, -1)
        return is_named

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        """There is one reason."""
        return REFUSAL

    def events(self) -> Sequence[Hint]:
        """A new node may have the name."""
        return (Hint(ClusterEvent(Resource.NODE, Action.ADD)),)
