"""Pods counted per topology domain, and what that means for the rows of the domain.

In: a label column of the node table (`Topology`) and counters of pods (`fairway.cluster.counters`).
Out: `DomainCounts`, pods per label value, brought up to date from the counters' journals by looking at changed rows
alone; `DomainScores`, the same handed to the rows of the domain; and `DomainMask`, rows judged by the count of their
domain. PodTopologySpread and InterPodAffinity keep them per pod class.
All of it stands on one state of the node labels, and is made anew when they change.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fairway.cluster import Cluster, Counter, Rows
    from fairway.cluster.labels import LabelColumn

T = TypeVar("T", bound=np.generic)

FEW_ROWS = 24
"""Up to so many changed rows are followed one by one; more are counted again as arrays."""


class Topology:
    """The cluster's rows divided by the value of one node label."""

    __slots__ = ("__weakref__", "absent", "blank", "domains", "ids", "is_single", "key", "row_of", "version")

    def __init__(self, key: str, column: LabelColumn, num_rows: int) -> None:
        self.key = key
        self.version = -1  # of the nodes it was last compared with
        self.blank = column.values.find("")
        self.ids = column.ids[:num_rows].copy()  # (num_rows,); -1 without the label
        self.absent = len(column.values)  # the domain of rows without the label, one past the others
        self.domains: NDArray[np.intp] = np.where(self.ids < 0, self.absent, self.ids)  # (num_rows,)
        sizes = np.bincount(self.domains, minlength=self.absent + 1)[:-1]
        self.is_single = bool((sizes <= 1).all())  # no two rows share a domain, as with host names
        self.row_of: NDArray[np.intp] = np.zeros(self.absent + 1, np.intp)  # (num_domains + 1,); if is_single
        if self.is_single:
            self.row_of[self.domains] = np.arange(num_rows)

    @property
    def is_nowhere(self) -> bool:
        """Does no node have the label?"""
        return not self.absent

    def labelled(self) -> NDArray[np.bool_]:
        """Rows that have the label."""
        return self.ids >= 0

    def domains_with_blank(self) -> NDArray[np.intp]:
        """The same, but a missing label reads as an empty one wherever some node has an empty one."""
        return self.domains if self.blank < 0 else np.where(self.ids < 0, self.blank, self.domains)

    def still_holds(self, column: LabelColumn, num_rows: int) -> bool:
        """Would it be the same if it were made now?"""
        return self.blank == column.values.find("") and np.array_equal(self.ids, column.ids[:num_rows])

    def under(self, key: str) -> Topology:
        """The same under another key, as for keys that no node has: all arrays are shared."""
        other = Topology.__new__(Topology)
        for name in ("absent", "blank", "domains", "ids", "is_single", "row_of", "version"):
            setattr(other, name, getattr(self, name))
        other.key = key
        return other


class Topologies:
    """The topologies in use. One stays the same object for as long as no row's label changes."""

    __slots__ = ("_by_key", "_nodes", "_nowhere")

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.nodes
        self._by_key: weakref.WeakValueDictionary[str, Topology] = weakref.WeakValueDictionary()
        self._nowhere: Topology | None = None  # what those of keys that no node has share their arrays with

    def of(self, key: str, version: int) -> Topology:
        """The topology of a label key. `version` is that of the nodes: equal ones save a look at the labels."""
        topology = self._by_key.get(key)
        if topology is None or topology.version != version:
            column, num_rows = self._nodes.labels.column(key), self._nodes.num_rows
            if topology is None or not topology.still_holds(column, num_rows):
                topology = self._by_key[key] = self._made(key, column, num_rows)
            topology.version = version
        return topology

    def _made(self, key: str, column: LabelColumn, num_rows: int) -> Topology:
        if key in self._nodes.labels:
            return Topology(key, column, num_rows)
        if self._nowhere is None or len(self._nowhere.ids) != num_rows:
            self._nowhere = Topology("", column, num_rows)
        return self._nowhere.under(key)


class ReadCounter:
    """A counter and how far it has been read."""

    __slots__ = ("counter", "position", "seen", "weight")

    def __init__(self, counter: Counter, weight: int = 1) -> None:
        self.counter = counter
        self.weight = weight
        self.position = counter.journal.end
        self.seen = counter.counts.copy()


class DomainCounts:
    """Pods per domain of a topology: the weighted sum of some counters."""

    __slots__ = ("counts", "domains", "sources", "topology", "total")

    def __init__(self, topology: Topology, domains: NDArray[np.intp] | None = None) -> None:
        """`domains` is where the pods of each row are counted, if not in its own domain."""
        self.topology = topology
        self.domains = topology.domains if domains is None else domains  # (num_rows,)
        self.counts = np.zeros(topology.absent + 1, np.int64)  # (num_domains + 1,); the last one stays 0
        self.total = 0  # pods in all domains, each once for every source
        self.sources: list[ReadCounter] = []

    def watch(self, counter: Counter, weight: int = 1) -> None:
        """Count the pods of one more counter, `weight` times each."""
        source = ReadCounter(counter, weight)
        self.sources.append(source)
        self._count(source)

    def refresh(self) -> None:
        """Take in what the counters have seen since the last time."""
        for source in self.sources:
            journal = source.counter.journal
            if source.position != journal.end:
                rows = journal.since(source.position)
                source.position = journal.end
                if rows is None or len(rows) > FEW_ROWS:
                    self.recount()
                    return
                self._follow(source, rows.tolist())

    def shift(self, domain: int, delta: int, weight: int = 1) -> None:
        """There are `delta` more pods in a domain."""
        self.total += delta
        self.counts[domain] += delta * weight

    def recount(self) -> None:
        """Count everything again."""
        self.counts[:] = 0
        self.total = 0
        self.sources = [source for source in self.sources if source.counter.is_carried]
        for source in self.sources:
            source.position = source.counter.journal.end
            source.seen = source.counter.counts.copy()
            self._count(source)

    def _follow(self, source: ReadCounter, rows: list[int]) -> None:
        now, seen = source.counter.counts, source.seen
        for row in rows:
            delta = seen.catch_up(now, row)
            if delta:
                domain = self.domains.item(row)
                if domain != self.topology.absent:
                    self.shift(domain, delta, source.weight)

    def _count(self, source: ReadCounter) -> None:
        if source.counter.total:
            sums = source.seen.sums(self.domains, len(self.counts))
            sums[-1] = 0
            self.total += int(sums.sum())
            self.counts += sums if source.weight == 1 else sums * source.weight


