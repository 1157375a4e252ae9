"""Ask a volume plugin about one pod, the way the cycle does, and get an answer that reads well in a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairway.cluster import Action, Change, Cluster, ClusterEvent, Nodes, Resource
from fairway.model import Pod
from fairway.plugin import SKIP, Plugin, Refusal

OK = "ok"
Verdict = str | tuple[str, ...]


def words(refusal: Refusal) -> tuple[str, ...]:
    """The code, then the reasons."""
    return (refusal.code.value, *refusal.reasons)


def judge(plugin: Plugin, pod: Pod) -> Any:
    """Each node's verdict (OK, or the words of its refusal), the words of a pre-filter refusal, or "skip"."""
    cluster: Cluster = plugin.cluster
    pod_class = cluster.classify(pod)
    state = plugin.pre_filter(pod_class, Nodes(cluster))
    if state is SKIP:
        return "skip"
    if isinstance(state, Refusal):
        return words(state)
    return verdicts(plugin, pod, state)


def verdicts(plugin: Plugin, pod: Pod, state: Any) -> dict[str, Verdict]:
    """Each node's verdict, and that asking about all nodes at once and about one at a time give the same."""
    cluster: Cluster = plugin.cluster
    pod_class = cluster.classify(pod)
    mask = plugin.filter(pod_class, Nodes(cluster), state)
    found: dict[str, Verdict] = {}
    for name, row in sorted(cluster.nodes.row_of.items()):
        alone = Nodes(cluster, np.array([row], np.intp))
        assert plugin.filter(pod_class, alone, state).tolist() == [mask[row]], name
        found[name] = OK
        if not mask[row]:
            refusal = plugin.explain(pod_class, alone, state)
            found[name] = words(refusal if isinstance(refusal, Refusal) else refusal[0])
    refused = np.flatnonzero(~mask & cluster.nodes.alive[: cluster.nodes.num_rows])
    together = plugin.explain(pod_class, Nodes(cluster, refused), state) if len(refused) else []
    if not isinstance(together, Refusal):
        assert [words(one) for one in together] == [found[cluster.nodes.names[row]] for row in refused]
    return found


def helps(plugin: Plugin, pod: Pod, resource: Resource, action: Action, old: Any = None, new: Any = None) -> bool:
    """Would the event make the queue try the pod again?"""
    event = ClusterEvent(resource, action)
    hints = [hint for hint in plugin.events() if hint.event.covers(event)]
    return any(hint.helps is None or hint.helps(pod, Change(event, old, new)) for hint in hints)
