"""The pages' server: recorded runs, for a browser on this machine, or a scheduler at work, for those who may see it.

In: requests on 127.0.0.1 and ::1, with the token that was printed; or on another address, over TLS, from whoever the
doorkeeper lets in (`PageAccess`). Out: answers of the API, each with headers that let a page do nothing but show them.
Questions are answered in two threads, tiles and the ticks of streams in one of their own each, questions why by
processes; whoever leaves is forgotten before their turn comes. So many requests at once, so long a URL, so large an
answer, so slow a reader, and no more. Nothing is ever changed.
"""

from __future__ import annotations

import asyncio
import errno
import importlib
import logging
import ssl
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote

import msgspec
from aiohttp import web

from fairway.live.api.clock import Clock, SystemClock
from fairway.live.serving.front_door import DoorLimits, FrontDoor, TooBusy, requests_logger
from fairway.model import UserError
from fairway.record import RecordError
from fairway.web.access import LocalAccess, PageAccess
from fairway.web.live.event_stream import EventStream, EventStreams
from fairway.web.openapi import ARROW, BASE, openapi_document
from fairway.web.page_error import Failure, FailureAnswer, PageError
from fairway.web.routes import Route, ServedTile, asked, question_of
from fairway.web.sources import RunSources
from fairway.web.static_files import PAGES, StaticFile, static_file
from fairway.web.why_desk import WhyDesk, check_why

__all__ = ["HEADERS", "PageLimits", "PageServer"]

logger = logging.getLogger(__name__)
T = TypeVar("T")

HOSTS: Final = ("127.0.0.1", "::1")
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NEVER_KEPT: Final = "no-store"
ENDING_SECONDS: Final = 2.0
"""That requests under way have when the server ends."""
ASKED_AGAIN: Final = "no-cache"  # whether it is still the same
KEPT_FOR_EVER: Final = "private, max-age=31536000, immutable"


class PageLimits(NamedTuple):
    """What is allowed."""

    requests: int = 64  # under way at once
    url_bytes: int = 8 << 10
    answer_bytes: int = 16 << 20
    question_seconds: float = 60.0
    reader_seconds: float = 30.0  # to take an answer in


