"""Pods on nodes that are not, or no longer, known.

In: pods whose node the cluster has never heard of, or that stay behind when a node goes. Out: the same pods when the
node appears, or when they go themselves. Kept by `Cluster`.
"""

from __future__ import annotations

from typing import NamedTuple

from fairway.model import Pod


class Orphan(NamedTuple):
    """A pod without its node."""

    pod: Pod
    assumed: bool
    devices: tuple[int, ...] = ()  # what it had of the node's devices


class Orphans:
    """By uid, and by the name of the node that is missing."""

    def __init__(self) -> None:
        self._by_uid: dict[str, tuple[str, Orphan]] = {}
        self._by_node: dict[str, dict[str, Orphan]] = {}

    def __getitem__(self, uid: str) -> Orphan:
        return self._by_uid[uid][1]

    def of_node(self, name: str) -> list[Orphan]:
        """The pods that wait for that node, in the order they came."""
        return list(self._by_node.get(name, {}).values())

    def add(self, node_name: str, orphan: Orphan) -> None:
        """The pod is there, its node is not."""
        uid = orphan.pod.metadata.uid
        self._by_uid[uid] = node_name, orphan
        self._by_node.setdefault(node_name, {})[uid] = orphan

    def release(self, uid: str) -> Orphan | None:
        """The pod goes, or has a node again; None if it was no orphan."""
        found = self._by_uid.pop(uid, None)
        if found is None:
            return None
        node_name, orphan = found
        others = self._by_node[node_name]
        del others[uid]
        if not others:
            del self._by_node[node_name]
        return orphan
