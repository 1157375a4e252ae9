"""Pods that wait for a particular node: it was, or is being, cleared for them.

In: `add` after a preemption, `update` as the world reports `status.nominatedNodeName`, `remove` once the pod is placed
or gone. Out: `on(node_name)`, the pods that filters must imagine on a node before they let an equal or less important
one in. Nodes are meant by name: a nomination may outlive its node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from fairway.model import Pod


class Nominations:
    """Who waits for which node."""

    def __init__(self) -> None:
        self._node_of: dict[str, str] = {}  # pod uid -> node name
        self._pods: dict[str, dict[str, Pod]] = {}  # node name -> pods by uid
        self._priorities: Counter[int] = Counter()
        self.version = 0

    def __len__(self) -> int:
        return len(self._node_of)

    @property
    def highest_priority(self) -> int | None:
        """That of the most important pod that waits for a node; None: nobody does."""
        return max(self._priorities, default=None)

    def add(self, pod: Pod, node_name: str) -> None:
        """The pod waits for that node, and for no other."""
        self.remove(pod.metadata.uid)
        self._node_of[pod.metadata.uid] = node_name
        self._pods.setdefault(node_name, {})[pod.metadata.uid] = pod
        self._priorities[pod.priority] += 1
        self.version += 1

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
            priority = pods.pop(uid).priority
            if not pods:
                del self._pods[node_name]
            self._priorities[priority] -= 1
            if not self._priorities[priority]:
                del self._priorities[priority]
            self.version += 1

    @contextmanager
    def lifted(self, pods: Iterable[Pod]) -> Iterator[None]:
        """Inside, these pods wait for no node: for who supposes them somewhere."""
        kept = [(pod, node) for pod in pods if (node := self.node_of(pod.metadata.uid)) is not None]
        for pod, _ in kept:
            self.remove(pod.metadata.uid)
        try:
            yield
        finally:
            for pod, node in kept:
                self.add(pod, node)

    def on(self, node_name: str) -> Collection[Pod]:
        """The pods that wait for that node."""
        return self._pods.get(node_name, {}).values()

    def node_of(self, uid: str) -> str | None:
        """The node a pod waits for."""
        return self._node_of.get(uid)

    def nodes(self) -> Collection[str]:
        """Names of all nodes that somebody waits for."""
        return self._pods.keys()