class PageServer:
    """Serves some runs until it is stopped."""

    def __init__(
        self,
        sources: RunSources,
        access: str | PageAccess,
        *,
        limits: PageLimits | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`access`: the token of a server of this machine, or who looks at those who come from elsewhere."""
        self._sources = sources
        self._given = access
        self._limits = limits or PageLimits()
        self._clock = clock or SystemClock()
        self._questions = ThreadPoolExecutor(2, "questions")
        self._tiles = ThreadPoolExecutor(1, "tiles")
        self._ticks = ThreadPoolExecutor(1, "ticks")
        self._why = WhyDesk()
        self._streams = EventStreams(
            sources, self._clock, self._limits.reader_seconds, lambda work: self._in(self._ticks, work)
        )
        self._access: PageAccess | None = None
        self._doors: dict[str, FrontDoor] = {}
        self._runner: web.AppRunner | None = None
        self._num_requests = 0
        self.addresses: list[tuple[str, int]] = []
        self._openapi = msgspec.json.encode(openapi_document())

    async def start(self, port: int = 0, host: str | None = None, tls: ssl.SSLContext | None = None) -> int:
        """Listen, on this machine or on `host`; returns the port, another one if 0 was asked for. Raises OSError."""
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._serve)
        application.on_response_prepare.append(_add_headers)  # to what aiohttp answers by itself, too
        self._runner = web.AppRunner(
            application,
            access_log=None,
            handler_cancellation=True,
            logger=requests_logger,
            max_line_size=4 * self._limits.url_bytes,
            shutdown_timeout=ENDING_SECONDS,
        )
        await self._runner.setup()
        assert self._runner.server is not None
        limits = DoorLimits(requests=self._limits.requests, request_seconds=self._limits.question_seconds)
        try:
            for place in HOSTS if host is None else (host,):
                door = FrontDoor(self._runner.server, self._clock, limits)
                try:
                    port = await door.open(place, port, tls)
                except OSError as error:
                    # Not every machine has an ::1; the URL that is printed names 127.0.0.1.
                    if place in {HOSTS[0], host} or error.errno == errno.EADDRINUSE:
                        raise
                    continue
                self._doors[place] = door
            if (first := self._sources.all[0]).ask_why is None:
                await self._why.prepare(first)
        except BaseException:
            await self.stop()
            raise
        self._access = LocalAccess(self._given, port) if isinstance(self._given, str) else self._given
        self.addresses = [(host, port) for host in self._doors]
        return port

    async def stop(self) -> None:
        """Stop listening; requests under way may end, questions why do not."""
        for door in self._doors.values():
            await door.close()
        self._doors.clear()
        await self._why.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        for pool in (self._questions, self._tiles, self._ticks):
            pool.shutdown(wait=True, cancel_futures=True)

    @property
    def num_connections(self) -> int:
        """How many there are."""
        return sum(door.num_connections for door in self._doors.values())

    @property
    def num_questions_why(self) -> int:
        """How many processes are at work."""
        return len(self._why.busy)

    # -- one request -------------------------------------------------------------------------------------------------

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        """Answer, and see that it is read."""
        response = await self._bounded(request)
        if isinstance(response, EventStream):
            door = self._door(request)
            if door is not None:
                with door.request(request.transport, is_counted=False):
                    await response.tell(request)
            return response
        try:
            async with asyncio.timeout(self._limits.reader_seconds):
                await response.prepare(request)
                await response.write_eof()
        except ConnectionResetError:
            pass  # who asked has left: pages do so with tiles that are out of sight
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
        return response

    def _door(self, request: web.Request) -> FrontDoor | None:
        """Through which it came; one that is open on every address is the only one."""
        return self._doors.get(_own_host(request)) or next(iter(self._doors.values()), None)

    async def _bounded(self, request: web.Request) -> web.Response | EventStream:
        door = self._door(request)
        if door is None or self._access is None:
            return _failed(PageError(503, "ending", "the server is ending"))
        if self._num_requests >= self._limits.requests:
            return _failed(PageError(429, "too_busy", "too many requests are being answered", "ask again in a second"))
        self._num_requests += 1
        try:
            with door.request(request.transport):
                async with asyncio.timeout(self._limits.question_seconds):
                    return await self._answer(request, self._access)
        except TooBusy:
            return _failed(PageError(429, "too_busy", "too many requests are being answered", "ask again in a second"))
        except TimeoutError:
            what = f"it took longer than {self._limits.question_seconds:g} s"
            return _failed(PageError(503, "too_slow", what, "ask for less"))
        except PageError as error:
            return _failed(error)
        except (UserError, RecordError) as error:
            what, hint = (error.what, error.hint) if isinstance(error, UserError) else (str(error), "")
            return _failed(PageError(400, "no_answer", what, hint))
        except Exception:
            logger.exception("a question was not answered")
            return _failed(PageError(500, "failed", "the server failed at this question", "its log says where"))
        finally:
            self._num_requests -= 1

    async def _answer(self, request: web.Request, access: PageAccess) -> web.Response | EventStream:
        access.check_host(request.headers.get("Host"))
        if request.method != "GET":
            raise PageError(405, "not_allowed", f"{request.method} is not supported: nothing can be changed here")
        if len(request.raw_path) > self._limits.url_bytes:
            raise PageError(
                414, "too_long", f"the URL is longer than {self._limits.url_bytes} bytes", "ask for less at once"
            )
        path, _, query = request.raw_path.partition("?")
        if path.startswith(PAGES) and (file := static_file(path.removeprefix(PAGES))) is not None:
            return _file(request, file)  # they hold nothing of a run: a browser asks for them without a token
        asks = unquote(path), request.headers.get("Host"), request.headers.get("Authorization")
        user = await access.user(*asks)
        if path == f"{BASE}/openapi.json":
            return web.Response(body=self._openapi, content_type="application/json")
        if not path.startswith(f"{BASE}/"):
            raise PageError(404, "no_such_route", "there is nothing under this path", f"the API is below {BASE}")
        route, given = asked(path.removeprefix(BASE))
        question = question_of(route, given, query)
        wants_arrow = _wants_arrow(request, route)
        if route.line == "stream":
            return self._streams.opened(question, user, lambda: access.user(*asks))
        if route.ask is None:
            return _json(self._bounded_body(await self._asked_why(question)))
        ask = route.ask
        pool = self._tiles if route.line == "tiles" else self._questions

        def answered() -> Any:
            with self._sources.reading():
                return _encoded(ask(self._sources, question), wants_arrow)

        made = await self._in(pool, answered)
        if isinstance(made, ServedTile):
            return await self._in(pool, lambda: _tile(request, made))
        body = self._bounded_body(made)
        return web.Response(body=body, content_type=ARROW) if wants_arrow else _json(body)

    def _bounded_body(self, body: bytes) -> bytes:
        if len(body) > self._limits.answer_bytes:
            what = f"the answer has {len(body):,} bytes, more than the {self._limits.answer_bytes:,} that are sent"
            raise PageError(400, "too_large", what, "ask for less: a shorter stretch, fewer rows")
        return body

    async def _asked_why(self, question: Any) -> bytes:
        source = self._sources.find(question.run)
        if source.ask_why is not None:
            return await source.ask_why(question)
        await self._in(self._questions, lambda: check_why(source, question))
        return await self._why.answer(source, question)

    async def _in(self, pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        """In a thread; whoever leaves before it is their turn is not answered at all."""
        return await asyncio.get_running_loop().run_in_executor(pool, work)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
    response.headers.setdefault("Cache-Control", NEVER_KEPT)


def _own_host(request: web.Request) -> str:
    """The address of ours that the request came to."""
    if request.transport is None:
        return ""
    name = request.transport.get_extra_info("sockname")
    return str(name[0]) if name else ""


def _wants_arrow(request: web.Request, route: Route) -> bool:
    accepted = [part.partition(";")[0].strip() for part in request.headers.get("Accept", "*/*").split(",")]
    if ARROW in accepted:
        if not route.is_table:
            raise PageError(406, "not_acceptable", "this is no table: there is JSON only", "leave Accept out")
        try:
            importlib.import_module("pyarrow")
        except ImportError:
            hint = "pip install pyarrow, where the server runs; or leave Accept out"
            raise PageError(406, "not_acceptable", "Arrow needs pyarrow, which is not installed", hint) from None
        return True
    known = {"*/*", "application/*", "application/json", "application/octet-stream", ""}
    if not known.intersection(accepted):
        raise PageError(406, "not_acceptable", "there is JSON, and Arrow for tables", f"Accept: {ARROW}")
    return False


def _encoded(answer: Any, wants_arrow: bool) -> Any:
    """As bytes; a tile as it is."""
    if isinstance(answer, ServedTile):
        return answer
    if not wants_arrow:
        return msgspec.json.encode(answer)
    arrow = importlib.import_module("pyarrow")
    table = arrow.table(msgspec.to_builtins(answer.columns))
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def _file(request: web.Request, file: StaticFile) -> web.Response:
    headers = {"ETag": file.tag, "Cache-Control": ASKED_AGAIN}
    if file.tag in request.headers.get("If-None-Match", ""):
        return web.Response(status=304, headers=headers)
    return web.Response(body=file.body, headers=headers, content_type=file.content_type, charset="utf-8")


def _tile(request: web.Request, served: ServedTile) -> web.Response:
    tile, is_final = served
    headers = {"Vary": "Accept-Encoding", "Cache-Control": KEPT_FOR_EVER if is_final else NEVER_KEPT}
    if tile.num_over:
        headers["X-Fairway-Over"] = str(tile.num_over)
    body = tile.codes
    if "deflate" in request.headers.get("Accept-Encoding", ""):
        headers["Content-Encoding"] = "deflate"
        body = zlib.compress(body, 1)
    return web.Response(body=body, headers=headers, content_type="application/octet-stream")


def _json(body: bytes) -> web.Response:
    return web.Response(body=body, content_type="application/json", charset="utf-8")


def _failed(error: PageError) -> web.Response:
    body = msgspec.json.encode(FailureAnswer(Failure(error.code, error.message, error.hint)))
    headers = {405: {"Allow": "GET"}, 401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}}
    return web.Response(
        status=error.status, body=body, content_type="application/json", headers=headers.get(error.status)
    )
