"""The datasets of a cluster at one time: where each is, how busy that is, who uses it, who waits with it.

In: the objects of a cluster: nodes, pods on nodes and waiting, datasets. Out: a `DatasetStanding` for each dataset that
an object or a node tells of or a pod names, and the same as rows and documents. Called by `status --data`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fairway.cluster import Cluster
from fairway.cluster.datasets.data_copies import DataCopies, StaleCopy, find_copies
from fairway.cluster.datasets.data_ground import DataGround
from fairway.model import ApiObject, Node, Pod
from fairway.model.data_need import data_need
from fairway.model.dataset import NODE_DATA
from fairway.tables import Column
from fairway.words import amount_text

__all__ = ["COLUMNS", "DatasetStanding", "data_document", "data_rows", "data_standings", "data_summary"]

COLUMNS: Final = (
    Column("dataset", "DATASET"),
    Column("state", "STATE"),
    Column("size", "SIZE", right=True),
    Column("copies", "COPIES", right=True),
    Column("gateways", "GATEWAYS", right=True),
    Column("load", "LOAD", right=True),
    Column("using", "PODS", right=True),
    Column("waiting", "WAITING", right=True),
    Column("stale", "STALE", right=True),
    Column("where", "NODES", wide=True),
)


@dataclass(slots=True)
class DatasetStanding:
    """One dataset."""

    namespace: str  # "": nodes alone tell of it, and no pod uses it
    name: str
    state: str  # "ready", "missing", or why it is not ready
    size: int | None
    group: str  # that is believed; "": no object tells of it
    overruled: tuple[str, ...]
    gateways: dict[str, float]  # nodes, with their load
    copies: dict[str, float]  # likewise
    stale: tuple[StaleCopy, ...]
    using: list[str] = field(default_factory=list)  # pods on nodes
    waiting: list[str] = field(default_factory=list)  # pods without

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def loads(self) -> list[float]:
        """Of the nodes that may serve it."""
        return list((self.gateways or self.copies).values())


def data_standings(objects: Iterable[ApiObject]) -> list[DatasetStanding]:
    """Every dataset, by namespace and name."""
    things = list(objects)
    cluster = Cluster()
    cluster.load([thing for thing in things if not (isinstance(thing, Pod) and thing.is_finished)])
    ground = DataGround(cluster)
    ground.refresh()
    users = [(pod, data_need(pod.metadata.labels, pod.metadata.annotations).names) for pod in _pods(things)]
    keys = {*cluster.datasets.keys(), *((pod.metadata.namespace, name) for pod, names in users for name in names)}
    named = {name for _, name in keys}
    keys |= {("", name) for name in _declared(things) if name not in named}
    found = {key: _standing(cluster, ground, *key) for key in sorted(keys)}
    for pod, names in users:
        for name in names:
            standing = found[pod.metadata.namespace, name]
            (standing.using if pod.spec.node_name else standing.waiting).append(pod.key)
    return list(found.values())


def _pods(things: Sequence[ApiObject]) -> list[Pod]:
    return [thing for thing in things if isinstance(thing, Pod) and not thing.is_finished]


def _declared(things: Sequence[ApiObject]) -> set[str]:
    """What nodes say they have."""
    return {
        key.removeprefix(NODE_DATA)
        for thing in things
        if isinstance(thing, Node)
        for key, value in thing.metadata.labels.items()
        if key.startswith(NODE_DATA) and value in ("copy", "gateway")
    }


def _standing(cluster: Cluster, ground: DataGround, namespace: str, name: str) -> DatasetStanding:
    copies: DataCopies = find_copies(cluster, ground, namespace, name)
    names = cluster.nodes.names
    gateways, locations = (
        {names[row]: load for row, load in zip(rows.tolist(), ground.load(rows).tolist(), strict=True)}
        for rows in (copies.gateways, copies.locations)
    )
    known = copies.known
    return DatasetStanding(
        namespace,
        name,
        "missing" if not copies.exists else copies.unready or "ready",
        copies.size,
        "" if known is None else known.group,
        () if known is None else known.overruled,
        gateways,
        locations,
        copies.stale,
    )


def data_rows(standings: Sequence[DatasetStanding]) -> list[dict[str, Any]]:
    """For people: one line each."""
    return [
        {
            "dataset": one.key,
            "state": one.state,
            "size": None if one.size is None else amount_text("memory", one.size),
            "copies": len(one.copies),
            "gateways": len(one.gateways),
            "load": _load_text(one.loads),
            "using": len(one.using),
            "waiting": len(one.waiting),
            "stale": len(one.stale),
            "where": " ".join([*one.gateways, *(node for node in one.copies if node not in one.gateways)]),
        }
        for one in standings
    ]


def data_document(standings: Sequence[DatasetStanding]) -> list[dict[str, Any]]:
    """For programs: everything."""
    return [
        {
            "namespace": one.namespace or None,
            "name": one.name,
            "state": one.state,
            "sizeBytes": one.size,
            "group": one.group or None,
            "overruled": list(one.overruled),
            "gateways": [{"node": node, "load": round(load, 4)} for node, load in one.gateways.items()],
            "copies": [{"node": node, "load": round(load, 4)} for node, load in one.copies.items()],
            "stale": [{"where": stale.where, "why": stale.why} for stale in one.stale],
            "podsUsing": one.using,
            "podsWaiting": one.waiting,
        }
        for one in standings
    ]


def data_summary(standings: Sequence[DatasetStanding], when: str) -> str:
    """All of them in one line."""
    unready = sum(one.state != "ready" for one in standings)
    stale = sum(len(one.stale) for one in standings)
    waiting = len({pod for one in standings for pod in one.waiting})
    number = len(standings)
    parts = [when, f"{number} dataset{'' if number == 1 else 's'}"]
    parts += [f"{unready} not ready"] if unready else []
    parts += [f"{stale} stale copies"] if stale else []
    parts += [f"{waiting} pods waiting that use them"] if waiting else []
    return " · ".join(parts)


def _load_text(loads: Sequence[float]) -> str | None:
    if not loads:
        return None
    low, high = f"{min(loads):.0%}", f"{max(loads):.0%}"
    return low if low == high else f"{low} to {high}"
