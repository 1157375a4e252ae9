"""A process that notes are sent to, as seen by the one that makes them.

In: the module that it runs, notes, and answers to what it asks (`Surroundings`). Out: frames on a socket that nobody
else has, and what it says of itself. Sending waits for nobody: whoever sends looks at how much is unsent. Used by
`serving_process`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Awaitable, Iterable
from typing import Any

import msgspec

from fairway.stream.noting import Note
from fairway.stream.serving.frames import LENGTH, Beginning, framed
from fairway.stream.surroundings import Surroundings

__all__ = ["NotesChild"]

logger = logging.getLogger(__name__)


class NotesChild:
    """One process, and our end of its socket."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        around: Surroundings,
    ) -> None:
        self.process = process
        self.port = 0
        self.num_looks = 0  # at which nothing of what waits had been taken
        self._unsent = 0  # at the last of them
        self._reader, self._writer = streams
        self._around = around
        self._answers: set[asyncio.Task[None]] = set()
        self._hearing: asyncio.Task[None] | None = None
        self._leads: bool | None = None  # as it was told last

    @classmethod
    async def spawned(cls, module: str, around: Surroundings) -> NotesChild:
        """One that runs that module."""
        here, there = socket.socketpair()
        try:
            with there:
                process = await asyncio.to_thread(_spawn, module, there.fileno())
            return cls(process, await asyncio.open_connection(sock=here), around)
        except BaseException:
            here.close()
            raise

    async def listening(self) -> int:
        """The port, once it listens; OSError says why not."""
        try:
            while (words := await self._heard())[0] not in {"listening", "failed"}:
                self._take(words)
        except (EOFError, OSError) as error:
            raise OSError(f"its process ended at once: {error}") from None
        word, value = words
        if word == "failed":
            raise OSError(value)
        self.port = value
        self._hearing = asyncio.ensure_future(self._hear())
        return self.port

    @property
    def is_over(self) -> bool:
        """It has ended, or lets nobody know."""
        return self._hearing is None or self._hearing.done()

    @property
    def num_unsent(self) -> int:
        """Bytes that wait."""
        return self._writer.transport.get_write_buffer_size()

    def look(self) -> None:
        """Has it taken anything since the last look?"""
        before, self._unsent = self._unsent, self.num_unsent
        self.num_looks = self.num_looks + 1 if 0 < before <= self._unsent else 0

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
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._take(await self._heard())

    def _take(self, words: Any) -> None:
        around = self._around
        match words:
            case ["count", readers, events, kept]:
                around.count(readers, events, kept)
            case ["lost", why, number]:
                around.count_lost(why, number)
            case ["refusal", number, token]:
                self._answer(number, around.refusal(token))
            case ["explain", number, pod]:
                self._answer(number, around.explain(pod))
            case [str() as what, number, about] if what in around.answers:
                self._answer(number, around.answers[what](about))

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


def _spawn(module: str, number: int) -> subprocess.Popen[bytes]:
    """Not from the folder that we are in: it may have modules of these names."""
    command = [sys.executable, "-P", "-m", module, str(number)]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, pass_fds=(number,), stdin=subprocess.DEVNULL, env=places)


def _wait_for(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
