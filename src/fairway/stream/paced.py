"""A simulation's stream: it waits for its readers, as a scheduler must not.

In: the calls of a recorder, from a simulation that would be over before anybody had read a thing. Out: the same stream
as a scheduler's, at the pace of the slowest reader, as long as that one reads at all. Called by `fairway sim --stream`.
"""

from __future__ import annotations

import threading
from typing import Final

from fairway.stream.noting import Note
from fairway.stream.ring import MOST_EVENTS
from fairway.stream.stream_recorder import StreamRecorder
from fairway.stream.watch_service import PATIENCE_SECONDS, WatchService

__all__ = ["PacedRecorder"]

LOOK_EVERY: Final = 1024  # events
FAR_BEHIND: Final = MOST_EVENTS // 2
A_MOMENT: Final = 0.02


class PacedRecorder(StreamRecorder):
    """Tells a ring no faster than it is read; `service` is who serves it."""

    def __init__(self, stream_id: str) -> None:
        super().__init__(stream_id)
        self.service: WatchService | None = None
        self._pause = threading.Event()  # never set: a way to wait
        self._look_at = LOOK_EVERY

    def _take(self, note: Note) -> None:
        super()._take(note)
        if self.ring.next >= self._look_at:
            self._look_at = self.ring.next + LOOK_EVERY
            self._wait_for_readers(FAR_BEHIND)

    def wait_for_reader(self) -> None:
        """Until somebody reads along."""
        while self.service is not None and not self.service.num_readers:
            self._pause.wait(A_MOMENT)

    def finish(self) -> None:
        """Until all that there was is on its way, or nobody is left who wants it."""
        self._wait_for_readers(0)

    def _wait_for_readers(self, most: int) -> None:
        """No longer than a reader may take: then it is sent away, and is behind no more."""
        for _ in range(round(2 * PATIENCE_SECONDS / A_MOMENT)):
            if self.service is None or self.service.num_behind <= most:
                return
            self._pause.wait(A_MOMENT)
