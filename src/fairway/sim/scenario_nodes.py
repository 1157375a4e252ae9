"""Nodes from a scenario's groups: so many equal ones, in zones and racks.

In: a `NodeGroup`. Out: its `Node`s, as an API server would hand them out: ready, with hostname, zone and rack labels.
Zones hold equal parts of a group in one piece, so racks can stay within them. Called by `scenario_workload`, and by
`scenario_checks`, which asks what is wrong with a group before it is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from fairway.model import (
    ContainerImage,
    Node,
    NodeCondition,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Quantity,
    Taint,
    dns_subdomain_problem,
    label_key_problem,
    label_value_problem,
    parse_quantity,
)
from fairway.sim.scenario_fields import Problem
from fairway.sim.scenario_file import NodeGroup

__all__ = ["HOSTNAME", "ZONE", "build_nodes", "group_problems", "node_names", "scale_groups"]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
OWN_RESOURCES = ("cpu", "memory", "pods")
READY = NodeCondition(type="Ready", status="True", reason="KubeletReady")


def node_names(group: NodeGroup) -> list[str]:
    """What the nodes of a group are called."""
    return [group.name.replace("{}", str(number)) for number in range(group.count)]


def zone_names(group: NodeGroup) -> Sequence[str]:
    """The zones of a group; none if it has none."""
    return [f"zone-{number}" for number in range(group.zones)] if isinstance(group.zones, int) else group.zones


def build_nodes(group: NodeGroup) -> list[Node]:
    """The nodes, in the order of their numbers, without racks."""
    resources: dict[str, Quantity] = {
        "cpu": group.cpu,
        "memory": group.memory,
        "pods": parse_quantity(group.pods),
        **group.resources,
    }
    status = NodeStatus(
        capacity=resources,
        allocatable=resources,
        conditions=(READY,),
        images=tuple(ContainerImage(names=(name,), size_bytes=size.value) for name, size in group.images.items()),
    )
    spec = NodeSpec(taints=tuple(Taint(key=one.key, value=one.value, effect=one.effect) for one in group.taints))
    zones = zone_names(group)
    nodes = []
    for number, name in enumerate(node_names(group)):
        zone = {ZONE: zones[number * len(zones) // group.count]} if zones else {}
        meta = ObjectMeta(name=name, labels={HOSTNAME: name, **zone, **group.labels})
        nodes.append(Node(metadata=meta, spec=spec, status=status))
    return nodes


def scale_groups(groups: Sequence[NodeGroup], total: int) -> tuple[NodeGroup, ...]:
    """The groups with `total` nodes in all, in the same proportions; a group may vanish."""
    before = sum(group.count for group in groups)
    scaled = []
    seen = taken = 0
    for group in groups:
        seen += group.count
        count = seen * total // before - taken
        taken += count
        if count:
            scaled.append(msgspec.structs.replace(group, count=count))
    return tuple(scaled)


def group_problems(groups: Sequence[NodeGroup], path: str) -> Iterator[Problem]:
    """What is wrong with groups that their types allow."""
    owners: dict[str, int] = {}
    for index, group in enumerate(groups):
        at = f"{path}[{index}]"
        yield from _name_problems(group, at)
        yield from _amount_problems(group, at)
        yield from _label_problems(group, at)
        for name in node_names(group) if group.count == 1 or "{}" in group.name else ():
            other = owners.setdefault(name, index)
            if other != index:
                text = f'"{group.name}" gives {name}, which is in {path}[{other}] already; give the groups other names'
                yield Problem(f"{at}.name", text)
                break


def _name_problems(group: NodeGroup, at: str) -> Iterator[Problem]:
    if group.count > 1 and "{}" not in group.name:
        text = f'"{group.name}" is one name for {group.count} nodes; put {{}} where the number goes'
        yield Problem(f"{at}.name", text)
    elif problem := dns_subdomain_problem(group.name.replace("{}", str(group.count - 1))):
        yield Problem(f"{at}.name", problem)


def _amount_problems(group: NodeGroup, at: str) -> Iterator[Problem]:
    amounts = {"cpu": group.cpu, "memory": group.memory}
    amounts |= {f'resources["{name}"]': amount for name, amount in group.resources.items()}
    amounts |= {f'images["{name}"]': amount for name, amount in group.images.items()}
    for field, amount in amounts.items():
        if amount.nanos < 0:
            yield Problem(f"{at}.{field}", f"{amount} is negative; allowed: 0 or more")
    for name in group.resources:
        if name in OWN_RESOURCES:
            yield Problem(f'{at}.resources["{name}"]', f"it has a field of its own: {at}.{name}")
        elif problem := label_key_problem(name):
            yield Problem(f'{at}.resources["{name}"]', problem)


def _label_problems(group: NodeGroup, at: str) -> Iterator[Problem]:
    for key, value in group.labels.items():
        if problem := label_key_problem(key) or label_value_problem(value):
            yield Problem(f'{at}.labels["{key}"]', problem)
    for number, taint in enumerate(group.taints):
        if problem := label_key_problem(taint.key):
            yield Problem(f"{at}.taints[{number}].key", problem)
        if problem := label_value_problem(taint.value):
            yield Problem(f"{at}.taints[{number}].value", problem)
    if isinstance(group.zones, tuple):
        for number, zone in enumerate(group.zones):
            if problem := (label_value_problem(zone) if zone else "must not be empty"):
                yield Problem(f"{at}.zones[{number}]", problem)
    elif group.zones and ZONE in group.labels:
        yield Problem(f"{at}.zones", f"{at}.labels has {ZONE} already; give one of them")
