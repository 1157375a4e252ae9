"""The last so many events, for any number of readers, none of whom can make the writer wait.

In: events, from one thread. Out: to readers in other threads, runs of events by their sequence numbers, which have no
holes. Memory is bounded by number and by size: the oldest events go first. A reader has nothing here but a number; one
that comes too late is told from where on there is something.
"""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

__all__ = ["MOST_BYTES", "MOST_EVENTS", "Ring", "Stretch"]

MOST_EVENTS: Final = 65_536
MOST_BYTES: Final = 64 << 20

T = TypeVar("T")


class Stretch(NamedTuple, Generic[T]):
    """Events one after the other; those from where the reader was to `first` are lost."""

    first: int
    events: list[T]

    @property
    def next(self) -> int:
        """From where to read on."""
        return self.first + len(self.events)


class Ring(Generic[T]):
    """Events by sequence number, from 1 on."""

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self._slots: list[tuple[int, T] | None] = [None] * most_events  # bytes, and the event
        self._most_bytes = most_bytes
        self._bytes = 0
        self.first = 1  # the oldest that is kept
        self.next = 1  # the one that will be appended

    def __len__(self) -> int:
        return self.next - self.first

    @property
    def num_bytes(self) -> int:
        """How much is kept, by what `append` was told."""
        return self._bytes

    def append(self, event: T, num_bytes: int) -> int:
        """Keep an event; returns its number."""
        sequence, slots = self.next, self._slots
        if sequence - self.first == len(slots):
            self._drop()
        slots[sequence % len(slots)] = (num_bytes, event)
        self._bytes += num_bytes
        self.next = sequence + 1
        while self._bytes > self._most_bytes and self.first < sequence:
            self._drop()
        return sequence

    def _drop(self) -> None:
        place = self.first % len(self._slots)
        slot = self._slots[place]
        assert slot is not None
        self.first += 1  # before the slot is emptied: a reader looks here after it has read
        self._bytes -= slot[0]
        self._slots[place] = None

    def read(self, sequence: int, most: int) -> Stretch[T]:
        """Up to so many events from that number on, or from the oldest that is left; in any thread."""
        slots = self._slots
        size = len(slots)
        while True:
            start = max(sequence, self.first)
            number = min(self.next - start, most)
            if number <= 0:
                return Stretch(start, [])
            place = start % size
            found = slots[place : place + number]
            found += slots[: number - len(found)]
            if self.first <= start:  # else some were dropped meanwhile: look again
                return Stretch(start, [slot[1] for slot in found if slot is not None])
