"""The volumes of one storage class as a pod's claims take them, claim after claim, on all nodes at once.

In: the class's columns, nodes, and the claims of one pod that want its volumes. Out: `Stock.take(claim)`, the volume
that the claim gets on each node: the one that already points at it, else the smallest that fits, is within reach and
was not taken there by an earlier claim. A pod may have thousands of claims, so each costs what the nodes and volumes
are, however many came before: nodes from which the same volumes are within reach are one place, what was taken is
marked per place, and claims that the same volumes fit go on looking where the last of them stopped. Called by
`volume_matching`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairway.cluster.node_selection import matcher_mask
from fairway.cluster.volumes.volume_columns import VolumeColumns
from fairway.model import PersistentVolumeClaim
from fairway.plugin import Nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_VOLUME = -1
MOST_SEARCHES = 64
"""How many searches are remembered; claims that the same volumes fit share one."""


class Search(NamedTuple):
    """Where on one shelf to go on looking for volumes that fit."""

    candidates: NDArray[np.intp]  # (num_fitting,) into the shelf's slots
    position: NDArray[np.intp]  # (num_places,) the next candidate that may be free
    end: NDArray[np.intp]  # (num_places,) where the last one was


class Shelf:
    """Volumes in an order of which every place reaches one stretch, smallest first."""

    __slots__ = ("_base", "_end", "_first", "_rank", "_taken", "slots")

    def __init__(self, slots: NDArray[np.intp], first: NDArray[np.intp], end: NDArray[np.intp]) -> None:
        self.slots = slots  # (num_entries,)
        self._first = first  # (num_places,)
        self._end = end  # (num_places,)
        self._taken: NDArray[np.bool_] | None = None  # nothing is yet

    def _prepare_marks(self) -> NDArray[np.bool_]:
        first, end = self._first, self._end
        # Each entry has a mark for each place that reaches it, and a place its number among those of its stretch.
        stretches, numbers = np.unique(np.stack((first, end)), axis=1, return_inverse=True)
        numbers = numbers.reshape(-1)
        by_stretch = np.argsort(numbers, kind="stable")
        counts = np.bincount(numbers, minlength=stretches.shape[1])
        self._rank = np.empty(len(first), np.intp)  # (num_places,)
        self._rank[by_stretch] = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        reached = np.zeros(len(self.slots) + 1, np.intp)
        np.add.at(reached, first, 1)
        np.add.at(reached, end, -1)
        reached = np.cumsum(reached)[:-1]
        self._base = np.cumsum(reached) - reached  # (num_entries,) its first mark
        return np.zeros(int(reached.sum()), bool)

    def search(self, fitting: NDArray[np.bool_]) -> Search:
        """Begin to look for volumes that fit, by slot."""
        is_fitting = fitting[self.slots]
        before = np.concatenate(([0], np.cumsum(is_fitting)))
        return Search(np.flatnonzero(is_fitting), before[self._first], before[self._end])

    def find(self, search: Search) -> NDArray[np.intp]:
        """By place the entry of the next volume that is not taken there, or -1; the search goes on from it."""
        candidates, position, end = search
        places = np.flatnonzero(position < end)
        while self._taken is not None and len(places):
            entries = candidates[position[places]]
            places = places[self._taken[self._base[entries] + self._rank[places]]]
            position[places] += 1
            places = places[position[places] < end[places]]
        return np.append(candidates, -1)[np.where(position < end, position, len(candidates))]

    def take(self, places: NDArray[np.intp], entries: NDArray[np.intp]) -> None:
        """These are taken there."""
        if self._taken is None:
            self._taken = self._prepare_marks()
        self._taken[self._base[entries] + self._rank[places]] = True


class Stock:
    """What a pod's claims have left of a class's volumes."""

    def __init__(self, columns: VolumeColumns, nodes: Nodes, claims: Sequence[PersistentVolumeClaim]) -> None:
        self._columns = columns
        self._nodes = nodes
        self._masks: dict[int, NDArray[np.bool_]] = {}  # by affinity: (num_rows,)
        stretches = [self._keyed_stretches(), self._other_stretches()]
        shelves = [stretch for some in stretches for stretch in some]
        pointing = {slot for claim in claims for slot in columns.bound_to(claim)}
        seen: list[NDArray[Any]] = [ends for _, *both in shelves for ends in both]
        seen += [self._reached(slot) for slot in sorted(pointing)]
        self._rows = np.arange(len(nodes))  # (num_places,) a row of each place
        self._place_of = self._rows  # (num_rows,)
        self._is_shared = len(claims) > 1
        if self._is_shared and seen:
            _, self._rows, places = np.unique(np.stack(seen), axis=1, return_index=True, return_inverse=True)
            self._place_of = places.reshape(-1)
        self._shelves = [Shelf(slots, first[self._rows], end[self._rows]) for slots, first, end in shelves]
        self._pointing_taken: dict[int, NDArray[np.bool_]] = {}  # by slot: (num_places,)
        self._searches: dict[bytes, list[Search]] = {}  # by the volumes that fit: for each shelf
        self._nothing = np.full(len(nodes), NO_VOLUME, np.intp)

    def take(self, claim: PersistentVolumeClaim) -> NDArray[np.intp]:
        """By row the slot of the volume that a claim gets there, or NO_VOLUME."""
        slots = np.full(len(self._rows), NO_VOLUME, np.intp)
        is_open = np.ones(len(self._rows), bool)
        for slot in self._columns.bound_to(claim):
            # Where such a volume is out of reach, no other one will do.
            taken = self._pointing_taken.setdefault(slot, np.zeros(len(self._rows), bool))
            here = is_open & ~taken
            got = here & self._reached(slot)[self._rows]
            slots[got] = slot
            taken |= got
            is_open &= ~here
        fitting = self._columns.fitting(claim)
        if fitting.any() and is_open.any():
            self._take_smallest(fitting, is_open, slots)
        return slots[self._place_of] if (slots != NO_VOLUME).any() else self._nothing

    def _take_smallest(self, fitting: NDArray[np.bool_], is_open: NDArray[np.bool_], slots: NDArray[np.intp]) -> None:
        key = np.packbits(fitting).tobytes()
        searches = self._searches.get(key)
        if searches is None:
            if len(self._searches) >= MOST_SEARCHES:
                self._searches.clear()
            searches = self._searches[key] = [shelf.search(fitting) for shelf in self._shelves]
        ranks = np.append(self._columns.ranks(), len(fitting))  # the last: no volume
        found = [shelf.find(search) for shelf, search in zip(self._shelves, searches, strict=True)]
        offers = [
            ranks[np.append(shelf.slots, -1)[entries]] for shelf, entries in zip(self._shelves, found, strict=True)
        ]
        best = np.minimum.reduce(offers)
        for shelf, entries, offer in zip(self._shelves, found, offers, strict=True):
            places = np.flatnonzero(is_open & (offer == best) & (best < len(fitting)))
            slots[places] = shelf.slots[entries[places]]
            if self._is_shared:
                shelf.take(places, entries[places])

    def _keyed_stretches(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
        """Volumes whose affinity is one label: each row looks its own value up."""
        made = []
        for key, keyed in self._columns.keyed().items():
            column = self._nodes.table.labels.column(key)
            counts = np.bincount(keyed.values, minlength=len(keyed.texts))
            ends = np.cumsum(counts)
            spans = np.zeros((2, len(column.values) + 1), np.intp)  # by value id, first and end; the last: no label
            spans[:, keyed.column_ids(column)] = ends - counts, ends
            spans[:, -1] = 0
            first, end = spans[:, column.ids[self._nodes.rows]]
            made.append((keyed.slots, first, end))
        return made

    def _other_stretches(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
        """All others: a row reaches all of an affinity or none."""
        made = []
        free = self._columns.columns["free"][: len(self._columns.volumes)]
        for slots in self._columns.other_affinities(free).values():
            reached = self._reached(int(slots[0]))
            made.append((slots, np.zeros(len(reached), np.intp), np.where(reached, len(slots), 0)))
        return made

    def _reached(self, slot: int) -> NDArray[np.bool_]:
        """Rows from which a volume is within reach."""
        affinity = int(self._columns.columns["affinity"][slot])
        mask = self._masks.get(affinity)
        if mask is None:
            mask = np.ones(len(self._nodes), bool)
            if affinity >= 0:
                mask = matcher_mask(self._nodes.cluster, self._columns.affinities[affinity], self._nodes.rows)
            self._masks[affinity] = mask
        return mask
