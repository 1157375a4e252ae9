"""Nodes by the thousand from a few lines.

In: groups of equal nodes as a scenario file has them: `{count: 1000, cpu: 32, memory: 128Gi, zones: 10}`. Out: complete
nodes, or everything that is wrong with the groups, each by the path of its field. The same groups always give the
same nodes. Called by scenarios and by users.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, Literal

import msgspec

from fairway.model import (
    DecodeError,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Taint,
    default_object,
    dns_subdomain_problem,
    label_key_problem,
    label_value_problem,
    parse_quantity,
    validate_object,
)
from fairway.trace.distribution import Problem
from fairway.trace.topology import RACK, assign_racks

__all__ = ["NodeGroup", "NodeTaint", "Racks", "group_problems", "make_nodes"]

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
MAX_NODES: Final = 1_000_000


class NodeTaint(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Keeps pods away that do not tolerate it."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] = "NoSchedule"


class Racks(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Puts nodes into racks; see `topology`."""

    servers_per_rack: Annotated[int, msgspec.Meta(ge=1)]


class NodeGroup(msgspec.Struct, kw_only=True, frozen=True, rename="camel", forbid_unknown_fields=True):
    """So many equal nodes."""

    count: Annotated[int, msgspec.Meta(ge=0, le=MAX_NODES)]
    name: Annotated[str, msgspec.Meta(description="`{}` stands for a number, from 0.")] = "node-{}"
    cpu: str | int | float = 32
    memory: str | int | float = "128Gi"
    pods: Annotated[int, msgspec.Meta(ge=0)] = 110
    resources: Annotated[
        dict[str, str | int | float], msgspec.Meta(description="Others, such as nvidia.com/gpu or ephemeral-storage.")
    ] = {}
    labels: dict[str, str] = {}
    taints: tuple[NodeTaint, ...] = ()
    zones: Annotated[
        Annotated[int, msgspec.Meta(ge=1)] | None,
        msgspec.Meta(description="Over how many zones the nodes are dealt out, one after the other."),
    ] = None
    racks: Racks | None = None


def make_nodes(groups: Sequence[NodeGroup], field: str = "") -> list[Node]:
    """The nodes of all groups, in order; `DecodeError` names the first field that is wrong."""
    for path, problem in group_problems(groups, field):
        raise DecodeError(problem, field=path)
    nodes: list[Node] = []
    num_racks = 0
    for group in groups:
        made = list(_nodes(group))
        if group.racks is not None:
            made = assign_racks(made, group.racks.servers_per_rack, num_racks)
            num_racks += len({node.metadata.labels[RACK] for node in made})
        nodes += made
    return nodes


def group_problems(groups: Sequence[NodeGroup], field: str = "") -> Iterator[Problem]:
    """Everything that is wrong with groups of nodes; `field` is the path of their list."""
    names: dict[str, int] = {}
    for index, group in enumerate(groups):
        path = f"{field}[{index}]"
        amounts = {"cpu": group.cpu, "memory": group.memory}
        amounts |= {f"resources[{name!r}]": amount for name, amount in group.resources.items()}
        wrong = list(_amount_problems(amounts, path))
        if group.count > 1 and group.name.count("{}") != 1:
            wrong.append((f"{path}.name", "must have {} once, for a number, since there are several nodes"))
        elif problem := dns_subdomain_problem(group.name.replace("{}", "0")):
            wrong.append((f"{path}.name", problem))
        for key, text in group.labels.items():
            if problem := label_key_problem(key) or label_value_problem(text):
                wrong.append((f"{path}.labels[{key!r}]", problem))
        if names.setdefault(group.name, index) != index:
            wrong.append((f"{path}.name", f"{group.name!r} is the name of nodes of [{names[group.name]}] already"))
        yield from wrong
        if not wrong and group.count:
            for error in validate_object(next(_nodes(group))):
                known = error.field.replace("spec.taints", "taints").removeprefix("metadata.")
                yield f"{path}.{known}", error.problem


def _amount_problems(amounts: dict[str, str | int | float], path: str) -> Iterator[Problem]:
    for name, amount in amounts.items():
        try:
            if parse_quantity(amount).nanos < 0:
                raise ValueError(f"must not be negative: {amount}")
        except ValueError as error:
            yield f"{path}.{name}", str(error)


def _nodes(group: NodeGroup) -> Iterator[Node]:
    amounts = {"cpu": group.cpu, "memory": group.memory, "pods": group.pods} | group.resources
    resources = {name: parse_quantity(amount) for name, amount in amounts.items()}
    status = NodeStatus(capacity=resources, allocatable=resources)
    spec = NodeSpec(taints=tuple(Taint(key=one.key, value=one.value, effect=one.effect) for one in group.taints))
    for index in range(group.count):
        name = group.name.replace("{}", str(index))
        labels = {HOSTNAME: name} | ({ZONE: f"zone-{index % group.zones}"} if group.zones else {}) | group.labels
        node = default_object(Node(metadata=ObjectMeta(name=name, labels=labels), spec=spec, status=status))
        assert isinstance(node, Node)
        yield node
