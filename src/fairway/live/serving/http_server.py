"""The scheduler's own HTTPS server: health, metrics, configuration, and Fairway's API.

In: requests. Out: what `health`, `metrics` and the service know. Health endpoints answer everybody, everything else
those whom an `Access` lets in, with kube-scheduler's paths, statuses and words. `service` starts it before anything
else, so that probes have something to ask.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import zlib
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from fairway import __version__
from fairway.exit_codes import FAILED
from fairway.live.api.certificates import BadCertificate
from fairway.live.api.clock import Clock, SystemClock
from fairway.live.api.problems import LiveProblem
from fairway.live.metrics.pod_resources import pod_resources
from fairway.live.metrics.scheduler_metrics import CONTENT_TYPE, SchedulerMetrics
from fairway.live.serving.authorization import Access, Asked
from fairway.live.serving.front_door import DoorLimits, FrontDoor, TooBusy, requests_logger
from fairway.live.serving.health import Checks, report
from fairway.model import Pod

__all__ = ["AddressInUse", "Handler", "HttpServer", "Routes", "keep_certificate_fresh"]

logger = logging.getLogger(__name__)

Handler = Callable[[web.Request], Coroutine[Any, Any, web.StreamResponse]]
AtHome = Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]
"""Runs something in the scheduler's loop."""
Routes = Mapping[tuple[str, str], Handler]
"""By method and path."""

OPEN_PATHS = frozenset(("/healthz", "/livez", "/readyz"))
"""Exactly these: `/readyz/shutdown` is not among them."""

RELOAD_SECONDS = 60.0
LARGEST_BODY = 128 << 10
"""Of what is posted; a route may take less."""
NOT_FOR_PROGRAMS = "Warning: This endpoint is for people; do not parse it."
PLAIN = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache, no-store"}


class AddressInUse(LiveProblem):
    """Somebody else listens there, or we may not."""

    exit_code = FAILED

    def __init__(self, host: str, port: int, why: str) -> None:
        super().__init__(f"can not listen on {host}:{port}", why, "choose another --secure-port, or 0 for none")


