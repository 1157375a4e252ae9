"""Where a job would have room: the domains, how many members each could hold, and who holds the rest.

In: a profile and a job with members that wait. Out: a `DomainRoom` for each value of the label that the members have to
share, or one for all nodes, those with the most room first. Slots are counted by amounts, over nodes that pass the
filters that read nodes alone. Holders are the pods on a domain's nodes by what they hold of a resource, members of one
job and pods of one controller together, with the time by which they have to end where there is a limit.
Called by `job_explanation`.
"""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cycle import Profile
from fairway.cycle.groups.job_members import Kind
from fairway.model import Pod
from fairway.model.group import GroupTopology
from fairway.trace.annotations import TIME_LIMIT, parse_seconds

__all__ = ["DomainRoom", "Holder", "domain_rooms", "holders_on", "owner_of"]

ALL_NODES: Final = ""
Mask = NDArray[np.bool_]


class Holder(NamedTuple):
    """Who holds how much, and until when at the latest, in seconds since 1970; None: there is no limit."""

    name: str
    amount: int
    until: float | None
    priority: int
    uids: tuple[str, ...]


class DomainRoom(NamedTuple):
    """A set of nodes."""

    name: str  # the label's value; "" for all nodes
    num_nodes: int
    slots: int  # how many of the members that wait could go there
    rows: Mask  # (num_rows,)


def domain_rooms(profile: Profile, topology: GroupTopology | None, kinds: Sequence[Kind]) -> list[DomainRoom]:
    """The domains of the tightest label; the most room first, then by name."""
    nodes = profile.cluster.nodes
    alive = nodes.alive[: nodes.num_rows]
    if topology is None:
        return [_room(ALL_NODES, alive, kinds)]
    column = nodes.labels.column(topology.keys[0])
    ids = column.ids[: nodes.num_rows]
    found = [
        _room(str(column.values.values[number]), alive & (ids == number), kinds) for number in _numbers(ids, alive)
    ]
    return sorted(found, key=lambda room: (-room.slots, room.name))


def _numbers(ids: NDArray[np.int32], alive: Mask) -> list[int]:
    numbers: list[int] = np.unique(ids[alive & (ids >= 0)]).tolist()
    return numbers


def _room(name: str, rows: Mask, kinds: Sequence[Kind]) -> DomainRoom:
    slots = sum(min(int(kind.slots[rows].sum()), len(kind)) for kind in kinds)
    return DomainRoom(name, int(np.count_nonzero(rows)), slots, rows)


def holders_on(profile: Profile, rows: Mask, resource: str) -> list[Holder]:
    """Who holds the resource there, who holds most first."""
    found: dict[str, list[tuple[int, Pod]]] = {}
    for placed in profile.cluster.pods.by_uid.values():
        amount = placed.pod_class.requests.get(resource, 1 if resource == "pods" else 0)
        if amount and rows[placed.row]:
            found.setdefault(owner_of(profile, placed.pod), []).append((amount, placed.pod))
    holders = [_holder(name, held) for name, held in found.items()]
    return sorted(holders, key=lambda holder: (-holder.amount, holder.name))


def _holder(name: str, held: Sequence[tuple[int, Pod]]) -> Holder:
    ends = [_limit(pod) for _, pod in held]
    until = None if None in ends else max(end for end in ends if end is not None)
    priority = max(pod.priority for _, pod in held)
    return Holder(name, sum(amount for amount, _ in held), until, priority, tuple(pod.metadata.uid for _, pod in held))


def owner_of(profile: Profile, pod: Pod) -> str:
    """Its job, or its controller, or itself."""
    group = profile.cluster.groups.of(pod.metadata.uid)
    if group is not None:
        return str(group.key)
    controller = pod.metadata.controller
    return pod.key if controller is None else f"{pod.metadata.namespace}/{controller.name}"


def _limit(pod: Pod) -> float | None:
    """When the pod has to have ended: its deadline, or what its user said it would run at most."""
    begun: dt.datetime | None = pod.status.start_time
    if begun is None:
        return None
    most = [float(seconds) for seconds in (pod.spec.active_deadline_seconds,) if seconds is not None]
    if (told := pod.metadata.annotations.get(TIME_LIMIT)) is not None:
        with contextlib.suppress(ValueError):  # what is no time is no limit
            most.append(parse_seconds(told))
    return begun.timestamp() + min(most) if most else None
