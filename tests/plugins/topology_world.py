"""A small world for the tests of plugins that count pods over topologies.

Builders for nodes and pods in a few words, and `World`: a cluster together with the plain objects it was told about, so
that a naive loop can be compared with what the plugins read off the cluster's counters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from fairway.cluster import Cluster, Event, Nodes, PodClass, Verb
from fairway.model import Namespace, Node, Pod, ReplicaSet, ReplicationController, Service, StatefulSet
from fairway.model.decode import decode_object
from fairway.plugin import SKIP, Plugin, Refusal

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
Json = dict[str, Any]
T = TypeVar("T")


def node(name: str, labels: Mapping[str, str] | None = None, taint: str = "") -> Node:
    """A node; `taint` is a key with effect NoSchedule."""
    spec = {"taints": [{"key": taint, "effect": "NoSchedule"}]} if taint else {}
    return _decoded(Node, {"kind": "Node", "metadata": {"name": name, "labels": dict(labels or {})}, "spec": spec})


def zoned(name: str, zone: str | None, taint: str = "") -> Node:
    """A node with its host name and, unless None, a zone."""
    return node(name, {HOST: name} if zone is None else {HOST: name, ZONE: zone}, taint)


def pod(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    on: str = "",
    namespace: str = "default",
    spread: Sequence[Json] = (),
    affinity: Json | None = None,
    node_selector: Mapping[str, str] | None = None,
    tolerates: str = "",
    owner: tuple[str, str, str] | None = None,
    terminating: bool = False,
) -> Pod:
    """A pod, bound if `on` names a node; `owner` is (apiVersion, kind, name) of its controller."""
    meta: Json = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": dict(labels or {})}
    if owner is not None:
        meta["ownerReferences"] = [
            {"apiVersion": owner[0], "kind": owner[1], "name": owner[2], "uid": "o", "controller": True}
        ]
    if terminating:
        meta["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    spec: Json = {"containers": [{"name": "c"}], "topologySpreadConstraints": list(spread)}
    if on:
        spec["nodeName"] = on
    if affinity is not None:
        spec["affinity"] = affinity
    if node_selector is not None:
        spec["nodeSelector"] = dict(node_selector)
    if tolerates:
        spec["tolerations"] = [{"key": tolerates, "operator": "Exists"}]
    return _decoded(Pod, {"kind": "Pod", "metadata": meta, "spec": spec})


def named(kind: str, name: str, *, namespace: str = "default", spec: Json | None = None) -> Any:
    """A service or controller."""
    version = "v1" if kind in ("Service", "ReplicationController") else "apps/v1"
    body = {"kind": kind, "apiVersion": version, "metadata": {"name": name, "namespace": namespace}, "spec": spec or {}}
    return decode_object(body)


def namespace(name: str, labels: Mapping[str, str] | None = None) -> Namespace:
    return _decoded(Namespace, {"kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}})


def _decoded(kind: type[T], body: Json) -> T:
    found = decode_object({"apiVersion": "v1", **body})
    assert isinstance(found, kind)
    return found


class World:
    """A cluster, and what it was told, as plain objects."""

    def __init__(self, objects: Iterable[Any] = ()) -> None:
        self.cluster = Cluster()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}  # bound ones, by uid
        self.namespaces: dict[str, Namespace] = {}
        self.workloads: dict[tuple[str, str], Service | ReplicationController | ReplicaSet | StatefulSet] = {}
        self._kept: dict[int, PodClass] = {}
        for item in objects:
            self.put(item)

    def classify(self, pod: Pod) -> PodClass:
        """The class of an incoming pod, kept alive as a scheduler would, with all that plugins keep in it."""
        found = self.cluster.classify(pod)
        self._kept[id(found)] = found
        return found

    def put(self, item: Any) -> None:
        """Add or replace an object."""
        match item:
            case Node():
                known = self.nodes.get(item.name) is not None
                self.nodes[item.name] = item
            case Pod():
                known = item.metadata.uid in self.pods
                self.pods[item.metadata.uid] = item
            case Namespace():
                known = item.metadata.name in self.namespaces
                self.namespaces[item.metadata.name] = item
            case _:
                key = (item.kind, item.metadata.name)
                known = key in self.workloads
                self.workloads[key] = item
        self.cluster.apply(Event(Verb.MODIFIED if known else Verb.ADDED, item))

    def drop(self, item: Any) -> None:
        """Take an object away; a node's pods stay bound to it."""
        match item:
            case Node():
                del self.nodes[item.name]
            case Pod():
                del self.pods[item.metadata.uid]
            case Namespace():
                del self.namespaces[item.metadata.name]
            case _:
                del self.workloads[item.kind, item.metadata.name]
        self.cluster.apply(Event(Verb.DELETED, item))

    def on(self, name: str) -> list[Pod]:
        """The pods of a node."""
        return [each for each in self.pods.values() if each.spec.node_name == name]

    def rows(self, names: Iterable[str]) -> Nodes:
        """A view of some nodes."""
        return Nodes(self.cluster, np.array([self.cluster.nodes.row_of[name] for name in names], np.intp))


