"""Who may be tried, and what is free for as long as a job may run: what plans over time mean to plugins.

In: a `Planner` (the desk of `fairway.batch`), which is there or not. Out: for the plugin Queues, why a pod may not
enter the active queue yet (`gate`); for ReservedTime, the room in time of the job that is tried now (`room`). The
planner says before each attempt of a planned pod what that room is (`begin`); remembered failures of others end with
it (`Aspect.PROMISES`). Kept by `Cluster`; without a planner nothing here is ever looked at.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairway.cluster.aspects import Aspect, Versions
from fairway.model import Pod

__all__ = ["Planner", "Promises", "RoomInTime"]


class Planner(Protocol):
    """Knows the jobs of all queues."""

    def gate(self, pod: Pod) -> str:
        """Why the pod may not be tried yet, for people; "": it may, or it is of no queue."""

    def plans(self, pod: Pod) -> bool:
        """Is the pod of a queue, or bound by what was promised to them?"""

    def is_queued(self, pod: Pod) -> bool:
        """Is the pod of a queue?"""

    def protects(self, pod: Pod) -> bool:
        """Is the pod of a job that nobody may make room with, now or ever?"""


class RoomInTime(NamedTuple):
    """What is free, on every row, all the time that a job may run, if it begins now; promises to others aside."""

    free: NDArray[np.int64]  # (num_rows, num_resources)
    may_enter: NDArray[np.bool_]  # (num_rows,): no window, and nobody who has the row for himself
    taken: NDArray[np.int64]  # (num_rows, num_resources): what was requested of the rows when the attempt began


class Promises:
    """The planner, and the job that is tried now."""

    def __init__(self, versions: Versions) -> None:
        self._versions = versions
        self.planner: Planner | None = None
        self.room: RoomInTime | None = None  # None: who is tried now is of no queue

    def begin(self, room: RoomInTime | None) -> None:
        """Another pod is tried next: with this room, or without a plan."""
        if room is not None or self.room is not None:
            self.room = room
            self._versions.bump(Aspect.PROMISES)
