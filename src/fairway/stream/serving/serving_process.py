"""A scheduler's stream, and its pages, are served by processes of their own: readers are nobody's concern here.

In: notes, which the scheduler's thread appends to a queue. Out: the same notes, over a socket, a dozen times a second,
to a process (`notes_server` tells them to its ring, the pages' to their history) that serves however many readers there
are. What it asks (who may read, why a pod waits) is answered here, in a thread with a loop of its own. The process ends
when its end of the socket does, so that it outlives nobody, and its turns come after the scheduler's where processors
are scarce. If it ends, or takes nothing for so long that 64 MiB wait for it, another one takes its place: readers find
another stream there, which begins with how things stand. Pages are told instead how many events they miss
(`waiting_notes`) and how things stand behind them; if they take nothing for a minute, they are replaced, too.
"""

from __future__ import annotations

import asyncio
import collections
import logging
import threading
from collections.abc import Coroutine
from typing import Any, Final, NamedTuple, TypeVar

from fairway.stream.noting import Note
from fairway.stream.serving.frames import Beginning
from fairway.stream.serving.notes_child import NotesChild
from fairway.stream.serving.standing import StandingNotes
from fairway.stream.serving.waiting_notes import WaitingNotes
from fairway.stream.surroundings import Surroundings, Tls

