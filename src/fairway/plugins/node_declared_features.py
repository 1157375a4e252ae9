"""NodeDeclaredFeatures: a pod that needs a node feature runs only where the kubelet declares it.

Which features a spec needs is known for v1.36: RestartAllContainersOnContainerExits and
UserNamespacesHostNetworkSupport.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.model import Node, Pod, PodSpec
from fairway.plugin import (
    SKIP,
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
    Resource,
    Skip,
)
from fairway.plugins.unprepared import Unprepared

REFUSAL = Refusal(("node(s) didn't match Pod's required features",), Code.UNRESOLVABLE)


class NodeDeclaredFeatures(Plugin):
    """Judges each distinct set of declared features once."""

    annotations = ()
    reads = Aspect.NODE

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> frozenset[str] | Skip:
        """The features the pod needs, if any."""
        return needed_features(pod.spec) or SKIP

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """Nodes that declare all of them."""
        known = nodes.table.feature_values.values
        verdicts = np.array([declared is not None and state <= declared for declared in known], bool)
        return verdicts[nodes.table.feature_sets[nodes.rows]]

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        """There is one reason."""
        return REFUSAL

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its preparation it fails, as in kube-scheduler."""
        if point == "filter" and missing == "preFilter":
            return Unprepared(self, 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found')
        return self

    def events(self) -> Sequence[Hint]:
        """A node with other features, or a pod that needs others."""
        return (
            Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE), _declares_anew),
            Hint(ClusterEvent(Resource.POD, Action.UPDATE), _needs_others),
        )


def needed_features(spec: PodSpec) -> frozenset[str]:
    """What a node must be able to do for this pod to run as written."""
    needed = set()
    containers = (*spec.containers, *spec.init_containers)
    if any(rule.action == "RestartAllContainers" for each in containers for rule in each.restart_policy_rules):
        needed.add("RestartAllContainersOnContainerExits")
    if spec.host_network and spec.host_users is False:
        needed.add("UserNamespacesHostNetworkSupport")
    return frozenset(needed)


def _declares_anew(_: Pod, change: Change) -> bool:
    if not isinstance(change.old, Node) or not isinstance(change.new, Node):
        return True
    return change.old.status.declared_features != change.new.status.declared_features


def _needs_others(pod: Pod, change: Change) -> bool:
    old, new = change.old, change.new
    if not isinstance(old, Pod) or not isinstance(new, Pod) or new.metadata.uid != pod.metadata.uid:
        return False
    return needed_features(old.spec) != needed_features(new.spec)
