"""What a page is told of a scheduler at work, one after the other: messages, each with the word from which to resume.

In: a `LiveHistory`, where the page has read to, and which pods it watches. Out: `hello`; `decisions`, at most 200 rows
and how many more there were; `pod`, for pods that are watched; `gap`, with the exact number of events that are missing:
overtaken, too old, or lost on the way here. What a page has read up to a word, and what it reads from there on, is
everything, once. Knows no HTTP and no clock. Called by `event_stream`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple, cast

import msgspec

from fairway.stream.told import Attempt, Event, Snapshot, Told
from fairway.stream.watching import Reader, WantedEvents
from fairway.web.live.live_history import LiveHistory, LostEvents

__all__ = ["MOST_ROWS", "PageMessage", "PageReader"]

MOST_ROWS: Final = 200
MOST_BATCHES: Final = 32
"""That are read at once; the rest is read the next time."""


class PageMessage(NamedTuple):
    """Its name, what it says, and from where to go on after it; "": as before."""

    name: str
    data: dict[str, Any]
    token: str = ""

    def encoded(self) -> bytes:
        """As server-sent events are written."""
        token = f"id: {self.token}\n" if self.token else ""
        return f"event: {self.name}\n{token}data: ".encode() + msgspec.json.encode(self.data) + b"\n\n"


class PageReader:
    """One page's place."""

    def __init__(self, history: LiveHistory, pods: Collection[str] = (), after: str = "") -> None:
        """`pods` by namespace/name; ValueError if `after` is no word of ours."""
        self._history = history
        self._pods = frozenset(pods)
        self._reader = Reader(history, WantedEvents(), after)
        self._time: float | None = None  # of the event that was read last

    @property
    def token(self) -> str:
        """From where to resume after what was read; "" while something that is missing was not told yet."""
        return self._reader.token

    def hello(self) -> PageMessage:
        """The first message."""
        history = self._history
        data = {"now": history.now, "sequence": self.token, "kept_from": history.kept_from}
        return PageMessage("hello", data, self.token)

    def read(self) -> list[PageMessage]:
        """What has happened since; nothing if nothing has."""
        return list(self._messages())

    def _messages(self) -> Iterator[PageMessage]:
        attempts: list[Event] = []
        watched: list[Event] = []
        gaps: list[dict[str, Any]] = []
        for _ in range(MOST_BATCHES):
            batch = self._reader.read()
            if batch is None:
                break
            events = [event for _, event in batch.events]
            if batch.gap is not None and batch.gap.lost:
                until = events[0].time_seconds if events else self._history.now
                gaps.append({"lost": batch.gap.lost, "from": self._time, "to": until, "why": batch.gap.why})
            for event in events:
                what: object = event.what
                if isinstance(what, LostEvents):
                    gaps.append({"lost": what.lost, "from": what.begin, "to": what.end, "why": what.why})
                    continue
                if isinstance(what, Attempt):
                    attempts.append(event)
                if self._pods and _pod_of(event.what) in self._pods:
                    watched.append(event)
            self._time = events[-1].time_seconds if events else self._time
        for gap in gaps:
            yield PageMessage("gap", gap)
        for event in watched:
            yield PageMessage("pod", {"time": event.time_seconds, "what": msgspec.to_builtins(event.what)})
        if gaps or watched or attempts:
            yield PageMessage("decisions", _rows(attempts), self.token)


def _pod_of(what: Told) -> str:
    ref = getattr(what, "pod", None)
    return "" if ref is None or isinstance(what, Snapshot) else f"{ref.namespace}/{ref.name}"


def _rows(attempts: list[Event]) -> dict[str, Any]:
    """The latest, as columns."""
    shown = attempts[-MOST_ROWS:]
    whats = [cast("Attempt", event.what) for event in shown]
    most = [max(one.refused, key=lambda refused: refused.num_nodes, default=None) for one in whats]
    columns = {
        "time_seconds": [event.time_seconds for event in shown],
        "scheduler": [one.scheduler for one in whats],
        "pod": [f"{one.pod.namespace}/{one.pod.name}" for one in whats],
        "attempt": [one.attempt for one in whats],
        "outcome": [one.outcome for one in whats],
        "node": [one.node or None for one in whats],
        "num_feasible": [one.num_feasible for one in whats],
        "num_nodes": [one.num_nodes or None for one in whats],
        "cycle_seconds": [one.cycle_seconds for one in whats],
        "refused_by": [None if one is None else one.plugin for one in most],
        "refusal": [None if one is None else one.reason for one in most],
    }
    return {"columns": columns, "num_rows": len(shown), "more": len(attempts) - len(shown)}
