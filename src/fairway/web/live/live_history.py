"""A scheduler at work, as its stream tells it: a run of the last hours, and the latest events one by one.

In: batches of a stream (`fairway.stream`), from one thread, with gaps where something is missing. Out: how it stands,
as a `Run` (`renewed`), and a ring of events from which pages read on (`event_stream`), numbered anew from 1. Memory is
bounded: by time and by bytes what is kept, by number what waits. Kept by `live_sources`.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter, deque
from collections.abc import Iterable
from typing import Final, NamedTuple, cast

from fairway.live.api.clock import Clock
from fairway.record import Run
from fairway.record.vocabulary import PodEnd
from fairway.record.writing.recent_run import MOST_BYTES, RecentRun
from fairway.stream.ring import Ring
from fairway.stream.saving import StreamSaver
from fairway.stream.told import Attempt, Bound, Event, PodSeen, QueueMove, Snapshot, Told
from fairway.stream.watching import Gap
from fairway.words import time_text

__all__ = ["LiveHistory", "LostEvents"]

NANOSECONDS: Final = 1_000_000_000
EVENT_BYTES, SCORED_BYTES, REFUSED_BYTES = 800, 700, 200
NUM_GAPS: Final = 100
ENDS: Final = frozenset(map(str, PodEnd))


class LostEvents(NamedTuple):
    """Events that the stream did not bring; in the ring, in their place."""

    lost: int
    begin: float  # seconds of the run's clock between which they happened
    end: float
    why: str


class LiveHistory:
    """What is known of one scheduler; `take` is called by one thread, everything else by any."""

    def __init__(
        self,
        name: str,
        seconds: float,
        clock: Clock,
        *,
        most_bytes: int = MOST_BYTES,
        ring: Ring[Event] | None = None,
    ) -> None:
        self.name = name
        self.stream_id = secrets.token_hex(8)
        self.ring = Ring[Event]() if ring is None else ring
        self.gaps: deque[LostEvents] = deque(maxlen=NUM_GAPS)
        self.num_placed = self.num_failed = 0  # attempts so far
        self.trouble = ""  # why nothing comes at present
        self._clock = clock
        self._lock = threading.Lock()
        self._run = RecentRun(name, seconds, most_bytes=most_bytes)
        self._saver = StreamSaver(self._run)
        self._waiting: dict[str, str] = {}  # by uid: the place in the queue
        self._heard = clock.monotonic()
        self._began: float | None = None
        self._latest = 0.0
        self._is_closed = False
        self._is_begun = False
        self._is_standing = False  # within the parts of a snapshot

    # -- what comes --------------------------------------------------------------------------------------------------

    def take(self, stream_id: str, origin: int | None, gap: Gap | None, events: Iterable[Event]) -> None:
        """The stream goes on; its 0 was at that time, in nanoseconds since 1970, if it is known."""
        with self._lock:
            if self._is_closed:
                return
            before = self._saver.time
            self._saver.begin(stream_id, origin)
            self.trouble = ""
            if self._began is None and origin is not None:
                self._began = origin / NANOSECONDS
            if gap is not None and gap.lost:
                self._saver.lose(gap)
            for event in events:
                self._saver.take(event)
                if not self._is_begun:
                    self._is_begun, self._run.kept_from = True, self._saver.time
                if gap is not None and gap.lost:
                    self._miss(LostEvents(gap.lost, before, self._saver.time, gap.why))
                    gap = None
                if isinstance(event.what, Snapshot):
                    self._stand(event.what)
                else:
                    self._note(event.what)
                    self.ring.append(Event(self._saver.time, event.what), _bytes_of(event))
            if gap is not None and gap.lost:  # nothing came after it yet
                self._miss(LostEvents(gap.lost, before, before, gap.why))
            self._heard = self._clock.monotonic()

    def _miss(self, lost: LostEvents) -> None:
        self.gaps.append(lost)
        self.ring.append(Event(lost.end, cast("Told", lost)), EVENT_BYTES)

    def snapshot(self) -> tuple[int, list[Event]]:
        """How things stand pages ask otherwise: this is the number of the event that comes next."""
        return self.ring.next, []

    def _note(self, what: object) -> None:
        if isinstance(what, QueueMove):
            if what.place:
                self._waiting[what.pod.uid] = what.place
            else:
                self._waiting.pop(what.pod.uid, None)
        elif isinstance(what, Attempt):
            if what.outcome == "scheduled":
                self.num_placed += 1
            else:
                self.num_failed += 1
        elif isinstance(what, Bound) or (isinstance(what, PodSeen) and what.change in ENDS):
            self._waiting.pop(what.pod.uid, None)

    def _stand(self, part: Snapshot) -> None:
        """What is not in a snapshot does not wait any more."""
        if not self._is_standing:
            self._waiting.clear()
        self._waiting.update((move.pod.uid, move.place) for move in part.queue)
        self._is_standing = not part.is_last

    # -- what is asked -----------------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """By the run's clock: as long after the last event as that was heard ago; it never goes back."""
        self._latest = max(self._latest, round(self._saver.time + self.silent_seconds, 6))
        return self._latest

    @property
    def silent_seconds(self) -> float:
        """Since when nothing was heard."""
        return self._clock.monotonic() - self._heard

    @property
    def began(self) -> float | None:
        """The date at 0 seconds of its clock, in seconds since 1970."""
        return self._began

    @property
    def kept_from(self) -> float:
        """What happened before is forgotten."""
        return self._run.kept_from

    @property
    def num_waiting_rows(self) -> int:
        """Rows that nobody can ask yet."""
        return self._run.num_waiting

    def places(self) -> dict[str, int]:
        """How many pods wait in which place of the queue."""
        with self._lock:
            return dict(Counter(self._waiting.values()))

    def renewed(self) -> Run:
        """How it stands now. Nobody may be asking the run that was given before."""
        with self._lock:
            return self._run.refresh(self.now)

    def notes(self) -> list[str]:
        """What whoever asks should know."""
        notes = [f"what happened before {time_text(self.kept_from)} is not kept"] if self.kept_from else []
        if self.trouble:
            notes.append(f"nothing was heard for {self.silent_seconds:.0f} s: {self.trouble}")
        with self._lock:
            gaps = list(self.gaps)
        return notes + [
            f"{gap.lost} events are missing between {time_text(gap.begin)} and {time_text(gap.end)}: {gap.why}"
            for gap in gaps
        ]

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._is_closed = True
            self._run.close(0.0)


def _bytes_of(event: Event) -> int:
    """What it takes in memory at most."""
    what = event.what
    if not isinstance(what, Attempt):
        return EVENT_BYTES
    texts = len(what.message) + sum(REFUSED_BYTES + len(one.reason) for one in what.refused)
    return EVENT_BYTES + texts + SCORED_BYTES * len(what.best)
