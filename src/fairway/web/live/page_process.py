"""The process that serves a scheduler's pages: `python -m fairway.web.live.page_process FD`.

In: over the socket with that number, what to serve (`frames.Beginning`), then notes in order. Out: pages
and their API over HTTPS, to whomever the API server lets, of all that was noted within so many hours; and to whoever
started us questions that are not ours to answer: who somebody is, why a pod waits. Notes are taken in the first thread,
pages served in another. Ends when asked to, or when nobody is left at the other end. Started by
`fairway.stream.serving.serving_process`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Coroutine
from contextlib import ExitStack
from typing import Any, BinaryIO, Final, TypeVar

import msgspec

from fairway.live.api.certificates import as_file
from fairway.live.api.clock import SystemClock
from fairway.stream.serving.frames import Beginning, read_frame
from fairway.stream.serving.notes_parent import WORDS, NotesParent
from fairway.web.live.cluster_access import ClusterAccess
from fairway.web.live.live_history import LiveHistory
from fairway.web.live.live_sources import LiveSources, page_answer
from fairway.web.live.note_feed import NoteFeed
from fairway.web.page_error import PageError
from fairway.web.questions import WhyQuestion
from fairway.web.server import PageServer

__all__ = ["serve"]

T = TypeVar("T")
NICENESS: Final = 15
"""Where processors are scarce, a thirtieth of what the scheduler gets: pages are late then."""
OWN_WORDS: Final = frozenset((*WORDS, "missing", "audible", "stop"))
UNREAD: Final = msgspec.msgpack.Decoder(list[list[Any]])


class _Pages:
    """The server, in a thread with a loop of its own."""

    def __init__(self, sources: LiveSources, scheduler: NotesParent, certificate: tuple[bytes, bytes] | None) -> None:
        self._server = PageServer(sources, ClusterAccess(scheduler))
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.minimum_version = ssl.TLSVersion.TLSv1_2
            self.certify(*certificate)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pages", daemon=True)

    def certify(self, certificate: bytes, key: bytes) -> None:
        """Serve with that from the next connection on."""
        assert self._context is not None
        with ExitStack() as stack:
            self._context.load_cert_chain(*(stack.enter_context(as_file(part)) for part in (certificate, key)))

    def start(self, address: str) -> int:
        """Listen; returns the port. OSError says why not."""
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        self._thread.start()
        return self._there(self._server.start(int(port), "" if host == "::" else host, self._context))

    def stop(self) -> None:
        """Streams end; who asks has two seconds."""
        self._there(self._server.stop())
        self._there(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _there(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


class _Taking:
    """The socket is read until it ends."""

    def __init__(self, frames: BinaryIO, scheduler: NotesParent, feed: NoteFeed) -> None:
        self._frames = frames
        self._scheduler = scheduler
        self._feed = feed
        self.pages: _Pages | None = None
        self.sources: LiveSources | None = None

    def until(self, last: str) -> bool:
        """Take what comes until that word; False: there is nobody who could say it."""
        while (notes := read_frame(self._frames, UNREAD)) is not None:
            start = 0
            for place, note in enumerate(notes):
                if note[0] in OWN_WORDS:
                    self._feed.take(notes[start:place])
                    start = place + 1
                    self._hear(*note)
                    if note[0] == last:
                        return True
            self._feed.take(notes[start:])
            if self.sources is not None:
                self.sources.keep_up()
        return False

    def _hear(self, word: str, *rest: Any) -> None:
        match word, rest:
            case "missing", (int() as number,):
                self._feed.misses(number)
            case "audible", (float() | int() as t,):
                self._feed.stands(t)
            case "certificate", (bytes(), bytes()) if self.pages is not None:
                self.pages.certify(*rest)
            case _:
                self._scheduler.heard(word, *rest)


def serve(connection: socket.socket) -> None:
    """Until nobody is there for whom we could."""
    with connection, connection.makefile("rb") as frames:
        beginning = read_frame(frames, msgspec.msgpack.Decoder(Beginning))
        if beginning is None:
            return
        scheduler, clock = NotesParent(connection, beginning), SystemClock()
        history = LiveHistory(beginning.more["name"], beginning.more["seconds"], clock)
        taking = _Taking(frames, scheduler, NoteFeed(history, beginning.stream_id, beginning.origin))
        if not taking.until("audible"):
            return

        async def why(question: WhyQuestion) -> dict[str, Any]:
            about = [f"{question.namespace}/{question.name}", question.node, question.all_nodes]
            status, found = await scheduler.ask("why", about)
            if status != 200:
                raise PageError(404, "no_such_pod", found["message"])
            return page_answer(found)

        sources = LiveSources(history, clock, why)
        with contextlib.closing(sources):
            pages = _Pages(sources, scheduler, beginning.certificate)
            try:
                port = pages.start(beginning.address)
            except OSError as error:
                why_not = os.strerror(error.errno) if error.errno else str(error)
                scheduler.say("failed", f"cannot listen on {beginning.address}: {why_not}")
                return
            taking.pages, taking.sources = pages, sources
            scheduler.say("listening", port)
            try:
                taking.until("stop")
            finally:
                pages.stop()


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # who started us is told, too, and ends us
    os.nice(NICENESS)
    with contextlib.suppress(ConnectionError):
        serve(socket.socket(fileno=int(sys.argv[1])))
