"""Which volumes the pods on each row use: what VolumeRestrictions and NodeVolumeLimits ask about.

In: pods that come to a row and leave it (from `Cluster`, by way of `Storage`; nearly free for pods without such
volumes), and the word that a claim, volume, class, CSINode or VolumeAttachment changed. Out: who uses a claim or a
disk, and per CSI driver how many distinct volumes are attached to each row and how many may be. Only rows that
changed are counted again, and only when somebody asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.volumes.volume_use import NO_USE, Disk, VolumeUse, attachable_volumes, volume_limits, volume_use

if TYPE_CHECKING:
    from fairway.cluster.cluster import Cluster
    from fairway.cluster.pod_class import PodClass
    from fairway.cluster.volumes.storage import Storage

UNLIMITED = int(np.iinfo(np.int64).max)
Key = TypeVar("Key", bound=Hashable)
Thing = TypeVar("Thing", bound=Hashable)
Scalar = TypeVar("Scalar", bound=np.generic)


class VolumesInUse:
    """Volumes by row, and rows by volume."""

    def __init__(self, cluster: Cluster, storage: Storage) -> None:
        self._cluster = cluster
        self._storage = storage
        self._claim_pods: Counter[str] = Counter()
        self._claim_rows: dict[str, Counter[int]] = {}
        self._disk_rows: dict[Disk, Counter[int]] = {}
        self._classes: dict[int, Counter[PodClass]] = {}  # by row: whose volumes may count against a limit
        self._names: dict[int, str] = {}  # whose limits a row has
        self._node_position = -1  # in the journal of nodes
        self._stale: set[int] = set()
        self._attached: dict[int, dict[str, str]] = {}  # row -> volume -> driver, of pods
        self._drivers: dict[int, set[str]] = {}  # row -> drivers with a count or a limit
        self._driver_rows: Counter[str] = Counter()  # how many rows have the driver
        self._volume_rows: dict[str, set[int]] = {}
        self._capacity = 16
        self.counts: dict[str, NDArray[np.int64]] = {}  # driver -> (capacity,): distinct volumes attached
        self.limits: dict[str, NDArray[np.int64]] = {}  # driver -> (capacity,): UNLIMITED where there is no limit
        self.has_csi_node = np.zeros(self._capacity, bool)  # (capacity,)
        self.is_limited = np.zeros(self._capacity, bool)  # (capacity,): the CSINode has a limit for some driver
        self.problems: dict[int, str] = {}  # rows whose volumes can not be counted, and why

    # -- what happens ------------------------------------------------------------------------------------------------

    def pod_added(self, row: int, pod_class: PodClass) -> None:
        """A pod of that class now runs on the row."""
        if (use := self.use_of(pod_class)) is not NO_USE:
            self._count(row, pod_class, use, 1)

    def pod_removed(self, row: int, pod_class: PodClass) -> None:
        """A pod of that class no longer runs on the row."""
        if (use := self.use_of(pod_class)) is not NO_USE:
            self._count(row, pod_class, use, -1)

    def node_changed(self, name: str) -> None:
        """The node's CSINode changed, or what is attached to it."""
        if (row := self._cluster.nodes.row_of.get(name)) is not None:
            self._stale.add(row)

    def claim_changed(self, key: str) -> None:
        """A claim, or the volume it is bound to, changed."""
        self._stale.update(self._claim_rows.get(key, ()))

    def everything_changed(self) -> None:
        """Something that any claim may depend on changed."""
        self._stale.update(self._classes)

    # -- what is asked -----------------------------------------------------------------------------------------------

    def use_of(self, pod_class: PodClass) -> VolumeUse:
        """What the pods of a class use."""
        use: VolumeUse | None = pod_class.kept.get(VolumeUse)
        if use is None:
            use = pod_class.kept[VolumeUse] = volume_use(pod_class.pod)
        return use

    def is_claim_used(self, key: str) -> bool:
        """Does a pod on some node name this claim? (Generic ephemeral volumes do not name theirs.)"""
        return self._claim_pods[key] > 0

    def rows_in_conflict(self, disk: Disk) -> set[int]:
        """Rows with a pod that keeps another one from using this disk."""
        rows = set(self._disk_rows.get(Disk(disk.key, False), ()))
        if not disk.is_shared:
            rows.update(self._disk_rows.get(Disk(disk.key, True), ()))
        return rows

    def rows_with(self, volume: str) -> Iterable[int]:
        """Of the rows with limits, those on which a pod uses this volume (`driver/handle`)."""
        return self._volume_rows.get(volume, ())

    def refresh(self) -> None:
        """Bring counts and limits up to date."""
        self._follow_nodes()
        for row in self._stale:
            self._recount(row)
        self._stale.clear()
        for driver in self.counts.keys() - self._driver_rows.keys():
            del self.counts[driver], self.limits[driver]

    # -- inside ------------------------------------------------------------------------------------------------------

    def _follow_nodes(self) -> None:
        nodes, journal = self._cluster.nodes, self._cluster.node_journal
        if journal.end == self._node_position:
            return
        if nodes.capacity > self._capacity:
            self._grow(nodes.capacity)
        rows = journal.since(self._node_position) if self._node_position >= 0 else None
        for row in range(nodes.num_rows) if rows is None else rows.tolist():
            if self._names.get(row, "") != nodes.names[row]:
                self._stale.add(row)
        self._node_position = journal.end

    def _count(self, row: int, pod_class: PodClass, use: VolumeUse, step: int) -> None:
        for key in use.named_claims:
            _add(self._claim_pods, key, step)
        for key in use.claims:
            _add_within(self._claim_rows, key, row, step)
        for disk in use.disks:
            _add_within(self._disk_rows, disk, row, step)
        if use.is_counted:
            _add_within(self._classes, row, pod_class, step)
            self._stale.add(row)

    def _recount(self, row: int) -> None:
        for driver in self._drivers.pop(row, ()):
            self.counts[driver][row] = 0
            self.limits[driver][row] = UNLIMITED
            _add(self._driver_rows, driver, -1)
        for volume in self._attached.pop(row, ()):
            rows = self._volume_rows[volume]
            rows.remove(row)
            if not rows:
                del self._volume_rows[volume]
        self.problems.pop(row, None)
        name = self._names[row] = self._cluster.nodes.names[row]
        csi_node = self._storage.csi_nodes.get(name)
        limits = volume_limits(csi_node)
        self.has_csi_node[row] = csi_node is not None
        self.is_limited[row] = bool(limits)
        if not limits:
            return
        attached: dict[str, str] = {}
        try:
            for pod_class in self._classes.get(row, ()):
                attached |= attachable_volumes(self._storage, pod_class.pod, has_csi_node=True, is_new=False)
        except ValueError as problem:
            self.problems[row] = str(problem)
        counts = Counter(attached.values())
        counts.update(driver for volume, driver in self._storage.attached_to(name).items() if volume not in attached)
        self._attached[row] = attached
        for volume in attached:
            self._volume_rows.setdefault(volume, set()).add(row)
        self._drivers[row] = drivers = {*limits, *counts}
        for driver in drivers:
            if driver not in self.counts:
                self.counts[driver] = np.zeros(self._capacity, np.int64)
                self.limits[driver] = np.full(self._capacity, UNLIMITED, np.int64)
            self.counts[driver][row] = counts[driver]
            self.limits[driver][row] = limits.get(driver, UNLIMITED)
            _add(self._driver_rows, driver, 1)

    def _grow(self, capacity: int) -> None:
        self._capacity = capacity
        self.has_csi_node = _widened(self.has_csi_node, capacity, 0)
        self.is_limited = _widened(self.is_limited, capacity, 0)
        for driver in self.counts:
            self.counts[driver] = _widened(self.counts[driver], capacity, 0)
            self.limits[driver] = _widened(self.limits[driver], capacity, UNLIMITED)


def _add(counter: Counter[Key], key: Key, step: int) -> None:
    """Count up or down; what nobody has leaves no entry."""
    counter[key] += step
    if not counter[key]:
        del counter[key]


def _add_within(counters: dict[Key, Counter[Thing]], key: Key, thing: Thing, step: int) -> None:
    counter = counters.get(key)
    if counter is None:
        counter = counters[key] = Counter()
    _add(counter, thing, step)
    if not counter:
        del counters[key]


def _widened(array: NDArray[Scalar], capacity: int, fill: int) -> NDArray[Scalar]:
    wider = np.full(capacity, fill, array.dtype)
    wider[: len(array)] = array
    return wider
