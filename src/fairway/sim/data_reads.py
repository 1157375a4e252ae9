"""From how far pods read their datasets, and how much longer they run for it.

In: what the API server tells of nodes and datasets; pods that begin to run. Out: for each dataset of a pod the nearest
copy and its distance (`DataRead`, told to the recorder), and the factor by which the pod's run is stretched: the mean
of its datasets' factors, weighted by size where all sizes are known. Copies count as they do for the plugin
DataLocality: gateways if there are any, else data locations, on nodes that are there and ready. This is the truth of
the simulation, whatever the scheduler made of it or whether it looked at all. The kubelets ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from fairway.cluster import Event, Verb
from fairway.cluster.aspects import Versions
from fairway.cluster.datasets.known_datasets import DATASET_KINDS, Datasets
from fairway.model import Node, Pod
from fairway.model.data_need import data_need
from fairway.model.dataset import GATEWAY, NODE_DATA
from fairway.record import Recorder
from fairway.record.vocabulary import DataRead
from fairway.sim.api_server import ApiServer

__all__ = ["LADDER", "DataReads", "Distance"]


class Distance(NamedTuple):
    """A rung of the ladder: nodes whose values of the label are equal are so far apart; "": farther than all rungs."""

    key: str
    factor: float


KEYS: Final = (
    "kubernetes.io/hostname",
    "fairway.dev/rack",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "",
)
LADDER: Final = tuple(Distance(key, 1.0) for key in KEYS)
"""Distances where nobody says what they cost: nothing."""


class DataReads:
    """Knows where data is."""

    def __init__(self, api: ApiServer, recorder: Recorder, ladder: Sequence[Distance]) -> None:
        """`ladder`: from near to far; the last one is beyond all others."""
        self._api = api
        self._recorder = recorder
        self._ladder = tuple(ladder)
        self._datasets = Datasets(Versions())
        self._nodes: dict[str, Node] = {}
        self._by_label: dict[str, dict[str, dict[str, None]]] = {}  # key -> value -> names of nodes, once asked for
        api.watch(self._saw)

    def begin(self, pod: Pod) -> float:
        """A pod begins to run; returns how many times as long it will run as if all its data were at hand."""
        names = data_need(pod.metadata.labels, pod.metadata.annotations).names
        node = self._nodes.get(pod.spec.node_name)
        if not names or node is None:
            return 1.0
        namespace = pod.metadata.namespace
        sizes = [self._size(namespace, name) for name in names]
        known = [size for size in sizes if size is not None]
        weights = [size / sum(known) for size in known] if len(known) == len(names) else [1 / len(names)] * len(names)
        nearest = [self._nearest(namespace, name, node) for name in names]
        stretch = sum(weight * distance.factor for weight, (_, distance) in zip(weights, nearest, strict=True))
        reads = [
            DataRead(
                f"{namespace}/{name}",
                source,
                distance.key,
                size,
                distance.factor,
                weight * (distance.factor - 1.0) / stretch,
            )
            for name, size, weight, (source, distance) in zip(names, sizes, weights, nearest, strict=True)
        ]
        self._recorder.data_read(self._api.timeline.now(), pod.metadata.uid, reads)
        return stretch

    # -- where it is ---------------------------------------------------------------------------------------------------

    def _nearest(self, namespace: str, name: str, node: Node) -> tuple[str, Distance]:
        """The copy that is nearest, of equals the first by name, and how far that is."""
        sources = sorted(self._sources(namespace, name))
        labels = node.metadata.labels
        for distance in self._ladder[:-1]:
            value = labels.get(distance.key)
            for source in sources if value is not None else ():
                if self._nodes[source].metadata.labels.get(distance.key) == value:
                    return source, distance
        return sources[0] if sources else "", self._ladder[-1]

    def _sources(self, namespace: str, name: str) -> set[str]:
        """The nodes that may serve a dataset."""
        known = self._datasets.find(namespace, name)
        declared = self._labelled(NODE_DATA + name)
        served, held = (known.gateways, known.data_locations) if known is not None else ((), ())
        for value, placements in ((GATEWAY, served), ("copy", held)):
            nodes = {node for one in placements for node in self._labelled(one.key).get(one.value, ())}
            nodes.update(declared.get(value, ()))
            if usable := {node for node in nodes if _is_ready(self._nodes[node])}:
                return usable
        return set()

    def _labelled(self, key: str) -> dict[str, dict[str, None]]:
        """Nodes with that label, by its value."""
        if key not in self._by_label:
            self._by_label[key] = {}
            for name, node in self._nodes.items():
                if (value := node.metadata.labels.get(key)) is not None:
                    self._by_label[key].setdefault(value, {})[name] = None
        return self._by_label[key]

    def _size(self, namespace: str, name: str) -> int | None:
        known = self._datasets.find(namespace, name)
        return None if known is None or known.dataset is None else known.dataset.size

    # -- what happens --------------------------------------------------------------------------------------------------

    def _saw(self, event: Event) -> None:
        item = event.object
        if isinstance(item, Node):
            before = self._nodes.pop(item.metadata.name, None)
            if event.verb is not Verb.DELETED:
                self._nodes[item.metadata.name] = item
            if before is None or event.verb is Verb.DELETED or before.metadata.labels != item.metadata.labels:
                self._by_label.clear()
        elif isinstance(item, DATASET_KINDS):
            self._datasets.apply(item, event.verb is Verb.DELETED)


def _is_ready(node: Node) -> bool:
    return next((one.status == "True" for one in node.status.conditions if one.type == "Ready"), True)
