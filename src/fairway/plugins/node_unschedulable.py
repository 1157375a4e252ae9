"""NodeUnschedulable: cordoned nodes take only pods that tolerate the cordon's taint.

In: `spec.unschedulable` of the nodes and the pod's tolerations. Out: a mask without the cordoned nodes, unless the pod
tolerates node.kubernetes.io/unschedulable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.model import Node, Pod, Taint, Toleration
from fairway.model.toleration import tolerates
from fairway.plugin import (
    Action,
    Aspect,
    Change,
    ClusterEvent,
    Code,
    Hint,
    Nodes,
    Plugin,
    PodClass,
    Refusal,
    Refused,
    Relaxation,
    Resource,
    with_spec,
)

CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
BEARING = Toleration(key=CORDON.key, operator="Exists", effect=CORDON.effect)
REFUSAL = Refusal(("node(s) were unschedulable",), Code.UNRESOLVABLE)


class NodeUnschedulable(Plugin):
    """Refuses nodes with spec.unschedulable."""

    annotations = ()
    reads = Aspect.NODE

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """All nodes, if the pod bears a cordon; else those without one."""
        if _bears_cordon(pod.pod):
            return np.ones(len(nodes), bool)
        return ~nodes.table.unschedulable[nodes.rows]

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        """There is one reason."""
        return REFUSAL

    def funnel_words(self, pod: PodClass, nodes: Nodes, state: Any) -> Sequence[str]:
        """One word."""
        return ["cordoned"] * len(nodes)

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """To tolerate the cordon is to the pod what uncordoning would be."""
        nodes = [node for node in self.cluster.nodes.objects if node is not None]
        cordoned = [node.metadata.name for node in nodes if node.spec.unschedulable]
        words = f"uncordon {cordoned[0]}" if len(cordoned) == 1 else f"uncordon the {len(cordoned)} cordoned nodes"
        yield Relaxation(words, with_spec(pod, tolerations=(*pod.spec.tolerations, BEARING)))

    def events(self) -> Sequence[Hint]:
        """A node that can be used now, or a toleration that the pod got."""
        return (
            Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT), _opens_a_node),
            Hint(ClusterEvent(Resource.POD, Action.UPDATE_POD_TOLERATION), _bears_cordon_now),
        )


def _bears_cordon(pod: Pod) -> bool:
    return any(tolerates(toleration, CORDON) for toleration in pod.spec.tolerations)


def _opens_a_node(_: Pod, change: Change) -> bool:
    was_closed = change.old is None or (isinstance(change.old, Node) and change.old.spec.unschedulable)
    return was_closed and isinstance(change.new, Node) and not change.new.spec.unschedulable


def _bears_cordon_now(pod: Pod, change: Change) -> bool:
    new = change.new
    return isinstance(new, Pod) and new.metadata.uid == pod.metadata.uid and _bears_cordon(new)
