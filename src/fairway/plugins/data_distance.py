"""How far nodes are from copies of data: the ladder laid over the cluster's rows.

In: the rungs (label keys and points, falling), a `DataGround`, the rows of copies. Out: `Rungs`, the rows in groups
that no rung can tell apart but those on which every node is alone, as on host names; and `Reach`, the points of every
group for each copy, so that scores are worked out for a few groups and a few rows instead of for every node.
Points fall along the ladder, so the best of all rungs on which two nodes are equal is the first. Used by DataLocality.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.datasets.data_ground import DataGround
from fairway.plugins.data_locality_args import Rung

__all__ = ["Reach", "Rungs"]


class Rungs:
    """The ladder on one state of the nodes."""

    def __init__(self, ground: DataGround, ladder: Sequence[Rung]) -> None:
        num_rows = len(ground.ready)
        self.version = ground.version
        self.alone: NDArray[np.float64] = np.zeros(num_rows)  # (num_rows,): points for a copy on that very row
        shared: list[NDArray[np.int64]] = []
        points: list[float] = []
        for rung in ladder:
            ids = ground.ids(rung.key)
            present = ids[ids >= 0]
            if len(present) == len(np.unique(present)):
                np.maximum(self.alone, np.where(ids >= 0, rung.points, 0.0), out=self.alone)
            else:
                shared.append(ids)
                points.append(rung.points)
        self._points = np.array(points)  # (num_shared,)
        signs = np.zeros(num_rows, np.int64)
        for ids in shared:  # numbered anew each time, so that no product overflows
            _, signs = np.unique(signs * (int(ids.max(initial=-1)) + 2) + ids + 1, return_inverse=True)
        self.group_of: NDArray[np.intp] = signs.astype(np.intp)  # (num_rows,)
        self.num_groups = int(signs.max(initial=-1)) + 1
        member = np.zeros(self.num_groups, np.intp)
        member[self.group_of] = np.arange(num_rows)
        self._ids = np.array([ids.take(member) for ids in shared]).reshape(len(shared), self.num_groups)

    def points_for(self, groups: NDArray[np.intp]) -> NDArray[np.float64]:
        """(num_groups_asked, num_groups): what a copy in one group is worth to each group."""
        best = np.zeros((len(groups), self.num_groups))
        for ids, points in zip(self._ids, self._points, strict=True):
            own = ids.take(groups)[:, None]
            np.maximum(best, np.where((own == ids) & (own >= 0), points, 0.0), out=best)
        return best


class Reach:
    """The copies of some datasets, and what each is worth where."""

    __slots__ = ("_parts", "_points", "_starts", "alone", "dataset_of", "num_groups", "rows")

    def __init__(self, rungs: Rungs, copies: Sequence[NDArray[np.intp]]) -> None:
        """`copies` are the rows of each dataset's copies."""
        numbers = np.repeat(np.arange(len(copies)), [len(rows) for rows in copies])
        rows = np.concatenate(copies)
        groups = rungs.group_of.take(rows)
        order = np.lexsort((groups, numbers))
        self.rows = rows.take(order)  # (num_copies,): by dataset, those of one group together
        self.dataset_of = numbers.take(order)  # (num_copies,)
        self.alone = rungs.alone.take(self.rows)  # (num_copies,): points on the very row of the copy
        self.num_groups = rungs.num_groups
        groups = groups.take(order)
        self._starts = _changes(self.dataset_of * rungs.num_groups + groups)  # (num_parts,): copies of one group
        datasets = self.dataset_of.take(self._starts)
        counts = np.bincount(datasets, minlength=len(copies))
        places = np.arange(len(datasets)) - np.repeat(np.cumsum(counts) - counts, counts)  # within the dataset
        shape = (len(copies), int(counts.max(initial=1)))
        self._parts = np.zeros(shape, np.intp)  # (num_datasets, most_parts): which part; where there is none, any
        self._parts[datasets, places] = np.arange(len(datasets))
        self._points = np.zeros((*shape, rungs.num_groups))  # (num_datasets, most_parts, num_groups): 0 for no part
        self._points[datasets, places] = rungs.points_for(groups.take(self._starts))

    def of_groups(self, worth: NDArray[np.float64]) -> NDArray[np.float64]:  # (num_datasets, num_groups)
        """The points of each group for each dataset's best copy.

        `worth` (num_copies,) is how much of its points each copy keeps, 0 to 1; there is at least one copy.
        """
        if len(self._starts) < len(worth):
            worth = np.maximum.reduceat(worth, self._starts)
        best: NDArray[np.float64] = (self._points * worth.take(self._parts)[:, :, None]).max(axis=1)
        return best


def _changes(values: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where runs of equal values begin."""
    is_first = np.ones(len(values), bool)
    is_first[1:] = values[1:] != values[:-1]
    return np.flatnonzero(is_first)