class Gathered(Generic[T]):
    """A table of values per domain, and the same per row, gathered when somebody asks for all rows."""

    __slots__ = ("_stale", "_topology", "_values", "table")

    def __init__(self, topology: Topology, table: NDArray[T]) -> None:
        self._topology = topology
        self.table = table  # (num_domains + 1,)
        self._values: NDArray[T] | None = None  # (num_rows,), made when somebody asks
        self._stale: list[int] | None = None  # domains whose rows are behind the table; None: all of them

    def touch(self, domain: int) -> None:
        """One entry of the table changed."""
        if self._stale is not None:
            self._stale.append(domain)
            if len(self._stale) > FEW_ROWS:
                self._stale = None

    def touch_all(self) -> None:
        """Any entry may have changed."""
        self._stale = None

    def of_rows(self, rows: Rows) -> NDArray[T]:
        """The values of some rows; not to be written to."""
        topology, stale = self._topology, self._stale
        if not isinstance(rows, slice) and (len(rows) <= FEW_ROWS or not topology.is_single):
            return self.table.take(topology.domains.take(rows))
        values = self._values
        if values is None:
            values = self._values = np.zeros(len(topology.domains), self.table.dtype)
        if stale is None or (stale and not topology.is_single):
            self.table.take(topology.domains, out=values, mode="clip")
            self._stale = []
        elif stale:
            for domain in stale:
                values[topology.row_of[domain]] = self.table[domain]
            stale.clear()
        return values if isinstance(rows, slice) else values.take(rows)


class DomainScores(DomainCounts):
    """What the pods counted in a domain are worth, for the rows of the domain; nothing for rows without the label."""

    __slots__ = ("_gathered",)

    def __init__(self, topology: Topology, domains: NDArray[np.intp] | None = None) -> None:
        super().__init__(topology, domains)
        self._gathered = Gathered(topology, self.counts)

    def shift(self, domain: int, delta: int, weight: int = 1) -> None:
        super().shift(domain, delta, weight)
        self._gathered.touch(domain)

    def watch(self, counter: Counter, weight: int = 1) -> None:
        super().watch(counter, weight)
        self._gathered.touch_all()

    def recount(self) -> None:
        super().recount()
        self._gathered.touch_all()

    def of_rows(self, rows: Rows) -> NDArray[np.int64]:
        """The worth of some rows; not to be written to."""
        return self._gathered.of_rows(rows)


class DomainMask(DomainCounts):
    """The rows that pass, judged by the pods counted in their domain. Subclasses say how to judge."""

    __slots__ = ("_gathered", "_is_judged", "_table")
    passes_without_label = False

    def __init__(self, topology: Topology, domains: NDArray[np.intp] | None = None) -> None:
        super().__init__(topology, domains)
        self._table = np.zeros(len(self.counts), bool)  # (num_domains + 1,)
        self._gathered = Gathered(topology, self._table)
        self._is_judged = False  # whether the table is up to date

    def passes(self, count: int) -> bool:
        """The verdict on a domain with so many pods."""
        raise NotImplementedError

    def judge(self, counts: NDArray[np.int64], table: NDArray[np.bool_]) -> None:
        """The verdicts on all domains at once, written to `table`."""
        raise NotImplementedError

    def shift(self, domain: int, delta: int, weight: int = 1) -> None:
        before = self.counts.item(domain)
        after = before + delta * weight
        self.total += delta
        self.counts[domain] = after
        self.note(domain, before, after)

    def note(self, domain: int, before: int, after: int) -> None:
        """A domain's count changed; bring its verdict up to date."""
        if self._is_judged:
            passes = self.passes(after)
            if passes is not self._table.item(domain):
                self._table[domain] = passes
                self._gathered.touch(domain)

    def doubt(self) -> None:
        """Every verdict may have changed."""
        self._is_judged = False

    def watch(self, counter: Counter, weight: int = 1) -> None:
        super().watch(counter, weight)
        self.doubt()

    def recount(self) -> None:
        super().recount()
        self.doubt()

    def of_rows(self, rows: Rows) -> NDArray[np.bool_]:
        """The verdict on some rows; not to be written to."""
        if not self._is_judged:
            self.judge(self.counts, self._table)
            self._table[-1] = self.passes_without_label
            self._is_judged = True
            self._gathered.touch_all()
        return self._gathered.of_rows(rows)
