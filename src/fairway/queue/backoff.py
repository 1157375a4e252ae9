"""How long a pod rests after a failed attempt, and the pods that do.

Pods come in from `SchedulingQueue` when an event promises that another attempt is worth it but their backoff is not
over, or when their attempt broke. They go out when the backoff is over (`pop_completed`) or, refused ones only, when
nothing else is left to do (`pop`). Ends of backoffs are rounded down to whole seconds, and a pod rests until that
second is over, so that pods of one second can be popped by priority: kube-scheduler 1.36, backend/queue/
backoff_queue.go, with SchedulerPopFromBackoffQ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fairway.queue.pod_heap import PodHeap
from fairway.queue.queued_group import QueuedGroup
from fairway.queue.queued_pod import QueuedPod, SortKey

__all__ = ["Backoff"]

WINDOW_SECONDS = 1.0
NEVER_BACKED_OFF = -math.inf


class Backoff:
    """The backoff queue: two heaps, for pods that plugins refused and for pods whose attempt broke."""

    def __init__(self, initial: float, maximum: float, order: SortKey, tickets: Iterator[int]) -> None:
        """Backoffs double from `initial` to `maximum` seconds; a maximum of 0 turns them off. `order`: as active."""
        self._initial = initial
        self._maximum = maximum

        def by_window(queued: QueuedPod) -> tuple[Any, ...]:
            return self.expiration(queued), *order(queued)

        self._refused = PodHeap(by_window, tickets)
        self._broken = PodHeap(lambda queued: (self.expiration(queued),), tickets)

    def __len__(self) -> int:
        return self._refused.size + self._broken.size

    def __iter__(self) -> Iterator[QueuedPod]:
        """Refused pods, then broken ones, each in their order."""
        yield from self._refused
        yield from self._broken

    @property
    def is_poppable(self) -> bool:
        """Would `pop` give a pod?"""
        return self._refused.size > 0

    def duration(self, count: int, maximum: float | None = None) -> float:
        """Seconds of backoff after so many failures; jobs have a maximum of their own."""
        if count == 0:
            return 0.0
        # ldexp would overflow where the backoff has long reached its maximum.
        return min(math.ldexp(self._initial, min(count - 1, 64)), self._maximum if maximum is None else maximum)

    def expiration(self, queued: QueuedPod) -> float:
        """The second in which the pod's backoff ends; minus infinity if it has none. Kept until the next failure."""
        count = queued.consecutive_errors or queued.unschedulable_count
        maximum = queued.max_backoff if type(queued) is QueuedGroup else self._maximum
        if count == 0 or maximum == 0:
            return NEVER_BACKED_OFF
        if queued.backoff_expiration is None:
            end = queued.timestamp + self.duration(count, maximum)
            queued.backoff_expiration = math.floor(end / WINDOW_SECONDS) * WINDOW_SECONDS
        return queued.backoff_expiration

    def is_resting(self, queued: QueuedPod, now: float) -> bool:
        """True until the second in which the backoff ends is over."""
        return self.expiration(queued) + WINDOW_SECONDS > now

    def push(self, queued: QueuedPod) -> None:
        """Let in a pod that is in no heap."""
        self._heap(queued).push(queued)

    def remove(self, queued: QueuedPod) -> None:
        """Take out a pod, wherever it stands."""
        self._heap(queued).remove(queued)

    def reorder(self, queued: QueuedPod) -> None:
        """Put a pod that was updated where it belongs now."""
        self._heap(queued).reorder(queued)

    def pop(self) -> QueuedPod | None:
        """The refused pod whose backoff ends first, early. Broken ones wait: whatever broke needs the rest."""
        return self._refused.pop()

    def pop_completed(self, now: float) -> list[QueuedPod]:
        """Take out all pods whose backoff is over."""
        completed = []
        for heap in (self._refused, self._broken):
            while (head := heap.peek()) is not None and not self.is_resting(head, now):
                heap.pop()
                completed.append(head)
        return completed

    def next_completion(self) -> float | None:
        """When `pop_completed` will next find a pod."""
        if not self:
            return None
        heads = (self._refused.peek(), self._broken.peek())
        return min((self.expiration(head) + WINDOW_SECONDS for head in heads if head is not None), default=None)

    def _heap(self, queued: QueuedPod) -> PodHeap:
        is_refused = (queued.unschedulable_plugins or queued.pending_plugins) and not queued.rests
        return self._refused if is_refused else self._broken