__all__ = ["STREAM", "ServedKind", "ServingProcess"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

TICK_SECONDS: Final = 0.075
TICKS_OF_CERTIFICATE: Final = 13
"""A certificate that was replaced is looked for so often."""
MOST_UNSENT: Final = 64 << 20
MOST_NOTES: Final = 1 << 18
"""Thousands of times as many as are made between two looks."""
SECONDS_TO_BEGIN: Final = 60.0
SECONDS_TO_END: Final = 10.0
FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
SHORT_LIFE: Final = 60.0
"""Whoever ended sooner than that is replaced after a pause, which becomes longer every time."""
SLICE: Final = 256
"""Notes that are written at a time: whoever schedules has the interpreter again after that."""
MOST_LOOKS: Final = round(60 / TICK_SECONDS)
"""At which nothing was taken of what waits."""


class ServedKind(NamedTuple):
    """What a process serves."""

    whose: str  # process it is, in words
    module: str  # that it runs
    most_waiting: int | None = None  # notes; None: it is replaced when too many bytes wait
    most_looks: int = MOST_LOOKS


STREAM: Final = ServedKind("the stream's", "fairway.stream.serving.notes_server")


class ServingProcess:
    """Serves what is appended to `notes`; `start` and `stop` it from any thread."""

    def __init__(
        self,
        stream_id: str,
        most_unsent: int = MOST_UNSENT,
        kind: ServedKind = STREAM,
        more: dict[str, Any] | None = None,
    ) -> None:
        """`stream_id` is another one every time, of small letters and digits; `more` is for a process of that kind."""
        self.notes: collections.deque[Note] = collections.deque(maxlen=MOST_NOTES)
        self._stream_id = stream_id
        self._kind, self._more = kind, more or {}
        self._most_unsent = most_unsent
        self._waiting = None if kind.most_waiting is None else WaitingNotes(kind.most_waiting)
        self._num_under_way = 0  # notes of which the process has not taken all
        self._num_processes = 0
        self._began, self._pause = 0.0, FIRST_DELAY  # when the latest process did
        self._standing = StandingNotes()
        self._late: list[Note] | None = None  # what the process that begins was not sent yet
        self._child: NotesChild | None = None
        self._serving: asyncio.Task[None] | None = None

    def start(self, address: str, surroundings: Surroundings, tls: Tls | None = None) -> int:
        """Listen; returns the port. OSError if the address can not be had."""
        self._address, self._around, self._tls = address, surroundings, tls
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="stream", daemon=True)
        self._thread.start()
        try:
            return self._there(self._start())
        except BaseException:
            self._end()
            raise

    def stop(self) -> None:
        """Readers get what there is, then the stream ends."""
        try:
            self._there(self._stop())
        finally:
            self._end()

    @property
    def pid(self) -> int | None:
        """Of the process, while there is one."""
        return None if self._child is None else self._child.process.pid

    def _there(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5.0)
        if not self._thread.is_alive():
            self._loop.close()

    # -- in the thread -------------------------------------------------------------------------------------------------

    async def _start(self) -> int:
        self._child = await self._begun()
        self._serving = asyncio.ensure_future(self._serve())
        self._serving.add_done_callback(_complain)
        return self._child.port

    async def _stop(self) -> None:
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait((self._serving,))
        if self._child is not None:
            self._child.send([*self._taken(), ("stop",)])
            await self._child.end(SECONDS_TO_END)
        if self._around.close is not None:
            await self._around.close()
        await asyncio.get_running_loop().shutdown_default_executor()

    async def _serve(self) -> None:
        certificate: tuple[bytes, bytes] | None = None
        ticks = 0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            child, notes = self._child, self._taken()
            if child is None or self._is_lost(child):
                self._child = await self._replaced(child)
                certificate = None
                continue
            notes += child.leading()
            ticks += 1
            if self._tls is not None and ticks % TICKS_OF_CERTIFICATE == 0:
                before, certificate = certificate, self._tls()
                if certificate != before:
                    notes.append(("certificate", *certificate))
            if self._waiting is not None:
                await self._offer(child, self._waiting, notes)
            elif notes:
                child.send(notes)

    def _is_lost(self, child: NotesChild) -> bool:
        """Has it ended, or does it not do its work?"""
        child.look()
        is_stuck = child.num_looks > self._kind.most_looks if self._waiting is not None else False
        return child.is_over or is_stuck or (self._waiting is None and child.num_unsent > self._most_unsent)

    async def _offer(self, child: NotesChild, waiting: WaitingNotes, notes: list[Note]) -> None:
        """Send them if it has taken all that was sent; else they wait, as far as there is room."""
        if child.num_unsent:
            waiting.put(notes, self._num_under_way, len(self._standing))
            return
        before, num_missing = waiting.take()
        if not num_missing:
            await self._send_slowly(child, before + notes)
            return
        num_missing += len(notes)
        logger.warning("%s process did not take %d events in time: they are missing", self._kind.whose, num_missing)
        self._around.count_lost("pages behind", num_missing)
        standing = [*self._standing, ("audible", self._standing.time)]
        await self._send_slowly(child, [*before, ("missing", num_missing), *standing])

    async def _send_slowly(self, child: NotesChild, notes: list[Note]) -> None:
        self._num_under_way = len(notes)
        for start in range(0, len(notes), SLICE):
            child.send(notes[start : start + SLICE])
            await asyncio.sleep(0)

    def _taken(self) -> list[Note]:
        """What was appended since; the scheduler's thread goes on appending behind it."""
        take = self.notes.popleft
        notes = [take() for _ in range(len(self.notes))]
        if len(notes) == MOST_NOTES:
            raise RuntimeError("notes were lost: nobody looked at them in time")
        self._standing.take(notes)
        return notes

    async def _replaced(self, child: NotesChild | None) -> NotesChild:
        """Another process in the place of one that ended, or has to."""
        why = "it ended" if child is None or child.is_over else "it takes nothing"
        logger.warning("%s process is replaced, and readers have to begin anew: %s", self._kind.whose, why)
        if child is not None:
            child.process.kill()
            await child.end(SECONDS_TO_END)
        self._around.count(0, 0, 0)
        beginning = asyncio.ensure_future(self._begun_at_last())
        try:
            while not beginning.done():
                await asyncio.wait((beginning,), timeout=TICK_SECONDS)
                notes = self._taken()
                if self._late is not None and self._waiting is not None:
                    self._waiting.put(notes, least=len(self._standing))
                elif self._late is not None:
                    self._late += notes
        finally:
            beginning.cancel()
        other, late, self._late = beginning.result(), self._late, None
        other.send(late or ())
        return other

    async def _begun_at_last(self) -> NotesChild:
        loop, delay = asyncio.get_running_loop(), FIRST_DELAY
        if loop.time() - self._began < SHORT_LIFE:  # and may do so again
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_DELAY)
        else:
            self._pause = FIRST_DELAY
        while True:
            try:
                return await self._begun()
            except OSError as error:
                self._late = None
                logger.error(
                    "%s process does not serve, and is tried again in %g s: %s", self._kind.whose, delay, error
                )
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    async def _begun(self) -> NotesChild:
        """A process that listens; OSError if it can not be."""
        is_first, self._num_processes = not self._num_processes, self._num_processes + 1
        stream_id = self._stream_id if is_first else f"{self._stream_id}{self._num_processes}"
        certificate = None if self._tls is None else self._tls()
        leads = self._around.is_leading()
        child = await NotesChild.spawned(self._kind.module, self._around)
        try:
            child.send(Beginning(stream_id, self._address, self._around.origin, leads, certificate, self._more))
            if not is_first:
                self._taken()
                self._late = []  # from here on
                if self._waiting is not None:
                    self._waiting.take()
            await self._send_slowly(child, [*self._standing, ("audible", self._standing.time)])
            async with asyncio.timeout(SECONDS_TO_BEGIN):
                port = await child.listening()
        except BaseException:
            child.process.kill()
            await child.end(SECONDS_TO_END)
            raise
        self._address = f"{self._address.rpartition(':')[0]}:{port}"
        self._began = asyncio.get_running_loop().time()
        return child


def _complain(serving: asyncio.Task[None]) -> None:
    if not serving.cancelled() and (error := serving.exception()) is not None:
        logger.error("the stream is no longer fed", exc_info=error)
