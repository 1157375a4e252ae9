"""NodePorts: two pods can not listen on the same port of a node.

In: the pod's host ports and `cluster.ports`, which knows who listens where. Out: nodes on which all of them are free;
the wildcard address collides with every address.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from fairway.cluster.pod_class import HostPort, host_ports
from fairway.cluster.ports import PortTable
from fairway.model import Container, Pod
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    Change,
    ClusterEvent,
    Hint,
    Nodes,
    Plugin,
    PodClass,
    Refusal,
    Refused,
    Relaxation,
    Resource,
    Skip,
    with_spec,
)
from fairway.plugins.unprepared import Unprepared

REFUSAL = Refusal(("node(s) didn't have free ports for the requested pod ports",))


class NodePorts(Plugin):
    """Looks only at nodes on which one of the wanted ports is taken at all."""

    annotations = ()
    reads = Aspect.PODS

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> tuple[HostPort, ...] | Skip:
        """The wanted ports."""
        return pod.ports or SKIP

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """Nodes on which all wanted ports are free."""
        ports = nodes.cluster.ports
        if isinstance(nodes.rows, slice):
            mask = np.ones(len(nodes), bool)
            for row in {row for port in pod.ports for row in ports.rows_using(port)}:
                mask[row] = not ports.conflicts(row, pod.ports)
            return mask
        return np.array([not ports.conflicts(row, pod.ports) for row in nodes.rows.tolist()], bool)

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal:
        """There is one reason."""
        return REFUSAL

    def relax(self, pod: Pod, pod_class: PodClass, refused: Sequence[Refused]) -> Iterator[Relaxation]:
        """Each host port left out in turn."""
        spec = pod.spec
        ports = {port.host_port for each in (*spec.containers, *spec.init_containers) for port in each.ports}
        for number in sorted(ports - {0}):
            containers, init_containers = _without(spec.containers, number), _without(spec.init_containers, number)
            freed = with_spec(pod, containers=containers, init_containers=init_containers)
            yield Relaxation(f"without host port {number}", freed)

    def unprepared(self, point: str, missing: str) -> Plugin:
        """Without its preparation it fails, as in kube-scheduler."""
        if point == "filter" and missing == "preFilter":
            return Unprepared(self, 'reading "PreFilterNodePorts" from cycleState: not found')
        return self

    def events(self) -> Sequence[Hint]:
        """A pod that used one of the ports went away, or a node came."""
        return (
            Hint(ClusterEvent(Resource.POD, Action.DELETE), _frees_a_port),
            Hint(ClusterEvent(Resource.NODE, Action.ADD)),
        )


def _frees_a_port(pod: Pod, change: Change) -> bool:
    gone = change.old
    if not isinstance(gone, Pod) or not (gone.spec.node_name or gone.status.nominated_node_name):
        return False
    taken = PortTable()
    taken.add(0, host_ports(gone))
    return taken.conflicts(0, host_ports(pod))


def _without(containers: Sequence[Container], number: int) -> tuple[Container, ...]:
    """The containers, none of which wants that port of the node."""
    return tuple(
        msgspec.structs.replace(each, ports=tuple(port for port in each.ports if port.host_port != number))
        for each in containers
    )
