"""The connection to one API server: requests and watch streams, authenticated, over pooled HTTP/1.1.

In: method, path, body. Out: an `Answer` for whatever the server says, of any status; `Unreachable` when it says
nothing. `stream` yields the lines of a watch in batches as they arrive. A 401 is answered once by reading the
credentials again. Every part of `live/` that speaks with the API server does so through a `Connection`; `on_request`
hears of each request, for the metrics.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

import aiohttp
from yarl import URL

from fairway import __version__
from fairway.live.api.clock import Clock, SystemClock
from fairway.live.api.credentials import Credentials
from fairway.live.api.exchange_pool import ExchangePool
from fairway.live.api.problems import Unauthorized, Unreachable, check_version, problem_of
from fairway.live.api.rate_limit import RateLimit

__all__ = ["Answer", "Connection", "RequestObserver", "StreamError"]

TIMEOUT_SECONDS = 30.0
WRITES = frozenset(("POST", "PUT", "PATCH"))
CONNECT_SECONDS = 10.0
RequestObserver = Callable[[str, str, int, float], None]
"""Told of every request: method, host, status (0: no answer), seconds."""


class Answer(NamedTuple):
    """What the server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def retry_after(self) -> float | None:
        """For how many seconds the server wants to be left alone, if it says so."""
        try:
            return max(float(self.headers["Retry-After"]), 0.0)
        except (KeyError, ValueError):
            return None


