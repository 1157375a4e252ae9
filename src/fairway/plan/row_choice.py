"""Which rows a job gets, of those that are free for it at the same time.

In: the rows that `slots` found, and how many members each has room for. Out: a `MemberRows`. No choice changes when the
job starts, but all of them change what is left for others. `SmallestRest` is Fairway's own; `ConsecutiveRows` takes
neighbours, as Slurm does (the tightest run of them), so that plans can be compared with Slurm's. A `RowChoice` belongs
to a `Calendar`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidates", "ConsecutiveRows", "MemberRows", "RowChoice", "SmallestRest"]


class MemberRows(NamedTuple):
    """Where members of one class are."""

    rows: NDArray[np.intp]  # (num_rows,), different ones
    counts: NDArray[np.int64]  # (num_rows,): members on each


class Candidates(NamedTuple):
    """The rows that have room all the time, which is enough for all the members, or more."""

    rows: NDArray[np.intp]  # (num_candidates,), ascending
    rooms: NDArray[np.int64]  # (num_candidates,): for so many members
    least: NDArray[np.int64]  # (num_candidates, num_columns): what is free of each all the time
    need: NDArray[np.int64]  # (num_columns,): of one member
    members: int


class RowChoice(Protocol):
    """Chooses among candidates."""

    def choose(self, candidates: Candidates) -> MemberRows:
        """As many members as are asked for, no more on a row than it has room for."""


@dataclass(frozen=True, slots=True, eq=False)
class SmallestRest:
    """Rows that are preferred, of these the ones where least is left over, of equal ones the first by name."""

    scale: NDArray[np.float64]  # (num_columns,): what a unit of each column weighs, 0: nothing
    ranks: NDArray[np.intp]  # (num_rows,): the order of their names
    preference: NDArray[np.int64] | None = None  # (num_rows,), lower is better

    def choose(self, candidates: Candidates) -> MemberRows:
        """See `RowChoice`."""
        rows, rooms, least, need, num_members = candidates
        columns = self.scale.nonzero()[0]
        left = least[:, columns] - need[columns]
        # Rounded, so that what is equal is not told apart by the order of additions.
        rest = (left @ self.scale[columns]).round(9)
        if num_members == 1 and self.preference is None:
            best = (rest == np.minimum.reduce(rest)).nonzero()[0]
            row = rows[best[self.ranks[rows[best]].argmin()]]
            return MemberRows(np.array([row], np.intp), np.ones(1, np.int64))
        keys = [self.ranks[rows], rest]
        if self.preference is not None:
            keys.append(self.preference[rows])
        return _filled(rows, rooms, num_members, np.lexsort(keys))


@dataclass(frozen=True, slots=True, eq=False)
class ConsecutiveRows:
    """Neighbours: of the preferred rows the shortest run that suffices, or the longest one and then the next.

    How long a run is is told by what is free in it of `column`, so that rows in use count less than empty ones.
    """

    positions: NDArray[np.int64]  # (num_rows,): neighbours differ by one
    preference: NDArray[np.int64]  # (num_rows,), lower is better; neighbours that differ in it are none
    column: int

    def choose(self, candidates: Candidates) -> MemberRows:
        """See `RowChoice`."""
        order = np.argsort(self.positions[candidates.rows], kind="stable")
        rows, rooms = candidates.rows[order], candidates.rooms[order]
        sizes = candidates.least[order, self.column]
        taken = np.zeros(len(rows), np.bool_)
        chosen: list[int] = []
        missing = candidates.members
        while missing > 0:
            run = self._best_run(rows, rooms, sizes, np.flatnonzero(~taken), missing)
            for index in run.tolist():
                if missing <= 0:
                    break
                taken[index] = True
                chosen.append(index)
                missing -= int(rooms[index])
        return _filled(rows, rooms, candidates.members, np.array(chosen, np.intp))

    def _best_run(
        self,
        rows: NDArray[np.intp],
        rooms: NDArray[np.int64],
        sizes: NDArray[np.int64],
        left: NDArray[np.intp],
        missing: int,
    ) -> NDArray[np.intp]:
        positions, preference = self.positions[rows[left]], self.preference[rows[left]]
        breaks = np.flatnonzero((np.diff(positions) != 1) | (np.diff(preference) != 0)) + 1
        begins = np.concatenate(([0], breaks))
        room, size = np.add.reduceat(rooms[left], begins), np.add.reduceat(sizes[left], begins)
        suffices = room >= missing
        best = np.lexsort((np.where(suffices, size, -size), ~suffices, preference[begins]))[0]
        return left[begins[best] : (*breaks, len(left))[best]]


def _filled(rows: NDArray[np.intp], rooms: NDArray[np.int64], count: int, order: NDArray[np.intp]) -> MemberRows:
    """Fill the rows in this order until all members are placed."""
    room = rooms[order]
    before = room.cumsum() - room
    used = order[before < count]
    return MemberRows(rows[used], np.minimum(room, count - before)[: len(used)])
