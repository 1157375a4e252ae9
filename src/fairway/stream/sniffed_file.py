"""The run of a sniffer that still listens: written again and again, so that whoever ends it takes little with it.

In: messages, from the thread that takes them. Out: a file that is a whole run at any time. What a message means depends
on later ones (a run's 0 is the earliest time of all), so the run is made anew of all that is known, beside the old one,
and takes its place at once; that may take a twentieth of the time. Called by `fairway sniff`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

from fairway.model import Quantity
from fairway.stream.message import Message
from fairway.stream.sniffed import Sniffed, Sniffing
from fairway.stream.sniffed_run import MessageOrigin, write_run

__all__ = ["SniffedFile", "pause_after"]

SHARE: Final = 1 / 20
SHORTEST_PAUSE: Final = 1.0


class SniffedFile:
    """A run that grows; `take` and `write` may be called in different threads."""

    def __init__(self, path: str, name: str, requests: Mapping[str, Quantity], namespace: str) -> None:
        self._path = path
        self._name = name
        self._requests = requests
        self._namespace = namespace
        self._sniffing = Sniffing()
        self._lock = threading.Lock()
        self.has_news = False  # since it was written last

    def take(self, message: Message) -> None:
        """One message more."""
        with self._lock:
            self._sniffing.take(message)
            self.has_news = True

    def write(self) -> tuple[Sniffed, MessageOrigin]:
        """Make the run of all that is known by now; raises `CannotWriteError`."""
        with self._lock:
            sniffed = self._sniffing.result()
            self.has_news = False
        told = MessageOrigin(self._name, "messages", sniffed.num_messages, 0)
        try:
            write_run(self._path, sniffed, told, self._requests, self._namespace)
        except BaseException:
            self.has_news = True
            raise
        return sniffed, told


def pause_after(seconds: float) -> float:
    """How long to leave a file alone that took so long to write."""
    return max(SHORTEST_PAUSE, seconds / SHARE)
