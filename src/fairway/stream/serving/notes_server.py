"""The process that serves a scheduler's stream: `python -m fairway.stream.serving.notes_server FD`.

In: over the socket with that number, what to serve (`frames.Beginning`), then notes in order. Out: the stream, to
readers (`watch_service`), and to whoever started us: how many read, what they missed, and questions that are not ours
to answer. Notes are taken in the first thread and served in another. Ends when asked to, or when nobody is left at the
other end of the socket. Started by `serving_process`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
from typing import Any, BinaryIO, Final

import msgspec

from fairway.stream.serving.frames import Beginning, read_frame
from fairway.stream.serving.notes_parent import WORDS, NotesParent
from fairway.stream.surroundings import ReadingRefused, Surroundings
from fairway.stream.telling import Teller
from fairway.stream.watch_service import WatchService

__all__ = ["serve"]

NICENESS: Final = 15
"""Where processors are scarce, a thirtieth of what the scheduler gets: the stream is late then, and nothing is lost."""


def serve(connection: socket.socket) -> None:
    """Until nobody is there for whom we could."""
    with connection, connection.makefile("rb") as frames:
        beginning = read_frame(frames, msgspec.msgpack.Decoder(Beginning))
        if beginning is None:
            return
        teller, scheduler = Teller(beginning.stream_id), NotesParent(connection, beginning)
        teller.is_silent = True  # how things stand comes first
        _take_until("audible", frames, teller, scheduler)
        teller.stands(0.0)

        async def refusal(token: str) -> ReadingRefused | None:
            refused = await scheduler.ask("refusal", token)
            return None if refused is None else ReadingRefused(*refused)

        async def explain(pod: str) -> bytes | None:
            answer: bytes | None = await scheduler.ask("explain", pod)
            return answer

        service = WatchService(
            teller,
            Surroundings(
                now=time.time_ns,
                origin=beginning.origin,
                is_leading=scheduler.is_leading,
                refusal=refusal,
                explain=explain,
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


def _take_until(last: str, frames: BinaryIO, teller: Teller, scheduler: NotesParent) -> None:
    """Take notes until that word, which is the last of its frame, or until there is nobody who could say it."""
    notes_of = msgspec.msgpack.Decoder(list[list[Any]])
    while (notes := read_frame(frames, notes_of)) is not None:
        words = [note for note in notes if note[0] in WORDS or note[0] == last]
        teller.take(*(notes if not words else (note for note in notes if note not in words)))
        for word in words:
            if word[0] == last:
                return
            scheduler.heard(*word)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # who started us is told, too, and ends us
    os.nice(NICENESS)
    with contextlib.suppress(ConnectionError):
        serve(socket.socket(fileno=int(sys.argv[1])))
