"""The data of one class of pods on one state of the cluster: who serves it, who is near enough, what nodes are worth.

In: what the class wants, the plugin's arguments, datasets and nodes. Out: `DataUse`, which DataLocality keeps for the
class as long as neither the nodes nor its datasets change; what it is asked for every time is the load of the copies.
A node's score is the same as that of its group (`data_distance`) unless it has a copy itself: only those rows are
looked at one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.data_copies import DataCopies
from fairway.cluster.data_ground import DataGround
from fairway.plugins.data_distance import Reach, Rungs
from fairway.plugins.data_locality_args import DataLocalityArgs

if TYPE_CHECKING:
    from fairway.cluster import Rows

__all__ = ["DataUse", "rounded"]

HALF: Final = 0.5 + 1e-9
"""Halves are rounded up, and what arithmetic makes of a half is one."""


class DataUse:
    """What some datasets mean for every row."""

    def __init__(
        self,
        args: DataLocalityArgs,
        ground: DataGround,
        rungs: Rungs,
        copies: dict[str, DataCopies],
        requires: bool,
    ) -> None:
        self.args = args
        self.ground = ground
        self.rungs = rungs
        self.copies = copies  # by name, in the order in which the pod names them
        self.requires = requires
        self.strict = tuple(name for name, one in copies.items() if requires or one.is_local)
        self.near = {name: self._near(copies[name]) for name in self.strict}  # each (num_rows,)
        sizes = [one.size for one in copies.values()]
        self.weights = [float(size or 1) for size in sizes] if None not in sizes else [1.0] * len(sizes)
        self._reaches = [Reach(rungs, one.serving) for one in copies.values()]
        self._rows = np.concatenate([reach.rows for reach in self._reaches])  # (num_copies,): of all datasets
        ends = np.cumsum([len(reach.rows) for reach in self._reaches]).tolist()
        self._slices = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
        storage = [self._storage(one) for one in copies.values()]
        self._special = np.unique(np.concatenate([self._rows, *storage]))  # (num_special,): rows unlike their group
        self._special_groups = rungs.group_of.take(self._special)
        self._copy_places = np.searchsorted(self._special, self._rows)  # (num_copies,)
        self._storage_places = [np.searchsorted(self._special, rows) for rows in storage]
        self._total = sum(self.weights)

    def _near(self, copies: DataCopies) -> NDArray[np.bool_]:
        mask = np.zeros(len(self.ground.ready), bool)
        for key in self.args.near_keys:
            ids = self.ground.ids(key)
            own = ids.take(copies.serving)
            mask |= np.isin(ids, own[own >= 0])
        return mask

    def _storage(self, copies: DataCopies) -> NDArray[np.intp]:
        """Rows that hold the data while gateways serve it, if that makes a difference."""
        matters = self.args.gateway_on_storage != 1.0 and len(copies.gateways)
        return copies.locations if matters else copies.locations[:0]

    def passes(self) -> NDArray[np.bool_]:  # (num_rows,)
        """The rows that are near enough to all data that has to be near."""
        mask = np.ones(len(self.ground.ready), bool)
        for near in self.near.values():
            mask &= near
        return mask

    def load(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """How busy these rows are now, as the arguments have it."""
        return self.ground.load(rows) if self.args.load_from == "requests" else self.ground.told_load(rows)

    def scores(self, rows: Rows) -> NDArray[np.int64]:
        """Of these rows, 0 to 100."""
        groups = np.zeros(self.rungs.num_groups)
        special = np.zeros(len(self._special))
        for points, own, weight in self._points():
            groups += points * weight
            special += own * weight
        scores = rounded(groups / self._total).take(self.rungs.group_of)
        scores[self._special] = rounded(special / self._total)
        return scores[rows] if isinstance(rows, slice) else scores.take(rows)

    def points_on(self, row: int) -> list[float]:
        """Of each dataset, what it gives to that row."""
        place = int(np.searchsorted(self._special, row))
        is_special = place < len(self._special) and self._special.item(place) == row
        group = self.rungs.group_of.item(row)
        return [(own.item(place) if is_special else points.item(group)) for points, own, _ in self._points()]

    def _points(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64], float]]:
        """Of each dataset: the points of each group (num_groups,) and of the rows apart (num_special,), its weight."""
        if self.args.load_penalty and len(self._rows):
            worth = 1.0 - self.args.load_penalty * self.load(self._rows)
        else:
            worth = np.ones(len(self._rows))
        found = []
        for reach, part, storage, weight in zip(
            self._reaches, self._slices, self._storage_places, self.weights, strict=True
        ):
            if len(reach.rows):
                points = reach.of_groups(worth[part])
                own = points.take(self._special_groups)
                places = self._copy_places[part]
                own[places] = np.maximum(own.take(places), reach.alone * worth[part])
            else:
                points, own = np.zeros(self.rungs.num_groups), np.zeros(len(self._special))
            if len(storage):
                own[storage] *= self.args.gateway_on_storage
            found.append((points, own, weight))
        return found


def rounded(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers, halves up."""
    return np.floor(points + HALF).astype(np.int64)
