"""A scheduler's stream is served by a process of its own: notes go there, and readers are nobody's concern here.

In: notes, which the scheduler's thread appends to a queue. Out: the same notes, over a socket, a dozen times a second,
to a process (`notes_server`) that tells them to its ring and serves however many readers there are. What it asks (who
may read, why a pod waits) is answered here, in a thread with a loop of its own. The process ends when its end of the
socket does, so that it outlives nobody, and its turns come after the scheduler's where processors are scarce. If it
ends, or takes nothing for so long that 64 MiB wait for it, another one takes its place: readers find another stream
there, which begins with how things stand.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any, Final, TypeVar

import msgspec

from fairway.stream.frames import LENGTH, Beginning, framed
from fairway.stream.noting import Note
from fairway.stream.standing import StandingNotes
from fairway.stream.surroundings import Surroundings, Tls

__all__ = ["ServingProcess"]

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


class ServingProcess:
    """Serves what is appended to `notes`; `start` and `stop` it from any thread."""

    def __init__(self, stream_id: str, most_unsent: int = MOST_UNSENT) -> None:
        """`stream_id` is another one every time, of small letters and digits."""
        self.notes: collections.deque[Note] = collections.deque(maxlen=MOST_NOTES)
        self._stream_id = stream_id
        self._most_unsent = most_unsent
        self._num_processes = 0
        self._standing = StandingNotes()
        self._late: list[Note] | None = None  # what the process that begins was not sent yet
        self._child: _Child | None = None
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
            if child is None or child.is_over or child.num_unsent > self._most_unsent:
                self._child = await self._replaced(child)
                certificate = None
                continue
            notes += child.leading()
            ticks += 1
            if self._tls is not None and ticks % TICKS_OF_CERTIFICATE == 0:
                before, certificate = certificate, self._tls()
                if certificate != before:
                    notes.append(("certificate", *certificate))
            if notes:
                child.send(notes)

    def _taken(self) -> list[Note]:
        """What was appended since; the scheduler's thread goes on appending behind it."""
        take = self.notes.popleft
        notes = [take() for _ in range(len(self.notes))]
        if len(notes) == MOST_NOTES:
            raise RuntimeError("notes were lost: nobody looked at them in time")
        self._standing.take(notes)
        return notes

    async def _replaced(self, child: _Child | None) -> _Child:
        """Another process in the place of one that ended, or has to."""
        why = "it ended" if child is None or child.is_over else "it takes nothing"
        logger.warning("the stream's process is replaced, and readers have to begin anew: %s", why)
        if child is not None:
            child.process.kill()
            await child.end(SECONDS_TO_END)
        self._around.count(0, 0, 0)
        beginning = asyncio.ensure_future(self._begun_at_last())
        try:
            while not beginning.done():
                await asyncio.wait((beginning,), timeout=TICK_SECONDS)
                notes = self._taken()
                if self._late is not None:
                    self._late += notes
        finally:
            beginning.cancel()
        other, late, self._late = beginning.result(), self._late, None
        other.send(late or ())
        return other

    async def _begun_at_last(self) -> _Child:
        delay = FIRST_DELAY
        while True:
            try:
                return await self._begun()
            except OSError as error:
                self._late = None
                logger.error("the stream is not served, and will be tried again in %g s: %s", delay, error)
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    async def _begun(self) -> _Child:
        """A process that listens; OSError if it can not be."""
        is_first, self._num_processes = not self._num_processes, self._num_processes + 1
        stream_id = self._stream_id if is_first else f"{self._stream_id}{self._num_processes}"
        certificate = None if self._tls is None else self._tls()
        leads = self._around.is_leading()
        child = await _Child.spawned(self._around)
        try:
            child.send(Beginning(stream_id, self._address, self._around.origin, leads, certificate))
            if not is_first:
                self._taken()
                self._late = []  # from here on
            child.send([*self._standing, ("audible",)])
            async with asyncio.timeout(SECONDS_TO_BEGIN):
                port = await child.listening()
        except BaseException:
            child.process.kill()
            await child.end(SECONDS_TO_END)
            raise
        self._address = f"{self._address.rpartition(':')[0]}:{port}"
        return child


