"""TopologyPlacementGenerator: the pods of a group go to nodes with one value of the label that the group names.

Which sets of nodes that makes is for the cycle of groups to find out (`fairway.cycle.groups.placements`), which tries
the whole group on each; this plugin stands for it in configurations, where it can be left out.
"""

from __future__ import annotations

from typing import ClassVar

from fairway.plugin import Aspect, Plugin


class TopologyPlacementGenerator(Plugin):
    """One set of nodes for each value of the label."""

    annotations = ()
    reads = Aspect(0)
    acts: ClassVar[frozenset[str]] = frozenset({"placementGenerate"})
