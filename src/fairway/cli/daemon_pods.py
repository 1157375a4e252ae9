"""Which nodes a DaemonSet runs on, and how its pods are bound for them.

In: a DaemonSet's pod template, and nodes. Out: the names of the nodes that get a pod, and the template with what the
DaemonSet controller adds for one of them (daemon_controller.go and daemonset_util.go, Kubernetes 1.36).
Called by `controllers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from fairway.model import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PodTemplateSpec,
    Toleration,
    compile_node_selector,
    find_untolerated_taint,
)

__all__ = ["daemon_nodes", "daemon_template"]

TOLERATED: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
"""The states of nodes that daemons put up with; those on the host's network also bear its absence."""


def daemon_nodes(template: PodTemplateSpec, nodes: Sequence[Node]) -> list[str]:
    """Nodes that the template's own selector and affinity want, and whose taints its pods tolerate."""
    spec = _tolerant(template.spec)
    return [node.metadata.name for node in nodes if _runs_on(spec, node)]


def daemon_template(template: PodTemplateSpec, node_name: str) -> PodTemplateSpec:
    """The template for one node: required node affinity gives way to the node's name."""
    spec = _tolerant(template.spec)
    here = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
    affinity = spec.affinity or Affinity()
    node_affinity = msgspec.structs.replace(
        affinity.node_affinity or NodeAffinity(),
        required_during_scheduling_ignored_during_execution=NodeSelector(
            node_selector_terms=(NodeSelectorTerm(match_fields=(here,)),)
        ),
    )
    spec = msgspec.structs.replace(spec, affinity=msgspec.structs.replace(affinity, node_affinity=node_affinity))
    return msgspec.structs.replace(template, spec=spec)


def _tolerant(spec: PodSpec) -> PodSpec:
    states = TOLERATED + ((("network-unavailable", "NoSchedule"),) if spec.host_network else ())
    added = tuple(
        Toleration(key=f"node.kubernetes.io/{state}", operator="Exists", effect=effect) for state, effect in states
    )
    return msgspec.structs.replace(spec, tolerations=spec.tolerations + added)


def _runs_on(spec: PodSpec, node: Node) -> bool:
    labels, name = node.metadata.labels, node.metadata.name
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if required is not None and not compile_node_selector(required).matches(labels, name):
        return False
    return find_untolerated_taint(spec.tolerations, node.spec.taints, ("NoSchedule", "NoExecute")) is None