class _Child:
    """One process, and our end of its socket."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        around: Surroundings,
    ) -> None:
        self.process = process
        self.port = 0
        self._reader, self._writer = streams
        self._around = around
        self._answers: set[asyncio.Task[None]] = set()
        self._hearing: asyncio.Task[None] | None = None
        self._leads: bool | None = None  # as it was told last

    @classmethod
    async def spawned(cls, around: Surroundings) -> _Child:
        here, there = socket.socketpair()
        try:
            with there:
                process = await asyncio.to_thread(_spawn, there.fileno())
            return cls(process, await asyncio.open_connection(sock=here), around)
        except BaseException:
            here.close()
            raise

    async def listening(self) -> int:
        """The port, once it listens; OSError says why not."""
        try:
            while (words := await self._heard())[0] == "count":
                self._around.count(*words[1:])
        except (EOFError, OSError) as error:
            raise OSError(f"the stream's process ended at once: {error}") from None
        word, value = words
        if word == "failed":
            raise OSError(value)
        self.port = value
        self._hearing = asyncio.ensure_future(self._hear())
        return self.port

    @property
    def is_over(self) -> bool:
        return self._hearing is None or self._hearing.done()

    @property
    def num_unsent(self) -> int:
        """Bytes that wait."""
        return self._writer.transport.get_write_buffer_size()

    def leading(self) -> list[Note]:
        """Who leads, if that is not what was told last, by whomever: it is to be sent at once."""
        leads, before = self._around.is_leading(), self._leads
        self._leads = leads
        return [] if leads == before else [("leading", leads)]

    def send(self, content: Beginning | Iterable[Note]) -> None:
        """Without waiting: who sends looks at `num_unsent`."""
        try:
            self._writer.write(framed(content))
        except (ValueError, OverflowError):
            assert not isinstance(content, Beginning)
            for note in content:
                self._send_one(note)

    def _send_one(self, note: Note) -> None:
        try:
            self._writer.write(framed([note]))
        except (ValueError, OverflowError) as error:  # an amount beyond 64 bits, a text that is none
            logger.error("something can not be told on the stream: %s: %s", note[0], error)

    async def end(self, seconds: float) -> None:
        """It was asked to, or was killed; then wait for that."""
        for task in (self._hearing, *self._answers):
            if task is not None:
                task.cancel()
        await asyncio.to_thread(_wait_for, self.process, seconds)
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _heard(self) -> Any:
        (size,) = LENGTH.unpack(await self._reader.readexactly(LENGTH.size))
        return msgspec.msgpack.decode(await self._reader.readexactly(size))

    async def _hear(self) -> None:
        around = self._around
        with contextlib.suppress(EOFError, OSError):
            while True:
                match await self._heard():
                    case ["count", readers, events, kept]:
                        around.count(readers, events, kept)
                    case ["lost", why, number]:
                        around.count_lost(why, number)
                    case ["refusal", number, token]:
                        self._answer(number, around.refusal(token))
                    case ["explain", number, pod]:
                        self._answer(number, around.explain(pod))

    def _answer(self, number: int, answer: Awaitable[Any]) -> None:
        async def tell() -> None:
            try:
                value = await answer  # with it comes who leads now: that is what readers are asked next
                self.send([*self.leading(), ("answer", number, True, value)])
            except Exception as error:
                logger.exception("a reader of the stream gets no answer")
                self.send([("answer", number, False, str(error))])

        task = asyncio.ensure_future(tell())
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)


def _complain(serving: asyncio.Task[None]) -> None:
    if not serving.cancelled() and (error := serving.exception()) is not None:
        logger.error("the stream is no longer fed", exc_info=error)


def _spawn(number: int) -> subprocess.Popen[bytes]:
    """Not from the folder that we are in: it may have modules of these names."""
    command = [sys.executable, "-P", "-m", "fairway.stream.notes_server", str(number)]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, pass_fds=(number,), stdin=subprocess.DEVNULL, env=places)


def _wait_for(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
