"""Copies of datasets that come, move and are lost while a simulation runs.

In: what should happen to the copies of which datasets (`apply`). Out: changed `DatasetInternal` objects, of whichever
group they are, and an event for each. A copy is a node that a dataset's placements name, as one that holds the data or
one that serves it; a new one serves if others do. Which nodes and copies are meant is decided when it happens; where
there is a choice, it is drawn from the seed, the change and the dataset, so one change more leaves the others alone.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple

import msgspec
import numpy as np

from fairway.model import Dataset, DatasetInternal, Node, ObjectMeta, kind_title
from fairway.model.dataset import DATA_GROUPS, DataPlacement
from fairway.record import Recorder
from fairway.sim.api_server import ApiServer

__all__ = ["DataAction", "DataChange", "DataPlacements", "placement_of"]

DataAction = Literal["dataCopied", "dataMoved", "dataLost"]
HOSTNAME: Final = "kubernetes.io/hostname"
SHELVES: Final = tuple((f"{group}/v1alpha1", kind_title(f"{group}/v1alpha1", "Dataset")) for group in DATA_GROUPS)


def placement_of(node: Node) -> DataPlacement:
    """How a dataset's placements name a node: by its host name."""
    return DataPlacement(key=HOSTNAME, value=node.metadata.labels.get(HOSTNAME, node.metadata.name))


@dataclass(frozen=True, slots=True)
class DataChange:
    """Something happens to the copies of datasets."""

    at: float
    action: DataAction
    dataset: str  # NAMESPACE/NAME, or a pattern
    node: str = "*"  # where copies go, or are lost: a name, or a pattern
    labels: Mapping[str, str] = field(default_factory=dict)  # of such nodes
    origin: str = "*"  # moved: only copies on these nodes
    copies: int = 1  # copied: how many more
    number: int = 0  # which of the scenario's changes it is

    def concerns(self, node: Node) -> bool:
        """May copies go there, or are they lost there?"""
        meta = node.metadata
        return fnmatchcase(meta.name, self.node) and self.labels.items() <= meta.labels.items()


class DataPlacements:
    """Does to copies what the scenario says."""

    def __init__(self, api: ApiServer, recorder: Recorder, seed: int) -> None:
        self._api = api
        self._recorder = recorder
        self._seed = seed

    def apply(self, change: DataChange) -> None:
        """One change now, to each dataset that it names."""
        nodes: list[Node] = self._api.objects("Node")
        for internal in self._internals(change.dataset):
            key = _key(internal)
            seed = (zlib.crc32(change.action.encode()), self._seed, change.number, zlib.crc32(key.encode()))
            steps = _steps(change, internal, nodes, np.random.default_rng(seed))
            if steps:
                self._put(_changed(internal, steps))
            words = ", ".join(map(_words, steps)) or "nothing to change"
            self._recorder.event(self._api.timeline.now(), "DatasetInternal", key, change.action, words)

    def _internals(self, pattern: str) -> list[DatasetInternal]:
        """Where the datasets of that name are; a dataset that nobody has placed yet is nowhere."""
        found: list[DatasetInternal] = []
        for api_version, shelf in SHELVES:
            placed = {_key(one): one for one in self._api.objects(kind_title(api_version, "DatasetInternal"))}
            for dataset in self._api.objects(shelf):
                if (key := _key(dataset)) not in placed:
                    meta = ObjectMeta(name=dataset.metadata.name, namespace=dataset.metadata.namespace)
                    placed[key] = DatasetInternal(api_version=api_version, metadata=meta)  # type: ignore[arg-type]
            found += [one for key, one in placed.items() if fnmatchcase(key, pattern)]
        return found

    def _put(self, internal: DatasetInternal) -> None:
        (self._api.update if internal.metadata.uid else self._api.create)(internal)


class _Step(NamedTuple):
    """One copy that goes, comes, or goes from one node to another."""

    gone: DataPlacement | None
    come: DataPlacement | None


def _steps(
    change: DataChange, internal: DatasetInternal, nodes: Sequence[Node], chance: np.random.Generator
) -> list[_Step]:
    """What the change comes to for one dataset."""
    placements = internal.status.caching.placements
    copies = {
        placement: [node for node in nodes if node.metadata.labels.get(placement.key) == placement.value]
        for placement in (*placements.gateways, *placements.data_locations)
    }
    if change.action == "dataLost":
        return [
            _Step(placement, None)
            for placement, holders in copies.items()
            if any(map(change.concerns, holders)) or (not holders and fnmatchcase(placement.value, change.node))
        ]
    moved: list[DataPlacement | None] = [None] * change.copies
    if change.action == "dataMoved":
        moved = [
            placement
            for placement, holders in copies.items()
            if any(
                fnmatchcase(name, change.origin)
                for name in [node.metadata.name for node in holders] or [placement.value]
            )
        ]
    taken = {node.metadata.name for holders in copies.values() for node in holders}
    free = [node for node in nodes if change.concerns(node) and node.metadata.name not in taken]
    rows = chance.permutation(len(free))[: len(moved)].tolist()  # a copy that has nowhere to go stays
    return [_Step(gone, placement_of(free[row])) for gone, row in zip(moved, rows, strict=False)]


def _changed(internal: DatasetInternal, steps: Sequence[_Step]) -> DatasetInternal:
    caching = internal.status.caching
    gateways, locations = caching.placements.gateways, caching.placements.data_locations
    serves = bool(gateways)
    for gone, come in steps:
        if gone is None:
            assert come is not None
            gateways, locations = (*gateways, come) if serves else gateways, (*locations, come)
        else:
            gateways, locations = (_replaced(some, gone, come) for some in (gateways, locations))
    placements = msgspec.structs.replace(caching.placements, gateways=gateways, data_locations=locations)
    status = msgspec.structs.replace(internal.status, caching=msgspec.structs.replace(caching, placements=placements))
    return msgspec.structs.replace(internal, status=status)


def _replaced(
    some: tuple[DataPlacement, ...], gone: DataPlacement, come: DataPlacement | None
) -> tuple[DataPlacement, ...]:
    instead = () if come is None else (come,)
    return tuple(other for one in some for other in (instead if one == gone else (one,)))


def _words(step: _Step) -> str:
    if step.gone is None:
        return f"to {step.come.value}" if step.come is not None else ""
    return f"from {step.gone.value}" + (f" to {step.come.value}" if step.come is not None else "")


def _key(thing: Dataset | DatasetInternal) -> str:
    return f"{thing.metadata.namespace}/{thing.metadata.name}"
