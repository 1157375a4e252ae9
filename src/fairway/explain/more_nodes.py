"""More nodes of a kind that the cluster has: would a pod that fits nowhere fit then, and how many does it take?

In: a trial at the moment when the pod fits nowhere. Out: a number of new, empty nodes and the node that they are like:
the smallest number that helps, and of the kinds of nodes of which so many help the cheapest (`fairway.dev/price`), or
the one with the least CPU. Tried for real: the nodes join the trial's cluster, all plugins are asked, and the nodes
leave again. Called by `fixes`; in steps (`Steps`), so that a running scheduler can do something else in between.

A new node is as the old one was when it came: not cordoned, without the taints that say that something is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import Final, NamedTuple, TypeAlias, TypeVar

import msgspec

from fairway.cluster import Event, Verb
from fairway.cycle import Profile
from fairway.model import Node, Pod
from fairway.model.node_price import price_of

__all__ = ["MoreNodes", "Steps", "like_node", "more_nodes", "more_nodes_steps", "node_kinds", "run_through"]

T = TypeVar("T")
Steps: TypeAlias = Generator[None, bool | None, T]
"""A search that gives way now and then; who sends False in has no more time, and is told what was found so far."""

HOSTNAME: Final = "kubernetes.io/hostname"
TROUBLE: Final = "node.kubernetes.io/"
"""What taints begin with that say how a node is: not-ready, unreachable, disk-pressure, unschedulable."""

MOST: Final = 8
"""So many new nodes are tried; a pod that does not fit then needs something else."""

MOST_KINDS: Final = 24
"""So many kinds of nodes are tried, those with the most nodes first."""


class MoreNodes(NamedTuple):
    """So many new nodes like that one let the pod fit."""

    number: int
    like: str


def run_through(steps: Steps[T]) -> T:
    """What a search finds that may take as long as it takes."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


def more_nodes(profile: Profile, pod: Pod) -> MoreNodes | None:
    """The fewest that help; None if none do."""
    return run_through(more_nodes_steps(profile, pod))


def more_nodes_steps(profile: Profile, pod: Pod) -> Steps[MoreNodes | None]:
    """The same, one kind of nodes a step."""
    best: tuple[tuple[float, ...], MoreNodes] | None = None
    most = MOST
    for node in list(node_kinds(profile)):
        if (yield) is False:
            break
        if node.name not in profile.cluster.nodes.row_of:
            continue  # it has left since
        number = _number_needed(profile, pod, node, most)
        if number is None:
            continue
        price = price_of(node.metadata.labels)
        cpu = profile.cluster.nodes.allocatable[profile.cluster.nodes.row_of[node.name], 0]
        rank = (number, math.inf if price is None else price, float(cpu))
        if best is None or rank < best[0]:
            best, most = (rank, MoreNodes(number, node.name)), number
    return None if best is None else best[1]


def node_kinds(profile: Profile) -> Iterator[Node]:
    """One node of each kind, those first of which there are most; then in the order of names."""
    kinds: dict[bytes, list[Node]] = {}
    for name in sorted(profile.cluster.nodes.row_of, key=str.encode):
        node = profile.cluster.nodes.objects[profile.cluster.nodes.row_of[name]]
        if node is not None:
            kinds.setdefault(msgspec.json.encode(_shape(_new(node, ""))), []).append(node)
    for nodes in sorted(kinds.values(), key=len, reverse=True)[:MOST_KINDS]:
        yield nodes[0]


def _shape(node: Node) -> tuple[object, ...]:
    labels = sorted((key, value) for key, value in node.metadata.labels.items() if key != HOSTNAME)
    amounts = sorted((name, str(amount)) for name, amount in node.status.allocatable.items())
    return labels, amounts, [(taint.key, taint.value, taint.effect) for taint in node.spec.taints]


def _number_needed(profile: Profile, pod: Pod, node: Node, most: int) -> int | None:
    """How many new nodes like this one it takes, up to so many."""
    cluster = profile.cluster
    joined: list[Node] = []
    try:
        for number in range(1, most + 1):
            joined.append(like_node(profile, node, number))
            cluster.apply(Event(Verb.ADDED, joined[-1]))
            if profile.inspect(pod).feasible:
                return number
    finally:
        for one in joined:
            cluster.apply(Event(Verb.DELETED, one))
    return None


def like_node(profile: Profile, node: Node, number: int) -> Node:
    """A new node like that one, under a name that is free."""
    return _new(node, _free_name(f"{node.name}-more-{number}", profile))


def _new(node: Node, name: str) -> Node:
    """A node like that one, as it comes."""
    labels = {**node.metadata.labels, HOSTNAME: name}
    metadata = msgspec.structs.replace(node.metadata, name=name, uid=name, labels=labels)
    taints = tuple(taint for taint in node.spec.taints if not taint.key.startswith(TROUBLE))
    spec = msgspec.structs.replace(node.spec, unschedulable=False, taints=taints)
    return msgspec.structs.replace(node, metadata=metadata, spec=spec)


def _free_name(name: str, profile: Profile) -> str:
    return name if name not in profile.cluster.nodes.row_of else _free_name(f"{name}x", profile)