class StreamError(Exception):
    """The server does not want to stream; `answer` says why."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.status}: {answer.body[:300]!r}")
        self.answer = answer


class Connection:
    """One API server, reached as one user."""

    def __init__(self, credentials: Credentials, clock: Clock, user_agent: str, rate_limit: RateLimit | None) -> None:
        self._credentials = credentials
        self._clock = clock
        self._rate_limit = rate_limit
        self.on_request: RequestObserver | None = None
        self.on_wait: Callable[[str, str, float], None] | None = None  # for the rate limit: method, host, seconds
        self._base = credentials.url
        self._host = URL(credentials.url).raw_authority
        self._prefix = URL(credentials.url).raw_path.rstrip("/")
        self._common = f"Host: {self._host}\r\nUser-Agent: {user_agent}\r\nAccept: application/json"
        self._pool = ExchangePool(credentials.url, clock)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=90.0),
            headers={"User-Agent": user_agent, "Accept": "application/json"},
            auto_decompress=True,
            skip_auto_headers=("Accept-Encoding",),
            read_bufsize=2**20,
        )

    @classmethod
    async def open(
        cls,
        kubeconfig: str | os.PathLike[str] | None = None,
        context: str | None = None,
        *,
        master: str | None = None,
        user_agent_suffix: str = "scheduler",
        rate_limit: RateLimit | None = None,
        clock: Clock | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> Self:
        """Read the credentials; nothing is sent yet. `warn`: as `Credentials` takes it."""
        clock = clock or SystemClock()
        credentials = await Credentials.load(kubeconfig, context, master, clock, warn)
        return cls(credentials, clock, f"fairway/{__version__} {user_agent_suffix}", rate_limit)

    @property
    def url(self) -> str:
        """The server's address."""
        return self._base

    @property
    def namespace(self) -> str:
        """Where things are that are named without a namespace: as the kubeconfig's context says."""
        return self._credentials.namespace

    async def close(self) -> None:
        """Hang up."""
        self._pool.close()
        await self._session.close()
        await asyncio.sleep(0)  # sockets are closed in the loop's next turn

    # -- requests ----------------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        timeout: float = TIMEOUT_SECONDS,  # noqa: ASYNC109 - it is the request's, not the caller's
    ) -> Answer:
        """Send one request; any status is an answer. Raises `Unreachable` if none came."""
        if self._rate_limit is not None:
            waited = await self._rate_limit.turn()
            if self.on_wait is not None:
                self.on_wait(method, self._host, waited)
        answer = await self._send(method, path, query, body, content_type, timeout)
        if answer.status == 401:
            await self._credentials.renew()
            answer = await self._send(method, path, query, body, content_type, timeout)
        return answer

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        body: bytes | None,
        content_type: str,
        timeout: float,  # noqa: ASYNC109
    ) -> Answer:
        headers = await self._headers()
        if body is not None:
            headers["Content-Type"] = content_type
        begun = self._clock.monotonic()
        status = 0
        try:
            if method in WRITES and not query and body is not None and self._credentials.proxy is None:
                answer = await self._write(method, path, headers, body, timeout)
                status = answer.status
                return answer
            async with self._session.request(
                method,
                self._url(path, query),
                data=body,
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT_SECONDS),
                **self._tls(),
            ) as response:
                data = await response.read()
                status = response.status
                return Answer(status, response.headers, data)
        except TimeoutError:
            raise Unreachable(self._base, f"no answer within {timeout:g} seconds") from None
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(self._base, _words(error)) from None
        finally:
            if self.on_request is not None:
                self.on_request(method, self._host, status, self._clock.monotonic() - begun)

    async def _write(self, method: str, path: str, headers: dict[str, str], body: bytes, seconds: float) -> Answer:
        """Bindings, events, records: there are thousands of them, so they go the short way."""
        if not path.isascii() or any(sign in path for sign in " \r\n"):
            raise ValueError(f"not a path: {path!r}")
        lines = [f"{method} {self._prefix}{path} HTTP/1.1", self._common, f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        request = "\r\n".join([*lines, "\r\n"]).encode("latin-1") + body
        credentials = self._credentials
        return Answer(*await self._pool.send(request, credentials.ssl, credentials.server_name, seconds))

    async def check(self) -> tuple[int, int]:
        """Is the server there, does it know us, is it of a version we speak? Returns that version."""
        answer = await self.request("GET", "/version")
        problem = problem_of(self._base, "GET", "/version", answer.status, answer.body)
        if isinstance(problem, Unauthorized):
            raise problem
        if answer.status >= 500:
            raise Unreachable(self._base, f"it answers {answer.status}")
        return check_version(self._base, answer.body)

    # -- streams -----------------------------------------------------------------------------------------------------

    async def stream(
        self, path: str, query: Mapping[str, Any], silence_seconds: float = 90.0
    ) -> AsyncGenerator[list[bytes], None]:
        """The lines of a watch, as many at a time as have come; ends when the server ends it.

        Raises `StreamError` if there is no stream, `Unreachable` if the connection breaks or falls silent. A line
        that was cut off is not given.
        """
        headers = await self._headers()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silence_seconds)
        begun = self._clock.monotonic()
        status = 0
        try:
            async with self._session.get(
                self._url(path, query), headers=headers, timeout=timeout, **self._tls()
            ) as response:
                status = response.status
                if status != 200:
                    async with asyncio.timeout(TIMEOUT_SECONDS):  # not wait_for: in Python 3.11 it may swallow a cancel
                        data = await response.read()
                    if status == 401:
                        await self._credentials.renew()
                    raise StreamError(Answer(status, response.headers, data))
                with _hanging_up(response):
                    rest = b""
                    async for chunk in response.content.iter_any():
                        lines = (rest + chunk).split(b"\n")
                        rest = lines.pop()
                        if lines:
                            yield lines
        except TimeoutError:
            raise Unreachable(self._base, f"a watch of {path} fell silent") from None
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(self._base, _words(error)) from None
        finally:
            if self.on_request is not None:
                self.on_request("GET", self._host, status, self._clock.monotonic() - begun)

    # -- inside ------------------------------------------------------------------------------------------------------

    async def _headers(self) -> dict[str, str]:
        token = await self._credentials.header()
        return {"Authorization": token} if token else {}

    def _tls(self) -> dict[str, Any]:
        credentials = self._credentials
        options: dict[str, Any] = {"ssl": credentials.ssl} if credentials.ssl is not None else {}
        if credentials.server_name:
            options["server_hostname"] = credentials.server_name
        if credentials.proxy:
            options["proxy"] = credentials.proxy
        return options

    def _url(self, path: str, query: Mapping[str, Any] | None) -> URL:
        return URL(f"{self._base}{path}?{urlencode(query)}" if query else self._base + path, encoded=True)


@contextmanager
def _hanging_up(response: aiohttp.ClientResponse) -> Iterator[None]:
    """Keep a stream alive, so that within a minute a dead one is known to be; do not say good-bye at its end."""
    transport = response.connection.transport if response.connection is not None else None
    found = transport.get_extra_info("socket") if transport is not None else None
    if found is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
            if hasattr(socket, name):
                found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    try:
        yield
    except BaseException:
        if transport is not None:
            transport.abort()
        raise


def _words(error: BaseException) -> str:
    """What went wrong on the wire, without the class names of the library."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {error.certificate_error}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return str(error.os_error) or "connection refused"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it closed the connection"
    return str(error) or type(error).__name__
