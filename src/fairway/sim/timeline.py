"""The kernel: what happens next, on a virtual clock.

In: actions to be done at a time (`at`) or after a delay (`after`). Out: `run` does them in order of time, and of being
asked for where times are equal; `now` tells the time in between. Everything in a simulation happens in such an action.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final

Action = Callable[[], object]
"""What it returns is of no interest."""


LATE: Final = 1 << 60
"""More than anybody ever counts to: whatever has such a number comes after all else of its instant."""


class Handle:
    """An action that may still be called off."""

    __slots__ = ("_timeline", "action", "is_idle")

    def __init__(self, action: Action, timeline: Timeline, is_idle: bool) -> None:
        self.action: Action | None = action
        self.is_idle = is_idle
        self._timeline = timeline

    def cancel(self) -> None:
        """Call it off; nothing happens if it is over."""
        if self.action is not None:
            self.action = None
            self._timeline.num_busy -= not self.is_idle


class Timeline:
    """A heap of (time, sequence, action)."""

    __slots__ = ("_heap", "_now", "_sequence", "num_busy", "num_done")

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._heap: list[tuple[float, int, Handle]] = []
        self._sequence = 0
        self.num_done = 0
        self.num_busy = 0  # actions to come that are more than somebody looking whether there is anything to do

    def now(self) -> float:
        """Seconds since the start of the simulation."""
        return self._now

    def at(self, time: float, action: Action, is_idle: bool = False, is_early: bool = False) -> Handle:
        """Do it then; what should have been done in the past is done now. `is_idle`: it changes nothing by itself.

        `is_early`: before all else of its instant that is not early.
        """
        handle = Handle(action, self, is_idle)
        if not is_idle:
            self.num_busy += 1
        self._sequence += 1
        number = self._sequence - LATE if is_early else self._sequence
        heapq.heappush(self._heap, (max(time, self._now), number, handle))
        return handle

    def at_rest(self, action: Action) -> Handle:
        """Do it at the end of this instant, when nothing else is left to do now."""
        handle = Handle(action, self, is_idle=False)
        self.num_busy += 1
        self._sequence += 1
        heapq.heappush(self._heap, (self._now, LATE + self._sequence, handle))
        return handle

    def after(self, delay: float, action: Action) -> Handle:
        """Do it so many seconds from now."""
        return self.at(self._now + delay, action)

    def next_time(self) -> float | None:
        """When something happens next; None if nothing does."""
        while self._heap and self._heap[0][2].action is None:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def step(self, until: float | None = None) -> bool:
        """Do the next thing, if there is one (not after `until`)."""
        heap = self._heap
        while heap:
            time, _, handle = heap[0]
            action = handle.action
            if action is None:  # called off
                heapq.heappop(heap)
                continue
            if until is not None and time > until:
                return False
            heapq.heappop(heap)
            handle.cancel()
            self._now = time
            self.num_done += 1
            action()
            return True
        return False

    def run(self, until: float | None = None) -> None:
        """Do everything there is to do, until that time if one is given; then it is that time."""
        while self.step(until):
            pass
        if until is not None:
            self._now = max(self._now, until)
