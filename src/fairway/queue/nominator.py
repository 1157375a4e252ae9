"""Which waiting pod has a node promised to it, decided the way kube-scheduler decides.

Preemption promises a node to a pod before the API server says so, hence a promise may be newer than the pod's
`status.nominatedNodeName`. The promises themselves stand in the cluster (`cluster.nominations`), which counts promised
pods on their nodes; `SchedulingQueue` makes and takes them back through here. kube-scheduler 1.36: backend/queue/
nominator.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from fairway.model import Pod

__all__ = ["Nominations", "Nominator"]


class Nominations(Protocol):
    """Where promises stand, at most one a pod: `fairway.cluster.intents.nominations.Nominations` is one."""

    def add(self, pod: Pod, node_name: str) -> None:
        """The pod waits for that node, and for no other."""

    def remove(self, uid: str) -> None:
        """The pod waits for no node any more."""

    def node_of(self, uid: str) -> str | None:
        """The node a pod waits for."""


class Nominator:
    """Keeps the promises in step with the pods."""

    def __init__(self, nominations: Nominations) -> None:
        self._nominations = nominations

    def override(self, pod: Pod, node_name: str) -> None:
        """Promise this node whatever the pod's status says; "" takes the promise back."""
        if node_name:
            self._nominations.add(pod, node_name)
        else:
            self._nominations.remove(pod.metadata.uid)

    def follow(self, pod: Pod) -> None:
        """Promise what the pod's status says, which may be nothing."""
        self.override(pod, pod.status.nominated_node_name)

    def update(self, old: Pod, new: Pod) -> None:
        """The pod changed. Follow its status, unless that never spoke of a node: then an earlier promise holds."""
        if old.status.nominated_node_name or new.status.nominated_node_name:
            self.follow(new)
        else:
            self.override(new, self._nominations.node_of(new.metadata.uid) or "")

    def remove(self, uid: str) -> None:
        """Take the pod's promise back, if there is one."""
        self._nominations.remove(uid)
