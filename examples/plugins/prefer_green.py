"""Prefer nodes that run on green power; the label example.com/power says which do."""

import numpy as np

from fairway.plugin import Aspect, Plugin


class PreferGreen(Plugin):
    """Green nodes get 100 points, the others none."""

    reads = Aspect.NODE  # the answer depends on the nodes alone, not on the pods on them

    def score(self, pod, nodes, state):
        """Judge all nodes at once: an array of points, one for each node."""
        return np.where(nodes.label("example.com/power") == "green", 100, 0)