NAMES = [f"n{number}" for number in range(6)]
LABELS = st.sampled_from([{"app": "a"}, {"app": "b"}, {"app": "a", "tier": "1"}, {"app": "a", "tier": "2"}, {}])
SELECTORS = st.sampled_from(
    [
        {"matchLabels": {"app": "a"}},
        {"matchLabels": {"app": "a"}},
        {"matchLabels": {"app": "b"}},
        {"matchLabels": {"tier": "1"}},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]},
        {},
    ]
)


@st.composite
def random_nodes(draw: st.DrawFn, names: Sequence[str] = NAMES) -> Node:
    """A node that mostly has all the labels, in few domains."""
    name = draw(st.sampled_from(names))
    labels = {
        HOST: draw(st.sampled_from([name, name, name, None])),
        ZONE: draw(st.sampled_from(["a", "a", "b", "b", "c", "", None])),
        "rack": draw(st.sampled_from(["x", "x", "y", "y", None])),
    }
    present = {key: value for key, value in labels.items() if value is not None}
    return node(name, present, draw(st.sampled_from(["", "", "gpu"])))


Verdicts = dict[str, tuple[str, str] | None]
"""Per node: None if the pod fits, else the reason and the code."""


def verdicts(world: World, plugin: Plugin, incoming: Pod, state: Any = None) -> Verdicts | None:
    """What the plugin's filter and explain say about every node, or None if it skips; asked both ways at once."""
    pod_class = world.classify(incoming)
    if state is None:
        state = plugin.pre_filter(pod_class, world.cluster.view())
    if state is SKIP:
        return None
    names = list(world.nodes)
    some = world.rows(names)
    found = plugin.filter(pod_class, world.cluster.view(), state)[some.rows].tolist()
    assert plugin.filter(pod_class, some, state).tolist() == found
    result: Verdicts = dict.fromkeys(names)
    refused = [name for name, fits in zip(names, found, strict=True) if not fits]
    if refused:
        words = plugin.explain(pod_class, world.rows(refused), state)
        each = [words] * len(refused) if isinstance(words, Refusal) else words
        result.update({name: (w.reasons[0], w.code.value) for name, w in zip(refused, each, strict=True)})
    return result


def scores(world: World, plugin: Plugin, incoming: Pod, feasible: Sequence[str]) -> dict[str, int] | None:
    """The plugin's normalised scores of the feasible nodes, or None if it skips."""
    pod_class = world.classify(incoming)
    nodes = world.rows(feasible)
    state = plugin.pre_score(pod_class, nodes)
    if state is SKIP:
        return None
    raw = plugin.score(pod_class, nodes, state)
    return dict(zip(feasible, plugin.normalize_scores(pod_class, nodes, state, raw).tolist(), strict=True))
