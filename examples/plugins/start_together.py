"""Pods of a group start together, or not at all: none is bound before all of them have a node."""

from fairway.plugin import Plugin, Wait

GROUP, SIZE = "example.com/group", "example.com/group-size"


class StartTogether(Plugin):
    """Holds pods with a group until as many of it have a node as the group has pods; at most a minute."""

    def permit(self, pod, pod_class, row):
        """The pod is counted on its node already, as are the others that wait, and those that run."""
        group = members(pod)
        if group is None:
            return None
        placed = sum(members(there.pod) == group for there in self.cluster.pods.by_uid.values())
        if placed < int(pod.metadata.labels[SIZE]):
            return Wait(60)
        for held in self._held(group):
            self.cluster.held.allow(held.uid, self.name)
        return None

    def unreserve(self, pod, pod_class, row):
        """One that gives its node back, because its time is up, takes the others with it: their room helps nobody."""
        group = members(pod)
        for held in () if group is None else self._held(group):
            self.cluster.held.reject(held.uid, self.name, f"{pod.metadata.name} of the same group is not placed")

    def _held(self, group):
        return [held for held in self.cluster.held if members(held.pod) == group]


def members(pod):
    """By what a group is known; None for a pod that is in none."""
    labels = pod.metadata.labels
    size = labels.get(SIZE, "")
    return (pod.metadata.namespace, labels[GROUP], size) if GROUP in labels and size.isdigit() else None
