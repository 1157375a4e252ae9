"""The time of day, for a desk whose own clock never jumps: windows, reservations and periods go by the wall's.

In: by how much that clock was set since the desk's own began with it (`wall_offset`). Out: the same desk, for which
every time of day is so much sooner or later; what has passed has passed, so limits and charges do not feel it. Called
by the live world; in a simulation nobody sets the clock.
"""

from __future__ import annotations

from typing import Protocol

from fairway.batch.duties.duty import DutyDesk
from fairway.batch.upkeep.upkeep import Upkeep

__all__ = ["follow_wall"]


class WallDesk(DutyDesk, Protocol):
    """A desk, as far as it goes by the time of day."""

    @property
    def upkeep(self) -> Upkeep:
        """Who looks after windows and reservations."""


def follow_wall(desk: WallDesk, wall_offset: float) -> None:
    """The clock on the wall was set: from the next pass on the desk goes by it."""
    step = wall_offset - desk.wall_offset
    desk.wall_offset, desk.epoch = wall_offset, desk.epoch + step
    desk.book.start = desk.book.sayings.start = desk.epoch
    desk.upkeep.follow_wall(step)
    desk.is_due = True
