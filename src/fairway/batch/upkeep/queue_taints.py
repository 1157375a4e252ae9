"""Nodes that a queue keeps other schedulers off: `nodes.protect: taint`.

In: queues, and nodes as they are seen. Out: taints `fairway.dev/queue=NAME:NoSchedule` that are missing, and those of
our queues that nobody wants any more. Of several queues that would taint a node the first by name does. Our own
profiles let the pods of queues pass (`plugins.queue_nodes`). Called by `upkeep`.
"""

from __future__ import annotations

from collections.abc import Mapping

from fairway.batch.actions import Action, TaintNode
from fairway.batch.upkeep.node_sights import NodeSights
from fairway.model.batch import QueueSpec

__all__ = ["taint_actions"]


def taint_actions(queues: Mapping[str, QueueSpec], nodes: NodeSights) -> list[Action]:
    """What has to be written so that the nodes of such queues, and no others, have their taint."""
    tainting = {name: queue.nodes for name, queue in sorted(queues.items()) if queue.nodes.protect == "taint"}
    if not tainting and not nodes.taints:
        return []
    actions: list[Action] = []
    for node in nodes.all:
        wanted = next((name for name, choice in tainting.items() if choice.matches(node.labels)), "")
        found = nodes.taints.get(node.name, "")
        is_ours = not found or found in queues  # a queue of another scheduler is that one's affair
        if wanted != found and is_ours:
            actions.append(TaintNode(node.name, wanted))
    return actions
