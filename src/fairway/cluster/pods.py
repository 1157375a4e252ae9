"""The pod table: every pod that holds a place on a node, bound or assumed.

In: `insert` and `take` from `Cluster` as pods come and go. Out: who is on a row, and columns over pods (row, label set,
priority, terminating) from which new counters are filled without visiting pods one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.pod_class import PodClass
from fairway.model import Pod


class Placed:
    """A pod on a row."""

    __slots__ = ("assumed", "pod", "pod_class", "row", "slot", "terminating")

    def __init__(self, pod: Pod, pod_class: PodClass, row: int, slot: int, assumed: bool) -> None:
        self.pod = pod
        self.pod_class = pod_class
        self.row = row
        self.slot = slot
        self.assumed = assumed  # decided by us, not yet confirmed by the world
        self.terminating = pod.is_terminating


class PodTable:
    """Columns over placed pods, and the pods of each row."""

    def __init__(self, capacity: int = 64) -> None:
        self.by_uid: dict[str, Placed] = {}
        self._on_row: dict[int, dict[str, Placed]] = {}
        self._free: list[int] = []
        self._num_slots = 0
        self.row = np.full(capacity, -1, np.int32)  # (capacity,); -1: the slot is free
        self.label_set = np.zeros(capacity, np.int32)  # (capacity,)
        self.priority = np.zeros(capacity, np.int32)  # (capacity,)
        self.terminating = np.zeros(capacity, bool)  # (capacity,)

    def __len__(self) -> int:
        return len(self.by_uid)

    def on_row(self, row: int) -> Collection[Placed]:
        """The pods on a row, in the order they came."""
        pods = self._on_row.get(row)
        return () if pods is None else pods.values()

    def insert(self, pod: Pod, pod_class: PodClass, row: int, assumed: bool) -> Placed:
        """Put a pod on a row."""
        if self._free:
            slot = self._free.pop()
        else:
            slot = self._num_slots
            self._num_slots += 1
            if slot == len(self.row):
                self._grow(2 * slot)
        placed = Placed(pod, pod_class, row, slot, assumed)
        self.by_uid[pod.metadata.uid] = placed
        pods = self._on_row.get(row)
        if pods is None:
            pods = self._on_row[row] = {}
        pods[pod.metadata.uid] = placed
        self.row[slot] = row
        self.label_set[slot] = pod_class.label_set.id
        self.priority[slot] = pod_class.priority
        self.terminating[slot] = placed.terminating
        return placed

    def take(self, uid: str) -> Placed:
        """Remove a pod."""
        placed = self.by_uid.pop(uid)
        del self._on_row[placed.row][uid]
        self.row[placed.slot] = -1
        self._free.append(placed.slot)
        return placed

    def reorder(self, row: int, uids: Sequence[str]) -> None:
        """The pods on a row came in this order."""
        pods = self._on_row[row]
        self._on_row[row] = {uid: pods[uid] for uid in uids if uid in pods}

    def count_by_row(self, label_sets: Sequence[int], skip_terminating: bool, num_rows: int) -> NDArray[np.int32]:
        """How many pods with one of these label sets each row has."""
        used = slice(0, self._num_slots)
        if not label_sets or not self._num_slots:
            return np.zeros(num_rows, np.int32)
        wanted = np.zeros(max(int(self.label_set[used].max()), *label_sets) + 1, bool)
        wanted[label_sets] = True
        mask = wanted[self.label_set[used]] & (self.row[used] >= 0)
        if skip_terminating:
            mask &= ~self.terminating[used]
        return np.bincount(self.row[used][mask], minlength=num_rows).astype(np.int32)

    def requests_of(self, resource: str) -> Iterator[tuple[int, int]]:
        """Who on which row asks for how much of a resource: for one that has no column."""
        for placed in self.by_uid.values():
            amount = placed.pod_class.requests.get(resource)
            if amount:
                yield placed.row, amount

    def lowest_priorities(self, num_rows: int, none: int) -> NDArray[np.int64]:
        """The lowest priority among the pods of each row; `none` where there are no pods."""
        lowest = np.full(num_rows, none, np.int64)
        used = self.row[: self._num_slots]
        taken = used >= 0
        np.minimum.at(lowest, used[taken], self.priority[: self._num_slots][taken])
        return lowest

    def has_below(self, priority: int) -> bool:
        """Is there any pod of less than that priority?"""
        used = slice(0, self._num_slots)
        return bool((self.priority[used][self.row[used] >= 0] < priority).any())

    def _grow(self, capacity: int) -> None:
        for name, fill in (("row", -1), ("label_set", 0), ("priority", 0), ("terminating", False)):
            old = getattr(self, name)
            new = np.full(capacity, fill, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)
