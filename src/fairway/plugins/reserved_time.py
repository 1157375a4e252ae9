"""ReservedTime: a pod of a queue goes only where there is room for it all the time that it may run.

In: the room in time of the job that is tried (`cluster.promises`): what is free of each row until its limit, promises
to others aside. Out: rows are refused that have been promised to other jobs, or close before this one may be over.
Members of the job that were put on a row in the same attempt count. Asked in every cycle of a queue's pod, since time
moves; of no concern to others. Switched on where queues are, never by hand.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairway.model import Pod
from fairway.plugin import (
    SKIP,
    Action,
    Aspect,
    ClusterEvent,
    Hint,
    Locality,
    Nodes,
    Plugin,
    PodClass,
    Refusal,
    Resource,
    Skip,
)

PROMISED = Refusal(("node(s) were promised to other jobs",))


class ReservedTime(Plugin):
    """Compares requests with what is free until the job's limit."""

    annotations = ()
    locality = Locality.CLUSTER  # so that it is asked each time, and nothing is remembered
    reads = Aspect.PODS
    refused_word = "promised"

    def class_key(self, pod: Pod) -> Hashable:
        """Pods of queues are told from others."""
        planner = self.cluster.promises.planner
        return True if planner is not None and planner.plans(pod) else None

    def pre_filter(self, pod: PodClass, nodes: Nodes) -> Any | Skip:
        """Others need not ask."""
        return SKIP if pod.extra[self.name] is None else None

    def filter(self, pod: PodClass, nodes: Nodes, state: Any) -> NDArray[np.bool_]:
        """Rows with room for the whole of the time."""
        room = self.cluster.promises.room
        if room is None:  # somebody asks, and nobody is tried
            return np.ones(len(nodes), bool)
        mask: NDArray[np.bool_] = nodes.of(room.may_enter).copy()
        _, requested = nodes.amounts
        for column, amount in pod.taken:
            # What came since the attempt began are members of the same job, which stay as long as it does.
            more = requested[column] - nodes.of(room.taken[:, column])
            mask &= nodes.of(room.free[:, column]) - np.maximum(more, 0) >= amount
        return mask

    def explain(self, pod: PodClass, nodes: Nodes, state: Any) -> Refusal | Sequence[Refusal]:
        """One refusal for all."""
        return PROMISED

    def events(self) -> Sequence[Hint]:
        """The planner says when it is worth another try; a node that came or changed may be such news as well."""
        return (Hint(ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE)),)
