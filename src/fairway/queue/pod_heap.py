"""Pods in order of a key, smallest first; removing one in the middle is cheap.

A heap of entries (*key, sequence, ticket, pod). A pod that leaves only drops its ticket: its entry stays behind, is
skipped when it surfaces, and swept out when such entries are in the majority. Used by the active queue and by both
halves of the backoff queue, which share one source of tickets so that an old entry is never taken for a new one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

from fairway.queue.queued_pod import QueuedPod, SortKey

__all__ = ["PodHeap"]

MIN_SWEEP = 64  # do not bother with a handful


class PodHeap:
    """A priority queue of pods. A key is read when its pod enters; call `reorder` after a change that matters to it."""

    def __init__(self, key: SortKey, tickets: Iterator[int]) -> None:
        """`tickets` gives increasing numbers from 1, and is shared by all heaps that a pod may move between."""
        self._key = key
        self._tickets = tickets
        self._entries: list[tuple[Any, ...]] = []
        self.size = 0  # how many pods there are; len() of the heap, without the call

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[QueuedPod]:
        """All pods, in the order in which they would be popped."""
        return (entry[-1] for entry in sorted(self._entries) if _is_valid(entry))

    def push(self, queued: QueuedPod) -> None:
        """Let in a pod that is in no heap."""
        queued.ticket = ticket = next(self._tickets)
        heapq.heappush(self._entries, (*self._key(queued), queued.sequence, ticket, queued))
        self.size += 1

    def pop(self) -> QueuedPod | None:
        """Take out the first pod."""
        while self._entries:
            entry = heapq.heappop(self._entries)
            queued: QueuedPod = entry[-1]
            if queued.ticket == entry[-2]:
                queued.ticket = 0
                self.size -= 1
                return queued
        return None

    def peek(self) -> QueuedPod | None:
        """The first pod, left where it is."""
        while self._entries:
            entry = self._entries[0]
            if _is_valid(entry):
                queued: QueuedPod = entry[-1]
                return queued
            heapq.heappop(self._entries)
        return None

    def remove(self, queued: QueuedPod) -> None:
        """Take out a pod of this heap, wherever it stands."""
        queued.ticket = 0
        self.size -= 1
        if len(self._entries) > 2 * self.size + MIN_SWEEP:
            self._entries = [entry for entry in self._entries if _is_valid(entry)]
            heapq.heapify(self._entries)

    def reorder(self, queued: QueuedPod) -> None:
        """Put a pod of this heap where it belongs now."""
        self.remove(queued)
        self.push(queued)


def _is_valid(entry: tuple[Any, ...]) -> bool:
    """False for an entry that its pod has left behind."""
    valid: bool = entry[-1].ticket == entry[-2]
    return valid
