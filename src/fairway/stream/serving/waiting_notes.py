"""Notes that wait until a process takes them: so many, and no more; of the rest is known how many there were.

In: notes, in order. Out: those that may be sent, and how many are missing behind them. Once one is missing, all that
follow are, until how things stand is told again: what is kept is whole up to one place. Kept by `serving_process`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fairway.stream.noting import Note

__all__ = ["MOST_WAITING", "WaitingNotes"]

MOST_WAITING: Final = 8192


class WaitingNotes:
    """A queue with an end."""

    def __init__(self, most: int = MOST_WAITING) -> None:
        self._most = most
        self._notes: list[Note] = []
        self.num_missing = 0

    def __len__(self) -> int:
        return len(self._notes)

    def put(self, notes: Sequence[Note], num_under_way: int = 0, least: int = 0) -> None:
        """These come next. Some of those that may wait are `num_under_way` already; `least` may, whatever the limit is:
        where how things stand is longer than that, to tell it again would be no relief.
        """
        if self.num_missing:
            self.num_missing += len(notes)
            return
        room = max(max(self._most, least) - num_under_way - len(self._notes), 0)
        self._notes += notes[:room]
        self.num_missing = max(len(notes) - room, 0)

    def take(self) -> tuple[list[Note], int]:
        """Whatever waits, and how many are missing behind it; nothing is missing any more then."""
        taken, self._notes = (self._notes, self.num_missing), []
        self.num_missing = 0
        return taken
