"""The copies of a dataset: on which nodes it lies or is served, and which of those told of do not count.

In: what objects say of a dataset (`datasets`), what nodes say (labels `data.fairway.dev/<name>=copy|gateway`), and
which nodes are there and ready (`data_ground`). Out: `DataCopies`, rows of the node table. What is told of a node that
is gone or not ready is stale: it is named, and no more. Read by the plugin DataLocality, and by whoever lists datasets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.datasets.data_ground import DataGround
from fairway.cluster.datasets.known_datasets import KnownDataset
from fairway.model.dataset import NODE_DATA, DataPlacement

if TYPE_CHECKING:
    from fairway.cluster.cluster import Cluster

__all__ = ["DataCopies", "StaleCopy", "find_copies"]


class StaleCopy(NamedTuple):
    """A copy that does not count."""

    where: str  # the node, or the label by which it was told of
    why: str


@dataclass(frozen=True)
class DataCopies:
    """Where a dataset is. Rows are distinct and in order."""

    known: KnownDataset | None
    is_declared: bool  # do nodes themselves say that they have it?
    is_served: bool  # does anybody tell of gateways, whether they count or not?
    gateways: NDArray[np.intp]  # (num_gateways,)
    locations: NDArray[np.intp]  # (num_locations,)
    stale: tuple[StaleCopy, ...]

    @property
    def exists(self) -> bool:
        """Does anybody tell of it?"""
        return self.known is not None or self.is_declared

    @property
    def unready(self) -> str:
        """Why it can not be used yet; "" if it can."""
        return "" if self.known is None or self.known.dataset is None else self.known.dataset.unready

    @property
    def size(self) -> int | None:
        """How many bytes it is, if somebody says."""
        return None if self.known is None or self.known.dataset is None else self.known.dataset.size

    @cached_property
    def serving(self) -> NDArray[np.intp]:  # (num_copies,)
        """The rows that may serve it: gateways if there are any, else those where it lies."""
        return self.gateways if len(self.gateways) else self.locations

    @property
    def is_local(self) -> bool:
        """Can it be read only where it lies? So it is where nobody tells of a gateway, be it one that is gone."""
        return not self.is_served and len(self.locations) > 0


def find_copies(cluster: Cluster, ground: DataGround, namespace: str, name: str) -> DataCopies:
    """Everything known about a dataset now; the ground has been refreshed."""
    known = cluster.datasets.find(namespace, name)
    served, held = ([], []) if known is None else (known.gateways, known.data_locations)
    stale: dict[StaleCopy, None] = {}
    gateways, locations = (_placed(cluster, ground, one, stale) for one in (served, held))
    is_declared, is_served = False, bool(served)
    if (key := NODE_DATA + name) in cluster.nodes.labels:
        for value, mask in (("gateway", gateways), ("copy", locations)):
            for row in ground.rows_with(key, value).tolist():
                is_declared = True
                is_served |= value == "gateway"
                mask[row] = ground.ready[row]
                if not ground.ready[row]:
                    stale[StaleCopy(cluster.nodes.names[row], "not ready")] = None
    rows = np.flatnonzero(gateways), np.flatnonzero(locations)
    return DataCopies(known, is_declared, is_served, *rows, tuple(stale))


def _placed(
    cluster: Cluster, ground: DataGround, placements: Sequence[DataPlacement], stale: dict[StaleCopy, None]
) -> NDArray[np.bool_]:  # (num_rows,)
    """The rows that placements mean. There may be thousands of them: rows are looked up once for each label key."""
    mask = np.zeros(len(ground.ready), bool)
    by_key: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for placement in placements:
        by_key[placement.key][placement.value] = None
    for key, values in by_key.items():
        numbers = ground.numbers_of(key, values)
        there = ground.mask_of(key, np.fromiter(numbers.values(), np.int64)) & ground.ready
        mask |= there
        ready = set(ground.ids(key)[there].tolist())
        for value, number in numbers.items():
            if number < 0:
                stale[StaleCopy(f"{key}={value}", "no such node")] = None
            elif number not in ready:
                stale[StaleCopy(f"{key}={value}", "not ready")] = None
    return mask
