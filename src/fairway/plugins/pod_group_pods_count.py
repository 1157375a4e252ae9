"""PodGroupPodsCount: the more members of a group have room on a set of nodes, the better that set is.

In: the members that run, and those that were found a place on these nodes. Out: their number, which is then set against
the most that any set has. kube-scheduler 1.36, plugins/podgrouppodscount/podgroup_pods_count.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from fairway.cluster.groups import GroupBook
from fairway.plugin import Aspect, Nodes, Plugin, PodClass


class PodGroupPodsCount(Plugin):
    """Counts members."""

    annotations = ()
    reads = Aspect(0)
    normalize: ClassVar[Literal["none", "default", "reverse", "own"]] = "default"

    def placement_score(self, group: GroupBook, nodes: Nodes, pods: Sequence[PodClass]) -> int:
        return group.num_scheduled + len(pods)