class HttpServer:
    """Serves one scheduler."""

    def __init__(  # noqa: PLR0913 - what it serves is given by name; it runs without most of it
        self,
        checks: Checks,
        metrics: SchedulerMetrics,
        access: Access,
        *,
        configz: Callable[[], Any] = dict,
        flags: Callable[[], Mapping[str, Any]] = dict,
        pods: Callable[[], Iterable[Pod]] = tuple,
        routes: Routes | None = None,
        clock: Clock | None = None,
        limits: DoorLimits | None = None,
        at_home: AtHome | None = None,
    ) -> None:
        """`configz` gives the KubeSchedulerConfiguration in force, `pods` those for `/metrics/resources`.

        `pods` and `routes` look at what changes as the scheduler runs; with `at_home` they are called in its loop, and
        the server may run in another.
        """
        self._at_home = at_home
        self._clock = clock or SystemClock()
        self._limits = limits
        self._door: FrontDoor | None = None
        self._checks = checks
        self._metrics = metrics
        self._access = access
        self._configz = configz
        self._flags = flags
        self._pods = pods
        self._runner: web.AppRunner | None = None
        self._routes: dict[tuple[str, str], Handler] = {
            ("GET", "/metrics"): self._serve_metrics,
            ("GET", "/metrics/resources"): self._serve_pod_resources,
            ("GET", "/configz"): self._serve_configz,
            ("GET", "/flagz"): self._serve_flagz,
            ("GET", "/statusz"): self._serve_statusz,
            **{key: partial(self._serve_at_home, handler) for key, handler in (routes or {}).items()},
        }

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Listen; returns the port, which is another one if 0 was asked for."""
        application = web.Application(client_max_size=LARGEST_BODY)
        application.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, logger=requests_logger)
        await self._runner.setup()
        assert self._runner.server is not None
        self._door = FrontDoor(self._runner.server, self._clock, self._limits)
        try:
            bound = await self._door.open(host, port, tls)
        except OSError as error:
            await self.stop()
            raise AddressInUse(host, port, error.strerror or str(error)) from None
        logger.info("serving", extra={"address": host, "port": bound, "https": tls is not None})
        return bound

    async def stop(self) -> None:
        """Stop listening; requests under way may end."""
        if self._door is not None:
            await self._door.close()
            self._door = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    # -- one request -----------------------------------------------------------------------------------------------

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        assert self._door is not None
        try:
            with self._door.request(request.transport, is_counted=request.path not in OPEN_PATHS):
                async with asyncio.timeout(self._door.limits.request_seconds):
                    return await self._answer(request)
        except TooBusy:
            return _status(429, "TooManyRequests", "too many requests are being answered; try again later")
        except TimeoutError:
            return _status(504, "Timeout", "it took too long")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path == "/version":
            return _status(404, "NotFound", "the server could not find the requested resource")
        if path not in OPEN_PATHS:
            asked = Asked(path, request.method.lower(), request.headers.get("Host", ""), _token(request))
            refused = await self._access.refusal(asked)
            if refused is not None:
                reason = {401: "Unauthorized", 403: "Forbidden", 429: "TooManyRequests"}.get(
                    refused.status, "InternalError"
                )
                return _status(refused.status, reason, refused.message)
        endpoint, _, name = path[1:].partition("/")
        if endpoint in self._checks:
            return self._serve_health(request, endpoint, name)
        handler = self._routes.get((request.method, path))
        if handler is None:
            if any(known == path for _, known in self._routes):
                return _status(405, "MethodNotAllowed", f"{request.method} is not supported here")
            return _status(404, "NotFound", "the server could not find the requested resource")
        return await handler(request)

    def _serve_health(self, request: web.Request, endpoint: str, name: str) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            return _status(405, "MethodNotAllowed", f"{request.method} is not supported here")
        checks = self._checks[endpoint]
        if name:
            if name not in checks:
                return _status(404, "NotFound", "the server could not find the requested resource")
            checks = {name: checks[name]}
            if (fault := checks[name]()) is not None:
                return _text(500, f"internal server error: {fault}\n")
        found = report(endpoint, checks, "verbose" in request.query, request.query.getall("exclude", []))
        return _text(found.status, found.text)

    async def _serve_metrics(self, request: web.Request) -> web.Response:
        return await _scraped(request, self._metrics.render())

    async def _serve_pod_resources(self, request: web.Request) -> web.Response:
        async def text() -> bytes:
            return pod_resources(self._pods())

        return await _scraped(request, await (text() if self._at_home is None else self._at_home(text())))

    async def _serve_at_home(self, handler: Handler, request: web.Request) -> web.StreamResponse:
        if request.can_read_body:
            try:
                await request.read()  # here: the scheduler's loop can not wait for what comes in in another one
            except web.HTTPRequestEntityTooLarge:
                return _status(413, "RequestEntityTooLarge", f"more than {LARGEST_BODY} bytes are not read")
        answer = handler(request)
        return await (answer if self._at_home is None else self._at_home(answer))

    async def _serve_configz(self, _: web.Request) -> web.Response:
        return _json(200, {"componentconfig": self._configz()})

    async def _serve_flagz(self, _: web.Request) -> web.Response:
        lines = [f"{name}={value}" for name, value in sorted(self._flags().items())]
        return _text(200, "\n".join(["fairway flags", NOT_FOR_PROGRAMS, "", *lines, ""]))

    async def _serve_statusz(self, _: web.Request) -> web.Response:
        return _text(200, f"fairway statusz\n{NOT_FOR_PROGRAMS}\n\nVersion: {__version__}\n")


def _token(request: web.Request) -> str:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


async def _scraped(request: web.Request, text: bytes) -> web.Response:
    """Metrics, compressed for those who take it; another thread does that, while this one answers others."""
    headers = {**PLAIN, "Content-Type": CONTENT_TYPE, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        text = await asyncio.get_running_loop().run_in_executor(None, _gzip, text)
        headers["Content-Encoding"] = "gzip"
    return web.Response(body=text, headers=headers)


def _gzip(text: bytes) -> bytes:
    return zlib.compress(text, 1, wbits=31)  # the fastest; a tenth is left


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, headers=PLAIN)


def _json(status: int, value: Any) -> web.Response:
    return web.Response(
        status=status, body=msgspec.json.encode(value), headers={**PLAIN, "Content-Type": "application/json"}
    )


def _status(code: int, reason: str, message: str) -> web.Response:
    """A `Status` object, which is how the API server says no."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return _json(code, body)


async def keep_certificate_fresh(context: ssl.SSLContext, cert_file: str, key_file: str, clock: Clock) -> None:
    """Read the serving certificate again when its files change; new connections get the new one."""

    def times() -> tuple[float, float]:
        return Path(cert_file).stat().st_mtime, Path(key_file).stat().st_mtime

    known = times()
    while True:
        await clock.sleep(RELOAD_SECONDS)
        try:
            found = times()
            if found != known:
                context.load_cert_chain(cert_file, key_file)
                known = found
                logger.info("read the serving certificate again", extra={"file": cert_file})
        except (OSError, ssl.SSLError) as error:
            logger.error("the serving certificate is kept: %s", BadCertificate(cert_file, key_file, str(error)).why)
