"""Datasets by namespace and name, of two API groups, and which group is believed.

In: `Dataset` and `DatasetInternal` objects from `Cluster.apply`. Out: `find`, what is known of a dataset, with a
version for whoever works something out from it; and the `Change`s for the queue. Where both groups tell of a dataset,
the newer one is believed about each kind, and `KnownDataset.overruled` names the other. Read by the plugin DataLocality
and by whoever explains it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fairway.cluster.aspects import Aspect, Versions
from fairway.cluster.events import Change, Resource
from fairway.model.dataset import DATA_GROUPS, DataPlacement, Dataset, DatasetInternal

__all__ = ["DATASET_KINDS", "Datasets", "KnownDataset"]

DATASET_KINDS: Final = (Dataset, DatasetInternal)
"""The kinds that `Datasets.apply` takes."""

Key = tuple[str, str]  # namespace and name


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """What the objects say of one dataset."""

    dataset: Dataset | None
    internal: DatasetInternal | None
    version: int  # another one whenever anything of this changes
    overruled: tuple[str, ...] = ()  # "Dataset com.ie.ibm.hpsys": older groups that tell of it too

    @property
    def gateways(self) -> tuple[DataPlacement, ...]:
        """Where it is served."""
        return () if self.internal is None else self.internal.status.caching.placements.gateways

    @property
    def data_locations(self) -> tuple[DataPlacement, ...]:
        """Where it lies."""
        return () if self.internal is None else self.internal.status.caching.placements.data_locations

    @property
    def group(self) -> str:
        """The group that is believed."""
        thing = self.dataset or self.internal
        return "" if thing is None else _group(thing)


class Datasets:
    """Everything that is known of data."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self._objects: dict[Key, dict[tuple[str, str], Dataset | DatasetInternal]] = {}  # by (kind, group)
        self._known: dict[Key, KnownDataset] = {}
        self._num_changes = 0

    def find(self, namespace: str, name: str) -> KnownDataset | None:
        """What is known of a dataset; None if no object tells of it."""
        return self._known.get((namespace, name))

    def keys(self) -> Iterable[Key]:
        """Namespace and name of each dataset that objects tell of."""
        return self._known.keys()

    def apply(self, item: Dataset | DatasetInternal, gone: bool) -> list[Change]:
        """Take in one of `DATASET_KINDS`; returns what it may mean to waiting pods."""
        key = (item.metadata.namespace, item.metadata.name)
        objects = self._objects.setdefault(key, {})
        before = objects.pop((item.kind, _group(item)), None)
        if not gone:
            objects[item.kind, _group(item)] = item
        elif not objects:
            del self._objects[key]
        resource = Resource.DATASET if isinstance(item, Dataset) else Resource.DATASET_INTERNAL
        if before is not None and not gone and _says_the_same(before, item):
            return []
        self._choose(key)
        return [Change.of(resource, before, item, gone)]

    def _choose(self, key: Key) -> None:
        """Decide again whom to believe about a dataset."""
        objects = self._objects.get(key)
        self._num_changes += 1
        self._versions.bump(Aspect.DATA)
        if objects is None:
            self._known.pop(key, None)
            return
        chosen: dict[str, Dataset | DatasetInternal] = {}
        overruled = []
        for group in DATA_GROUPS:
            for kind in ("Dataset", "DatasetInternal"):
                if (found := objects.get((kind, group))) is None:
                    continue
                if kind in chosen:
                    overruled.append(f"{kind} {group}")
                else:
                    chosen[kind] = found
        dataset, internal = chosen.get("Dataset"), chosen.get("DatasetInternal")
        assert dataset is None or isinstance(dataset, Dataset)
        assert internal is None or isinstance(internal, DatasetInternal)
        self._known[key] = KnownDataset(dataset, internal, self._num_changes, tuple(overruled))


def _group(item: Dataset | DatasetInternal) -> str:
    return item.api_version.partition("/")[0]


def _says_the_same(old: Dataset | DatasetInternal, new: Dataset | DatasetInternal) -> bool:
    """Is nothing new that anybody here reads?"""
    if isinstance(old, Dataset) and isinstance(new, Dataset):
        return old.spec == new.spec and old.status == new.status and old.size == new.size
    return old.status == new.status
