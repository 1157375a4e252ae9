"""Server-sent events: what happens in a scheduler, to pages that are open, each at its own pace.

In: a question that was let in, and who asks. Out: a response that goes on until its reader leaves, may read no longer,
or has taken nothing for half a minute, or the server ends: `hello`, `tick` each second, decisions and watched pods four
times a second (`told_pages`), a comment now and then. So many a user, and no more. Nobody is waited for but the reader.
Called by the server, in its loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Final

from aiohttp import web

from fairway.live.api.clock import Clock
from fairway.web.live.live_sources import LiveSources
from fairway.web.live.told_pages import PageMessage, PageReader
from fairway.web.page_error import PageError
from fairway.web.questions import StreamQuestion
from fairway.web.sources import RunSources

__all__ = ["EventStream", "EventStreams"]

MOST_STREAMS: Final = 4  # a user
LOOK_SECONDS: Final = 0.25
TICK_LOOKS: Final = 4
COMMENT_LOOKS: Final = 60
HEADERS: Final = {"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


class EventStream(web.StreamResponse):
    """One that was let in; `tell` it until it ends."""

    def __init__(
        self, streams: EventStreams, reader: PageReader, user: str, may_read: Callable[[], Awaitable[object]]
    ) -> None:
        super().__init__(headers=HEADERS)
        self._may_read = may_read
        self._streams = streams
        self._reader = reader
        self._user = user

    async def tell(self, request: web.Request) -> None:
        """For as long as somebody reads."""
        streams = self._streams
        try:
            streams.enter(self._user)
            await self.prepare(request)
            await self._say(request, self._reader.hello().encoded())
            looks = 0
            while True:
                words = [message.encoded() for message in self._reader.read()]
                if looks % TICK_LOOKS == 0:
                    words.append((await streams.tick(self._reader.token)).encoded())
                if looks % COMMENT_LOOKS == COMMENT_LOOKS - 1:
                    await self._may_read()
                    words.append(b": still here\n\n")
                if words:
                    await self._say(request, b"".join(words))
                await streams.clock.sleep(LOOK_SECONDS)
                looks += 1
        except (ConnectionError, TimeoutError, PageError):  # the last says why when it is asked again
            if request.transport is not None:
                request.transport.abort()
        finally:
            streams.leave(self._user)

    async def _say(self, request: web.Request, words: bytes) -> None:
        async with asyncio.timeout(self._streams.reader_seconds):
            await self.write(words)


class EventStreams:
    """All of a server's."""

    def __init__(self, sources: RunSources, clock: Clock, reader_seconds: float, in_thread: InThread) -> None:
        self._sources = sources
        self.clock = clock
        self.reader_seconds = reader_seconds
        self._in_thread = in_thread
        self._num_streams: Counter[str] = Counter()

    def enter(self, user: str) -> None:
        """One more of theirs."""
        self._num_streams[user] += 1

    def leave(self, user: str) -> None:
        """One less."""
        self._num_streams[user] -= 1
        if not self._num_streams[user]:
            del self._num_streams[user]

    async def tick(self, token: str) -> PageMessage:
        """How it stands; whoever has read up to that word goes on from it."""
        data = await self._in_thread(self._standing)
        return PageMessage("tick", data, token)

    def _standing(self) -> dict[str, Any]:
        sources = self._sources
        assert isinstance(sources, LiveSources)
        with sources.reading():
            return sources.standing()

    def opened(self, question: StreamQuestion, user: str, may_read: Callable[[], Awaitable[object]]) -> EventStream:
        """One that begins now, or goes on where it was; `may_read` is asked again and again."""
        if not isinstance(self._sources, LiveSources):
            raise PageError(
                404, "not_live", "a recorded run does not go on", "fairway ui --scheduler URL follows one that does"
            )
        if self._num_streams[user] >= MOST_STREAMS:
            what = f"there are {MOST_STREAMS} streams of yours already"
            raise PageError(429, "too_many_streams", what, "close a page that you do not look at")
        try:
            reader = PageReader(self._sources.history, question.pod, question.after or "")
        except ValueError as error:
            raise PageError(
                400, "bad_parameter", f"after: {error}", "leave it out to begin with what happens now"
            ) from error
        return EventStream(self, reader, user, may_read)
