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

from fairway.cluster.datasets.data_copies import DataCopies
from fairway.cluster.datasets.data_ground import DataGround
from fairway.plugins.data_distance import Reach, Rungs
from fairway.plugins.data_locality_args import DataLocalityArgs

if TYPE_CHECKING:
    from fairway.cluster import Rows

__all__ = ["DataUse"]

HALF: Final = np.array(0.5 + 1e-9)
"""Halves are rounded up, and what arithmetic makes of a half is one."""

ONE: Final = np.array(1.0)  # (): see fairway.cycle.answers on why these are arrays


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
        self.copies = copies  # by name, in the order in which the pod names them
        self.strict = tuple(name for name, one in copies.items() if requires or one.is_local)
        self.near = {name: self._near(copies[name]) for name in self.strict}  # each (num_rows,)
        self.shares = _shares([one.size for one in copies.values()])  # (num_datasets,)
        self._penalty = np.array(args.load_penalty)
        self._reach = Reach(rungs, [one.serving for one in copies.values()])
        storage = [self._storage(one) for one in copies.values()]
        special = np.unique(np.concatenate([self._reach.rows, *storage]))
        self._special = special  # (num_special,): rows that may differ from their group
        self._group_of = rungs.group_of
        self._special_groups = rungs.group_of.take(special)
        self._places = np.searchsorted(special, self._reach.rows)  # (num_copies,): of the copies among those
        self._factors: NDArray[np.float64] | None = None  # (num_datasets, num_special)
        if any(map(len, storage)):
            self._factors = np.ones((len(storage), len(special)))
            for number, rows in enumerate(storage):
                self._factors[number, np.searchsorted(special, rows)] = args.gateway_on_storage

    def _near(self, copies: DataCopies) -> NDArray[np.bool_]:
        mask = np.zeros(len(self.ground.ready), bool)
        for key in self.args.near_keys:
            mask |= self.ground.mask_of(key, self.ground.ids(key).take(copies.serving))
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
        points = self.shares @ self._points()
        points += HALF
        found = points.astype(np.int64)  # which cuts off what is behind the point
        scores = found.take(self._group_of)
        scores[self._special] = found[self._reach.num_groups :]
        return scores[rows] if isinstance(rows, slice) else scores.take(rows)

    def points_on(self, row: int) -> list[float]:
        """Of each dataset, what it gives to that row."""
        place = int(np.searchsorted(self._special, row))
        is_special = place < len(self._special) and self._special.item(place) == row
        column = self._reach.num_groups + place if is_special else self._group_of.item(row)
        points: list[float] = self._points()[:, column].tolist()
        return points

    def _points(self) -> NDArray[np.float64]:  # (num_datasets, num_groups + num_special)
        """What each dataset gives to each group, and to the rows that are looked at one by one."""
        reach = self._reach
        if not len(reach.rows):
            return np.zeros((len(self.copies), len(self._special_groups) + reach.num_groups))
        worth = ONE - self._penalty * self.load(reach.rows)
        points = reach.of_groups(worth)
        own = points.take(self._special_groups, 1)
        at = reach.dataset_of, self._places
        own[at] = np.maximum(own[at], reach.alone * worth)
        if self._factors is not None:
            own *= self._factors
        return np.concatenate((points, own), 1)


def _shares(sizes: list[int | None]) -> NDArray[np.float64]:
    """How much each dataset counts: by its size where all have one."""
    known = [size for size in sizes if size is not None]
    weights = np.array(known if len(known) == len(sizes) else [1] * len(sizes), np.float64)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
