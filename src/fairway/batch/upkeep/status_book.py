"""What is written down of windows and reservations, as a desk knows it.

In: the statuses of a world, read at first and when one is asked for that is not known. Out: each of them by kind and
name, made if there is none; written through the world whenever it becomes another one. Called by those who look after
windows and reservations.
"""

from __future__ import annotations

from fairway.batch.batch_world import BatchWorld
from fairway.batch.upkeep.closing_status import ClosingKind, ClosingStatus

__all__ = ["StatusBook"]


class StatusBook:
    """Statuses by kind and name."""

    def __init__(self, world: BatchWorld) -> None:
        self._world = world
        self._known = {(status.kind, status.name): status for status in world.statuses()}

    def find(self, kind: ClosingKind, name: str) -> ClosingStatus:
        """What is written down; of one that nobody has looked at: that it is made now."""
        known = self._known.get((kind, name))
        if known is None:
            self._known = {(status.kind, status.name): status for status in self._world.statuses()} | self._known
            known = self._known.get((kind, name))
        if known is None:
            # Its uid is its name where nobody gave it another one.
            known = self._known[kind, name] = ClosingStatus(kind, name, name, self._world.now())
        return known

    def follow_wall(self, step: float) -> None:
        """The clock on the wall was set forward by so much: what was written down by it is so much sooner."""
        self._known = {key: status.moved(-step) for key, status in self._known.items()}

    def put(self, status: ClosingStatus) -> None:
        """Write it down, if it is not."""
        if self._known.get((status.kind, status.name)) != status:
            self._known[status.kind, status.name] = status
            self._world.write_status(status)
