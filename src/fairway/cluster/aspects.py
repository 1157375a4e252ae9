"""The parts of a cluster's state that answers depend on, and counts of their changes.

`Aspect` is what a plugin declares to read; `Versions` is how caches see that something without a row changed. Kept by
`Cluster`.
"""

from __future__ import annotations

import enum


class Aspect(enum.IntFlag):
    """A part of the cluster's state that an answer may depend on."""

    NODE = enum.auto()  # the node objects themselves: labels, taints, allocatable, images
    PODS = enum.auto()  # what runs on the rows
    STORAGE = enum.auto()  # volumes, claims, classes, CSI objects
    WORKLOADS = enum.auto()  # services and controllers
    NAMESPACES = enum.auto()  # namespaces and their labels


class Versions:
    """Counts changes of the aspects that have no rows; rows have journals."""

    __slots__ = ("namespaces", "storage", "workloads")

    def __init__(self) -> None:
        self.storage = 0
        self.workloads = 0
        self.namespaces = 0
