"""Who is where, and what they take there: the tables that change when a pod comes or goes.

In: a pod, its class and a row. Out: the tables of nodes, pods, ports, devices, counters and volumes with it, or without
it again, and the journal that caches follow. `what_if()` tries something and takes it back; nothing is ever copied.
`cluster.Cluster` is one of these, and decides what is put where.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from fairway.cluster.annotations import ReadAnnotations
from fairway.cluster.counters import Counters
from fairway.cluster.gpus.devices import DeviceTable
from fairway.cluster.journal import LatestJournal
from fairway.cluster.nodes import NodeTable
from fairway.cluster.pod_class import HostPort, PodClass, PodClasses
from fairway.cluster.pods import Placed, PodTable
from fairway.cluster.ports import PortTable
from fairway.cluster.tallies.tally import Tally
from fairway.cluster.volumes.storage import Storage
from fairway.model import Pod

__all__ = ["Occupancy"]


class Occupancy:
    """The tables that pods are counted in."""

    storage: Storage  # whoever derives from this makes it

    def __init__(self) -> None:
        self.nodes = NodeTable()
        self.pods = PodTable()
        self.ports = PortTable()
        self.devices = DeviceTable(self.nodes.capacity)
        self._annotations = ReadAnnotations()
        self.classes = PodClasses(self.nodes, self._annotations)
        self.nodes.placed_requests = self.pods.requests_of
        self.counters = Counters(self.pods, self.classes.label_sets, self.nodes.capacity)
        self.pod_journal = LatestJournal(self.nodes.capacity)  # rows whose pods changed
        self.tallies: dict[type[Tally], Tally] = {}  # what plugins have asked to be counted
        self._counts = True  # are counters and journals kept? Not within what_if(rows_only=True)
        self._ports_before: dict[int, frozenset[HostPort]] = {}  # within what_if: rows whose ports were touched
        self._order_before: dict[int, list[str]] = {}  # within what_if: uids on rows that somebody was taken from
        self._depth = 0  # of nested what_if
        self._undo: list[Placed | tuple[Pod, PodClass, int, bool]] | None = None

    @contextlib.contextmanager
    def what_if(self, rows_only: bool = False) -> Iterator[None]:
        """Inside, `place` and `remove` change the real tables; on leaving, all of it is undone. May be nested.

        With `rows_only`, counters and journals are left alone, which is much faster, and enough to ask filters about
        the rows concerned: what they know beyond a row is in their states. Caches must not be used inside.
        """
        outer = self._undo, self._ports_before, self._order_before, self._counts
        remembered = self.devices.remembered.copy()
        self._undo, self._ports_before, self._order_before = [], {}, {}
        self._counts = self._counts and not rows_only
        self._depth += 1
        try:
            yield
        finally:
            done, self._undo = self._undo, None
            for step in reversed(done):
                if isinstance(step, Placed):
                    self._remove(step.pod.metadata.uid)
                else:
                    self._place(*step)
            for row, ports in self._ports_before.items():
                self.ports.set(row, ports)
            for row, uids in self._order_before.items():
                self.pods.reorder(row, uids)
            self._undo, self._ports_before, self._order_before, self._counts = outer
            self.devices.remembered = remembered
            self._depth -= 1

    def place(self, pod: Pod, pod_class: PodClass, row: int) -> None:
        """Within `what_if`: suppose the pod ran there."""
        if self._undo is None:
            raise RuntimeError("place() is for what_if(); use assume() for decisions, apply() for facts")
        self._undo.append(self._place(pod, pod_class, row, assumed=True))

    def remove(self, uid: str) -> Placed:
        """Within `what_if`: suppose the pod were gone."""
        if self._undo is None:
            raise RuntimeError("remove() is for what_if(); use forget() for decisions, apply() for facts")
        row = self.pods.by_uid[uid].row
        if row not in self._order_before:
            self._order_before[row] = [other.pod.metadata.uid for other in self.pods.on_row(row)]
        placed = self._remove(uid)
        self._undo.append((placed.pod, placed.pod_class, placed.row, placed.assumed))
        return placed

    def _keep_ports(self, row: int) -> None:
        """Ports are a set: taking a pod back does not tell which were there before, so what-if remembers."""
        if self._undo is not None and row not in self._ports_before:
            self._ports_before[row] = self.ports.taken(row)

    def _place(self, pod: Pod, pod_class: PodClass, row: int, assumed: bool) -> Placed:
        nodes = self.nodes
        placed = self.pods.insert(pod, pod_class, row, assumed)
        requested = nodes.requested
        for column, amount in pod_class.taken:
            requested[row, column] += amount
        nodes.nonzero[row, 0] += pod_class.resident_cpu
        nodes.nonzero[row, 1] += pod_class.resident_memory
        if self._counts:
            self.pod_journal.mark(row)
            if pod_class.label_set.counters or pod_class.term_counters:
                self.counters.count(pod_class, row, 1, placed.terminating)
        if pod_class.ports:
            self._keep_ports(row)
            self.ports.add(row, pod_class.ports)
        if pod_class.spec.volumes:
            self.storage.pod_added(row, pod_class)
        if pod_class.devices is not None:
            self.devices.place(pod, row, pod_class.devices)
        for tally in self.tallies.values():
            tally.came(pod, pod_class, row)
        return placed

    def give_devices(self, uid: str, indices: tuple[int, ...]) -> None:
        """A policy wants a pod that was placed to have these devices of its node instead."""
        if self.devices.move(uid, indices):
            self.pod_journal.mark(self.pods.by_uid[uid].row)

    def _remove(self, uid: str) -> Placed:
        nodes = self.nodes
        placed = self.pods.take(uid)
        row, pod_class = placed.row, placed.pod_class
        requested = nodes.requested
        for column, amount in pod_class.taken:
            requested[row, column] -= amount
        nodes.nonzero[row, 0] -= pod_class.resident_cpu
        nodes.nonzero[row, 1] -= pod_class.resident_memory
        if self._counts:
            self.pod_journal.mark(row)
            if pod_class.label_set.counters or pod_class.term_counters:
                self.counters.count(pod_class, row, -1, placed.terminating)
        if pod_class.ports:
            self._keep_ports(row)
            self.ports.remove(row, pod_class.ports)
        if pod_class.spec.volumes:
            self.storage.pod_removed(row, pod_class)
        if pod_class.devices is not None:
            self.devices.release(uid, remember=self._depth > 0)
        for tally in self.tallies.values():
            tally.left(placed.pod, pod_class, row)
        return placed
