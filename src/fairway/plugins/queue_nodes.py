"""QueueNodes: pods of queues pass the taint that keeps others off a queue's nodes.

In: taints `fairway.dev/queue=NAME:NoSchedule`, which the desk puts on nodes of queues with `nodes.protect: taint`. Out:
nodes with one are refused to pods of no queue that do not tolerate it; which nodes a queue's own pods may be on, the
plan knows. TaintToleration does not look at this taint where this plugin is. Switched on where a queue has such nodes,
never by hand.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.node_selection import NO_SCHEDULE
from fairway.model import Pod
from fairway.model.toleration import find_untolerated_taint
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PodClass,
    Refusal,
    Resource,
    Skip,
)

TAINT: Final = "fairway.dev/queue"
KEPT = Refusal(("node(s) are kept for a queue",), Code.UNRESOLVABLE)


class QueueNodes(Plugin):
    """Judges each distinct set of taints once."""

    annotations = ()
    reads = Aspect.NODE
    refused_word = "kept for a queue"
    judged_taints = (TAINT,)

    def class_key(self, pod: Pod) -> Hashable:
        """Pods of queues are told from others."""
        planner = self.cluster.promises.planner
        return True if planner is not None and planner.is_queued(pod) else None

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any | Skip:
        """Pods of queues need not ask."""
        return SKIP if pod.extra[self.name] is not None else None

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """Nodes without the taint, and those whose taint the pod tolerates."""
        table = nodes.cluster.nodes
        tolerations = pod.pod.spec.tolerations
        kept = [
            number
            for number, taints in enumerate(table.taint_values.values)
            if taints
            and find_untolerated_taint(tolerations, (each for each in taints if each.key == TAINT), NO_SCHEDULE)
        ]
        mask: NDArray[np.bool_] = ~np.isin(table.taint_sets[nodes.rows], kept)
        return mask

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        """One refusal for all."""
        return KEPT

    def events(self) -> Sequence[Hint]:
        """A node that came, or has other taints."""
        return (Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT)),)
