"""Which nodes a DaemonSet runs on, and how its pods are bound for them.

In: a DaemonSet's pod template, and nodes. Out: the names of the nodes that get a pod, and the template with what the
DaemonSet controller adds for one of them (daemon_controller.go and daemonset_util.go, Kubernetes 1.36). Called by
`fairway try` and by the DaemonSet controller of the simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from fairway.model.affinity import Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from fairway.model.node import Node
from fairway.model.pod import PodSpec, PodTemplateSpec, Toleration
from fairway.model.selector import compile_node_selector
from fairway.model.toleration import find_untolerated_taint

__all__ = [
    "Suitability",
    "bound_for",
    "daemon_nodes",
    "daemon_template",
    "suitability",
    "target_node",
    "tolerant",
]

TOLERATED: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
"""The states of nodes that daemons put up with; those on the host's network also bear its absence."""


class Suitability(NamedTuple):
    """May a daemon start on a node, and may one that is there stay?"""

    starts: bool
    stays: bool


def suitability(template: PodTemplateSpec, node: Node) -> Suitability:
    """What the template's own selector, affinity and tolerations, and those every daemon has, say about a node."""
    spec = tolerant(template.spec)
    labels, name = node.metadata.labels, node.metadata.name
    if spec.node_name not in ("", name) or any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return Suitability(False, False)
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if required is not None and not compile_node_selector(required).matches(labels, name):
        return Suitability(False, False)
    starts = find_untolerated_taint(spec.tolerations, node.spec.taints, ("NoSchedule", "NoExecute")) is None
    return Suitability(
        starts, starts or find_untolerated_taint(spec.tolerations, node.spec.taints, ("NoExecute",)) is None
    )


def daemon_nodes(template: PodTemplateSpec, nodes: Sequence[Node]) -> list[str]:
    """The nodes that get a pod."""
    return [node.metadata.name for node in nodes if suitability(template, node).starts]


def daemon_template(template: PodTemplateSpec, node_name: str) -> PodTemplateSpec:
    """The template for one node: required node affinity gives way to the node's name."""
    spec = tolerant(template.spec)
    return msgspec.structs.replace(template, spec=bound_for(spec, node_name))


def bound_for(spec: PodSpec, node_name: str) -> PodSpec:
    """The spec, wanting that node and no other."""
    here = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
    affinity = spec.affinity or Affinity()
    node_affinity = msgspec.structs.replace(
        affinity.node_affinity or NodeAffinity(),
        required_during_scheduling_ignored_during_execution=NodeSelector(
            node_selector_terms=(NodeSelectorTerm(match_fields=(here,)),)
        ),
    )
    return msgspec.structs.replace(spec, affinity=msgspec.structs.replace(affinity, node_affinity=node_affinity))


def target_node(spec: PodSpec) -> str:
    """The node that a daemon's pod is on or bound for; "" if it names none."""
    if spec.node_name or spec.affinity is None or spec.affinity.node_affinity is None:
        return spec.node_name
    required = spec.affinity.node_affinity.required
    for term in required.node_selector_terms if required else ():
        for line in term.match_fields:
            if line.key == "metadata.name" and line.operator == "In" and len(line.values) == 1:
                return line.values[0]
    return ""


def tolerant(spec: PodSpec) -> PodSpec:
    """The spec with the tolerations that every daemon has."""
    states = TOLERATED + ((("network-unavailable", "NoSchedule"),) if spec.host_network else ())
    added = (
        Toleration(key=f"node.kubernetes.io/{state}", operator="Exists", effect=effect) for state, effect in states
    )
    missing = tuple(one for one in added if one not in spec.tolerations)
    return msgspec.structs.replace(spec, tolerations=spec.tolerations + missing)
