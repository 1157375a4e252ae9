"""Nodes that were lost: since when they do not answer, or that they are gone, or came back as others.

In: nodes as they change. Out: a `LostNode` for each that is lost, by name. Kept by the duty of failing jobs, and read
by that of ending ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairway.batch.duties.duty import DutyDesk
from fairway.batch.failures import LostNode
from fairway.model import Node

__all__ = ["OUT_OF_SERVICE", "LostNodes"]

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class LostNodes:
    """By name."""

    def __init__(self, desk: DutyDesk) -> None:
        self._desk = desk
        self.by_name: dict[str, LostNode] = {}

    def __iter__(self) -> Iterator[LostNode]:
        return iter(self.by_name.values())

    def observe(self, node: Node, gone: bool, now: float) -> bool:
        """A node came, changed or went; True: it was lost now, or more is known of that."""
        name = node.metadata.name
        known = self.by_name.get(name)
        since = self._since(node, now) if known is None else known.since
        if gone:
            lost = LostNode(name, since, is_certain=True, is_out_of_service=True)
        elif _answers(node):
            self.by_name.pop(name, None)
            return False
        else:
            is_out = any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)
            lost = LostNode(name, since, is_out_of_service=is_out)
        self.by_name[name] = lost
        return lost != known

    def _since(self, node: Node, now: float) -> float:
        """Since when it does not answer, as the node says; whoever looks later sees the same."""
        moments = (each.last_transition_time for each in node.status.conditions if each.type == "Ready")
        moment = next(moments, None)
        return now if moment is None or _answers(node) else min(moment.timestamp() - self._desk.epoch, now)


def _answers(node: Node) -> bool:
    return next((each.status for each in node.status.conditions if each.type == "Ready"), "True") == "True"
