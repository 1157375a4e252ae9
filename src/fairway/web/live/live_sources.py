"""A scheduler at work as the run `live`: the same questions, the same answers, up to now.

In: a `LiveHistory` that somebody feeds. Out: a `RunSource` of how it stands, made anew when somebody asks and the one
before is a second old (or ten times as old as it took to make). While anybody reads, it stays as it is: each question
is about one moment. Why a pod waits is asked of the scheduler. Called by the server, in its threads.
"""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Final, Literal

import msgspec
from msgspec.structs import replace

from fairway.explain.run_story import Story, story_document
from fairway.live.api.clock import Clock
from fairway.record import Run
from fairway.web.byte_cache import ByteCache
from fairway.web.heat_subject import PODS
from fairway.web.live.live_history import LiveHistory
from fairway.web.page_error import PageError
from fairway.web.pods import find_pod
from fairway.web.questions import WhyQuestion
from fairway.web.shapes import KnownRun
from fairway.web.sources import RunSource, RunSources

__all__ = ["LIVE", "AskWhy", "LiveSource", "LiveSources", "page_answer"]

LIVE: Final = "live"
FRESH_SECONDS: Final = 1.0
FRESH_TIMES: Final = 10
"""So often as long as it took to make, how it stands is not made anew."""
LATE_TIMES: Final = 3
"""When it is so much older than that, those who come wait until those who read have ended."""
MOST_CACHED: Final = 128 << 20
MOST_WAITING: Final = 50_000
"""Rows that wait until somebody asks, or this many are there."""

AskWhy = Callable[[WhyQuestion], Awaitable[dict[str, Any]]]
"""What the scheduler itself says of a pod now, as `fairway why -o json` has it."""


class LiveSource(RunSource):
    """How it stood at one moment."""

    def __init__(self, history: LiveHistory, run: Run, number: int) -> None:
        super().__init__(LIVE, history.name, run, ByteCache(MOST_CACHED))
        self._history = history
        self._version = f"{history.stream_id}-{number}"

    @property
    def state(self) -> Literal["live"]:
        """It goes on."""
        return "live"

    @property
    def version(self) -> str:
        """Of this moment."""
        return self._version

    @cached_property
    def utilisation(self) -> dict[str, float]:
        """What share of each resource that is there now is held."""
        columns = {name: column for name, column in self.run.resources.items() if name != PODS}
        sums = ", ".join(f'coalesce(sum("{column}"), 0)::DOUBLE AS "{column}"' for column in columns.values())
        if not columns:
            return {}
        (held,) = self.rows(f"SELECT {sums} FROM occupancy WHERE to_seconds IS NULL")
        (there,) = self.rows(f"SELECT {sums} FROM nodes WHERE to_seconds IS NULL AND is_ready")
        return {name: held[column] / there[column] for name, column in columns.items() if there[column]}

    def made_known(self) -> KnownRun:
        """With what is kept of it."""
        history = self._history
        known = super().made_known()
        begin = max(known.begin, history.kept_from)
        return replace(known, begin=min(begin, self.end), notes=history.notes(), began=history.began)


class LiveSources(RunSources):
    """The one run there is."""

    def __init__(self, history: LiveHistory, clock: Clock, ask_why: AskWhy, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self.history = history
        self._clock = clock
        self._ask_why = ask_why
        self._turn = threading.Condition()
        self._num_readers = self._num_made = 0
        self._is_closed = False
        self._renew()
        super().__init__([self._source])

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Within it, how it stands stays as it is."""
        with self._turn:
            while (age := self._age) > 1.0:
                if not self._num_readers:
                    self._renew()
                elif age > LATE_TIMES:
                    self._turn.wait()
                else:
                    break
            self._num_readers += 1
        try:
            yield
        finally:
            with self._turn:
                self._num_readers -= 1
                self._turn.notify_all()

    def keep_up(self) -> None:
        """Called by whoever feeds: what waits does not become too much, though nobody asks."""
        if self.history.num_waiting_rows < self._most_waiting:
            return
        with self._turn:
            while self._num_readers:
                self._turn.wait()
            if not self._is_closed:
                self._renew()

    def standing(self) -> dict[str, Any]:
        """How it stands, in a few numbers; asked while `reading`."""
        history = self.history
        return {
            "now": history.now,
            "queue": history.places(),
            "utilisation": self._source.utilisation,
            "placed": history.num_placed,
            "failed": history.num_failed,
            "silent_seconds": history.silent_seconds,
            "trouble": history.trouble,
        }

    def close(self) -> None:
        """Let go of everything."""
        with self._turn:
            self._is_closed = True
            self.history.close()

    async def _why(self, question: WhyQuestion) -> bytes:
        """The pod's story, and what the scheduler says of it now."""
        if question.attempt is not None or question.at is not None:
            what = "what a scheduler saw at an earlier moment is not kept"
            raise PageError(404, "not_recorded", what, "fairway run --record RUN keeps it, fairway ui RUN shows it")
        about = await asyncio.to_thread(self._story, question)
        return msgspec.json.encode(about | await self._ask_why(question))

    def _story(self, question: WhyQuestion) -> dict[str, Any]:
        with self.reading():
            source = self.find(LIVE)
            row = find_pod(source, question.namespace, question.name, question.uid)
            if question.node is not None and question.node not in source.nodes.subject.names:
                raise PageError(404, "no_such_node", f"the cluster has no node {question.node}")
            story = story_document(Story.of(source.run, row))
            command = f"fairway why {shlex.quote(row['pod'])} --scheduler {shlex.quote(self.history.name)}"
            return {"run": LIVE, "command": command, "story": story, "atSeconds": source.end, "attempt": None}

    @property
    def _age(self) -> float:
        """In times of how long it is fresh."""
        return (self._clock.monotonic() - self._made_at) / self._fresh_seconds

    def _renew(self) -> None:
        began = self._clock.monotonic()
        self._num_made += 1
        self._source = LiveSource(self.history, self.history.renewed(), self._num_made)
        self._source.ask_why = self._why
        self.all, self._by_id = [self._source], {LIVE: self._source}
        self._made_at = self._clock.monotonic()
        self._fresh_seconds = max(FRESH_SECONDS, FRESH_TIMES * (self._made_at - began))


def page_answer(found: Mapping[str, Any]) -> dict[str, Any]:
    """What a scheduler's `/fairway/v1/why` says, as pages have it."""
    own = {key: found[key] for key in ("assumed", "queue", "held", "lastHold", "job", "queueing") if key in found}
    document: dict[str, Any] = found.get("answer", {}).get("document", {})
    return document | {"onNode": found.get("node")} | own
