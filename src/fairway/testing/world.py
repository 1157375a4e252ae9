"""A small world that can be changed at random: nodes, pods, volumes, services, namespaces.

In: a `Chance` that makes the choices (seeded dice, or a test library's own). Out: a `World` of API objects with few
distinct names and values, so that things collide; one random `Event` after another that changes it; and pods to judge.
`load()` gives a cluster that has heard nothing but the world as it is now. Called by `situations` and property tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from fairway.cluster import Cluster, Event, Verb
from fairway.cluster.pod_class import host_ports
from fairway.model import Node, ObjectMeta, Pod
from fairway.testing.population import (
    NODE_NAMES,
    random_claim,
    random_csi_node,
    random_namespace,
    random_node,
    random_placed_pod,
    random_service,
    random_storage_class,
    random_volume,
    relabelled,
    terminated,
    without_ports,
)

T = TypeVar("T")


class Chance(Protocol):
    """Whatever makes the choices."""

    def pick(self, things: Sequence[T]) -> T:
        """One of these."""

    def flip(self, percent: int) -> bool:
        """True in so many of a hundred cases."""


class World:
    """API objects by kind and name, and how they change."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.objects: dict[tuple[str, str], Any] = {}  # (kind, uid)
        self._serial = 0

    def nodes(self) -> list[Node]:
        """The nodes there are."""
        return [thing for thing in self.objects.values() if isinstance(thing, Node)]

    def pods(self) -> list[Pod]:
        """The pods on nodes."""
        return [thing for thing in self.objects.values() if isinstance(thing, Pod)]

    def load(self) -> Cluster:
        """A cluster that knows this world, and no other before it."""
        cluster = Cluster()
        cluster.load(list(self.objects.values()))
        return cluster

    def apply(self, event: Event) -> None:
        """This happened."""
        verb, thing = event
        key = (thing.kind, thing.metadata.uid)
        if verb is Verb.DELETED:
            self.objects.pop(key, None)
        else:
            self.objects[key] = thing

    def populate(self, num_nodes: int, num_pods: int) -> None:
        """Fill an empty world."""
        for name in NODE_NAMES[:num_nodes]:
            self._put(random_node(self.chance, name))
            if self.chance.flip(60):
                self._put(random_csi_node(self.chance, name))
        for make in (random_namespace, random_storage_class, random_volume, random_claim, random_service):
            for _ in range(3):
                self._put(make(self.chance))
        for _ in range(num_pods):
            self._put(self.new_pod())

    def new_pod(self) -> Pod:
        """A pod on one of the nodes, or, rarely, on one that nobody has heard of."""
        self._serial += 1
        names = [node.name for node in self.nodes()] or list(NODE_NAMES)
        name = self.chance.pick(NODE_NAMES) if self.chance.flip(5) else self.chance.pick(names)
        pod = random_placed_pod(self.chance, f"placed-{self._serial}", name, self._serial)
        taken = {port for other in self.pods() if other.spec.node_name == name for port in host_ports(other)}
        # Two pods that hold the same port of a node are nothing a scheduler brings about.
        return pod if taken.isdisjoint(host_ports(pod)) else without_ports(pod)

    def event(self) -> Event:
        """Something that might happen next; it is applied to the world already."""
        event = self.chance.pick(CHANGES)(self)
        self.apply(event)
        return event

    def _put(self, thing: Any) -> None:
        self.apply(Event(Verb.ADDED, thing))


def _node_event(world: World) -> Event:
    name = world.chance.pick(NODE_NAMES)
    old = world.objects.get(("Node", name))
    if old is None:
        return Event(Verb.ADDED, random_node(world.chance, name))
    if world.chance.flip(25):
        return Event(Verb.DELETED, old)
    new = random_node(world.chance, name)
    if world.chance.flip(70):  # change one thing, leave the rest
        part = world.chance.pick(("labels", "allocatable", "taints", "images"))
        new = _mixed(old, new, part)
    return Event(Verb.MODIFIED, new)


def _mixed(old: Node, new: Node, part: str) -> Node:
    replace = msgspec.structs.replace
    if part == "labels":
        meta: ObjectMeta = replace(old.metadata, labels=new.metadata.labels)
        return replace(old, metadata=meta)
    if part == "allocatable":
        return replace(old, status=replace(old.status, allocatable=new.status.allocatable))
    if part == "taints":
        return replace(old, spec=new.spec)
    return replace(old, status=replace(old.status, images=new.status.images))


def _pod_arrives(world: World) -> Event:
    return Event(Verb.ADDED, world.new_pod())


def _pod_leaves(world: World) -> Event:
    pods = world.pods()
    return Event(Verb.DELETED, world.chance.pick(pods)) if pods else _pod_arrives(world)


def _pod_changes(world: World) -> Event:
    pods = world.pods()
    if not pods:
        return _pod_arrives(world)
    pod = world.chance.pick(pods)
    return Event(Verb.MODIFIED, terminated(pod) if world.chance.flip(30) else relabelled(world.chance, pod))


def _put_or_drop(make: Callable[[Chance], Any]) -> Callable[[World], Event]:
    def change(world: World) -> Event:
        thing = make(world.chance)
        old = world.objects.get((thing.kind, thing.metadata.uid))
        if old is None:
            return Event(Verb.ADDED, thing)
        return Event(Verb.DELETED, old) if world.chance.flip(30) else Event(Verb.MODIFIED, thing)

    return change


CHANGES: tuple[Callable[[World], Event], ...] = (
    *[_node_event] * 6,
    *[_pod_arrives] * 4,
    *[_pod_leaves] * 3,
    *[_pod_changes] * 2,
    *[
        _put_or_drop(make)
        for make in (random_service, random_namespace, random_storage_class, random_volume, random_claim)
    ],
    _put_or_drop(lambda chance: random_csi_node(chance, chance.pick(NODE_NAMES))),
)
"""What may happen, as often as it is listed."""
