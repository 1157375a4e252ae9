"""The parts of a cluster's state that answers depend on, and counts of their changes.

`Aspect` is what a plugin declares to read; `Versions` is how caches see that something without a row changed. Kept by
`Cluster`. A new aspect is one more member here, and a `versions.bump` of it wherever that part of the state changes:
caches, remembered failures and the checks of `fairway.testing` go by the members.
"""

from __future__ import annotations

import enum
from typing import Final

__all__ = ["ROWLESS", "WITH_ROWS", "Aspect", "Versions"]


class Aspect(enum.IntFlag):
    """A part of the cluster's state that an answer may depend on."""

    NODE = enum.auto()  # the node objects themselves: labels, taints, allocatable, images
    PODS = enum.auto()  # what runs on the rows
    STORAGE = enum.auto()  # volumes, claims, classes, CSI objects
    WORKLOADS = enum.auto()  # services and controllers
    NAMESPACES = enum.auto()  # namespaces and their labels
    DATA = enum.auto()  # datasets, and where copies of them are
    TIME = enum.auto()  # what time it is, in the steps that plugins declare
    PROMISES = enum.auto()  # what is promised to jobs in queues, and who of them is tried


WITH_ROWS: Final = Aspect.NODE | Aspect.PODS
"""What changes row by row; the journals say which."""

ROWLESS: Final = tuple(aspect for aspect in Aspect if aspect not in WITH_ROWS)
"""All else: a change may concern any row."""

ROWLESS_BITS: Final = tuple(map(int, ROWLESS))


class Versions:
    """Counts changes of the aspects that have no rows."""

    __slots__ = ("_counts", "now")

    def __init__(self) -> None:
        self._counts = dict.fromkeys((int(aspect) for aspect in ROWLESS), 0)
        self.now: tuple[int, ...] = tuple(self._counts.values())  # (num_rowless,): as long as it is equal, so are they

    def bump(self, aspect: Aspect) -> None:
        """Something of that aspect changed."""
        self._counts[int(aspect)] += 1
        self.now = tuple(self._counts.values())

    def of(self, aspect: Aspect) -> int:
        """How often that aspect changed."""
        return self._counts[int(aspect)]

    def has_changed(self, before: tuple[int, ...], aspects: int) -> bool:
        """Has any of these aspects changed since `now` was that? Quicker than to find out which did."""
        counts = zip(ROWLESS_BITS, before, self.now, strict=True)
        return any(old != new and aspects & bit for bit, old, new in counts)

    def changed_since(self, before: tuple[int, ...]) -> Aspect:
        """What changed since `now` was that."""
        changed = Aspect(0)
        for aspect, old, new in zip(ROWLESS, before, self.now, strict=True):
            if old != new:
                changed |= aspect
        return changed
