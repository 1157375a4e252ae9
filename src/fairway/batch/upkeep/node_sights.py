"""Nodes and the pods on them, as windows and reservations see them.

In: the cluster of a desk. Out: a `NodeSight` for each node, made anew when a node has changed; and `PodSight`s of those
who are on some of them. Called by `upkeep`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from fairway.batch.actions import CORDONED_BY
from fairway.batch.duties.duty import DutyDesk
from fairway.batch.windows import NodeSight, PodSight
from fairway.batch.wishes import QUEUE
from fairway.model import Node, Pod
from fairway.model.tenant import is_aside

__all__ = ["QUEUE_TAINT", "NodeSights"]

QUEUE_TAINT: Final = QUEUE
"""The key of the taint that keeps others off the nodes of a queue; its value is the queue."""


class NodeSights:
    """All nodes, as they were when one of them last changed."""

    def __init__(self, desk: DutyDesk) -> None:
        self._desk = desk
        self._version = -1
        self.all: list[NodeSight] = []
        self.by_name: dict[str, NodeSight] = {}
        self.marked: list[NodeSight] = []  # those whose cordon names a window
        self.taints: dict[str, str] = {}  # by node: the queue that its taint names

    def refresh(self) -> bool:
        """Look again if a node has changed; has one?"""
        machine, nodes = self._desk.machine, self._desk.cluster.nodes
        if self._version == machine.num_changes:
            return False
        self._version = machine.num_changes
        there = [(row, node) for row, node in enumerate(nodes.objects[: nodes.num_rows]) if node is not None]
        self.all = [sight_of(node, row) for row, node in there]
        self.by_name = {sight.name: sight for sight in self.all}
        self.marked = [sight for sight in self.all if sight.cordoned_by]
        self.taints = {
            node.metadata.name: taint.value
            for _, node in there
            for taint in node.spec.taints
            if taint.key == QUEUE_TAINT
        }
        return True

    def pods_on(self, names: Iterable[str]) -> list[PodSight]:
        """Who is on these nodes; those that another scheduler's queues look after are that one's affair."""
        pods = self._desk.cluster.pods
        rows = [(name, self.by_name[name].row) for name in sorted(names) if name in self.by_name]
        return [
            self._sight(placed.pod, name)
            for name, row in rows
            for placed in pods.on_row(row)
            if not placed.pod.is_finished and not self._is_of_others(placed.pod)
        ]

    def _is_of_others(self, pod: Pod) -> bool:
        is_ours = self._desk.scheduler.queue.serves(pod)
        return not is_ours and (QUEUE in pod.metadata.labels or QUEUE in pod.metadata.annotations)

    def _sight(self, pod: Pod, node: str) -> PodSight:
        uid = pod.metadata.uid
        job, occupant = self._desk.book.of(uid), self._desk.machine.occupant(uid)
        end = math.inf if occupant is None else occupant.end
        return PodSight(uid, node, "" if job is None else job.key, end, is_aside(pod), pod.is_terminating)


def sight_of(node: Node, row: int) -> NodeSight:
    """What is seen of a node."""
    meta = node.metadata
    return NodeSight(meta.name, row, meta.labels, node.spec.unschedulable, meta.annotations.get(CORDONED_BY, ""))
