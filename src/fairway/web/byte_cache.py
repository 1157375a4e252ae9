"""What was worked out once, kept as long as there is room: the least recently used goes first.

In: values with their sizes in bytes, under keys that begin with whose they are. Out: the same values, or nothing. One
cache serves all runs of a server, so that its memory is bounded however many there are. Called from several threads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

__all__ = ["MOST_CACHED", "ByteCache"]

MOST_CACHED: Final = 256 << 20

T = TypeVar("T")


class ByteCache:
    """Values by key, at most so many bytes of them."""

    def __init__(self, most_bytes: int = MOST_CACHED) -> None:
        self._most_bytes = most_bytes
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()  # the one used last stands last
        self._lock = threading.Lock()
        self.num_bytes = 0

    def value(self, key: Hashable, make: Callable[[], T], size: Callable[[T], int]) -> T:
        """What is kept under that key, or made now; what is larger than all the room is made each time."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                kept: T = self._values[key][0]
                return kept
        made = make()
        self.put(key, made, size(made))
        return made

    def put(self, key: Hashable, value: Any, num_bytes: int) -> None:
        """Keep it, in place of what was used longest ago."""
        with self._lock:
            if key in self._values:
                self.num_bytes -= self._values.pop(key)[1]
            if num_bytes > self._most_bytes:
                return
            self._values[key] = (value, num_bytes)
            self.num_bytes += num_bytes
            while self.num_bytes > self._most_bytes:
                _, (_, freed) = self._values.popitem(last=False)
                self.num_bytes -= freed

    def get(self, key: Hashable) -> Any | None:
        """What is kept under that key."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]
