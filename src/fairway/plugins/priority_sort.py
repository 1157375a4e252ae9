"""PrioritySort: higher priority first, then who has waited longer.

The order itself is kept by `fairway.queue`, which asks a profile only for the name of its queue-sort plugin; this class
gives that name a place in configurations.
"""

from __future__ import annotations

from fairway.plugin import Aspect, Plugin


class PrioritySort(Plugin):
    """Orders the active queue."""

    annotations = ()
    reads = Aspect(0)
    acts = frozenset({"queueSort"})
