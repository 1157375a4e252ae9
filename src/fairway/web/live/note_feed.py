"""What a scheduler notes becomes a live history, without a network in between.

In: notes in order (`fairway.stream.noting`), from one thread; how things stand when it begins, and again behind every
place where some are missing. Out: events in a `LiveHistory`, and a gap for what is missing, as those have it that read
the stream. Kept by `page_process`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fairway.stream.noting import Note
from fairway.stream.ring import Ring
from fairway.stream.telling import Teller
from fairway.stream.watching import Gap, Reader, WantedEvents
from fairway.web.live.live_history import LiveHistory

__all__ = ["NoteFeed"]

MOST_UNTOLD: Final = 1 << 13
"""Events that a few hundred notes become: they are told at once."""


class NoteFeed:
    """Tells one history; it is not told anything before `stands`."""

    def __init__(self, history: LiveHistory, stream_id: str, origin: int | None) -> None:
        self._history = history
        self._stream_id = stream_id
        self._origin = origin
        self._num_missing = 0
        self._begin()

    def _begin(self) -> None:
        self._teller = Teller(self._stream_id, Ring(MOST_UNTOLD))
        self._teller.is_silent = True
        self._reader = Reader(self._teller, WantedEvents(snapshot=True))

    def take(self, notes: Iterable[Note]) -> None:
        """This happened, or this is how it stands."""
        self._teller.take(*notes)
        if not self._teller.is_silent:
            self._tell()

    def misses(self, number: int) -> None:
        """So many notes are missing; how things stand comes next."""
        self._num_missing += number
        self._begin()

    def stands(self, t: float) -> None:
        """That is how things stood at that time; what comes now is what happens."""
        self._teller.stands(t)
        self._tell()

    def _tell(self) -> None:
        while (batch := self._reader.read()) is not None:
            gap, events = batch.gap, [event for _, event in batch.events]
            if self._num_missing:
                gap, self._num_missing = Gap(self._num_missing, 1, self._num_missing, "slow reader"), 0
            self._history.take(self._stream_id, self._origin, gap, events)
