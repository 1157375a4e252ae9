"""The process that serves a scheduler's stream: `python -m fairway.stream.notes_server FD`.

In: over the socket with that number, what to serve (`frames.Beginning`), then notes in order. Out: the stream, to
readers (`watch_service`), and to whoever started us: how many read, what they missed, and questions that are not ours
to answer. Notes are taken in the first thread and served in another. Ends when asked to, or when nobody is left at the
other end of the socket. Started by `serving_process`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import socket
import sys
import threading
import time
from typing import Any, BinaryIO, Final

import msgspec

from fairway.stream.frames import LENGTH, Beginning, framed
from fairway.stream.surroundings import ReadingRefused, Surroundings
from fairway.stream.telling import Teller
from fairway.stream.watch_service import WatchService

__all__ = ["serve"]

NICENESS: Final = 15
"""Where processors are scarce, a thirtieth of what the scheduler gets: the stream is late then, and nothing is lost."""


class _Scheduler:
    """The process that we serve for, as seen from here."""

    def __init__(self, connection: socket.socket, beginning: Beginning) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._numbers = itertools.count()
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._is_leading = beginning.is_leading
        self._certificate = beginning.certificate or (b"", b"")

    def say(self, *words: Any) -> None:
        """In any thread; who is gone does not hear it."""
        with self._sending, contextlib.suppress(OSError):
            self._connection.sendall(framed(words))

    async def refusal(self, token: str) -> ReadingRefused | None:
        """May somebody with that token read?"""
        refused = await self._ask("refusal", token)
        return None if refused is None else ReadingRefused(*refused)

    async def explain(self, pod: str) -> bytes | None:
        """What `why` says of it."""
        answer: bytes | None = await self._ask("explain", pod)
        return answer

    def is_leading(self) -> bool:
        """As we were told last."""
        return self._is_leading

    def certificate(self) -> tuple[bytes, bytes]:
        """The same."""
        return self._certificate

    async def _ask(self, what: str, about: str) -> Any:
        number, answer = next(self._numbers), asyncio.get_running_loop().create_future()
        self._questions[number] = answer
        try:
            self.say(what, number, about)
            return await answer
        finally:
            del self._questions[number]

    def heard(self, word: str, *rest: Any) -> None:
        """What is no note."""
        match word, rest:
            case "leading", (bool() as is_leading,):
                self._is_leading = is_leading
            case "certificate", (bytes() as certificate, bytes() as key):
                self._certificate = certificate, key
            case "answer", (int() as number, bool() as is_good, value):
                question = self._questions.get(number)
                if question is not None:
                    question.get_loop().call_soon_threadsafe(_settle, question, is_good, value)


def _settle(question: asyncio.Future[Any], is_good: bool, value: Any) -> None:
    if question.done():
        return  # who asked has left
    if is_good:
        question.set_result(value)
    else:
        question.set_exception(RuntimeError(value))


WORDS: Final = ("leading", "certificate", "answer")


def serve(connection: socket.socket) -> None:
    """Until nobody is there for whom we could."""
    with connection, connection.makefile("rb") as frames:
        beginning = _read(frames, msgspec.msgpack.Decoder(Beginning))
        if beginning is None:
            return
        teller, scheduler = Teller(beginning.stream_id), _Scheduler(connection, beginning)
        teller.is_silent = True  # how things stand comes first
        _take_until("audible", frames, teller, scheduler)
        teller.is_silent = False
        service = WatchService(
            teller,
            Surroundings(
                now=time.time_ns,
                origin=beginning.origin,
                is_leading=scheduler.is_leading,
                refusal=scheduler.refusal,
                explain=scheduler.explain,
                count_lost=lambda why, number: scheduler.say("lost", why, number),
                count=lambda readers, events, kept: scheduler.say("count", readers, events, kept),
            ),
        )
        try:
            port = service.start(beginning.address, scheduler.certificate if beginning.certificate else None)
        except OSError as error:
            scheduler.say("failed", str(error))
            return
        scheduler.say("listening", port)
        try:
            _take_until("stop", frames, teller, scheduler)
        finally:
            service.stop()


def _take_until(last: str, frames: BinaryIO, teller: Teller, scheduler: _Scheduler) -> None:
    """Take notes until that word, which is the last of its frame, or until there is nobody who could say it."""
    notes_of = msgspec.msgpack.Decoder(list[list[Any]])
    while (notes := _read(frames, notes_of)) is not None:
        words = [note for note in notes if note[0] in WORDS or note[0] == last]
        teller.take(*(notes if not words else (note for note in notes if note not in words)))
        for word in words:
            if word[0] == last:
                return
            scheduler.heard(*word)


def _read(frames: BinaryIO, decoder: msgspec.msgpack.Decoder[Any]) -> Any:
    head = frames.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    data = frames.read(size)
    return decoder.decode(data) if len(data) == size else None


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # who started us is told, too, and ends us
    os.nice(NICENESS)
    with contextlib.suppress(ConnectionError):
        serve(socket.socket(fileno=int(sys.argv[1])))
