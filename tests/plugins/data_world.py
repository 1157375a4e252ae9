"""A small world of nodes, pods and datasets that changes at random, for tests of DataLocality.

In: a `Chance`. Out: API objects with few distinct names, so that copies are told of that are gone, groups contradict
each other and nodes share racks; one event after another; pods that use datasets.
"""

from __future__ import annotations

from typing import Any

from fairway.cluster import Cluster, Event, Verb
from fairway.model import Dataset, DatasetInternal, Node, Pod
from fairway.model.dataset import DataPlacement
from fairway.model.node import NodeCondition
from fairway.plugins.data_locality_args import DataLocalityArgs, Rung
from fairway.testing import dataset, dataset_internal, node, pod
from fairway.testing.world import Chance

NODES = tuple(f"n{number}" for number in range(1, 9))
NAMES = ("a", "b", "c")
ZONE, REGION, RACK = "topology.kubernetes.io/zone", "topology.kubernetes.io/region", "fairway.dev/rack"
LADDERS = (
    DataLocalityArgs().ladder,
    (Rung(key=RACK, points=60), Rung(key=ZONE, points=60)),
    (Rung(key="disk", points=100), Rung(key="kubernetes.io/hostname", points=90), Rung(key=REGION, points=0.5)),
)


def random_args(chance: Chance) -> DataLocalityArgs:
    ladder = chance.pick(LADDERS)
    return DataLocalityArgs(
        mode=chance.pick(("prefer", "require")),
        ladder=ladder,
        require_within=chance.pick(("kubernetes.io/hostname", *(rung.key for rung in ladder))),
        load_penalty=chance.pick((0.0, 0.5, 1.0, 1 / 3)),
        load_from=chance.pick(("requests", "requests", "annotation")),
        gateway_on_storage=chance.pick((1.0, 0.0, 0.5)),
    )


def random_node(chance: Chance, name: str) -> Node:
    labels = {RACK: chance.pick(("r1", "r2", "r3"))} if chance.flip(70) else {}
    if chance.flip(30):
        labels["disk"] = chance.pick(("ssd", "hdd", name))
    for data in NAMES:
        if chance.flip(10):
            labels[f"data.fairway.dev/{data}"] = chance.pick(("copy", "gateway", "maybe"))
    if chance.flip(5):
        labels["kubernetes.io/hostname"] = chance.pick(NODES)
    made = node(
        name,
        cpu=chance.pick((0, 1, 2, 4)),
        memory=chance.pick(("1Gi", "3Gi")),
        zone=chance.pick(("x", "y", "z", "")),
        region=chance.pick(("east", "west", "")),
        labels=labels,
        annotations={"data.fairway.dev/load": chance.pick(("0.3", "1", "7", "abc", "-1"))} if chance.flip(50) else {},
        conditions=chance.pick(
            (
                (),
                (NodeCondition(type="Ready", status="True"),),
                (NodeCondition(type="Ready", status="True"), NodeCondition(type="DiskPressure", status="True")),
                (NodeCondition(type="Ready", status="Unknown"),),
            )
        ),
    )
    if chance.flip(10):
        del made.metadata.labels["kubernetes.io/hostname"]
    return made


def random_dataset(chance: Chance) -> Dataset:
    return dataset(
        chance.pick(NAMES),
        namespace=chance.pick(("default", "default", "other")),
        size=chance.pick((None, "1Gi", "3Gi", "-1", "abc", 700)),
        provision=chance.pick(("OK", "OK", "OK", "Pending", "")),
        caching=chance.pick(("", "Pending", "OK", "Disabled")),
        info=chance.pick(("", "soon")),
        old_group=chance.flip(40),
    )


def random_internal(chance: Chance) -> DatasetInternal:
    return dataset_internal(
        chance.pick(NAMES),
        namespace=chance.pick(("default", "default", "other")),
        gateways=[random_placement(chance) for _ in range(chance.pick((0, 0, 1, 3)))],
        copies=[random_placement(chance) for _ in range(chance.pick((0, 1, 2, 4)))],
        old_group=chance.flip(40),
    )


def random_placement(chance: Chance) -> DataPlacement:
    if chance.flip(80):
        return DataPlacement(key="kubernetes.io/hostname", value=chance.pick((*NODES, "gone")))
    return DataPlacement(key=chance.pick((ZONE, "disk", "unheard-of", "")), value=chance.pick(("x", "ssd", "", "n1")))


def random_user(chance: Chance, name: str) -> Pod:
    """A pod that uses data."""
    labels = {f"dataset.{number}.id": chance.pick((*NAMES, "nowhere")) for number in range(3) if chance.flip(50)}
    annotations = {"fairway.dev/data": chance.pick(("a", "b,c", "c,a"))} if chance.flip(30) else {}
    if chance.flip(40):
        annotations["fairway.dev/data-mode"] = chance.pick(("prefer", "require", "whatever"))
    namespace = chance.pick(("default", "default", "default", "other"))
    return pod(name, namespace=namespace, labels=labels, annotations=annotations, cpu=chance.pick((None, "100m")))


class DataWorld:
    """Objects by kind and uid, and how they change."""

    def __init__(self, chance: Chance) -> None:
        self.chance = chance
        self.objects: dict[tuple[str, str], Any] = {}
        self._serial = 0
        for name in NODES[: chance.pick((2, 5, 8))]:
            self._put(random_node(chance, name))
        for _ in range(4):
            self._put(random_dataset(chance))
            self._put(random_internal(chance))
        for _ in range(chance.pick((0, 4, 8))):
            self._put(self._placed())

    def load(self) -> Cluster:
        cluster = Cluster()
        cluster.load(list(self.objects.values()))
        return cluster

    def event(self) -> Event:
        """Something that might happen next; it is applied to the world already."""
        chance = self.chance
        make = chance.pick(("node", "node", "node", "dataset", "internal", "internal", "pod", "pod"))
        if make == "pod":
            placed = [thing for thing in self.objects.values() if isinstance(thing, Pod)]
            thing: Any = chance.pick(placed) if placed and chance.flip(40) else self._placed()
        elif make == "node":
            thing = random_node(chance, chance.pick(NODES))
        else:
            thing = random_dataset(chance) if make == "dataset" else random_internal(chance)
        key = (thing.kind, thing.metadata.uid)
        old = self.objects.get(key)
        if old is not None and (make == "pod" or chance.flip(30)):
            del self.objects[key]
            return Event(Verb.DELETED, old)
        self.objects[key] = thing
        return Event(Verb.ADDED if old is None else Verb.MODIFIED, thing)

    def _put(self, thing: Any) -> None:
        self.objects[thing.kind, thing.metadata.uid] = thing

    def _placed(self) -> Pod:
        self._serial += 1
        chance = self.chance
        where = chance.pick(NODES)
        cpu, memory = chance.pick((None, "250m", "1")), chance.pick((None, "300Mi", "2Gi"))
        return pod(f"placed-{self._serial}", node=where, cpu=cpu, memory=memory)
