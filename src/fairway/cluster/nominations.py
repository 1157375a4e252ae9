"""Pods that wait for a particular node: it was, or is being, cleared for them.

In: `add` after a preemption, `update` as the world reports `status.nominatedNodeName`, `remove` once the pod is placed
or gone. Out: `on(node_name)`, the pods that filters must imagine on a node before they let an equal or less important
one in. Nodes are meant by name: a nomination may outlive its node.
"""

from __future__ import annotations

from collections.abc import Collection

from fairway.model import Pod


class Nominations:
    """Who waits for which node."""

    def __init__(self) -> None:
        self._node_of: dict[str, str] = {}  # pod uid -> node name
        self._pods: dict[str, dict[str, Pod]] = {}  # node name -> pods by uid
        self.highest_priority: int | None = None  # None: nobody is nominated at all
        self.version = 0

    def __len__(self) -> int:
        return len(self._node_of)

    def add(self, pod: Pod, node_name: str) -> None:
        """The pod waits for that node, and for no other."""
        self.remove(pod.metadata.uid)
        self._node_of[pod.metadata.uid] = node_name
        self._pods.setdefault(node_name, {})[pod.metadata.uid] = pod
        self._changed()

    def update(self, pod: Pod) -> None:
        """A new version of a pending pod: its status says what it waits for, unless we know better."""
        uid, told = pod.metadata.uid, pod.status.nominated_node_name
        known = self._node_of.get(uid)
        if told:
            self.add(pod, told)
        elif known is not None:  # decided here, not yet written to the pod
            self.add(pod, known)

    def remove(self, uid: str) -> None:
        """The pod waits for no node any more."""
        node_name = self._node_of.pop(uid, None)
        if node_name is not None:
            pods = self._pods[node_name]
            del pods[uid]
            if not pods:
                del self._pods[node_name]
            self._changed()

    def on(self, node_name: str) -> Collection[Pod]:
        """The pods that wait for that node."""
        return self._pods.get(node_name, {}).values()

    def node_of(self, uid: str) -> str | None:
        """The node a pod waits for."""
        return self._node_of.get(uid)

    def nodes(self) -> Collection[str]:
        """Names of all nodes that somebody waits for."""
        return self._pods.keys()

    def _changed(self) -> None:
        self.version += 1
        priorities = [pod.priority for pods in self._pods.values() for pod in pods.values()]
        self.highest_priority = max(priorities, default=None)
