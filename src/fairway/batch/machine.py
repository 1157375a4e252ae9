"""The machine as the plan sees it: rows of the cluster in a calendar, kept in step with who is on them.

In: the cluster's tables (rows, amounts, who may not be used), occupants with the time they leave at the latest. Out: a
`Calendar`, in which jobs find slots and promises are kept. Rows and columns are those of the cluster's node table. A
node that comes or has other amounts makes a new calendar, in which occupants, closings and promises are what they were;
one that goes, or may not be used, is closed. Called by the desk.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Container, Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from fairway.batch.actions import CORDONED_BY
from fairway.cluster import Cluster, PodClass
from fairway.model import Node
from fairway.plan import BookingMode, Calendar, SmallestRest, member_need

__all__ = ["Machine", "Occupant", "is_cordoned_by_hand", "is_usable", "occupant_key", "row_key"]


class Occupant(NamedTuple):
    """Somebody on a row."""

    row: int
    amounts: NDArray[np.int64]  # (num_columns,), with access
    end: float  # when it leaves at the latest


class RowsClosed(NamedTuple):
    """A time in which nobody may be on some rows."""

    rows: NDArray[np.intp]  # (num_closed,)
    start: float
    end: float


class KnownNeed(NamedTuple):
    """What a pod of a class takes, as it was worked out last."""

    version: int  # of the cluster's columns
    is_exclusive: bool
    amounts: NDArray[np.int64]  # (num_columns,), with access


class Machine:
    """The calendar of one cluster."""

    def __init__(self, cluster: Cluster, now: float, mode: BookingMode, horizon: float) -> None:
        self._cluster = cluster
        self._mode = mode
        self._horizon = horizon
        self._occupants: dict[str, Occupant] = {}  # by uid
        self._ends: list[tuple[float, str]] = []  # a heap: when who leaves, those who have left already among them
        self._closings: dict[str, RowsClosed] = {}
        self._clearing: dict[str, RowsClosed] = {}  # those of them that nobody outlasts
        self._unusable: set[int] = set()  # rows
        self._returns: Mapping[int, float] = {}  # by row: when one that is down comes back, as far as one knows
        self._journal_end = -1
        self._size: tuple[int, int] | None = None  # None: has to be counted anew
        self._shape = (-1, -1)
        self._capacity = np.empty((0, 0), np.int64)  # (num_rows, num_resources)
        self._names: list[str] = []
        self._needs: WeakKeyDictionary[PodClass, KnownNeed] = WeakKeyDictionary()
        self.num_changes = 0  # of nodes; what is known of classes ends with each
        self.num_moves = 0  # of those who are there and of what is closed
        self.is_held = False  # a pass is under way: for it, no time passes
        self.calendar = self._new_calendar(now)

    @property
    def num_usable(self) -> int:
        """How many nodes may be used now."""
        return self._cluster.nodes.num_alive - len(self._unusable)

    @property
    def has_moved(self) -> bool:
        """Has anybody come or gone, or has anything opened, closed or run out, since the last pass?"""
        return self.calendar.has_changed or self.calendar.has_gained

    @property
    def size(self) -> tuple[int, int]:
        """Nodes that are there, and CPUs of all of them in thousandths."""
        if self._size is None:
            nodes = self._cluster.nodes
            self._size = nodes.num_alive, int(nodes.allocatable[: nodes.num_rows, 0].sum())
        return self._size

    @property
    def unusable_rows(self) -> NDArray[np.intp]:
        """Rows of nodes that are there and may not be used: down, not ready, cordoned."""
        return np.array(sorted(self._unusable), np.intp)

    @property
    def unusable_keys(self) -> list[str]:
        """The calendar's keys of what is closed because of that."""
        return [row_key(row) for row in sorted(self._unusable)]

    def refresh(self, now: float) -> None:
        """See what has become of nodes, and that time has passed."""
        nodes = self._cluster.nodes
        journal = self._cluster.node_journal
        if journal.end != self._journal_end:
            self._journal_end = journal.end
            self._size = None
            self.num_changes += 1
            shape = (nodes.num_rows, len(nodes.resources))
            if (
                shape != self._shape
                or self._names != nodes.names[: nodes.num_rows]
                or not np.array_equal(self._capacity, nodes.allocatable[: shape[0], : shape[1]])
            ):
                self._rebuild(now)
            self._look_at_rows(now)
        if now > self.calendar.now and not self.is_held:
            self.calendar.advance(now)

    def _look_at_rows(self, now: float) -> None:
        objects = self._cluster.nodes.objects
        for row, node in enumerate(objects[: self._cluster.nodes.num_rows]):
            if node is not None and is_usable(node):
                if row in self._unusable:
                    self._unusable.discard(row)
                    self.open(row_key(row))
            else:
                self._unusable.add(row)
                self._close_row(row, node, now)

    def _close_row(self, row: int, node: Node | None, now: float) -> None:
        """One that is down: for ever, or until a window is over; the cordon of a person does not end with that."""
        known = self._closings.get(row_key(row))
        is_known = node is not None and node.metadata.deletion_timestamp is None and not is_cordoned_by_hand(node)
        end = self._returns.get(row, math.inf) if is_known else math.inf
        if known is None or known.end != end:
            self.close(row_key(row), np.array([row], np.intp), now, end)

    def expect(self, returns: Mapping[int, float], now: float) -> None:
        """When rows come back that are down, as far as is known."""
        if returns != self._returns:
            self._returns = returns
            for row in self._unusable:
                self._close_row(row, self._cluster.nodes.objects[row], now)

    def _rebuild(self, now: float) -> None:
        before, names = self.calendar, self._names
        self.calendar = self._new_calendar(now)
        for uid, (row, amounts, end) in list(self._occupants.items()):
            grown = member_need(np.zeros(self._shape[1], np.int64))
            grown[: len(amounts) - 1], grown[-1] = amounts[:-1], amounts[-1]
            self._occupants[uid] = Occupant(row, grown, end)
            self.calendar.occupy(occupant_key(uid), np.array([row], np.intp), grown, self._last_end(row, end))
        for key, closing in self._closings.items():
            self.calendar.close(key, *closing)
        is_wider = before.timeline.free.shape[0] != self.calendar.timeline.free.shape[0]
        self.calendar.allowances, self.calendar.borrowers = before.allowances, before.borrowers
        for key in before.promises:
            self.calendar.allowances.give(key)
        for promise in before.promises.values():
            rows = [int(row) for placement in promise.slot.placements for row in placement.rows]
            if not is_wider and all(row < len(names) and names[row] == self._names[row] for row in rows):
                self.calendar.book(*promise)

    def _new_calendar(self, now: float) -> Calendar:
        """Of the nodes as they are now."""
        nodes = self._cluster.nodes
        self._shape = (nodes.num_rows, len(nodes.resources))
        self._capacity = nodes.allocatable[: self._shape[0], : self._shape[1]].copy()
        self._names = list(nodes.names[: nodes.num_rows])
        self._ranks = nodes.name_ranks().astype(np.intp)
        self._needs.clear()
        return self._bare_calendar(now)

    def _bare_calendar(self, now: float) -> Calendar:
        largest = self._capacity.max(axis=0, initial=1).astype(np.float64)
        scale = np.append(1.0 / np.maximum(largest, 1.0), 0.0)
        choice = SmallestRest(scale, self._ranks)
        return Calendar(self._capacity, now, choice, self._mode, self._horizon)

    def deserted(self) -> Calendar:
        """The same machine with nobody on it, and the same closed."""
        empty = self._bare_calendar(self.calendar.now)
        for key, closing in self._closings.items():
            empty.close(key, *closing)
        empty.allowances, empty.borrowers = self.calendar.allowances.copy(), self.calendar.borrowers
        return empty

    # -- who is there ------------------------------------------------------------------------------------------------

    def need(self, pod_class: PodClass, is_exclusive: bool = False) -> NDArray[np.int64]:
        """What a pod of the class takes, (num_columns,); None of what no node has. Nobody changes the array."""
        known = self._needs.get(pod_class)
        version = self._cluster.nodes.resources.version
        if known is not None and known.version == version and known.is_exclusive == is_exclusive:
            return known.amounts
        amounts = np.zeros(self._shape[1], np.int64)
        amounts[pod_class.columns] = pod_class.amounts
        need = member_need(amounts, exclusive=is_exclusive)
        self._needs[pod_class] = KnownNeed(version, is_exclusive, need)
        return need

    def occupy(self, uid: str, row: int, amounts: NDArray[np.int64], end: float) -> None:
        """Somebody is there until then; who was there already may leave at another time now."""
        known = self._occupants.get(uid)
        if known is not None:
            if known.row == row and known.end == end:
                return
            self.calendar.remove(occupant_key(uid))
        self._occupants[uid] = Occupant(row, amounts, end)
        self.num_moves += 1
        heapq.heappush(self._ends, (end, uid))
        self.calendar.occupy(occupant_key(uid), np.array([row], np.intp), amounts, self._last_end(row, end))

    def inherit(self, key: str, uid: str, row: int, amounts: NDArray[np.int64], end: float) -> bool:
        """Somebody is where that was booked for it, as long; False: it was not booked so, and nothing has changed."""
        if uid in self._occupants or self._last_end(row, end) != end:
            return False
        if not self.calendar.rename(key, occupant_key(uid), row, amounts, end):
            return False
        self._occupants[uid] = Occupant(row, amounts, end)
        self.num_moves += 1
        heapq.heappush(self._ends, (end, uid))
        return True

    def vacate(self, uid: str) -> None:
        """It is gone."""
        if self._occupants.pop(uid, None) is not None:
            self.num_moves += 1
            self.calendar.remove(occupant_key(uid))

    def occupants(self) -> Mapping[str, Occupant]:
        """Who is where, and until when, by uid."""
        return self._occupants

    def occupant(self, uid: str) -> Occupant | None:
        """Where somebody is, and until when."""
        return self._occupants.get(uid)

    def outsiders(self, rows: Container[int], time: float, concerns: Callable[[str], bool]) -> list[str]:
        """Of those that are of concern, who is on these rows at that time."""
        return [uid for uid, each in self._occupants.items() if each.row in rows and each.end > time and concerns(uid)]

    @property
    def first_end(self) -> float:
        """When the next one leaves, as far as is planned."""
        ends = self._ends
        while ends and ((known := self._occupants.get(ends[0][1])) is None or known.end != ends[0][0]):
            heapq.heappop(ends)
        return ends[0][0] if ends else math.inf

    def overdue(self, now: float) -> list[str]:
        """Those who should have left by now."""
        if self.first_end > now:
            return []
        return [uid for uid, occupant in self._occupants.items() if occupant.end <= now]

    def close(self, key: str, rows: NDArray[np.intp], start: float, end: float, *, clears: bool = False) -> None:
        """Nobody may be on these rows then; `clears`: whoever is there has left by the end."""
        self.open(key)
        self._closings[key] = closing = RowsClosed(rows, start, end)
        self.num_moves += 1
        self.calendar.close(key, rows, start, end)
        if clears:
            self._clearing[key] = closing
            self._look_at_occupants(rows)

    def open(self, key: str) -> None:
        """They may again."""
        known = self._closings.pop(key, None)
        if known is not None:
            self.num_moves += 1
            self.calendar.remove(key)
            if self._clearing.pop(key, None) is not None:
                self._look_at_occupants(known.rows)

    def _last_end(self, row: int, end: float) -> float:
        """When somebody leaves a row for the plan: by its own end, or because it is cleared before that."""
        return min([end, *(each.end for each in self._clearing.values() if row in each.rows)])

    def _look_at_occupants(self, rows: NDArray[np.intp]) -> None:
        """These may leave at another time now."""
        there = set(rows.tolist())
        for uid, (row, amounts, end) in self._occupants.items():
            if row in there:
                self.calendar.remove(occupant_key(uid))
                self.calendar.occupy(occupant_key(uid), np.array([row], np.intp), amounts, self._last_end(row, end))


def occupant_key(uid: str) -> str:
    """Under which a pod's room stands in the calendar, where jobs stand under their names."""
    return f"pod {uid}"


def row_key(row: int) -> str:
    """Under which a row that is down is closed in the calendar."""
    return f"row {row}"


def is_cordoned_by_hand(node: Node) -> bool:
    """Did a person, or whoever else, cordon it?"""
    return node.spec.unschedulable and CORDONED_BY not in node.metadata.annotations


def is_usable(node: Node) -> bool:
    """Does the node take new pods, as far as it says itself?"""
    if node.spec.unschedulable or node.metadata.deletion_timestamp is not None:
        return False
    ready = next((each.status for each in node.status.conditions if each.type == "Ready"), "True")
    return ready == "True"
